"""What attacks claim: nothing is believed unchecked, and nothing that is proved is broken."""

import zlib
from functools import cache

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline

import roben
from roben import data
from roben.attack import (
    ATTACKS,
    AttackError,
    attack_accuracy,
    beam_search,
    from_function,
    greedy,
    random_search,
    referee,
)
from roben.certificate import certify, robust_accuracy
from roben.classifier import ModelError, RobustClassifier

EDITS, PERMUTATIONS = roben.EditOne(), roben.InternalPermutation()
SURFACES = [pytest.param(EDITS, id="edits"), pytest.param(PERMUTATIONS, id="permutations")]


def wide_greedy(**options):
    return greedy(5, **options)


MAKERS = {**ATTACKS, "wide": wide_greedy}
every_attack = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def sides_of(text):
    return (text,) if isinstance(text, str) else text


def tokens_of(text):
    """Those of each side."""
    return [roben.typed.TypedText(side, "inner-words").tokens for side in sides_of(text)]


class Weighing:
    """Every token has a weight, by its letters, and what they add up to decides. Writes down what it is asked."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.asked, self.decided = [], []
        self.weight = cache(lambda token: 4 * (zlib.crc32(token.encode()) / 2**32) - 2)

    def odds(self, texts):
        totals = [sum(self.weight(token) for side in sides_of(text) for token in side.split()) for text in texts]
        return 1 / (1 + np.exp(-np.array(totals, dtype=float)))

    def predict(self, texts):
        self.decided += texts
        return (self.odds(texts) > 0.5).astype(int)

    def predict_proba(self, texts):
        self.asked += texts
        odds = self.odds(texts)
        return np.stack([1 - odds, odds], axis=1)


class Particular:
    """Of two classes, 1 only for what one is particular about. It has no predict."""

    classes_ = np.array([0, 1])

    def __init__(self, *right):
        self.right = right

    def predict_proba(self, texts):
        return np.array([[0.2, 0.8] if text in self.right else [0.8, 0.2] for text in texts])


@pytest.fixture(scope="module")
def examples():
    """Short texts and pairs, and labels of which the model gets some wrong."""
    texts = [" ".join(text.split()[:6]) for text in data.reviews("test").head(12).texts]
    pairs = [(" ".join(text.split()[:3]), " ".join(text.split()[3:])) for text in texts]
    labels = {"texts": Weighing().predict(texts), "pairs": Weighing().predict(pairs)}
    for of in labels.values():
        of[[2, 7]] ^= 1
    return {"texts": (texts, labels["texts"]), "pairs": (pairs, labels["pairs"])}


# -- every attack, on every surface -------------------------------------------------------------------------


@every_attack
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", ["texts", "pairs"])
@pytest.mark.parametrize("budget", [None, 0, 1, 2])
def test_what_is_claimed_is_legal_and_wrong(make, surface, kind, budget, examples):
    texts, labels = examples[kind]
    attack = make(budget=budget, max_queries=60)
    found = attack(Weighing(), texts, labels, surface, seed=3)
    assert [(r.index, r.text, r.label) for r in found] == list(zip(range(12), texts, labels, strict=True))
    for r in found:
        assert 1 <= r.n_queries <= 60
        assert type(r.label) is int
        if not r.is_broken:
            assert (r.attacked, r.n_changed) == (None, 0)
            continue
        assert type(r.attacked) is type(r.text)
        assert Weighing().predict([r.attacked]) != r.label
        n_changed = 0
        for clean, typed in zip(tokens_of(r.text), tokens_of(r.attacked), strict=True):
            assert len(clean) == len(typed)
            assert all(map(surface.allows, clean, typed))
            n_changed += sum(map(str.__ne__, clean, typed))
        assert r.n_changed == n_changed
        assert budget is None or n_changed <= budget
    was_wrong = Weighing().predict(texts) != labels
    assert [r.attacked == r.text for r in found] == was_wrong.tolist()
    assert [r.n_queries == 1 for r in found] == was_wrong.tolist() or budget == 0
    assert any(r.n_changed for r in found) == (budget != 0)
    assert max(r.n_changed for r in found) == budget or budget is None
    # The same again, for the same seed; another for another.
    assert attack(Weighing(), texts, labels, surface, seed=3) == found
    assert (attack(Weighing(), texts, labels, surface, seed=4) == found) == (budget == 0)


@every_attack
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", ["texts", "pairs"])
def test_an_example_fares_the_same_in_any_company(make, surface, kind, examples, monkeypatch):
    texts, labels = examples[kind]
    attack = make(budget=2, max_queries=40)
    found = attack(Weighing(), texts, labels, surface)
    for window in (1, 7, 256):
        monkeypatch.setattr(referee, "WINDOW", window)
        assert attack(Weighing(), texts, labels, surface) == found
    assert attack(Weighing(), texts[:5], labels[:5], surface) == found[:5]
    other = [*texts[7:], *texts[:7]]
    for i in (3, 8):
        company = [texts[i] if j == i else text for j, text in enumerate(other)]
        company_labels = np.where(np.arange(12) == i, labels, 1 - labels)
        assert attack(Weighing(), company, company_labels, surface)[i] == found[i]


@every_attack
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", ["texts", "pairs"])
@pytest.mark.parametrize("max_queries", [1, 2, 9, 60])
def test_queries_are_counted_at_the_model(make, surface, kind, max_queries, examples):
    texts, labels = examples[kind]
    attack = make(max_queries=max_queries)
    together = attack(Weighing(), texts, labels, surface)
    for i in (0, 2, 5, 9):
        filler = "" if kind == "texts" else ("", "")
        model = Weighing()
        found = attack(model, [filler] * i + [texts[i]], [0] * i + [labels[i]], surface)
        assert found[i] == together[i]
        # All were asked twice to begin with. The fillers are one text, that has no tokens and is asked once.
        asked = model.asked[2 * (i + 1) :]
        by_search = [text for text in asked if text != filler]
        assert len(by_search) == found[i].n_queries <= max_queries
        assert set(model.asked) == {*by_search, *[filler][:i]}
        if make is not random_search:  # which may draw the same twice
            assert len(set(by_search)) == len(by_search)
        assert set(model.decided) <= set(model.asked)
    if max_queries == 1:
        assert [r.attacked for r in together] == [
            text if wrong else None for text, wrong in zip(texts, Weighing().predict(texts) != labels, strict=True)
        ]


@every_attack
def test_an_attack_may_be_run_again_and_on_other_models(make, examples):
    texts, labels = examples["texts"]
    attack = make(max_queries=30)
    found = attack(Weighing(), iter(texts), iter(labels.tolist()), EDITS)
    attack(Particular(), texts, labels, PERMUTATIONS, seed=5)
    assert attack(Weighing(), np.array(texts, dtype=object), labels, EDITS) == found


# -- what is proved -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def train() -> data.Dataset:
    return data.reviews("train").head(2000)


@pytest.fixture(scope="module")
def short():
    """Reviews of ten words."""
    test = data.reviews("test").head(40)
    return [" ".join(text.split()[:10]) for text in test.texts], test.labels


def pipeline():
    return make_pipeline(TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(C=10))


def threshold():
    """Its predict is not its highest probability."""
    return FixedThresholdClassifier(pipeline(), threshold=0.4, response_method="predict_proba")


@pytest.fixture(scope="module")
def defended(english, train):
    """A model of each kind, made once."""
    graphs = {surface: roben.typo_graph(english, surface) for surface in (EDITS, PERMUTATIONS)}

    @cache
    def made(kind, gamma, surface=EDITS):
        encoding = roben.Encoding(roben.agglomerate(graphs[surface], gamma=gamma))
        classifier = {"ngram": None, "pipeline": pipeline(), "threshold": threshold()}[kind]
        return RobustClassifier(encoding, classifier).fit(train.texts, train.labels)

    return made


def assert_nothing_proved_is_broken(model, texts, labels, surface, budget, *, max_queries, must_break=True):
    certificates = list(certify(model, texts, labels, budget=budget, limit=300))
    accuracy = robust_accuracy(certificates)
    assert accuracy.standard == model.score(texts, labels)
    least = accuracy.standard
    assert budget != 0 or accuracy.lower == accuracy.standard
    for make in MAKERS.values():
        found = make(budget=budget, max_queries=max_queries)(model, texts, labels, surface)
        for c, r in zip(certificates, found, strict=True):
            assert not (c.verdict == "robust" and r.is_broken)
            assert not (c.verdict == "broken" and r.is_broken) or r.n_changed >= c.flips
            assert (c.flips == 0) == (r.attacked == r.text)
        assert accuracy.lower <= attack_accuracy(found) <= accuracy.standard
        least = min(least, attack_accuracy(found))
    assert least < accuracy.standard or budget == 0 or not must_break


@pytest.mark.parametrize("gamma", [0, 0.3, 1])
@pytest.mark.parametrize("budget", [None, 0, 1, 2])
def test_no_attack_breaks_what_is_proved(defended, short, gamma, budget):
    assert_nothing_proved_is_broken(defended("ngram", gamma), *short, EDITS, budget, max_queries=80)


@pytest.mark.parametrize("kind", ["pipeline", "threshold"])
@pytest.mark.parametrize("gamma", [0.3, 1])
@pytest.mark.parametrize("budget", [None, 1])
def test_no_attack_breaks_what_is_proved_of_other_classifiers(defended, short, kind, gamma, budget):
    model = defended(kind, gamma)
    assert_nothing_proved_is_broken(model, *short, EDITS, budget, max_queries=40, must_break=gamma == 1)


@pytest.mark.parametrize("budget", [None, 1])
def test_no_attack_breaks_what_is_proved_of_permutations(defended, short, budget):
    model = defended("ngram", 1, PERMUTATIONS)
    certificates = list(certify(model, *short, budget=budget))
    assert robust_accuracy(certificates).lower <= model.score(*short)
    for make in MAKERS.values():
        found = make(budget=budget, max_queries=40)(model, *short, PERMUTATIONS)
        assert not any(c.verdict == "robust" and r.is_broken for c, r in zip(certificates, found, strict=True))


@pytest.mark.parametrize("kind", ["ngram", "pipeline"])
def test_of_a_budget_of_one_greedy_without_end_is_as_good_as_a_proof(defended, short, kind):
    texts, labels = (part[:20] for part in short)
    model = defended(kind, 1)
    verdicts = [c.verdict for c in certify(model, texts, labels, budget=1)]
    found = greedy(budget=1)(model, texts, labels, EDITS)
    assert ["broken" if r.is_broken else "robust" for r in found] == verdicts
    assert sum(r.n_changed for r in found) > 1


@every_attack
@pytest.mark.parametrize("kind", [pipeline, threshold])
def test_an_attack_on_an_undefended_model_breaks_what_was_right(train, short, make, kind):
    texts, labels = short
    model = kind().fit(train.texts, train.labels)
    found = make(max_queries=40)(model, texts, labels, EDITS)
    assert attack_accuracy(found) < model.score(texts, labels)
    for r, before in zip(found, model.predict(texts), strict=True):
        assert (r.attacked == r.text) == (before != r.label)
        assert not r.is_broken or model.predict([r.attacked])[0] != r.label


def test_predict_decides_not_the_highest_probability(train, short):
    texts, _ = short
    model = threshold().fit(train.texts, train.labels)
    likely = model.predict_proba(texts).argmax(axis=1)
    differ = likely != model.predict(texts)
    assert differ.sum() > 4
    for r, is_wrong in zip(beam_search(max_queries=1)(model, texts, likely, EDITS), differ, strict=True):
        assert r.is_broken == is_wrong


def test_no_attack_breaks_what_is_proved_of_a_transformer(tmp_path):
    import torch
    import transformers

    from roben.classifier import TransformerClassifier

    torch.set_num_threads(1)
    torch.manual_seed(0)
    good, bad, neutral = ("good", "great", "fine"), ("bad", "awful", "poor"), ("the", "film", "plot", "was")
    near = ("god", "goad", "bid", "bed", "five", "pour", "flim", "plat")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *good, *bad, *neutral, *near]
    config = transformers.BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    counts = {word: 100 - i for i, word in enumerate((*good, *bad, *neutral, *near))}
    encoding = roben.Encoding.build(roben.Vocabulary.from_counts(counts), gamma=1)
    rng = np.random.default_rng(0)
    texts = [f"{' '.join(rng.choice(neutral, 3))} {rng.choice((bad, good)[i % 2])}" for i in range(60)]
    labels = ["neg", "pos"] * 30
    classifier = TransformerClassifier(str(tmp_path), max_length=16, learning_rate=4e-3, batch_size=10, epochs=8)
    model = RobustClassifier(encoding, classifier).fit(texts, labels)
    assert model.score(texts, labels) > 0.9
    for budget in (None, 1):
        assert_nothing_proved_is_broken(model, texts[:10], labels[:10], EDITS, budget, max_queries=60)


# -- an attack of one's own ---------------------------------------------------------------------------------

TEXT, PAIR = "A good film", ("a good film", "an old one")


def giving(given, **options):
    return from_function(lambda model, text, label, surface, rng: given, **options)


def test_what_a_function_finds_is_counted():
    def find(model, text, label, surface, rng):
        assert (text, label, surface) == (TEXT, 1, EDITS)
        assert model.classes_.tolist() == [0, 1]
        model.predict_proba([text, "a god film"])
        model.predict_proba(["a good fiilm"])
        return "a god fiilm"

    (r,) = from_function(find)(Particular(TEXT), [TEXT], [1], EDITS)
    assert (r.index, r.text, r.label, r.attacked, r.n_changed) == (0, TEXT, 1, "a god fiilm", 2)
    assert r.n_queries == 1 + 3  # the text as it stands, and what was asked


def test_predictions_count_as_queries(examples):
    def find(model, text, label, surface, rng):
        assert model.predict([text])[0] == label
        assert model.odds([text]) >= 0  # what else the model has is there
        model.predict_proba([text, text])

    texts, labels = examples["texts"]
    found = from_function(find)(Weighing(), texts, labels, EDITS)
    assert [r.n_queries for r in found] == [1 if i in (2, 7) else 1 + 3 for i in range(12)]


def test_a_function_sees_whether_there_is_a_predict():
    seen = []

    def find(model, text, label, surface, rng):
        seen.append(hasattr(model, "predict"))

    from_function(find)(Particular(TEXT), [TEXT], [1], EDITS)
    from_function(find)(Weighing(), ["good"], Weighing().predict(["good"]), EDITS)
    assert seen == [False, True]


def test_what_a_function_does_not_find_is_not_broken():
    (r,) = giving(None)(Particular(TEXT), [TEXT], [1], EDITS)
    assert (r.attacked, r.n_changed, r.n_queries, r.is_broken) == (None, 0, 1, False)


def test_what_is_wrong_already_is_not_given_to_a_function(examples):
    given = []
    texts, labels = examples["pairs"]
    attack = from_function(lambda model, text, *_: given.append(text))
    found = attack(Weighing(), texts, labels, EDITS)
    assert given == [text for i, text in enumerate(texts) if i not in (2, 7)]
    assert [r.attacked for r in found] == [text if i in (2, 7) else None for i, text in enumerate(texts)]
    assert all(r.n_changed == 0 for r in found)


def test_chance_of_a_function_comes_from_the_seed_and_the_place(examples):
    def drawn(texts, seed):
        draws = []
        attack = from_function(lambda model, text, label, surface, rng: draws.append(rng.integers(2**40)))
        attack(Weighing(), texts, Weighing().predict(texts), EDITS, seed=seed)
        return draws

    texts, _ = examples["texts"]
    assert drawn(texts, 1) == drawn(texts, 1)
    assert drawn(texts, 1)[:4] == drawn([*texts[5:9], "film"], 1)[:4]
    assert len({*drawn(texts, 1), *drawn(texts, 2)}) == 24


def test_progress_is_told_of_what_a_function_found(examples):
    ended = []
    found = giving(None)(Weighing(), *examples["texts"], EDITS, progress=ended.append)
    assert ended == found


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (TEXT, "a g--od film", r"the attack made 6 tokens, 'a g--od film', of 3, 'A good film'"),
        (TEXT, "a gxyzd film", r"typed 'gxyzd' for 'good', which the surface does not allow"),
        (TEXT, "a gxoxod film", r"typed 'gxoxod' for 'good', which"),
        (TEXT, "a food film", r"typed 'food' for 'good', which"),
        (TEXT, "a good filn", r"typed 'filn' for 'film', which"),
        (TEXT, "a go\u00f6d film", r"typed 'go\u00f6d' for 'good', which"),
        (TEXT, "an good film", r"typed 'an' for 'a', which"),
        (TEXT, "a good old film", r"made 4 tokens, 'a good old film', of 3, 'A good film'"),
        (TEXT, "a good film.", r"made 4 tokens, 'a good film\.', of 3"),
        (TEXT, "a film", r"made 2 tokens, 'a film', of 3"),
        (TEXT, "", r"made 0 tokens, '', of 3"),
        (TEXT, "film good a", r"typed 'film' for 'a', which"),
        (TEXT, ("a good film", ""), r"made \('a good film', ''\) of 'A good film'; expected a text of a text"),
        (TEXT, b"a god film", r"made b'a god film' of 'A good film'; expected a text"),
        (TEXT, 3, r"made 3 of 'A good film'; expected a text"),
        (TEXT, True, r"made True of 'A good film'; expected a text"),
        (PAIR, "a god film an old one", r"made 'a god film an old one' of \('a good film', 'an old one'\); expected"),
        (PAIR, ["a god film", "an old one", ""], r"made \['a god film', 'an old one', ''\] of \('a good film'"),
        (PAIR, ("a good film", "an xld one"), r"typed 'xld' for 'old', which"),
        (PAIR, ("a good film", "an old"), r"made 2 tokens, 'an old', of 3, 'an old one'"),
        (PAIR, ("an old one", "a good film"), r"typed 'an' for 'a', which"),
    ],
)
def test_what_may_not_be_typed_is_an_error(text, given, message):
    with pytest.raises(AttackError, match=message):
        giving(given)(Particular(text), [text], [1], EDITS)


@pytest.mark.parametrize(
    "given", [TEXT, "a god film", "A gold film"], ids=["the text itself", "a typo of it", "another"]
)
def test_a_false_success_is_an_error(given):
    model = Particular(TEXT, "a god film", "A gold film")
    with pytest.raises(
        AttackError, match=rf"the attack claims that '{given}' is not 1, but Particular says that it is"
    ):
        giving(given)(model, [TEXT], [1], EDITS)


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_what_is_over_the_budget_is_an_error(budget):
    typed = ["A good film", "A god film", "A god fim"]
    text = "A good film"
    for n_changed, given in enumerate(typed):
        if 0 < n_changed <= budget:
            (r,) = giving(given, budget=budget)(Particular(text), [text], [1], EDITS)
            assert (r.attacked, r.n_changed) == (given, n_changed)
        if n_changed > budget:
            with pytest.raises(
                AttackError, match=rf"changed {n_changed} tokens of 'A good film'; its budget is {budget}"
            ):
                giving(given, budget=budget)(Particular(text), [text], [1], EDITS)


@pytest.mark.parametrize("given", ["a good film", " A  good\tfilm\n", "A GOOD FILM", "A Good film "])
def test_white_space_and_capitals_are_no_changes_of_tokens(given):
    """What may be typed is said of tokens, and a model that sees tokens sees no difference; one that does is wrong."""
    (r,) = giving(given, budget=0)(Particular(TEXT), [TEXT], [1], EDITS)
    assert (r.attacked, r.n_changed) == (given, 0)


def test_white_space_and_capitals_do_not_break_a_model_with_an_encoding(defended):
    model = defended("ngram", 0.3)
    label = model.predict([TEXT])[0]
    with pytest.raises(
        AttackError, match=r"claims that ' a  GOOD film' is not \d, but RobustClassifier says that it is"
    ):
        giving(" a  GOOD film")(model, [TEXT], [label], EDITS)


def test_a_function_may_split_texts_at_spaces():
    text = "well-made"
    (r,) = giving("wellmade", tokens="spaces")(Particular(text), [text], [1], EDITS)
    assert (r.attacked, r.n_changed) == ("wellmade", 1)
    with pytest.raises(AttackError, match="made 1 tokens, 'wellmade', of 3, 'well-made'"):
        giving("wellmade")(Particular(text), [text], [1], EDITS)


def test_on_another_surface_another_thing_is_allowed():
    (r,) = giving("a good flim")(Particular("a good film"), ["a good film"], [1], PERMUTATIONS)
    assert (r.attacked, r.n_changed) == ("a good flim", 1)
    with pytest.raises(AttackError, match="typed 'fiilm' for 'film', which the surface does not allow"):
        giving("a good fiilm")(Particular("a good film"), ["a good film"], [1], PERMUTATIONS)


@pytest.mark.parametrize("make", [beam_search, lambda **o: beam_search(width=1, **o)])
def test_a_search_that_types_what_is_not_allowed_is_an_error(make):
    attack = make(sample=lambda surface, token, rng: ["xyz"])
    with pytest.raises(AttackError, match="typed 'xyz' for 'movie', which the surface does not allow"):
        attack(Particular("movie"), ["movie"], [1], EDITS)


# -- models that are none -----------------------------------------------------------------------------------

EVERY_ATTACK = {**{name: make() for name, make in MAKERS.items()}, "function": giving(None)}
each_attack = pytest.mark.parametrize("attack", EVERY_ATTACK.values(), ids=EVERY_ATTACK)


class Dropout:
    """As a network with dropout left on: it forgets some words, others each time."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def fit(self, texts, labels):
        return self

    def predict(self, texts):
        return self.predict_proba(texts).argmax(axis=1)

    def predict_proba(self, texts):
        n_kept = [self.rng.binomial(len(text), 0.9) for text in texts]
        odds = 1 / (1 + np.exp(-np.array(n_kept) / 10))
        return np.stack([1 - odds, odds], axis=1)


