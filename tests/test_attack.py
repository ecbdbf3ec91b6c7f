"""Searches: what they try, in which order, and how far they get. What they may claim is in test_attack_claims.py."""

import zlib
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import roben
from roben import data
from roben.attack import (
    ATTACKS,
    AttackResult,
    attack_accuracy,
    beam_search,
    greedy,
    interval,
    paper_sample,
    random_search,
    referee,
)
from roben.classifier import RobustClassifier

EDITS, PERMUTATIONS = roben.EditOne(), roben.InternalPermutation()
SURFACES = [pytest.param(EDITS, id="edits"), pytest.param(PERMUTATIONS, id="permutations")]


@pytest.fixture(scope="module")
def train() -> data.Dataset:
    return data.reviews("train").head(2000)


@pytest.fixture(scope="module")
def test() -> data.Dataset:
    return data.reviews("test").head(60)


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

    @property
    def searched(self):
        """What was asked by the search. Before it, up to 32 texts are asked twice, to see whether the answer stays."""
        return self.batches[2:]

    @property
    def asked(self):
        return [text for batch in self.searched for text in batch]

    def predict(self, texts):
        return np.ones(len(texts), dtype=int)

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
    assert [(r.index, r.text, r.label) for r in results] == list(zip(range(60), test.texts, test.labels, strict=True))
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


@pytest.mark.parametrize("window", [1, 7, 256])
def test_an_attack_does_not_depend_on_the_company_of_an_example(undefended, test, results, window, monkeypatch):
    monkeypatch.setattr(referee, "WINDOW", window)
    assert beam_search(width=5)(undefended, test.texts[:40], test.labels[:40], EDITS, seed=0) == results[:40]
    alone = [
        (text if i == 3 else "", label) for i, (text, label) in enumerate(zip(test.texts, test.labels, strict=True))
    ]
    assert beam_search(width=5)(undefended, *zip(*alone[:4], strict=True), EDITS, seed=0)[3] == results[3]


def test_queries_are_the_different_texts_that_were_asked(test):
    model = Counting()
    (r,) = beam_search(width=3)(model, ["a few words of text"], [1], EDITS)
    assert not r.is_broken
    assert len(model.asked) == len(set(model.asked)) == r.n_queries
    assert all(len(typed_tokens(text)) == 5 for text in model.asked)


def test_a_beam_keeps_the_least_likely_texts():
    """Longer is less likely, and what is found grows by a letter a token."""
    model = Counting()

    def inserting(surface, token, rng):
        return [token[:1] + "x" + token[1:], token[:1] + token[2:]]

    beam_search(width=1, sample=inserting)(model, ["some words here"], [1], EDITS)
    last = model.batches[-1]
    assert max(last, key=len) == "sxome wxords hxere"
    # The text itself, and then for each token the kept text with either typo; the kept text was asked already.
    assert list(map(len, model.searched)) == [1, 2, 2, 2]


def test_a_wider_beam_keeps_as_many_texts_as_it_is_wide():
    model = Counting()

    def inserting(surface, token, rng):
        return [token[:1] + letter + token[1:] for letter in "xyz"]

    beam_search(width=2, sample=inserting)(model, ["some words here now"], [1], EDITS)
    assert list(map(len, model.searched)) == [1, 3, 2 * 3, 2 * 3, 2 * 3]


def test_beams_are_different():
    model = Counting()
    beam_search(width=2, sample=lambda surface, token, rng: [f"{token[0]}x{token[1:]}"] * 2)(
        model, ["some words here"], [1], EDITS
    )
    assert list(map(len, model.searched)) == [1, 1, 2, 2]


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


def test_progress_is_told_of_each_example_as_it_ends(undefended, test, monkeypatch):
    monkeypatch.setattr(referee, "WINDOW", 4)
    ended, asked_when_ended = [], []

    class Watched(Counting):
        def predict_proba(self, texts):
            self.batches.append(list(texts))
            return undefended.predict_proba(texts)

        def predict(self, texts):
            return undefended.predict(texts)

    def progress(result):
        ended.append(result)
        asked_when_ended.append(len(model.batches))

    model = Watched()
    found = beam_search(width=1, budget=1)(model, test.texts[:10], test.labels[:10], EDITS, progress=progress)
    assert sorted(ended, key=lambda r: r.index) == found
    assert [r.index for r in ended] != list(range(10))  # who is done first is told first
    assert {r.index for r in ended[:2]} <= set(range(4))  # the others had not begun
    assert asked_when_ended == sorted(asked_when_ended)
    assert len(set(asked_when_ended)) > 3


