"""The laws of certificates: what is proved holds for all that can be typed, and it is exact.

Soundness is shown here for the n-gram classifier and scikit-learn's pipelines, and in test_transformer.py for
transformers.
"""

import time
from collections import Counter
from itertools import count, islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import roben
from roben import certificate, data
from roben.certificate import Certificate, RobustAccuracy, certify, robust_accuracy
from roben.classifier import ModelError, NgramClassifier, RobustClassifier
from roben.lattice import lattices


def tfidf():
    return make_pipeline(TfidfVectorizer(token_pattern=r"\S+"), LogisticRegression(C=10))


def behind(encoding: roben.Encoding, classifier) -> RobustClassifier:
    """A model whose classifier is ready without training."""
    model = RobustClassifier(encoding, classifier)
    model.encoding_, model.classifier_, model.classes_ = encoding, classifier, np.asarray(classifier.classes_)
    return model


class Listed:
    """Another classifier, that cannot say which encoding is its worst: it is certified by enumeration."""

    def __init__(self, classifier):
        self.classifier, self.classes_ = classifier, classifier.classes_

    def predict(self, texts):
        return self.classifier.predict(texts)


def sides_of(text):
    return (text,) if isinstance(text, str) else text


def typed_at_random(encoding: roben.Encoding, text, k: int, rng: np.random.Generator) -> list:
    """`k` perturbations of a text: a random typo of every token, typed in its place."""
    made = []
    for side in map(encoding.typed, sides_of(text)):
        drawn = [encoding.surface.sample(token, rng, k) for token in side.tokens]
        made.append([side.replace({i: typos[n] for i, typos in enumerate(drawn)}) for n in range(k)])
    return made[0] if isinstance(text, str) else list(zip(*made, strict=True))


def typed_in_every_way(encoding: roben.Encoding, text) -> list[tuple[int, object]]:
    """Every perturbation of a text, with the number of its tokens that differ."""
    sides = [encoding.typed(side) for side in sides_of(text)]
    tokens = [token for side in sides for token in side.tokens]
    found = []
    for typos in product(*(sorted(encoding.surface.typos(token)) for token in tokens)):
        changes, at = sum(map(str.__ne__, tokens, typos)), 0
        parts = []
        for side in sides:
            parts.append(side.replace(dict(enumerate(typos[at : at + len(side.tokens)]))))
            at += len(side.tokens)
        found.append((changes, parts[0] if isinstance(text, str) else tuple(parts)))
    return found


def assert_true(model: RobustClassifier, c: Certificate) -> None:
    """What a certificate says of itself, its witness above all, is so."""
    assert (c.verdict == "broken") == (c.witness is not None) == (c.flips is not None)
    assert (c.prediction == c.label) == c.is_correct == (c.flips != 0)
    assert model.predict([c.text]).tolist() == [c.prediction]
    assert c.n_perturbations >= c.n_encodings >= 1
    if c.witness is None:
        return
    assert model.predict([c.witness])[0] != c.label
    n_changed = 0
    for clean, typed in zip(sides_of(c.text), sides_of(c.witness), strict=True):
        tokens, typos = (model.encoding_.typed(side).tokens for side in (clean, typed))
        assert len(tokens) == len(typos)
        assert all(map(model.encoding_.surface.allows, tokens, typos))
        n_changed += sum(map(str.__ne__, tokens, typos))
    assert n_changed == c.flips
    assert c.budget is None or n_changed <= c.budget


# -- soundness ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def permutations(english) -> roben.Encoding:
    """What internal permutations leave, by spaces."""
    graph = roben.typo_graph(english, roben.InternalPermutation())
    return roben.Encoding(roben.connected_components(graph), tokens="spaces")


def as_typed_by_people(text: str) -> str:
    """A review that is all lower-case and split at blanks, as one would write it."""
    return text.capitalize().replace(" , ", ", ").replace(" .", ".").replace(" '", "'").replace(" n't", "n't")