@each_attack
def test_a_model_that_answers_by_chance_is_refused(attack):
    message = r"Dropout.predict_proba is not deterministic: 'a good film' got \[.*\] and then \[.*\].*model\.eval\(\)"
    with pytest.raises(ModelError, match=message):
        attack(Dropout(), ["a good film"] * 3, [1, 0, 1], EDITS)


def test_a_defended_model_that_answers_by_chance_is_refused(encoding):
    model = RobustClassifier(encoding, Dropout()).fit(["a film", "a plot"], [0, 1])
    with pytest.raises(ModelError, match=r"predict_proba is not deterministic"):
        beam_search()(model, ["the film that was seen"], [1], EDITS)


def test_the_last_bits_of_an_answer_may_move():
    class Trembling(Weighing):
        def odds(self, texts):
            return super().odds(texts) + np.random.default_rng(len(self.asked)).uniform(0, 1e-6, len(texts))

    (r,) = beam_search()(Trembling(), ["an old film"], Weighing().predict(["an old film"]), EDITS)
    assert r.n_queries > 1


def test_only_the_first_texts_are_asked_twice():
    texts = [f"film {i}" for i in range(50)]
    model = Weighing()
    beam_search(max_queries=1)(model, texts, [1] * 50, EDITS)
    assert model.asked == texts[:32] + texts[:32] + texts


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full((n, 3), 1 / 3), r"Odd.predict_proba gave shape \(3, 3\) for 3 texts and 2 classes"),
        (lambda n: np.full(n, 0.5), r"Odd.predict_proba gave shape \(3,\) for 3 texts and 2 classes"),
        (lambda n: np.full((n - 1, 2), 0.5), r"Odd.predict_proba gave shape \(2, 2\) for 3 texts"),
        (lambda n: np.full((n, 2, 1), 0.5), r"gave shape \(3, 2, 1\) for 3 texts and 2 classes; expected \(3, 2\)"),
        (lambda n: np.array([[0.5, 0.5]] * (n - 1) + [[0.5, np.nan]]), r"gave \[0.5, nan\] for 'three': not finite"),
        (lambda n: np.array([[0.5, 0.5]] * (n - 2) + [[np.inf, 0]] * 2), r"gave \[inf, 0.0\] for 'two': not finite"),
        (lambda n: np.full((n, 2), -np.inf), r"gave \[-inf, -inf\] for 'one': not finite"),
    ],
)
@each_attack
def test_a_model_without_proper_probabilities_is_refused(attack, answer, message):
    class Odd:
        classes_ = np.array([0, 1])

        def predict_proba(self, texts):
            return answer(len(texts))

    with pytest.raises(ModelError, match=message):
        attack(Odd(), ["one", "two", "three"], [0, 1, 1], EDITS)


