"""The defences for comparison: augmented examples are perturbations, and fronts correct what they should alone."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roben
from roben import attack, baseline
from roben.baseline import Corrected, Corrector, CorrectorError, augment, augmentation, pyspellchecker, symspell
from roben.classifier import RobustClassifier
from roben.extras import MissingExtraError
from roben.kernel import split_name
from roben.surface import Surface
from roben.typed import TypedText

EDITS, PERMUTATIONS = roben.EditOne(), roben.InternalPermutation()
OPEN = roben.EditOne(keep_first=0, keep_last=0)

sentences = st.lists(st.text("abcdeéß'.,-!I \t’", max_size=30), max_size=6)


class Doubling(Surface):
    """Any one letter may be typed twice."""

    def typos(self, token):
        letters = [i for i, c in enumerate(token) if c.isalpha()]
        return frozenset([token, *(token[:i] + token[i] + token[i:] for i in letters)])


class Lengths:
    """The longer a text, the likelier it is 1."""

    classes_ = np.array([0, 1])

    def predict_proba(self, texts):
        lengths = np.array([sum(map(len, text)) for text in texts])
        return np.stack([np.exp(-lengths / 9), 1 - np.exp(-lengths / 9)], axis=1)


class Loud:
    """Counts what it is asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return [text.upper() for text in texts]


@pytest.fixture(scope="module")
def words(english) -> roben.Vocabulary:
    return roben.Vocabulary(english.words[:5000], english.counts[:5000])


# -- augmentation -------------------------------------------------------------------------------------------


def is_perturbation(text: str, typed: str, surface: Surface, tokens: str) -> bool:
    """Is each token allowed for that in its place, and all between them as it was?"""
    split = split_name(tokens, keeps_ends=bool(getattr(surface, "keeps_ends", False)))
    own, found = TypedText(text, split), TypedText(typed, split)
    if len(own.tokens) != len(found.tokens) or not all(map(surface.allows, own.tokens, found.tokens)):
        return False
    return own.replace({i: t for i, t in enumerate(found.tokens) if t != own.tokens[i]}) == typed


@pytest.mark.parametrize(
    "surface", [EDITS, PERMUTATIONS, OPEN, Doubling()], ids=["edits", "permutations", "open", "own"]
)
@pytest.mark.parametrize("tokens", ["words", "spaces"])
@given(texts=sentences, seed=st.integers(0, 9))
def test_augmented_texts_are_perturbations(surface, tokens, texts, seed):
    augmented, labels = augment(texts, range(len(texts)), surface, k=2, seed=seed, tokens=tokens)
    assert len(augmented) == len(labels) == 3 * len(texts)
    assert augmented[::3] == texts
    for typed, label in zip(augmented, labels, strict=True):
        assert is_perturbation(texts[label], typed, surface, tokens)


@given(texts=sentences, more=sentences)
def test_examples_that_follow_change_no_perturbation(texts, more):
    alone, _ = augment(texts, texts, EDITS, k=3)
    assert augment(texts + more, texts + more, EDITS, k=3)[0][: len(alone)] == alone


def test_windows_are_no_seams(monkeypatch):
    monkeypatch.setattr(augmentation, "WINDOW", 3)
    texts = [f"sentence number {i} is different" for i in range(10)]
    augmented, labels = augment(texts, range(10), EDITS, k=1)
    assert augmented[::2] == texts
    assert labels[1::2] == list(range(10))
    assert all(is_perturbation(text, typed, EDITS, "words") for text, typed in zip(texts, augmented[1::2], strict=True))
    assert augment(texts[:5], range(5), EDITS, k=1)[0] == augmented[:10]


def test_a_seed_fixes_all_perturbations_and_another_changes_them():
    texts = ["the movie was miserable"] * 20
    first, second, other = (augment(texts, texts, EDITS, seed=seed)[0] for seed in (0, 0, 1))
    assert first == second != other


def test_equal_examples_get_perturbations_of_their_own():
    augmented, _ = augment(["the movie was miserable"] * 50, range(50), EDITS, k=4)
    assert len(set(augmented)) > 190