@pytest.mark.parametrize(
    ("kind", "n_typed"),
    [("ngram", 100_000), ("ngram, permutations", 10_000), ("ngram, pairs", 10_000), ("scikit-learn", 10_000)],
)
def test_whatever_is_typed_for_a_robust_example_is_classified_rightly(encoding, permutations, kind, n_typed):
    train, test = data.reviews("train").head(3000), data.reviews("test").head(400)
    chosen = permutations if "permutations" in kind else encoding

    def texts_of(part):
        raw = list(map(as_typed_by_people, part.texts))
        return [(text[: len(text) // 2], text[len(text) // 2 :]) for text in raw] if "pairs" in kind else raw

    model = RobustClassifier(chosen, tfidf() if kind == "scikit-learn" else None)
    model.fit(texts_of(train), train.labels)
    robust = [c for c in certify(model, texts_of(test), test.labels) if c.verdict == "robust"]
    assert len(robust) > 200
    rng = np.random.default_rng(0)
    typed, labels = [], []
    for c in robust:
        k = -(-n_typed // len(robust))
        typed += typed_at_random(chosen, c.text, k, rng)
        labels += [c.label] * k
    assert len(typed) >= n_typed
    assert len(set(typed)) > 0.9 * n_typed
    assert (model.predict(typed) == labels).all()


@pytest.mark.parametrize("kind", ["ngram", "scikit-learn"])
@pytest.mark.parametrize("text", ["so bad", "a dull film", "Not good!", "it is so", "the end", "I love it"])
def test_of_short_texts_everything_that_can_be_typed_agrees_with_the_certificate(encoding, kind, text):
    train = data.reviews("train").head(2000)
    model = RobustClassifier(encoding, tfidf() if kind == "scikit-learn" else None).fit(train.texts, train.labels)
    every = typed_in_every_way(encoding, text)
    encoded = encoding([typed for _, typed in every])
    different = list(dict.fromkeys(encoded))
    class_of = dict(zip(different, model.predict_encoded(different).tolist(), strict=True))
    for label in (0, 1):
        (c,) = certify(model, [text], [label])
        wrong = [n for (n, _), code in zip(every, encoded, strict=True) if class_of[code] != label]
        assert c.verdict == ("broken" if wrong else "robust")
        assert c.flips == min(wrong, default=None)
        assert (c.n_perturbations, c.n_encodings) == (len(every), len(different))
        assert_true(model, c)


ODDITIES = ("don't", "isn’t", "'tis'", "İstanbul", "Straße", "ΟΔΟΣ", "cafe\u0301", "3.14", "well-made", "…", "A\ud800b")
TEXTS = st.lists(st.characters() | st.sampled_from([*ODDITIES, *" \t\n\xa0\x1c'-.,!?"]), max_size=20).map("".join)


@settings(max_examples=200)
@given(TEXTS, TEXTS, st.sampled_from(["words", "spaces"]))
def test_what_is_certified_is_what_the_model_sees(encoding, one, other, tokens):
    encoding = roben.Encoding(encoding.clusters, tokens=tokens)
    for text in (one, (one, other)):
        (lattice,) = lattices(encoding, [text])
        assert lattice.own() == encoding(text)
        every = [token for side in sides_of(text) for token in encoding.tokenize(side)]
        assert [set(slot.codes) for slot in lattice.slots] == list(map(encoding.reachable, every))
        assert [slot.n_typos for slot in lattice.slots] == list(map(encoding.surface.count, every))
        rng = np.random.default_rng(0)
        for typed in typed_at_random(encoding, text, 3, rng):
            codes = [code for side in sides_of(encoding(typed)) for code in side.split()]
            assert len(codes) == len(lattice.slots)
            assert all(code in slot.codes for code, slot in zip(codes, lattice.slots, strict=True))


# -- exactness ----------------------------------------------------------------------------------------------

SURFACES = (
    roben.EditOne(alphabet="ab"),
    roben.EditOne(alphabet="b", keep_first=0, keep_last=0),
    roben.InternalPermutation(),
)
WORDS = st.text("ab", min_size=1, max_size=4)


@st.composite
def small_encodings(draw) -> roben.Encoding:
    words = draw(st.lists(WORDS, min_size=1, max_size=7, unique=True))
    counts = {word: len(words) - i for i, word in enumerate(words)}
    return roben.Encoding.build(
        roben.Vocabulary.from_counts(counts),
        draw(st.sampled_from(SURFACES)),
        gamma=draw(st.sampled_from([0.0, 0.3, 1.0])),
        tokens=draw(st.sampled_from(["words", "spaces"])),
        threads=1,
    )


@st.composite
def small_texts(draw, encoding: roben.Encoding, max_tokens: int = 3) -> str:
    """A few short tokens; the product of their balls stays small enough to list."""
    tokens, size = [], 1
    for token in draw(st.lists(WORDS | st.sampled_from(["?", "zz"]), max_size=max_tokens)):
        size *= encoding.surface.count(token)
        if size <= 1000:
            tokens.append(token)
    return " ".join(tokens)


def small_classifier(encoding: roben.Encoding, n_sides: int, n_classes: int, random) -> NgramClassifier:
    """Weights so small and so few that scores tie more often than not."""
    codes = sorted({*encoding.clusters.representatives, encoding.unknown, "?"})
    ngrams = [*codes, *(f"{a} {b}" for a in codes for b in codes if random.random() < 0.5)]
    largest = random.choice([1, 2, 9])
    classifier = NgramClassifier()
    classifier.classes_ = np.arange(n_classes)
    classifier.ranks_ = [{ngram: rank for rank, ngram in enumerate(ngrams)} for _ in range(n_sides)]
    shape = n_sides * len(ngrams), n_classes
    weights = [[random.randint(-largest, largest) for _ in range(n_classes)] for _ in range(shape[0])]
    classifier._set_weights(
        np.array(weights, dtype=np.int64).reshape(shape),
        np.array([random.randint(-2, 2) for _ in range(n_classes)], dtype=np.int64),
    )
    return classifier


@settings(max_examples=150)
@given(st.data(), small_encodings(), st.sampled_from([1, 2]), st.sampled_from([2, 3]))
def test_dynamic_programming_enumeration_and_brute_force_agree(drawn, encoding, n_sides, n_classes):
    random = drawn.draw(st.randoms(use_true_random=False))
    side = small_texts(encoding, 3 if n_sides == 1 else 2)
    text = drawn.draw(side if n_sides == 1 else st.tuples(side, side))
    classifier = small_classifier(encoding, n_sides, n_classes, random)
    assert_exact(encoding, classifier, text, range(n_classes))


@settings(max_examples=40)
@given(st.data(), small_encodings(), st.sampled_from([1, 2]))
def test_so_they_do_for_trained_classifiers(drawn, encoding, n_sides):
    side = small_texts(encoding, 3 if n_sides == 1 else 2)
    text = side if n_sides == 1 else st.tuples(side, side)
    texts = [*drawn.draw(st.lists(text, min_size=3, max_size=8)), "ab" if n_sides == 1 else ("ab", "ba")]
    if n_sides == 2:
        texts.append(("a", "b"))  # so that neither side is without any token
    labels = [i % 3 for i in range(len(texts))]
    classifier = NgramClassifier(bigrams=drawn.draw(st.booleans())).fit(encoding(texts), labels)
    assert_exact(encoding, classifier, texts[0], range(3))


def assert_exact(encoding: roben.Encoding, classifier: NgramClassifier, text, labels) -> None:
    """Three ways to the same certificate, for every label and every budget."""
    exact, listed = behind(encoding, classifier), behind(encoding, Listed(classifier))
    every = typed_in_every_way(encoding, text)
    encoded = encoding([typed for _, typed in every])
    classes = dict(zip(encoded, exact.predict([typed for _, typed in every]).tolist(), strict=True))
    n_tokens = sum(len(encoding.tokenize(side)) for side in sides_of(text))
    for label, budget in product(labels, (None, *range(n_tokens + 2))):
        within = [(n, e) for (n, _), e in zip(every, encoded, strict=True) if budget is None or n <= budget]
        flips = min((n for n, e in within if classes[e] != label), default=None)
        expected = "robust" if flips is None else "broken", flips, len({e for _, e in within}), len(within)
        for model in (exact, listed):
            (c,) = certify(model, [text], [label], budget=budget)
            assert (c.verdict, c.flips, c.n_encodings, c.n_perturbations) == expected
            assert_true(model, c)


@settings(max_examples=60)
@given(st.data(), small_encodings(), st.sampled_from([1, 2]), st.sampled_from([2, 3]))
def test_the_weakest_encoding_is_wrong_if_any_is_and_keeps_the_budget(drawn, encoding, n_sides, n_classes):
    random = drawn.draw(st.randoms(use_true_random=False))
    classifier = small_classifier(encoding, n_sides, n_classes, random)
    codes = [sorted(encoding.clusters.representatives), ["?"], ["[MASK]"]]
    slot = st.sampled_from(codes).flatmap(lambda c: st.lists(st.sampled_from(c), min_size=1, max_size=3, unique=True))
    lattice = drawn.draw(st.lists(st.lists(slot, max_size=4), min_size=n_sides, max_size=n_sides))
    label, budget = drawn.draw(st.integers(0, n_classes - 1)), drawn.draw(st.none() | st.integers(0, 4))
    found = classifier.weakest(lattice, label, budget)

    slots = [slot for side in lattice for slot in side]
    own = [slot[0] for slot in slots]
    wrong = Counter()
    for chosen in product(*slots):
        n_changes = sum(map(str.__ne__, chosen, own))
        if budget is None or n_changes <= budget:
            cut = len(lattice[0])
            parts = (" ".join(chosen[:cut]), " ".join(chosen[cut:]))[:n_sides]
            wrong[n_changes] += classifier.predict([parts[0] if n_sides == 1 else parts])[0] != label
    assert found.is_wrong == (wrong.total() > 0)
    flat = [code for side in found.codes for code in side]
    assert [len(side) for side in found.codes] == [len(side) for side in lattice]
    assert all(code in slot for code, slot in zip(flat, slots, strict=True))
    assert found.n_changes == sum(map(str.__ne__, flat, own))
    assert budget is None or found.n_changes <= budget
    fewest = classifier.fewest_changes(lattice, label, budget)
    assert (fewest.n_changes if fewest else None) == min((n for n, k in wrong.items() if k), default=None)


@pytest.mark.parametrize("budget", [None, 0, 1, 2, 3])
def test_dynamic_programming_and_enumeration_agree_on_reviews(encoding, budget):
    train, test = data.reviews("train").head(3000), data.reviews("test").head(150)
    exact = RobustClassifier(encoding).fit(train.texts, train.labels)
    listed = behind(encoding, Listed(exact.classifier_))
    n_flips = Counter()
    for one, other in zip(
        certify(exact, test.texts, test.labels, budget=budget),
        certify(listed, test.texts, test.labels, budget=budget),
        strict=True,
    ):
        assert other.verdict != "undecided"
        for name in ("index", "text", "label", "prediction", "verdict", "n_encodings", "n_perturbations", "flips"):
            assert getattr(one, name) == getattr(other, name), name
        assert_true(exact, one)
        assert_true(listed, other)
        n_flips[one.flips] += 1
    assert n_flips[1] > 0 or budget == 0
    assert n_flips[2] > 0 or budget in (0, 1)


def fine(*words: str, **options) -> roben.Encoding:
    """An encoding in which every word is its own code."""
    counts = {word: len(words) - i for i, word in enumerate(words)}
    return roben.Encoding.build(roben.Vocabulary.from_counts(counts), roben.EditOne(**options), gamma=1)


@pytest.mark.parametrize(
    ("scores", "label", "verdict"),
    [
        # The scores of "cat", of which "cart" takes one point from the first, two from the second, three from the last.
        ([5, 6, 0], 1, "broken"),  # 4, 4: the first of equals is another
        ([5, 5, 0], 0, "robust"),  # equal at first already, and the first is right
        ([5, 5, 0], 1, "broken"),
        ([5, 6, 7], 2, "broken"),  # 4, 4, 4
        ([5, 7, 7], 1, "robust"),  # 4, 5, 4
        ([0, 7, 8], 2, "broken"),  # -, 5, 5
        ([0, 6, 8], 2, "robust"),  # -, 4, 5
    ],
)
def test_scores_that_tie_exactly_are_certified_as_they_are_predicted(scores, label, verdict):
    encoding = fine("cat", "cart", alphabet="r", edits=("insert",))
    classifier = NgramClassifier()
    classifier.classes_ = np.array([0, 1, 2])
    classifier.ranks_ = [{"cat": 0, "cart": 1}]
    taken = np.array([1, 2, 3])
    classifier._set_weights(np.array([scores, scores - taken], dtype=np.int64), np.zeros(3, dtype=np.int64))
    for model in (behind(encoding, classifier), behind(encoding, Listed(classifier))):
        (c,) = certify(model, ["cat"], [label])
        assert c.verdict == verdict
        classes = set(model.predict(["cat", "cart"]).tolist())
        assert c.verdict == ("robust" if classes == {label} else "broken")
        assert_true(model, c)


# -- how the search goes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cats() -> roben.Encoding:
    """Of every "cat", three typos have codes of their own, of every "dog" one."""
    encoding = fine("cat", "cot", "cut", "cart", "dog", "dug", alphabet="our", edits=("insert", "substitute"))
    assert encoding.reachable("cat") == {"cat", "cot", "cut", "cart"}
    assert encoding.reachable("dog") == {"dog", "dug"}
    return encoding


class Spy:
    """Says "no" to the texts that are `wrong`, "yes" to all others, and writes down what it was asked."""

    def __init__(self, wrong=lambda text: False):
        self.classes_ = np.array(["no", "yes"])
        self.wrong, self.batches = wrong, []

    @property
    def asked(self) -> list:
        return [text for batch in self.batches for text in batch]

    def predict(self, texts):
        self.batches.append(list(texts))
        return np.array(["no" if self.wrong(text) else "yes" for text in texts])


def n_changed(encoded: str, own: str) -> int:
    return sum(map(str.__ne__, encoded.split(), own.split()))


def test_certificates_come_in_order_while_texts_are_still_to_come(cats):
    n_read = 0

    def endless():
        nonlocal n_read
        for n_read in count(1):
            yield "cat " * (n_read % 3) + f"number{n_read}"

    spy = Spy(lambda text: text.startswith("cot"))
    certificates = certify(behind(cats, spy), endless(), ("yes" for _ in count()), limit=30)
    assert n_read == 0
    for done, c in enumerate(islice(certificates, 5 * certificate.WINDOW)):
        assert c.index == done
        assert c.text.endswith(f"number{done + 1}")
        assert n_read <= done + certificate.WINDOW
    assert n_read == 5 * certificate.WINDOW


def test_progress_counts_the_examples(cats):
    done = []
    list(certify(behind(cats, Spy()), ["cat"] * 5, ["yes"] * 5, progress=done.append))
    assert done == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("window", [3, 512])
def test_no_encoding_is_predicted_twice(cats, window, monkeypatch):
    monkeypatch.setattr(certificate, "WINDOW", window)
    texts = ["cat cat", "a cat", "cat cot", "Cat cat", "cat", "dog", "the cat cat", "cut cat"] * 3
    spy = Spy()
    certificates = list(certify(behind(cats, spy), texts, ["yes"] * len(texts)))
    assert all(c.verdict == "robust" for c in certificates)
    assert len(spy.asked) == len(set(spy.asked)) == sum(c.n_predictions for c in certificates)
    reachable = {
        " ".join(codes)
        for text in texts
        for codes in product(*(cats.reachable(token) for token in cats.tokenize(text)))
    }
    assert set(spy.asked) == reachable


@pytest.mark.parametrize("window", [3, 512])
def test_every_prediction_is_accounted_for(cats, window, monkeypatch):
    monkeypatch.setattr(certificate, "WINDOW", window)
    texts = ["cat cat cat", "cot", "cat", "dog cat", "dog cat", "cut cut cut"]
    spy = Spy(lambda text: text.count("cart") == 1)
    certificates = list(certify(behind(cats, spy), texts, ["yes"] * len(texts)))
    assert [c.flips for c in certificates] == [1, None, 1, 1, 1, None]
    assert len(spy.asked) == sum(c.n_predictions for c in certificates) == robust_accuracy(certificates).n_predictions
    # Beside the witnesses, which are predicted as they will be typed, nothing twice.
    witnesses = Counter(cats(c.witness) for c in certificates if c.flips)
    assert Counter(spy.asked) - Counter(set(spy.asked)) == witnesses


def test_examples_share_batches(cats):
    spy = Spy()
    texts = [f"cat {mark} {other}" for mark in "!?.,;" for other in "0123456789"]
    list(certify(behind(cats, spy), texts, ["yes"] * 50))
    assert [len(batch) for batch in spy.batches if batch] == [50, 150]  # the texts as they are, and all else


def test_few_changes_are_tried_first(cats):
    spy = Spy()
    (c,) = certify(behind(cats, spy), ["cat cat cat cat"], ["yes"])
    changes = [n_changed(text, "cat cat cat cat") for text in spy.asked]
    assert changes == sorted(changes)
    assert Counter(changes) == {0: 1, 1: 12, 2: 54, 3: 108, 4: 81}
    assert c.n_predictions == c.n_encodings == 4**4


def test_an_example_is_left_at_its_first_wrong_prediction(cats):
    own, other = "cat cat cat cat", "dog dog dog dog dog dog dog"
    spy = Spy(lambda text: text.startswith(("cot", "cut", "cart")))
    broken, robust = certify(behind(cats, spy), [own, other], ["yes", "yes"])
    assert (broken.verdict, broken.flips, robust.verdict) == ("broken", 1, "robust")
    first = next(i for i, batch in enumerate(spy.batches) if any(map(spy.wrong, batch)))
    asked = [[text for text in batch if n_changed(text, own) < 4] for batch in spy.batches]
    assert [text for batch in asked[first + 1 :] for text in batch] == [cats(broken.witness)]
    assert broken.n_predictions == sum(map(len, asked)) < 4**4
    assert robust.n_predictions == 2**7


def test_a_text_that_is_wrong_as_it_stands_is_broken_by_no_change(cats):
    spy = Spy(lambda text: True)
    (c,) = certify(behind(cats, spy), ["Cat, DOG!"], ["yes"])
    assert (c.verdict, c.flips, c.witness, c.prediction, c.is_correct) == ("broken", 0, "Cat, DOG!", "no", False)
    assert c.n_predictions == len(spy.asked)


def test_so_it_is_even_if_its_length_changes_in_lower_case(cats):
    text = "A CAT from İstanbul"
    (c,) = certify(behind(cats, Spy(lambda text: True)), [text], ["yes"])
    assert (c.flips, c.witness) == (0, text)
    (c,) = certify(behind(cats, Spy(lambda text: "cot" in text)), [text], ["yes"])
    assert (c.flips, cats.tokenize(c.witness)) == (1, ["a", "cot", "from", "i\u0307stanbul"])


TOO_MANY = "cat cat cat"  # 64 encodings


@pytest.mark.parametrize(
    ("wrong", "limit", "budget", "verdict", "flips"),
    [
        (lambda text: False, 64, None, "robust", None),
        (lambda text: False, 63, None, "undecided", None),
        (lambda text: text.count("cot") == 2, 64, None, "broken", 2),
        (lambda text: text.count("cot") == 2, 63, None, "undecided", None),
        (lambda text: text.count("cot") == 1, 63, None, "broken", 1),
        (lambda text: text.count("cot") == 1, 1, None, "broken", 1),
        (lambda text: True, 1, None, "broken", 0),
        (lambda text: text.count("cot") == 2, 37, 2, "broken", 2),  # 1 + 9 + 27 encodings
        (lambda text: text.count("cot") == 2, 36, 2, "undecided", None),
        (lambda text: text.count("cot") == 2, 10, 1, "robust", None),
        (lambda text: text.count("cot") == 1, 1, 0, "robust", None),
    ],
)
def test_beyond_the_limit_only_the_text_itself_and_single_changes_decide(cats, wrong, limit, budget, verdict, flips):
    (c,) = certify(behind(cats, Spy(wrong)), [TOO_MANY], ["yes"], limit=limit, budget=budget)
    assert (c.verdict, c.flips) == (verdict, flips)
    assert c.n_encodings == {None: 64, 0: 1, 1: 10, 2: 37}[budget]
    assert c.n_predictions <= 1 + 9 + 1 or c.n_encodings <= limit


def test_a_limit_does_not_hold_the_ngram_classifier(encoding):
    train = data.reviews("train").head(300)
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    text = " ".join(train.texts)
    for label in (0, 1):
        (c,) = certify(model, [text], [label], limit=1)
        assert c.verdict != "undecided"
        assert c.n_encodings > 10**9
        assert_true(model, c)


def test_without_a_budget_only_the_text_itself_is_looked_at(cats):
    spy = Spy(lambda text: text != "cat cat")
    (c,) = certify(behind(cats, spy), ["cat cat"], ["yes"], budget=0)
    assert (c.verdict, c.n_encodings, c.n_perturbations, c.n_predictions, c.budget) == ("robust", 1, 1, 1, 0)
    assert spy.asked == ["cat cat"]
    (c,) = certify(behind(cats, spy), ["cat cot"], ["yes"], budget=0)
    assert (c.verdict, c.flips, c.witness) == ("broken", 0, "cat cot")


def test_numbers_of_encodings_and_perturbations_are_exact_whatever_their_size(cats):
    (c,) = certify(behind(cats, Spy()), ["cat " * 1000], ["yes"], limit=10)
    ball = cats.surface.count("cat")
    assert (c.n_encodings, c.n_perturbations) == (4**1000, ball**1000)
    (c,) = certify(behind(cats, Spy()), ["cat " * 1000], ["yes"], limit=10, budget=2)
    assert c.n_encodings == 1 + 1000 * 3 + 1000 * 999 // 2 * 3**2
    assert c.n_perturbations == 1 + 1000 * (ball - 1) + 1000 * 999 // 2 * (ball - 1) ** 2


@pytest.mark.parametrize("kind", ["ngram", "enumeration"])
def test_certificates_do_not_depend_on_the_company(encoding, kind, monkeypatch):
    train, test = data.reviews("train").head(500), data.reviews("test").head(60)
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    if kind == "enumeration":
        model = behind(encoding, Listed(model.classifier_))

    def certificates():
        cost = {"n_predictions": 0}  # may fall on another example
        return [{**vars(c), **cost} for c in certify(model, test.texts, test.labels, limit=500)]

    together = certificates()
    monkeypatch.setattr(certificate, "WINDOW", 7)
    monkeypatch.setattr(certificate, "REMEMBERED", 5)
    assert certificates() == together


# -- witnesses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "typed"),
    [
        (lambda text: "cot" in text, {"CAT": "cot"}),
        (lambda text: "cot" in text and "dug" in text, {"CAT": "cot", "Dog": "dug"}),
        (lambda text: True, {}),
    ],
)
def test_a_witness_is_the_text_with_other_tokens_in_their_places(cats, wrong, typed):
    text = witness = 'My CAT -- "Tom" -- saw a Dog;\n\tthe\u2019s  End…'
    for old, new in typed.items():
        witness = witness.replace(old, new)
    (c,) = certify(behind(cats, Spy(wrong)), [text], ["yes"])
    assert (c.verdict, c.flips, c.witness) == ("broken", len(typed), witness)


@pytest.mark.parametrize("tokens", ["words", "spaces"])
def test_of_a_witness_all_but_the_changed_tokens_is_as_it_was(encoding, tokens):
    encoding = roben.Encoding(encoding.clusters, tokens=tokens)
    train, test = data.reviews("train").head(1000), data.reviews("test").head(300)
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    texts = [text.title().replace(" ", "  ") for text in test.texts]
    broken = [c for c in certify(model, texts, test.labels) if c.flips]
    assert len(broken) > 10
    for c in broken:
        assert_true(model, c)
        pieces, typed = c.text.split("  "), c.witness.split("  ")
        assert len(pieces) == len(typed)
        changed = [(old, new) for old, new in zip(pieces, typed, strict=True) if old != new]
        assert 0 < len(changed) <= c.flips
        for old, new in changed:
            assert encoding.tokenize(old) != encoding.tokenize(new)


def test_the_witness_of_a_pair_is_a_pair(cats):
    spy = Spy(lambda pair: pair[1].startswith("cut"))
    (c,) = certify(behind(cats, spy), [("The CAT", "Cot or CAT")], ["yes"])
    assert (c.flips, c.witness) == (1, ("The CAT", "cut or CAT"))


def test_a_classifier_that_changes_its_mind_is_caught(cats):
    seen = set()

    def wrong(text):
        is_new = text not in seen
        seen.add(text)
        return is_new and text == "cut"

    with pytest.raises(RuntimeError, match=r"changes its mind: 'cut'.*on chance, cannot be certified"):
        list(certify(behind(cats, Spy(wrong)), ["cat"], ["yes"]))


# -- counting -----------------------------------------------------------------------------------------------


def of_verdict(verdict: str, flips: int | None = None) -> Certificate:
    return Certificate(0, "a", 1, 1 if flips != 0 else 0, verdict, 1, 1, flips, None, 3)


def test_robust_accuracy_counts_undecided_examples_either_way():
    certificates = [of_verdict("robust")] * 5 + [of_verdict("undecided")] * 2
    certificates += [of_verdict("broken", 0), of_verdict("broken", 1), of_verdict("broken", 4)]
    accuracy = robust_accuracy(iter(certificates))
    assert accuracy == RobustAccuracy(n=10, n_correct=9, n_robust=5, n_undecided=2, n_predictions=30)
    assert (accuracy.lower, accuracy.upper, accuracy.standard) == (0.5, 0.7, 0.9)


def test_robust_accuracy_is_exact_where_nothing_is_undecided():
    accuracy = robust_accuracy([of_verdict("robust"), of_verdict("broken", 2)])
    assert accuracy.lower == accuracy.upper == 0.5


def test_of_no_examples_there_is_no_accuracy(cats):
    accuracy = robust_accuracy(certify(behind(cats, Spy()), [], []))
    assert accuracy.n == 0
    assert np.isnan([accuracy.lower, accuracy.upper, accuracy.standard]).all()


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "labels", "options", "error", "cause"),
    [
        (["cat"], ["yes"], {"budget": -1}, ValueError, "budget is -1; it must be a whole number of tokens, 0 or more"),
        (["cat"], ["yes"], {"budget": 1.0}, ValueError, r"budget is 1\.0"),
        (["cat"], ["yes"], {"budget": True}, ValueError, "budget is True"),
        (["cat"], ["yes"], {"limit": 0}, ValueError, "limit is 0; it must be a whole number of encodings, 1 or more"),
        (["cat"], ["yes"], {"limit": None}, ValueError, "limit is None"),
        (["cat"], ["yes"], {"limit": 2.5}, ValueError, r"limit is 2\.5"),
        ("cat", ["yes"], {}, TypeError, r"found one text or label; expected many: pass \[text\], \[label\]"),
        (["cat"], "yes", {}, TypeError, "found one text or label"),
        (["cat", "dog"], ["yes"], {}, ValueError, "there are 1 labels, and more of the other"),
        (["cat"], ["yes", "no"], {}, ValueError, "there are 1 texts, and more of the other"),
        (
            ["cat"],
            ["maybe"],
            {},
            ValueError,
            r"the label 'maybe' of example 0 was not seen in training: \['no', 'yes'\]",
        ),
        (["cat", 3], ["yes", "yes"], {}, TypeError, r"found 3 \(int\) among the texts"),
        ([("cat", "dog", "cow")], ["yes"], {}, TypeError, "expected a str, or a pair of str"),
    ],
)
def test_what_cannot_be_certified_is_refused(cats, texts, labels, options, error, cause):
    with pytest.raises(error, match=cause):
        list(certify(behind(cats, Spy()), texts, labels, **options))


def test_wrong_options_are_refused_at_once(cats):
    with pytest.raises(ValueError, match="budget is -1"):
        certify(behind(cats, Spy()), [], [], budget=-1)


def test_labels_of_numpy_are_plain_in_certificates(cats):
    (c,) = certify(behind(cats, Spy()), np.array(["cat cat"]), np.array(["yes"]), limit=np.int32(100))
    assert type(c.label) is str
    assert type(c.prediction) is str


def test_mixed_singles_and_pairs_are_refused(encoding):
    model = RobustClassifier(encoding).fit(["good", "bad"], [1, 0])
    with pytest.raises(ValueError, match="trained on single texts"):
        list(certify(model, ["good", ("good", "bad")], [1, 1]))


def test_empty_texts_are_certified(encoding):
    model = RobustClassifier(encoding).fit(["good", "bad", "bad", ""], [1, 0, 0, 0])
    for c in certify(model, ["", " \n", "!"], [0, 0, 0]):
        assert (c.verdict, c.n_encodings, c.n_perturbations) == ("robust", 1, 1)
    pairs = RobustClassifier(encoding).fit([("good", "bad"), ("bad", "good"), ("", "")], [1, 0, 0])
    (c,) = certify(pairs, [("", "")], [0])
    assert (c.verdict, c.n_encodings) == ("robust", 1)


def test_a_text_of_ten_thousand_tokens_is_certified_in_seconds(encoding):
    train = data.reviews("train").head(2000)
    model = RobustClassifier(encoding).fit(train.texts, train.labels)
    text = " ".join(" ".join(train.texts).split()[:10_000])
    start = time.perf_counter()
    for label in (0, 1):
        (c,) = certify(model, [text], [label])
        assert c.verdict != "undecided"
        assert_true(model, c)
    assert time.perf_counter() - start < 30


def test_so_it_is_where_only_many_changes_break_it(cats):
    classifier = NgramClassifier()
    classifier.classes_ = np.array([0, 1])
    classifier.ranks_ = [{"dog": 0, "dug": 1}]
    classifier._set_weights(np.array([[0, 10], [0, -1]], dtype=np.int64), np.zeros(2, dtype=np.int64))
    model, text = behind(cats, classifier), "dog " * 10_000
    start = time.perf_counter()
    (c,) = certify(model, [text], [1])
    assert c.flips == -(-10 * 10_000 // 11)
    assert_true(model, c)
    (c,) = certify(model, [text], [1], budget=10)
    assert c.verdict == "robust"
    assert time.perf_counter() - start < 60


def test_a_plugin_that_answers_wrongly_is_named(cats):
    spy = Spy()
    spy.predict = lambda texts: np.array(["other"] * len(texts))
    with pytest.raises(ModelError, match=r"Spy\.predict gave .*other"):
        list(certify(behind(cats, spy), ["cat"], ["yes"]))