@each_attack
@pytest.mark.parametrize("lacks", ["predict_proba", "classes_"])
def test_a_model_that_lacks_something_is_named(attack, lacks):
    class Without:
        def __getattr__(self, name):
            if name == lacks or name.startswith("__"):
                raise AttributeError(name)
            return getattr(Weighing(), name)

    with pytest.raises(TypeError, match=f"Without has no {lacks}; an attack is told by probabilities"):
        attack(Without(), ["a film"], [1], EDITS)


@every_attack
def test_a_model_whose_probabilities_fail_later_is_refused(make):
    class Failing(Weighing):
        def predict_proba(self, texts):
            found = super().predict_proba(texts)
            return found if len(self.asked) <= 3 else found * np.nan

    text = "a good film"
    with pytest.raises(ModelError, match=r"Failing.predict_proba gave \[nan, nan\] for '.*': not finite"):
        make()(Failing(), [text], Weighing().predict([text]), EDITS)


class Moody:
    """1, but for as many answers as one says, from one on."""

    classes_ = np.array([0, 1])

    def __init__(self, start, end):
        self.start, self.end, self.n_answers = start, end, 0

    def predict_proba(self, texts):
        self.n_answers += 1
        is_moody = self.start <= self.n_answers < self.end
        return np.array([[0.9, 0.1] if is_moody else [0.1, 0.9]] * len(texts))