def test_every_member_of_a_ball_is_as_likely():
    augmented, _ = augment(["cat"] * 500, range(500), Doubling(), k=9)
    drawn = [typed for i, typed in enumerate(augmented) if i % 10]
    assert set(drawn) == Doubling().typos("cat")
    for typo in Doubling().typos("cat"):
        assert 1000 < drawn.count(typo) < 1250  # 1125 of 4500 are expected


def test_both_sides_of_a_pair_are_perturbed():
    pairs = [("the movie was miserable", "nobody liked the movie")] * 20
    augmented, labels = augment(pairs, ["x"] * 20, EDITS, k=1)
    assert augmented[::2] == pairs
    for left, right in augmented[1::2]:
        assert is_perturbation(pairs[0][0], left, EDITS, "words")
        assert is_perturbation(pairs[0][1], right, EDITS, "words")
    assert len({left for left, _ in augmented}) > 10 < len({right for _, right in augmented})
    assert labels == ["x"] * 40


def test_what_is_not_typed_anew_keeps_its_capitals_and_spaces():
    augmented, _ = augment(["I  SAW,  a\tThing!"], [0], PERMUTATIONS, k=50)
    assert set(augmented) == {"I  SAW,  a\tThing!", *augmented}
    assert all(typed.startswith("I  SAW,  a\t") and typed.endswith("!") for typed in augmented)


def test_no_perturbations_and_no_examples_are_fine():
    assert augment(["a film"], [1], EDITS, k=0) == (["a film"], [1])
    assert augment([], [], EDITS) == ([], [])
    assert augment([""], [1], EDITS, k=2) == (["", "", ""], [1, 1, 1])


def test_wrong_arguments_of_augment_are_named():
    with pytest.raises(ValueError, match="there are 1 texts and 2 labels"):
        augment(["a"], [1, 2], EDITS)
    with pytest.raises(ValueError, match="k is -1"):
        augment(["a"], [1], EDITS, k=-1)
    with pytest.raises(ValueError, match="tokens is 'letters'"):
        augment(["a"], [1], EDITS, tokens="letters")
    with pytest.raises(TypeError, match="one text"):
        augment("a film", [1], EDITS)


# -- a corrector in front of a model ------------------------------------------------------------------------


def test_the_model_sees_corrected_texts(encoding):
    texts, labels = ["good film", "bad film", "good plot", "bad plot"], [1, 0, 1, 0]
    model = RobustClassifier("none").fit(texts, labels)
    mended = Corrected(lambda texts: [text.replace("baad", "bad") for text in texts], model)
    assert mended.predict(["a baad film", "a good film"]).tolist() == [0, 1]
    assert (mended.predict_proba(["baad film"]) == model.predict_proba(["bad film"])).all()
    assert mended.classes_.tolist() == [0, 1]


def test_each_side_is_corrected_once():
    corrector = Loud()
    model = Corrected(corrector, Lengths())
    assert model.correct([("a", "b"), ("b", "c"), ("a", "b")]) == [("A", "B"), ("B", "C"), ("A", "B")]
    assert corrector.asked == ["a", "b", "c"]
    assert model.correct(["b", "b"]) == ["B", "B"]


def test_without_predict_the_likeliest_class_is_predicted():
    texts = ["a", "much longer", "a"]
    assert Corrected(Loud(), Lengths()).predict(texts).tolist() == [0, 1, 0]
    assert Corrected(Loud(), Lengths()).predict_proba(texts).tolist() == Lengths().predict_proba(texts).tolist()


def test_no_texts_ask_nobody():
    model = Corrected(lambda texts: 1 / 0, Lengths())
    assert model.correct([]) == []
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 2)


class Short:
    def __call__(self, texts):
        return texts[1:]


@pytest.mark.parametrize(
    ("corrector", "message"),
    [
        (Short(), "Short gave 1 texts for 2; expected one for each"),
        (lambda texts: [1 for _ in texts], "function gave 1 .int. for 'a'; expected a str"),
        (lambda texts: "ab", "function gave str for 2 texts; expected a list of str"),
        (lambda texts: None, "function gave NoneType for 2 texts"),
    ],
)
def test_a_corrector_that_gives_no_text_for_each_is_refused(corrector, message):
    with pytest.raises(CorrectorError, match=message):
        Corrected(corrector, Lengths()).predict_proba(["a", "b"])