def test_tokens_are_tried_in_random_order(test):
    def order(index, seed):
        model = Counting()
        texts = [""] * index + ["some words here now"]
        beam_search(width=1, sample=lambda surface, token, rng: [token[0] + "x" + token[1:]])(
            model, texts, [1] * (index + 1), EDITS, seed=seed
        )
        return [
            batch[0].count("x") and [i for i, token in enumerate(batch[0].split()) if "x" in token]
            for batch in model.searched[1:]
        ]

    orders = [str(order(index, seed)) for index in (0, 1, 2) for seed in (0, 1, 2)]
    assert len(set(orders)) > 5


def test_as_one_example_ends_another_takes_its_place(monkeypatch):
    monkeypatch.setattr(referee, "WINDOW", 4)
    texts = [" ".join(["word"] * n) + f" {i}" for i, n in enumerate([2, 9, 3, 8, 1, 7, 4, 6, 5, 2])]
    model = Stubborn()
    beam_search(width=1, sample=lambda surface, token, rng: ["wrd"])(model, texts, [1] * 10, EDITS)
    sizes = list(map(len, model.searched))
    assert max(sizes) == 4
    assert sizes[:10] == [4] * 10


def test_apostrophes_at_the_ends_are_split_off_where_the_surface_keeps_the_ends():
    text, model = "'cancer' ward", Stubborn()
    greedy(budget=1)(model, [text], [1], EDITS)
    assert all(asked.startswith("'") and asked.count("'") == 2 for asked in model.asked)
    model = Stubborn()
    greedy(budget=1)(model, [text], [1], roben.EditOne(keep_first=0, keep_last=0))
    assert {"cancer' ward", "'cancer ward", "x'cancer' ward"} <= set(model.asked)


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


def test_only_allowed_deletions_are_tried_or_else_other_typos():
    surface = roben.EditOne(keep_first=2, keep_last=2)
    assert sorted(paper_sample(surface, "movies", np.random.default_rng(0))) == ["moies", "moves"]
    swaps = roben.EditOne(edits="swap")
    assert {*paper_sample(swaps, "movies", np.random.default_rng(0))} <= {"moives", "mvoies", "moveis"}
    assert paper_sample(swaps, "movies", np.random.default_rng(0)) != []


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


# -- greedy -------------------------------------------------------------------------------------------------


class Uneasy(Counting):
    """Always 1, but of each text surer or less sure."""

    def predict_proba(self, texts):
        self.batches.append(list(texts))
        odds = np.array([0.51 + 0.4 * zlib.crc32(repr(text).encode()) / 2**32 for text in texts])
        return np.stack([1 - odds, odds], axis=1)


class Leaning(Counting):
    """Always 1, and as sure as the words that it knows add up to."""

    def __init__(self, **weights):
        super().__init__()
        self.weights = weights

    def predict_proba(self, texts):
        self.batches.append(list(texts))
        total = np.array([sum(self.weights.get(token, 0) for token in typed_tokens(text)) for text in texts])
        odds = 0.5 + 0.4 / (1 + np.exp(-total))
        return np.stack([1 - odds, odds], axis=1)


class Wrong(Uneasy):
    """Gets one text wrong, or those of which a function says so."""

    def __init__(self, needle):
        super().__init__()
        self.is_wrong = needle if callable(needle) else needle.__eq__

    def predict(self, texts):
        return np.array([0 if self.is_wrong(text) else 1 for text in texts])

    def predict_proba(self, texts):
        odds = super().predict_proba(texts)
        return np.where(self.predict(texts)[:, None] == 0, odds[:, ::-1], odds)


def sides_of(text):
    return [text] if isinstance(text, str) else list(text)


def with_one_token(text, tokens_for):
    """The texts with other tokens in the place of one."""
    found = set()
    for s, side in enumerate(sides_of(text)):
        typed = roben.typed.TypedText(side, "inner-words")
        for i, token in enumerate(typed.tokens):
            for other in tokens_for(token):
                sides = [*sides_of(text)]
                sides[s] = typed.replace({i: other})
                found.add(sides[0] if isinstance(text, str) else tuple(sides))
    return found


def single_changes(text, surface):
    return with_one_token(text, lambda token: surface.typos(token) - {token})