@every_attack
@pytest.mark.parametrize("start", range(3, 9))
def test_one_wrong_answer_is_no_success(make, start):
    """Of what is claimed a model is asked three times: by the search, by the decision, and by the check."""
    attack = make(max_queries=60)
    if start == 4:  # it decided that the text as it stands is wrong
        with pytest.raises(AttackError, match="claims that 'movie' is not 1, but Moody says that it is"):
            attack(Moody(start, start + 1), ["movie"], [1], EDITS)
    else:
        (r,) = attack(Moody(start, start + 1), ["movie"], [1], EDITS)
        assert not r.is_broken


@pytest.mark.parametrize(("make", "start"), [(beam_search, 5), (random_search, 5), (greedy, 6), (wide_greedy, 6)])
def test_a_model_that_changes_its_mind_is_caught(make, start):
    """Asked twice, asked, decided; by greedy without its tokens; by the search, the first time that it is wrong."""
    message = r"claims that 'm\w*' is not 1, but Moody says that it is\. If it said otherwise a moment ago, its answers"
    for n_moody in (2, 3):
        model = Moody(start, start + n_moody)
        if n_moody == 2:
            with pytest.raises(AttackError, match=message):
                make()(model, ["movie"], [1], EDITS)
        else:
            (r,) = make()(model, ["movie"], [1], EDITS)
            assert r.is_broken
        assert model.n_answers == start + 2