def test_probabilities_of_another_shape_are_refused():
    class Odd(Lengths):
        def predict_proba(self, texts):
            return np.ones((1, 3))

    with pytest.raises(CorrectorError, match=r"Odd.predict_proba gave shape \(1, 3\); expected \(2, 2\)"):
        Corrected(Loud(), Odd()).predict_proba(["a", "b"])


def test_a_corrected_model_can_be_attacked(words):
    texts, labels = ["a good film with a good plot", "a terrible film with a terrible plot"] * 3, [1, 0] * 3
    model = RobustClassifier("none").fit(texts, labels)
    mended = Corrected(symspell(words), model)
    for result in attack.beam_search(width=2)(mended, texts, labels, EDITS):
        if result.is_broken:
            assert mended.predict([result.attacked])[0] != result.label
        assert is_perturbation(result.text, result.attacked or result.text, EDITS, "words")


# -- spelling correctors ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[symspell, pyspellchecker], ids=["symspell", "pyspellchecker"])
def speller(request, words) -> Corrector:
    return request.param(words)


def test_a_speller_is_a_corrector(speller):
    assert isinstance(speller, Corrector)
    assert "correct=" not in repr(speller)


def test_typos_become_words_and_all_else_stays_as_typed(speller):
    assert speller(["Thiis  was, I think,\ta TERRIBLE filmm!", "perffect"]) == [
        "this  was, I think,\ta TERRIBLE film!",
        "perfect",
    ]


@given(texts=st.lists(st.text(max_size=20), max_size=5))
def test_a_speller_gives_a_text_for_each(speller, texts):
    assert len(speller(texts)) == len(texts)


def test_words_stay(speller, words):
    texts = list(words.words[:500])
    assert speller(texts) == texts


@pytest.mark.parametrize("text", ["", "12345", "--- ?!", "zzxqwvkj", "x" * 10_000, "\ud800", "nan", "1e5"])
def test_what_no_word_is_near_stays(text):
    words = roben.Vocabulary.from_counts({"the": 3, "movie": 2})
    assert symspell(words)([text]) == [text]
    assert pyspellchecker(words)([text]) == [text]


def test_of_equally_near_words_the_most_frequent_is_taken():
    words = roben.Vocabulary.from_counts({"cart": 1, "cast": 2, "carts": 9})
    assert symspell(words)(["cat"]) == ["cast"]
    assert pyspellchecker(words)(["cat"]) == ["cast"]
    tie = roben.Vocabulary.from_counts({"cast": 1, "cart": 1, "cant": 1})
    assert pyspellchecker(tie)(["cat"]) == ["cant"]


def test_tokens_may_be_split_at_spaces(words):
    assert symspell(words, tokens="words")(["the filmm,"]) == ["the film,"]
    assert symspell(words, tokens="spaces", distance=1)(["the filmm,"]) == ["the filmm,"]


def test_no_words_correct_nothing():
    nothing = roben.Vocabulary.from_counts({})
    assert symspell(nothing)(["a filmm"]) == pyspellchecker(nothing)(["a filmm"]) == ["a filmm"]


@pytest.mark.parametrize("make", [symspell, pyspellchecker])
def test_wrong_options_of_a_speller_are_named(make, words):
    with pytest.raises(ValueError, match="tokens is 'letters'"):
        make(words, tokens="letters")
    with pytest.raises(ValueError, match="distance is 0"):
        make(words, distance=0)
    with pytest.raises(TypeError, match="vocabulary is list"):
        make(["the"])
    with pytest.raises(ValueError, match="distance is 3"):
        pyspellchecker(words, distance=3)


@pytest.mark.parametrize(("make", "package"), [(symspell, "symspellpy"), (pyspellchecker, "spellchecker")])
def test_a_missing_package_names_its_extra(make, package, monkeypatch):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install 'roben\[correctors\]'"):
        make()


def test_importing_the_baselines_loads_nothing_heavy():
    heavy = ("torch", "transformers", "sklearn", "symspellpy", "spellchecker", "safetensors")
    code = f"import sys, roben.baseline; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "[]\n"


def test_the_public_names_are_there():
    for name in baseline.__all__:
        assert getattr(baseline, name) is not None