def without_one(text, surface):
    return with_one_token(text, lambda token: [""] if surface.count(token) > 1 else [])


def places_changed(model, text):
    """Which tokens were other ones, in the order in which such texts were asked about."""
    clean = typed_tokens(text)
    typed = [typed_tokens(asked) for asked in model.asked]
    return [
        tuple(i for i, pair in enumerate(zip(clean, tokens, strict=True)) if len(set(pair)) == 2)
        for tokens in typed
        if len(tokens) == len(clean) and tokens != clean
    ]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("text", ["a Fine old film!", ("A fine film", "an old one"), ("", "fine"), "ounce Plural"])
@pytest.mark.parametrize("make", [Stubborn, Uneasy])
@pytest.mark.parametrize("width", [1, 5])
def test_greedy_tries_every_single_change(surface, text, make, width):
    model = make()
    (r,) = greedy(width, budget=1)(model, [text], [1], surface)
    assert (r.attacked, r.n_changed) == (None, 0)
    assert set(model.asked) == {text} | without_one(text, surface) | single_changes(text, surface)
    assert len(model.asked) == len(set(model.asked)) == r.n_queries


@pytest.mark.parametrize("surface", SURFACES)
def test_greedy_finds_the_only_change_that_breaks_a_text(surface):
    text = "a plural Ounce"
    changes = sorted(single_changes(text, surface))
    for needle in changes[:: len(changes) // 12]:
        (r,) = greedy(budget=1)(Wrong(needle), [text], [1], surface)
        assert (r.attacked, r.n_changed) == (needle, 1)
        (r,) = greedy(budget=1)(Wrong(lambda asked, needle=needle: asked not in (text, needle)), [text], [1], surface)
        assert r.attacked in changes


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("token", ["of", "film", "movie", "miserable", "counterrevolutionary"])
@pytest.mark.parametrize("width", [1, 5])
def test_greedy_reaches_every_typo_of_a_token(surface, token, width):
    """If there are no more of them than the parts of a ball hold."""
    model = Uneasy()
    (r,) = greedy(width)(model, [token], [1], surface)
    assert not r.is_broken
    if surface.count(token) <= 4 + 16 + 64 + 256 + 1024:
        assert set(model.asked) - {""} == surface.typos(token)
        assert len(model.asked) == len(set(model.asked)) == r.n_queries


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("token", ["misunderstandings", "counterrevolutionaries", "abcdefghij" * 30])
def test_of_a_token_with_too_many_typos_greedy_tries_a_sample(surface, token):
    model = Uneasy()
    (r,) = greedy()(model, [token], [1], surface)
    typed = set(model.asked) - {"", token}
    assert all(surface.allows(token, typo) for typo in typed)
    assert len(typed) > 600
    assert r.n_queries <= 4 + 16 + 64 + 256 + 1024 + 2


def test_a_few_typos_of_every_token_are_tried_before_more_of_any():
    model = Stubborn()
    greedy()(model, ["the plot, the cast"], [1], EDITS)
    assert list(map(len, model.searched))[:14] == [1, 4, *[4] * 4, *[16] * 4, 57, 64, 57, 64]
    assert len(model.asked) == 1 + 4 + 2 * 77 + 2 * 129


def test_typos_are_tried_in_random_order():
    def first_asked(seed):
        model = Stubborn()
        greedy()(model, ["plot"], [1], EDITS, seed=seed)
        return model.searched[2]

    assert first_asked(0) == first_asked(0) != sorted(first_asked(0))
    assert len({tuple(first_asked(seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (None, [(1,), (1, 2), (0, 1, 2)]),
        (3, [(1,), (1, 2), (0, 1, 2)]),
        # A beam that has spent its budget gives up the change that told least.
        (2, [(1,), (1, 2), (0, 1)] + [(1, 2), (0, 1)] * 4),
        (1, [(1,), (2,), (0,)] * 5),
    ],
)
def test_tokens_are_tried_as_the_model_leans_on_them(budget, expected):
    text = "plot cast score"
    model = Leaning(plot=1, cast=3, score=2)
    greedy(budget=budget)(model, [text], [1], EDITS)
    assert model.searched[1] == [" cast score", "plot  score", "plot cast "]
    changed = places_changed(model, text)
    in_turn = [places for i, places in enumerate(changed) if places != changed[i - 1] or i == 0]
    assert in_turn == expected[: len(in_turn)]
    assert set(in_turn) == set(expected)


def test_tokens_of_both_sides_of_a_pair_are_tried_as_the_model_leans_on_them():
    class Pairs(Leaning):
        def predict_proba(self, texts):
            odds = super().predict_proba([f"{one} {two}" for one, two in texts])
            self.batches[-1] = list(texts)
            return odds

    model = Pairs(plot=1, cast=3, score=2, film=4)
    greedy(budget=1)(model, [("plot cast", "film score")], [1], EDITS)
    left_out = [(" cast", "film score"), ("plot ", "film score"), ("plot cast", " score"), ("plot cast", "film ")]
    assert model.searched[1] == left_out
    first_asked = [batch[0] for batch in model.searched[2:6]]
    kept = [[("plot" in one, "cast" in one), ("film" in two, "score" in two)] for one, two in first_asked]
    assert [list(np.flatnonzero(~np.array(sides).ravel())) for sides in kept] == [[2], [1], [3], [0]]


class Reassured(Counting):
    """Always 1, and the surer the fewer of the words that it knows are left."""

    def predict_proba(self, texts):
        self.batches.append(list(texts))
        known = [len({"plot", "cast", "score"} & set(typed_tokens(text))) for text in texts]
        odds = np.array([0.9 - 0.1 * n for n in known])
        return np.stack([1 - odds, odds], axis=1)


@pytest.mark.parametrize("search", [beam_search(width=1), greedy()], ids=["beam", "greedy"])
@pytest.mark.parametrize("make", [Reassured, Stubborn])
def test_a_change_that_makes_the_label_no_less_likely_is_not_kept(search, make):
    model = make()
    search(model, ["plot cast score"], [1], EDITS)
    assert set(places_changed(model, "plot cast score")) == {(0,), (1,), (2,)}


def test_a_text_without_a_token_is_asked_but_never_claimed():
    text = "plot cast score"
    model = Wrong(lambda asked: len(typed_tokens(asked)) < 3)
    (r,) = greedy()(model, [text], [1], EDITS)
    assert not r.is_broken
    assert without_one(text, EDITS) <= set(model.asked)
    assert len(set(model.asked)) > 100  # and the search went on
    model = Wrong(lambda asked: len(typed_tokens(asked)) < 3 or "cqst" in asked)
    (r,) = greedy(budget=1)(model, [text], [1], EDITS)
    assert (r.attacked, r.n_changed) == ("plot cqst score", 1)


def test_a_wider_greedy_keeps_as_many_texts_as_it_is_wide():
    model = Uneasy()
    greedy(3)(model, ["plot cast score film"], [1], EDITS)
    assert list(map(len, model.searched))[:6] == [1, 4, 4, 3 * 4, 3 * 4, 3 * 4]


def test_from_beams_of_a_spent_budget_none_is_made_that_exceeds_it():
    text, model = "plot cast score film", Uneasy()
    greedy(4, budget=2)(model, [text], [1], EDITS)
    changed = set(places_changed(model, text))
    assert {len(places) for places in changed} == {1, 2}
    assert set().union(*changed) == {0, 1, 2, 3}
    assert len([places for places in changed if len(places) == 2]) >= 3


def test_a_greedy_as_wide_as_the_ball_tries_every_text():
    """Beams are different ones: none takes the place of another."""
    text = "ounce, plots film"
    balls = [sorted(PERMUTATIONS.typos(token)) for token in ("ounce", "plots", "film")]
    everything = {f"{one}, {two} {three}" for one, two, three in product(*balls)}
    model = Uneasy()
    greedy(len(everything))(model, [text], [1], PERMUTATIONS)
    assert len(everything) == 6 * 6 * 2
    assert everything <= set(model.asked)


# -- random search ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("budget", [1, 2, None])
def test_a_random_search_changes_as_many_tokens_as_it_may(surface, budget):
    text, model = "wonderful pictures, a terrible screenplay", Stubborn()
    (r,) = random_search(budget=budget, max_queries=300)(model, [text], [1], surface)
    changed = places_changed(model, text)
    assert set().union(*changed) == {0, 1, 4, 5}
    assert max(map(len, changed)) == (budget or 4)
    assert np.mean(list(map(len, changed))) > 0.95 * (budget or 4)  # a token is a typo of itself
    assert 250 < r.n_queries <= 300
    assert max(len(batch) for batch in model.searched[1:-1]) == 16  # together, but for those drawn before
    for asked in model.asked:
        assert all(map(surface.allows, typed_tokens(text), typed_tokens(asked)))


def test_a_random_search_of_what_cannot_be_changed_ends():
    for text in ("", "a", "? !", ("", "?")):
        (r,) = random_search()(Stubborn(), [text], [1], EDITS)
        assert (r.attacked, r.n_queries) == (None, 1)
    (r,) = random_search()(Stubborn(), ["the old"], [1], PERMUTATIONS)
    assert (r.attacked, r.n_queries) == (None, 1)


# -- how far they get ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_queries", [50, 200])
def test_with_as_many_queries_greedy_breaks_more_than_the_beam_of_the_paper(undefended, test, max_queries):
    def accuracy(make):
        return attack_accuracy(make(max_queries=max_queries)(undefended, test.texts, test.labels, EDITS))

    standard = undefended.score(test.texts, test.labels)
    assert accuracy(greedy) < accuracy(beam_search) - 0.1
    assert accuracy(greedy) < 0.1 < 0.6 < standard
    # Random perturbations are the floor: a search that is any good breaks as much with as many queries.
    assert accuracy(greedy) <= accuracy(random_search) < standard - 0.3


@pytest.mark.parametrize("budget", [None, 1, 2])
@pytest.mark.parametrize("make", ATTACKS.values(), ids=ATTACKS)
def test_every_attack_breaks_something(undefended, test, make, budget):
    found = make(budget=budget, max_queries=100)(undefended, test.texts, test.labels, EDITS)
    assert attack_accuracy(found) < undefended.score(test.texts, test.labels) - 0.05


def test_a_random_search_breaks_some_of_a_defended_model(defended, test):
    found = random_search(max_queries=60)(defended, test.texts, test.labels, EDITS)
    assert attack_accuracy(found) < defended.score(test.texts, test.labels)


@pytest.mark.parametrize("make", [beam_search, greedy, lambda **o: greedy(5, **o), random_search])
def test_more_queries_break_no_less(undefended, test, make):
    """A search with fewer is the beginning of one with more."""
    few, more = (make(max_queries=n)(undefended, test.texts[:30], test.labels[:30], EDITS) for n in (20, 60))
    assert attack_accuracy(few) > attack_accuracy(more)
    for one, two in zip(few, more, strict=True):
        assert one.n_queries <= two.n_queries <= 60
        assert (one.attacked, one.n_changed) == (two.attacked, two.n_changed) or (not one.is_broken and two.is_broken)
        assert one.is_broken or one.n_queries == 20


# -- odd texts ----------------------------------------------------------------------------------------------

ODD = [
    "", "   ", "a", "?", "film", "?! ... --", "\ud800abc film", "\udfff", "\u0130stanbul F\u0130LM", "don't 'cancer'",
    "x" * 300, "abcdefghij" * 30, ("", ""), ("film", ""), ("", "old film"), ("?", "abcdefghij" * 30),
]  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    "attack",
    [beam_search(), greedy(), greedy(5), random_search(max_queries=100)],
    ids=["beam", "greedy", "wide", "random"],
)
def test_odd_texts_come_to_an_end(surface, attack):
    for text in ODD:
        (r,) = attack(Uneasy(), [text], [1], surface)
        assert (r.attacked, r.n_changed) == (None, 0)
        assert 1 <= r.n_queries < 5000
        (r,) = attack(Wrong(text), [text], [1], surface)
        assert (r.attacked, r.n_changed, r.n_queries) == (text, 0, 1)
        (r,) = attack(Wrong(lambda asked, text=text: asked != text), [text], [1], surface)
        can_change = any(surface.count(token) > 1 for side in sides_of(text) for token in typed_tokens(side))
        assert r.is_broken == can_change
        assert r.n_changed > 0 or not can_change or "\u0130" in text


# -- what it says of a model --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 10, 100, 1000, 123_457])
def test_the_interval_is_wilsons(n):
    for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
        low, high = interval(k / n, n)
        expected = binomtest(k, n).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-7)
        assert 0 <= low <= high <= 1
        assert low - 1e-12 <= k / n <= high + 1e-12
        assert low < high


def test_of_no_examples_the_interval_is_everything():
    assert interval(float("nan"), 0) == interval(0.5, 0) == (0.0, 1.0)
    assert interval(attack_accuracy([]), 0) == (0.0, 1.0)