def test_a_predict_that_changes_its_mind_is_caught():
    class Fickle(Weighing):
        def predict(self, texts):
            super().predict(texts)
            return np.full(len(texts), len(self.decided) % 2)

    with pytest.raises(AttackError, match="claims that 'movie' is not 0, but Fickle says that it is"):
        beam_search()(Fickle(), ["movie"], [0], EDITS)


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (beam_search, {"width": 0}, "width is 0; expected a number of texts to keep, 1 or more"),
        (beam_search, {"width": -1}, "width is -1; expected a number of texts to keep"),
        (greedy, {"width": 0}, "width is 0; expected a number of texts to keep"),
        (beam_search, {"budget": -1}, "budget is -1; expected a number of tokens, 0 or more, or None for all"),
        (greedy, {"budget": -1}, "budget is -1; expected a number of tokens"),
        (random_search, {"budget": -2}, "budget is -2; expected a number of tokens"),
        (beam_search, {"max_queries": 0}, "max_queries is 0; expected a number of texts, 1 or more, or None"),
        (greedy, {"max_queries": -1}, "max_queries is -1; expected a number of texts"),
        (random_search, {"max_queries": 0}, "max_queries is 0; expected a number of texts"),
        (random_search, {"max_queries": None}, "max_queries is None; a random search needs an end"),
        (lambda **options: giving(None, **options), {"budget": -1}, "budget is -1; expected a number of tokens"),
    ],
)
def test_wrong_options_are_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@each_attack
def test_examples_that_are_none_are_refused_before_anything_is_asked(attack):
    class Unasked:
        classes_ = np.array([0, 1])

        def predict_proba(self, texts):
            raise AssertionError("it was asked")

    with pytest.raises(ValueError, match=r"the label 2 of example 1 is none of the model's: \[0, 1\]"):
        attack(Unasked(), ["a", "b"], [1, 2], EDITS)
    with pytest.raises(ValueError, match=r"the label '1' of example 0 is none of the model's: \[0, 1\]"):
        attack(Unasked(), ["a"], ["1"], EDITS)
    with pytest.raises(ValueError, match="longer"):
        attack(Unasked(), ["a"], [1, 1], EDITS)
    with pytest.raises(ValueError, match="shorter"):
        attack(Unasked(), ["a", "b"], iter([1]), EDITS)
    with pytest.raises(TypeError, match=r"found one text; expected many: pass \[text\]"):
        attack(Unasked(), "a", [1], EDITS)
    with pytest.raises(TypeError, match=r"found None \(NoneType\) among the texts; expected a str, or a pair of str"):
        attack(Unasked(), ["a", None], [1, 1], EDITS)
    with pytest.raises(ValueError, match="1 of 2 texts are pairs; either all are or none is"):
        attack(Unasked(), ["a", ("a", "b")], [1, 1], EDITS)


@pytest.mark.parametrize("make", [*MAKERS.values(), lambda **options: giving(None, **options)])
def test_unknown_splits_are_refused(make):
    with pytest.raises(ValueError, match="tokens is 'letters'; it may be 'words' or 'spaces'"):
        make(tokens="letters")(Weighing(), ["a"], [1], EDITS)


@each_attack
def test_of_no_examples_there_are_no_results(attack):
    model = Weighing()
    assert attack(model, [], [], EDITS) == []
    assert model.asked == []
