"""Attacks: what they claim is so, and they never break what is proved."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import roben
from roben import attack, data
from roben.attack import AttackResult, attack_accuracy, beam_search, paper_sample
from roben.certificate import certify, robust_accuracy
from roben.classifier import RobustClassifier

EDITS, PERMUTATIONS = roben.EditOne(), roben.InternalPermutation()


@pytest.fixture(scope="module")
def train() -> data.Dataset:
    return data.reviews("train").head(3000)


@pytest.fixture(scope="module")
def test() -> data.Dataset:
    return data.reviews("test").head(100)


@pytest.fixture(scope="module")
def undefended(train) -> Pipeline:
    """A pipeline that knows nothing of roben."""
    return make_pipeline(TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(C=10)).fit(train.texts, train.labels)


@pytest.fixture(scope="module")
def defended(encoding, train) -> RobustClassifier:
    return RobustClassifier(encoding).fit(train.texts, train.labels)


@pytest.fixture(scope="module")
def results(undefended, test) -> list[AttackResult]:
    return beam_search(width=5)(undefended, test.texts, test.labels, EDITS, seed=0)


class Counting:
    """The longer a text, the less it is 1. Writes down what it is asked."""

    def __init__(self):
        self.classes_ = np.array([0, 1])
        self.batches = []

    def predict_proba(self, texts):
        self.batches.append(list(texts))
        length = [sum(map(len, text)) if isinstance(text, tuple) else len(text) for text in texts]
        odds = np.exp(-np.array(length) / 1000)
        return np.stack([1 - odds, odds], axis=1)


class Stubborn(Counting):
    """Always 1, and always as sure."""

    def predict_proba(self, texts):
        self.batches.append(list(texts))
        return np.array([[0.25, 0.75]] * len(texts))


def typed_tokens(text: str) -> tuple[str, ...]:
    return roben.typed.TypedText(text, "inner-words").tokens


# -- what an attack claims ----------------------------------------------------------------------------------


def test_what_is_found_is_allowed_and_classified_wrongly(undefended, test, results):
    predicted = undefended.predict(test.texts)
    assert [(r.index, r.text, r.label) for r in results] == list(zip(range(100), test.texts, test.labels, strict=True))
    for r, before in zip(results, predicted, strict=True):
        assert r.is_broken == (r.attacked is not None)
        if not r.is_broken:
            assert before == r.label
            assert r.n_changed == 0
            continue
        assert undefended.predict([r.attacked])[0] != r.label
        clean, typed = typed_tokens(r.text), typed_tokens(r.attacked)
        assert len(clean) == len(typed)
        assert all(map(EDITS.allows, clean, typed))
        assert sum(map(str.__ne__, clean, typed)) == r.n_changed


def test_an_undefended_model_loses_most_of_its_accuracy(undefended, test, results):
    assert undefended.score(test.texts, test.labels) > 0.6
    assert attack_accuracy(results) < 0.2


def test_what_was_wrong_already_is_broken_without_a_change(undefended, test, results):
    wrong = undefended.predict(test.texts) != test.labels
    assert wrong.sum() > 10
    for r, is_wrong in zip(results, wrong, strict=True):
        assert is_wrong == (r.is_broken and r.n_changed == 0)
        if is_wrong:
            assert r.attacked == r.text
            assert r.n_queries == 1


def test_capitals_and_white_space_stay_outside_what_is_typed(undefended, test):
    texts = [text.title().replace(" ", "\t ") for text in test.texts[:40]]
    for r in beam_search(width=2)(undefended, texts, test.labels[:40], EDITS):
        if r.n_changed:
            pieces, typed = r.text.split("\t "), r.attacked.split("\t ")
            assert len(pieces) == len(typed)
            changed = [(old, new) for old, new in zip(pieces, typed, strict=True) if old != new]
            assert 0 < len(changed) <= r.n_changed
            assert all(old.lower() != new.lower() for old, new in changed)


@pytest.mark.parametrize("surface", [EDITS, PERMUTATIONS], ids=["edits", "permutations"])
@pytest.mark.parametrize("budget", [None, 1])
def test_no_attack_breaks_what_is_proved(graph, english, train, test, surface, budget):
    graph = graph if surface == EDITS else roben.typo_graph(english, surface)
    encoding = roben.Encoding(roben.agglomerate(graph, gamma=0.5))
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    certificates = list(certify(model, test.texts, test.labels, budget=budget))
    found = beam_search(budget=budget)(model, test.texts, test.labels, surface, seed=1)
    for c, r in zip(certificates, found, strict=True):
        assert not (c.verdict == "robust" and r.is_broken)
        assert not r.is_broken or r.n_changed >= c.flips
    accuracy = robust_accuracy(certificates)
    assert accuracy.lower <= attack_accuracy(found) <= accuracy.standard


def test_an_encoding_takes_most_of_its_power_from_the_attack(defended, test, results):
    assert attack_accuracy(beam_search()(defended, test.texts, test.labels, EDITS)) > attack_accuracy(results) + 0.3


# -- how it goes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_a_budget_is_kept(undefended, test, budget):
    found = beam_search(budget=budget)(undefended, test.texts[:60], test.labels[:60], EDITS)
    assert max(r.n_changed for r in found) == budget
    for r in found:
        if r.is_broken:
            assert sum(map(str.__ne__, typed_tokens(r.text), typed_tokens(r.attacked))) <= budget


def test_more_budget_and_width_break_no_less(undefended, test):
    def accuracy(**options):
        return attack_accuracy(beam_search(**options)(undefended, test.texts, test.labels, EDITS))

    assert accuracy(budget=0) == undefended.score(test.texts, test.labels)
    assert accuracy(budget=0) > accuracy(budget=1) > accuracy(budget=3) >= accuracy()


def test_an_attack_is_the_same_for_the_same_seed(undefended, test, results):
    assert beam_search(width=5)(undefended, test.texts, test.labels, EDITS, seed=0) == results
    other = beam_search(width=5)(undefended, test.texts, test.labels, EDITS, seed=1)
    assert [r.attacked for r in other] != [r.attacked for r in results]


@pytest.mark.parametrize("window", [1, 7])
def test_an_attack_does_not_depend_on_the_company_of_an_example(undefended, test, results, window, monkeypatch):
    monkeypatch.setattr(attack, "WINDOW", window)
    assert beam_search(width=5)(undefended, test.texts[:40], test.labels[:40], EDITS, seed=0) == results[:40]
    alone = [
        (text if i == 3 else "", label) for i, (text, label) in enumerate(zip(test.texts, test.labels, strict=True))
    ]
    assert beam_search(width=5)(undefended, *zip(*alone[:4], strict=True), EDITS, seed=0)[3] == results[3]


def test_queries_are_the_different_texts_that_were_asked(test):
    model = Counting()
    (r,) = beam_search(width=3)(model, ["a few words of text"], [1], EDITS)
    assert not r.is_broken
    asked = [text for batch in model.batches for text in batch]
    assert len(asked) == len(set(asked)) == r.n_queries
    assert all(len(typed_tokens(text)) == 5 for text in asked)


def test_a_beam_keeps_the_least_likely_texts():
    """Longer is less likely, and what is found grows by a letter a token."""
    model = Counting()

    def inserting(surface, token, rng):
        return [token[:1] + "x" + token[1:], token[:1] + token[2:]]

    beam_search(width=1, sample=inserting)(model, ["some words here"], [1], EDITS)
    last = model.batches[-1]
    assert max(last, key=len) == "sxome wxords hxere"
    # The text itself, and then for each token the kept text with either typo; the kept text was asked already.
    assert list(map(len, model.batches)) == [1, 2, 2, 2]


def test_a_wider_beam_keeps_as_many_texts_as_it_is_wide():
    model = Counting()

    def inserting(surface, token, rng):
        return [token[:1] + letter + token[1:] for letter in "xyz"]

    beam_search(width=2, sample=inserting)(model, ["some words here now"], [1], EDITS)
    assert list(map(len, model.batches)) == [1, 3, 2 * 3, 2 * 3, 2 * 3]


def test_without_an_encoding_tokens_are_split_as_one_says(undefended):
    text, model = "well-made", Stubborn()
    beam_search(tokens="words")(model, [text], [1], EDITS)
    assert all("-" in asked for batch in model.batches for asked in batch)
    model = Stubborn()
    beam_search(tokens="spaces")(model, [text], [1], EDITS)
    assert "wellmade" in [asked for batch in model.batches for asked in batch]


def test_with_an_encoding_tokens_are_split_as_it_does(encoding):
    model = Stubborn()
    model.encoding_ = roben.Encoding(encoding.clusters, tokens="spaces")
    beam_search(tokens="words")(model, ["well-made"], [1], EDITS)
    assert "wellmade" in [asked for batch in model.batches for asked in batch]


def test_progress_counts_the_examples(undefended, test, monkeypatch):
    monkeypatch.setattr(attack, "WINDOW", 4)
    done = []
    beam_search(width=1, budget=1)(undefended, test.texts[:10], test.labels[:10], EDITS, progress=done.append)
    assert done == [4, 8, 10]


# -- the sample ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("movie", {"mvie", "moie", "move"}),
        ("little", {"lttle", "litle", "litte"}),  # two deletions give the same
        ("great", {"geat", "grat", "gret"}),
        ("aaaaa", {"aaaa"}),
    ],
)
def test_of_a_long_token_all_deletions_are_tried(token, expected):
    tried = paper_sample(EDITS, token, np.random.default_rng(0))
    assert sorted(tried) == sorted(expected)
    assert expected <= EDITS.typos(token)


def test_of_a_short_token_four_random_typos_are_tried():
    rng = np.random.default_rng(0)
    drawn = [paper_sample(EDITS, "film", rng) for _ in range(200)]
    assert {len(typos) for typos in drawn} <= {2, 3, 4}
    assert np.mean([len(typos) for typos in drawn]) > 3.8  # some are drawn twice, or are the token itself
    for typos in drawn:
        assert len(set(typos)) == len(typos)
        assert set(typos) <= EDITS.typos("film") - {"film"}
    assert len({typo for typos in drawn for typo in typos}) > 80
    assert paper_sample(EDITS, "film", np.random.default_rng(7)) == paper_sample(
        EDITS, "film", np.random.default_rng(7)
    )


def test_of_permutations_five_are_tried():
    rng = np.random.default_rng(0)
    drawn = [paper_sample(PERMUTATIONS, "wonderful", rng) for _ in range(50)]
    assert {len(typos) for typos in drawn} == {5}
    assert all(PERMUTATIONS.allows("wonderful", typo) for typos in drawn for typo in typos)
    assert set(paper_sample(PERMUTATIONS, "film", rng)) <= {"flim"}


@pytest.mark.parametrize("surface", [EDITS, PERMUTATIONS])
@pytest.mark.parametrize("token", ["a", "?", "\u00e9", "!"])
def test_of_what_cannot_be_changed_nothing_is_tried(surface, token):
    assert paper_sample(surface, token, np.random.default_rng(0)) == []


def test_only_allowed_deletions_are_tried():
    surface = roben.EditOne(keep_first=2, keep_last=2)
    assert sorted(paper_sample(surface, "movies", np.random.default_rng(0))) == ["moies", "moves"]
    assert paper_sample(roben.EditOne(edits="swap"), "movies", np.random.default_rng(0)) == []


# -- any model, any text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "a", "?", "terrible", ("", ""), ("terrible", "")])
def test_short_and_empty_texts_are_attacked(text):
    (r,) = beam_search()(Stubborn(), [text], [1], EDITS)
    assert (r.attacked, r.n_changed) == (None, 0)
    (r,) = beam_search()(Stubborn(), [text], [0], EDITS)
    assert (r.attacked, r.n_changed, r.n_queries) == (text, 0, 1)


def test_of_no_examples_there_is_no_accuracy(undefended):
    assert beam_search()(undefended, [], [], EDITS) == []
    assert np.isnan(attack_accuracy([]))


def test_attack_accuracy_is_the_share_that_is_not_broken():
    found = [AttackResult(i, "a", 1, "a" if i < 3 else None, 0, 1) for i in range(4)]
    assert attack_accuracy(iter(found)) == 0.25


def test_pairs_are_attacked_on_both_sides(train, test):
    def pairs_of(part):
        return [(text[: len(text) // 2], text[len(text) // 2 :]) for text in part.texts]

    model = RobustClassifier("none").fit(pairs_of(train), train.labels)
    found = beam_search()(model, pairs_of(test), test.labels, EDITS)
    assert attack_accuracy(found) < model.score(pairs_of(test), test.labels) - 0.3
    sides = set()
    for r in found:
        if r.n_changed:
            assert model.predict([r.attacked])[0] != r.label
            sides |= {side for side in (0, 1) if r.attacked[side] != r.text[side]}
            n_changed = 0
            for clean, typed in zip(r.text, r.attacked, strict=True):
                assert all(map(EDITS.allows, typed_tokens(clean), typed_tokens(typed)))
                n_changed += sum(map(str.__ne__, typed_tokens(clean), typed_tokens(typed)))
            assert n_changed == r.n_changed
    assert sides == {0, 1}


@pytest.mark.parametrize("labels", [["neg", "pos"], np.array(["neg", "pos"]), np.array(["neg", "pos"], dtype=object)])
def test_labels_may_be_str(labels):
    texts = ["an awful film", "a wonderful film"]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts * 5, [*labels] * 5)
    found = beam_search()(model, iter(texts), iter(labels), EDITS)
    assert [r.label for r in found] == ["neg", "pos"]
    assert all(type(r.label) is str for r in found)
    assert any(r.is_broken for r in found)


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"width": 0}, {"width": -1}, {"budget": -1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match="expected at least 1, and 0 or more"):
        beam_search(**options)


def test_unknown_labels_and_splits_are_refused():
    with pytest.raises(ValueError, match=r"the label 2 of example 1 is none of the model's: \[0, 1\]"):
        beam_search()(Stubborn(), ["a", "b"], [1, 2], EDITS)
    with pytest.raises(ValueError, match="tokens is 'letters'; it may be 'words' or 'spaces'"):
        beam_search(tokens="letters")(Stubborn(), ["a"], [1], EDITS)
    with pytest.raises(ValueError, match="longer"):
        beam_search()(Stubborn(), ["a"], [1, 1], EDITS)


def test_an_attack_that_types_what_is_not_allowed_is_caught():
    class Gullible(Counting):
        def predict_proba(self, texts):
            return np.array([[0.9, 0.1] if "xyz" in text else [0.1, 0.9] for text in texts])

    with pytest.raises(ValueError, match="typed 'xyz' for 'movie', which the surface does not allow"):
        beam_search(sample=lambda surface, token, rng: ["xyz"])(Gullible(), ["movie"], [1], EDITS)


def test_a_model_that_changes_its_mind_is_caught():
    class Moody(Stubborn):
        def predict_proba(self, texts):
            self.batches.append(texts)
            return np.array([[0.9, 0.1] if len(self.batches) == 2 else [0.1, 0.9]] * len(texts))

    with pytest.raises(ValueError, match=r"the model changes its mind: 'm.*' is 1 now, and was not a moment ago"):
        beam_search()(Moody(), ["movie"], [1], EDITS)
