"""Classifiers behind an encoding: as scikit-learn expects them, on disk, and given what they cannot use."""

import json
import shutil
import textwrap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import roben
from roben import data
from roben.certificate import certify
from roben.classifier import ModelError, NgramClassifier, RobustClassifier
from roben.extras import MissingExtraError

TEXTS = ["a good film", "a great film", "good , good", "a bad film", "an awful film", "bad , bad"]
LABELS = ["pos", "pos", "pos", "neg", "neg", "neg"]
PAIRS = [(text, TEXTS[-1 - i]) for i, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def reviews() -> data.Dataset:
    """Enough reviews to learn a little from."""
    return data.reviews("train").head(800)


@pytest.fixture(scope="module")
def model(encoding, reviews) -> RobustClassifier:
    """The default classifier, trained on them."""
    return RobustClassifier(encoding).fit(reviews.texts, reviews.labels)


def tfidf(**options) -> Pipeline:
    return make_pipeline(TfidfVectorizer(token_pattern=r"\S+", **options), LogisticRegression())


def tfidf_of_pairs() -> Pipeline:
    sides = ColumnTransformer([(name, TfidfVectorizer(), i) for i, name in enumerate(("first", "second"))])
    return make_pipeline(sides, LogisticRegression())


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- the n-gram classifier ----------------------------------------------------------------------------------

CODES = ("a", "b", "c", "[MASK]", "unseen")
SIDE = st.lists(st.sampled_from(CODES), max_size=6).map(" ".join)
WEIGHTS = st.integers(-3, 3) | st.integers(-(2**50), 2**50)


def hand_made(n_sides: int, n_classes: int, weight, bigrams: bool = True) -> NgramClassifier:
    """An n-gram classifier whose every weight is the next that `weight()` gives."""
    words = CODES[:-1]
    ngrams = [*words, *(f"{a} {b}" for a in words for b in words)] if bigrams else words
    classifier = NgramClassifier(bigrams=bigrams)
    classifier.classes_ = np.arange(n_classes)
    classifier.ranks_ = [{ngram: rank for rank, ngram in enumerate(ngrams)} for _ in range(n_sides)]
    drawn = [[weight() for _ in range(n_classes)] for _ in range(n_sides * len(ngrams) + 1)]
    classifier._set_weights(np.array(drawn[1:], dtype=np.int64), np.array(drawn[0], dtype=np.int64))
    return classifier


def slow_score(classifier: NgramClassifier, text: str | tuple[str, str], rank: int) -> int:
    """The definition: the bias, and the weight of every n-gram of every side."""
    total, offset = int(classifier.bias_[rank]), 0
    for side, ranks in zip([text] if isinstance(text, str) else text, classifier.ranks_, strict=True):
        tokens = side.split()
        bigrams = [f"{a} {b}" for a, b in pairwise(tokens)] if classifier.bigrams else []
        total += sum(int(classifier.weights_[offset + ranks[n], rank]) for n in [*tokens, *bigrams] if n in ranks)
        offset += len(ranks)
    return total


@settings(max_examples=100)
@given(st.data(), st.sampled_from([1, 2]), st.sampled_from([2, 3]), st.booleans())
def test_scores_are_exact_and_the_first_of_the_highest_is_predicted(drawn, n_sides, n_classes, bigrams):
    random = drawn.draw(st.randoms(use_true_random=False))
    largest = drawn.draw(st.sampled_from([1, 3, 2**50]))
    classifier = hand_made(n_sides, n_classes, lambda: random.randint(-largest, largest), bigrams)
    texts = drawn.draw(st.lists(SIDE if n_sides == 1 else st.tuples(SIDE, SIDE), max_size=8))
    expected = [[slow_score(classifier, text, rank) for rank in range(n_classes)] for text in texts]
    assert classifier.scores(texts).tolist() == expected
    assert classifier.predict(texts).tolist() == [row.index(max(row)) for row in expected]


def test_of_equal_scores_the_first_class_is_predicted():
    classifier = hand_made(1, 3, lambda: 0)
    classifier.classes_ = np.array(["x", "y", "z"])
    assert classifier.predict(["a b", "", "unseen"]).tolist() == ["x"] * 3
    classifier.bias_[:] = [0, 1, 1]
    assert classifier.predict(["a b"]).tolist() == ["y"]


def test_the_least_difference_of_scores_shows_in_the_probabilities():
    classifier = hand_made(1, 2, lambda: 0)
    classifier.bias_[:] = [2**40, 2**40 + 1]
    assert classifier.predict(["a"]).tolist() == [1]
    assert classifier.predict_proba(["a"]).argmax() == 1


@settings(max_examples=30)
@given(st.lists(SIDE, min_size=1), st.randoms(use_true_random=False))
def test_probabilities_are_those_of_a_softmax_over_the_scores(texts, random):
    classifier = hand_made(1, 3, lambda: random.randint(-(2**33), 2**33))
    scores = classifier.scores(texts) / 2**32
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert classifier.predict_proba(texts) == pytest.approx(expected)
    assert (classifier.predict_proba(texts).argmax(axis=1) == classifier.scores(texts).argmax(axis=1)).all()


def test_training_is_logistic_regression_over_counts(reviews):
    from sklearn.feature_extraction.text import CountVectorizer

    plain = make_pipeline(
        CountVectorizer(token_pattern=r"\S+", lowercase=False, ngram_range=(1, 2)),
        LogisticRegression(C=0.5, max_iter=300),
    ).fit(reviews.texts, reviews.labels)
    ours = NgramClassifier(C=0.5).fit(reviews.texts, reviews.labels)
    assert ours.predict_proba(reviews.texts) == pytest.approx(plain.predict_proba(reviews.texts), abs=1e-6)


def test_an_ngram_does_not_reach_from_one_side_of_a_pair_into_the_other():
    classifier = NgramClassifier().fit([("a b", "c"), ("a", "b c")], [0, 1])
    assert [sorted(ranks) for ranks in classifier.ranks_] == [["a", "a b", "b"], ["b", "b c", "c"]]


def test_parameters_of_the_ngram_classifier_are_read_and_set():
    classifier = NgramClassifier(C=2, bigrams=False)
    assert classifier.get_params() == {"C": 2, "bigrams": False, "max_iter": 300}
    assert clone(classifier).get_params() == classifier.get_params()
    assert classifier.set_params(C=3) is classifier
    assert repr(classifier) == "NgramClassifier(C=3, bigrams=False)"
    with pytest.raises(ValueError, match=r"no parameter 'c'; it has C, bigrams, max_iter"):
        classifier.set_params(c=1)


# -- what scikit-learn expects ------------------------------------------------------------------------------


def test_a_model_decides_by_the_encoding_alone(model, encoding, reviews):
    texts = list(reviews.texts[:100])
    assert (model.predict(texts) == model.classifier_.predict(encoding(texts))).all()
    assert (model.predict_proba(texts) == model.classifier_.predict_proba(encoding(texts))).all()
    assert model.encode(texts) == encoding(texts)
    capitals = [text.upper() for text in texts]
    assert (model.predict(capitals) == model.predict(texts)).all()


def test_a_model_is_a_scikit_learn_classifier(model, reviews):
    assert is_classifier(model)
    assert model.score(reviews.texts, reviews.labels) > 0.9
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classifier_")
    assert (copy.fit(reviews.texts, reviews.labels).predict(reviews.texts) == model.predict(reviews.texts)).all()


def test_models_work_in_pipelines_and_cross_validation(encoding, reviews):
    stripped = FunctionTransformer(lambda texts: [text.strip() for text in texts])
    pipeline = Pipeline([("strip", stripped), ("model", RobustClassifier(encoding, NgramClassifier()))])
    assert pipeline.fit(reviews.texts, reviews.labels).score(reviews.texts, reviews.labels) > 0.9
    scores = cross_val_score(RobustClassifier(encoding), np.array(reviews.texts), reviews.labels, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.55


def test_grid_search_reaches_the_parameters_of_the_classifier(encoding, reviews):
    search = GridSearchCV(RobustClassifier(encoding, NgramClassifier()), {"classifier__C": [0.001, 1.0]}, cv=2)
    search.fit(reviews.texts[:300], reviews.labels[:300])
    assert search.best_params_["classifier__C"] == search.best_estimator_.classifier_.C
    search = GridSearchCV(RobustClassifier(encoding, tfidf()), {"classifier__logisticregression__C": [1, 10]}, cv=2)
    search.fit(reviews.texts[:300], reviews.labels[:300])
    assert set(search.predict(["a good film"])) <= {0, 1}


def test_fitting_leaves_the_parameters_as_they_were(encoding):
    classifier = NgramClassifier()
    model = RobustClassifier(encoding, classifier).fit(TEXTS, LABELS)
    assert not hasattr(classifier, "classes_")
    assert model.classifier is classifier
    assert RobustClassifier(encoding).fit(TEXTS, LABELS).classifier is None


@pytest.mark.parametrize("labels", [LABELS, np.array(LABELS), np.array(LABELS, dtype=object), tuple(LABELS)])
@pytest.mark.parametrize("texts", [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)])
def test_texts_and_labels_come_in_whatever_holds_them(encoding, texts, labels):
    model = RobustClassifier(encoding).fit(texts, labels)
    assert model.classes_.tolist() == ["neg", "pos"]
    assert model.predict(texts).tolist() == LABELS
    assert model.predict(iter(TEXTS)).tolist() == LABELS
    assert model.predict_proba(texts).shape == (6, 2)


@pytest.mark.parametrize(("negative", "positive"), [(0, 1), (-5, 7), ("a", "b"), (False, True)])
def test_labels_come_back_as_they_were_given(encoding, negative, positive, tmp_path):
    model = RobustClassifier(encoding).fit(TEXTS, [positive] * 3 + [negative] * 3)
    assert model.predict(TEXTS).tolist() == [positive] * 3 + [negative] * 3
    model.save(tmp_path / "model")
    assert RobustClassifier.load(tmp_path / "model").predict(TEXTS).tolist() == [positive] * 3 + [negative] * 3


@pytest.mark.parametrize("pairs", [PAIRS, [list(pair) for pair in PAIRS], np.array(PAIRS)])
@pytest.mark.parametrize("classifier", [NgramClassifier(), tfidf_of_pairs()], ids=["ngram", "sklearn"])
def test_pairs_are_trained_on_and_predicted_as_pairs(encoding, classifier, pairs):
    model = RobustClassifier(encoding, classifier).fit(pairs, LABELS)
    assert model.predict(pairs).tolist() == LABELS
    swapped = [(second, first) for first, second in PAIRS]
    assert model.predict(swapped).tolist() == LABELS[::-1]


def test_by_default_english_is_the_encoding(encoding, monkeypatch):
    monkeypatch.setattr(roben.Encoding, "english", classmethod(lambda cls: encoding))
    model = RobustClassifier().fit(TEXTS, LABELS)
    assert model.encoding_ is encoding
    assert model.encoding is None


def test_none_is_the_undefended_model():
    model = RobustClassifier("none").fit(TEXTS, LABELS)
    assert model.encoding_ is None
    assert model.encode(["A Good film"]) == ["A Good film"]
    assert model.predict(TEXTS).tolist() == LABELS
    with pytest.raises(ValueError, match=r"has no encoding.*nothing can be proved"):
        certify(model, TEXTS, LABELS)


def test_no_texts_have_no_classes(model):
    assert model.predict([]).shape == (0,)
    assert model.predict([]).dtype == model.classes_.dtype
    assert model.predict_proba([]).shape == (0, 2)


def test_empty_texts_are_texts(encoding):
    model = RobustClassifier(encoding).fit(["", *TEXTS, " \n"], ["neg", *LABELS, "neg"])
    assert model.predict(["", "\t", "   "]).tolist() == ["neg"] * 3
    assert (model.predict_proba(["", " "]) == model.predict_proba(["", " "])[0]).all()


# -- on disk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_encoded", [True, False], ids=["encoded", "undefended"])
@pytest.mark.parametrize("kind", ["ngram", "sklearn", "ngram pairs", "sklearn pairs"])
def test_a_loaded_model_is_the_saved_one(encoding, tmp_path, kind, is_encoded):
    classifier = None if "ngram" in kind else tfidf_of_pairs() if "pairs" in kind else tfidf()
    texts = PAIRS if "pairs" in kind else TEXTS
    model = RobustClassifier(encoding if is_encoded else "none", classifier).fit(texts, LABELS)
    model.save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model")
    assert loaded.encoding_ == model.encoding_
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert (loaded.predict(texts) == model.predict(texts)).all()
    assert (loaded.predict_proba(texts) == model.predict_proba(texts)).all()
    assert is_encoded is False or list(certify(loaded, texts, LABELS)) == list(certify(model, texts, LABELS))
    loaded.save(tmp_path / "again")
    assert is_encoded or not (tmp_path / "model" / "encoding").exists()
    if kind == "ngram":
        assert files_of(tmp_path / "again") == files_of(tmp_path / "model")


def test_a_loaded_model_can_be_cloned_and_trained_again(encoding, tmp_path):
    RobustClassifier(encoding, NgramClassifier(C=3)).fit(TEXTS, LABELS).save(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model")
    again = clone(loaded).fit(TEXTS, LABELS[::-1])
    assert again.classifier_.C == 3
    assert again.predict(TEXTS).tolist() == LABELS[::-1]
    assert loaded.predict(TEXTS).tolist() == LABELS


def test_training_twice_gives_the_same_bytes(encoding, reviews, tmp_path):
    for name, texts in (("one", list(reviews.texts)), ("two", [text.upper() for text in reviews.texts])):
        RobustClassifier(encoding).fit(texts, reviews.labels).save(tmp_path / name)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


@pytest.mark.parametrize("draws", ["random", "worst"])
def test_training_on_draws_twice_gives_the_same_bytes_for_the_same_seed(encoding, reviews, tmp_path, draws):
    part = reviews.head(50)
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        RobustClassifier(encoding).fit(part.texts, part.labels, draws=draws, seed=seed).save(tmp_path / name)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert files_of(tmp_path / "one") != files_of(tmp_path / "other")


def test_saving_over_a_model_replaces_it(encoding, tmp_path):
    path = tmp_path / "deep" / "model"
    RobustClassifier(encoding, tfidf()).fit(TEXTS, LABELS).save(path)
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(tmp_path / "fresh")
    assert files_of(path) == files_of(tmp_path / "fresh")
    assert [entry.name for entry in path.parent.iterdir()] == ["model"]


def test_a_model_is_saved_into_an_empty_folder(encoding, tmp_path):
    (tmp_path / "model").mkdir()
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(tmp_path / "model")
    assert RobustClassifier.load(str(tmp_path / "model")).predict(TEXTS).tolist() == LABELS


def test_saving_over_other_things_is_refused(model, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("dear to me")
    (tmp_path / "file").write_text("dear to me")
    with pytest.raises(ModelError, match="folder with other things in it"):
        model.save(tmp_path / "folder")
    with pytest.raises(ModelError, match="is a file"):
        model.save(tmp_path / "file")
    assert files_of(tmp_path) == {"file": b"dear to me", "folder/thesis.txt": b"dear to me"}


def test_saving_that_fails_leaves_the_old_model_and_nothing_else(encoding, tmp_path, monkeypatch):
    def fails(self, path):
        (path / "half").write_text("a beginning")
        raise OSError("no space left on device")

    model = RobustClassifier(encoding).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    before = files_of(tmp_path)
    monkeypatch.setattr(NgramClassifier, "save", fails)
    for name in ("model", "new"):
        with pytest.raises(OSError, match="no space left"):
            model.save(tmp_path / name)
    assert files_of(tmp_path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_nothing_on_disk_is_pickle(encoding, tmp_path):
    RobustClassifier(encoding, tfidf()).fit(TEXTS, LABELS).save(tmp_path / "model")
    endings = {Path(name).suffix for name in files_of(tmp_path / "model")}
    assert endings == {".json", ".safetensors", ".skops", ".txt"}


def test_types_that_may_be_harmful_are_named_and_pass_if_trusted(encoding, tmp_path):
    model = RobustClassifier(encoding, tfidf(preprocessor=textwrap.dedent)).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"not known to be harmless: textwrap\.dedent.*trusted=\['textwrap\.dedent'\]"):
        RobustClassifier.load(tmp_path / "model")
    loaded = RobustClassifier.load(tmp_path / "model", trusted=["textwrap.dedent"])
    assert (loaded.predict_proba(TEXTS) == model.predict_proba(TEXTS)).all()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def rewrite(**changes):
    def change(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


MANIFEST = "roben-model.json"


@pytest.mark.parametrize(
    ("file", "damage", "cause"),
    [
        ("classifier/weights.safetensors", flip, r"weights\.safetensors was edited or damaged"),
        ("classifier/weights.safetensors", cut, r"weights\.safetensors was edited or damaged"),
        ("classifier/weights.safetensors", Path.unlink, r"weights\.safetensors is missing"),
        ("classifier/ngrams-0.txt", flip, r"ngrams-0\.txt was edited or damaged"),
        ("classifier/ngram.json", rewrite(C=7), r"ngram\.json was edited or damaged"),
        ("classifier", shutil.rmtree, r"ngram\.json is missing"),
        (MANIFEST, Path.unlink, r"holds no roben-model\.json: it is no model"),
        (MANIFEST, cut, "not readable as JSON"),
        (MANIFEST, lambda path: path.write_bytes(b"\xff"), "not readable as JSON"),
        (MANIFEST, lambda path: path.write_text("[" * 100_000), "not readable as JSON"),
        (MANIFEST, lambda path: path.write_text("[]"), "not that of a model"),
        (MANIFEST, rewrite(kind="roben encoding"), "not that of a model"),
        (MANIFEST, rewrite(format="1"), "not that of a model"),
        (MANIFEST, rewrite(format=99), "format 99.*install a newer one"),
        (MANIFEST, rewrite(classifier="pickle"), "the classifier 'pickle', which this roben does not know"),
        (MANIFEST, rewrite(files=[]), "files is missing"),
        (MANIFEST, rewrite(files={"../../elsewhere": "0"}), r"names '\.\./\.\./elsewhere', which is not in its folder"),
        (MANIFEST, rewrite(files={"classifier/none": "0"}), "none is missing"),
        ("encoding/roben.json", cut, r"encoding.roben\.json is not readable as JSON"),
        ("encoding/roben.json", Path.unlink, r"encoding.* holds no roben\.json"),
    ],
)
def test_damaged_and_foreign_models_are_refused_with_the_cause(encoding, tmp_path, file, damage, cause):
    path = tmp_path / "model"
    RobustClassifier(encoding).fit(TEXTS, LABELS).save(path)
    damage(path / file)
    with pytest.raises((ModelError, roben.ArtifactError), match=cause):
        RobustClassifier.load(path)


def test_a_model_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; `roben train` makes a model"):
        RobustClassifier.load(tmp_path / "nowhere")


def test_an_encoding_is_no_model(encoding, tmp_path):
    encoding.save(tmp_path / "encoding")
    with pytest.raises(ModelError, match=r"holds no roben-model\.json"):
        RobustClassifier.load(tmp_path / "encoding")


# -- training on what an attacker could make of a text -------------------------------------------------------


@pytest.mark.parametrize("draws", ["random", "worst"])
@pytest.mark.parametrize("kind", ["ngram", "sklearn", "pairs"])
def test_draws_train_models_that_are_certified_as_any_other(encoding, reviews, draws, kind):
    part = reviews.head(60)
    texts = [(text, text[::-1]) for text in part.texts] if kind == "pairs" else part.texts
    model = RobustClassifier(encoding, tfidf() if kind == "sklearn" else None)
    model.fit(texts, part.labels, draws=draws, k=2, seed=1)
    certificates = list(certify(model, texts, part.labels, limit=200))
    assert any(c.verdict == "robust" for c in certificates)
    for c in certificates:
        assert (c.prediction == c.label) == (c.flips != 0)
        assert (c.witness is not None) == (c.verdict == "broken")
        assert c.witness is None or model.predict([c.witness])[0] != c.label


class Recording:
    """A classifier that keeps what it was trained on."""

    seen: list[list[str]] = []  # noqa: RUF012  (of all copies that are made of it)

    def get_params(self, deep=True):
        return {}

    def fit(self, texts, labels):
        self.seen.append(list(zip(texts, labels, strict=True)))
        self.classes_ = np.unique(labels)
        return self

    def predict(self, texts):
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def predict_proba(self, texts):
        """The longer, the less is it of the last class."""
        share = np.array([1 / (1 + len(text)) for text in texts])
        return np.stack([1 - share, share], axis=1)


def test_random_draws_come_k_times_beside_the_own_encodings(encoding, monkeypatch):
    monkeypatch.setattr(Recording, "seen", [])
    texts = ["the cat was there", "a dog ran"]
    RobustClassifier(encoding, Recording()).fit(texts, [0, 1], draws="random", k=3)
    (shown,) = Recording.seen
    assert shown[:2] == [(encoding(text), label) for text, label in zip(texts, [0, 1], strict=True)]
    assert len(shown) == 8
    for text, label in shown:
        codes = [encoding.reachable(token) for token in encoding.tokenize(texts[label])]
        assert all(code in reached for code, reached in zip(text.split(), codes, strict=True))


def test_of_k_draws_the_worst_is_the_one_the_classifier_is_least_sure_of(monkeypatch):
    monkeypatch.setattr(Recording, "seen", [])
    surface = roben.EditOne(alphabet="r", edits=("insert", "delete"))
    encoding = roben.Encoding.build(roben.Vocabulary.from_counts({"cat": 9, "cart": 5, "ct": 4}), surface, gamma=1)
    assert encoding.reachable("cat") == {"cat", "cart", "ct"}
    RobustClassifier(encoding, Recording()).fit(["cat", "cat cat"], [0, 1], draws="worst", k=50)
    first, second = Recording.seen
    assert first == [("cat", 0), ("cat cat", 1)]
    assert second == [*first, ("ct", 0), ("cart cart", 1)]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"draws": "best"}, r"draws is 'best'; it may be 'own', 'random', 'worst'"),
        ({"draws": "random", "k": 0}, "k is 0; it must be a whole number of draws, 1 or more"),
        ({"draws": "worst", "k": 1.5}, "k is 1.5"),
        ({"draws": "worst", "k": True}, "k is True"),
    ],
)
def test_draws_that_make_no_sense_are_refused(encoding, options, cause):
    with pytest.raises(ValueError, match=cause):
        RobustClassifier(encoding).fit(TEXTS, LABELS, **options)


def test_without_an_encoding_there_is_nothing_to_draw_from():
    with pytest.raises(ValueError, match="no encodings to draw from"):
        RobustClassifier("none").fit(TEXTS, LABELS, draws="random")


# -- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "labels", "error", "cause"),
    [
        (TEXTS, ["pos"] * 6, ValueError, r"found 1 class\(es\), \['pos'\]; a classifier needs two or more"),
        ([], [], ValueError, r"found 0 class\(es\)"),
        (TEXTS, LABELS[:5], ValueError, "6 texts and 5 labels"),
        (["", " "], [0, 1], ValueError, "no text has any token"),
        ([TEXTS[0], PAIRS[0]], [0, 1], ValueError, "1 of 2 texts are pairs; either all are or none is"),
        ("a good film", [0, 1], TypeError, r"found one text; expected many: pass \[text\]"),
        ([b"good", b"bad"], [0, 1], TypeError, r"found b'good' \(bytes\) among the texts"),
        ([None, "bad"], [0, 1], TypeError, r"found None \(NoneType\) among the texts"),
        ([("a", "b", "c"), ("a", "b", "c")], [0, 1], TypeError, r"expected a str, or a pair of str"),
        (TEXTS, [[0], [1]] * 3, ValueError, r"the labels have shape \(6, 1\)"),
        (TEXTS, [0, 1, float("nan")] * 2, ValueError, "a label is NaN"),
        (TEXTS, [0, 1, None] * 2, ValueError, "labels are of several types"),
        (TEXTS, "abcdef", ValueError, "one label for each text"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(encoding, texts, labels, error, cause):
    with pytest.raises(error, match=cause):
        RobustClassifier(encoding).fit(texts, labels)


def test_what_is_no_encoding_is_refused():
    with pytest.raises(TypeError, match=r"encoding is 'english'; it may be an Encoding, None .* or 'none'"):
        RobustClassifier("english").fit(TEXTS, LABELS)


def test_a_classifier_must_be_an_instance(encoding):
    with pytest.raises(TypeError, match=r"pass an instance: NgramClassifier\(\)"):
        RobustClassifier(encoding, NgramClassifier).fit(TEXTS, LABELS)


def test_a_model_that_is_not_fitted_says_so(encoding, tmp_path):
    model = RobustClassifier(encoding)
    for use in (model.predict, model.predict_proba, lambda texts: model.save(tmp_path / "model")):
        with pytest.raises(NotFittedError, match="not fitted"):
            use(TEXTS)
    with pytest.raises(ValueError, match="not fitted yet: call fit first"):
        certify(model, TEXTS, LABELS)
    assert not list(tmp_path.iterdir())


def test_singles_and_pairs_are_not_taken_for_each_other(encoding):
    singles, pairs = (RobustClassifier(encoding).fit(texts, LABELS) for texts in (TEXTS, PAIRS))
    with pytest.raises(ValueError, match=r"found \('.*'\); the classifier was trained on single texts"):
        singles.predict(PAIRS)
    with pytest.raises(ValueError, match=r"found '.*'; the classifier was trained on pairs of texts"):
        pairs.predict(TEXTS)
    with pytest.raises(ValueError, match="1 of 2 texts are pairs"):
        pairs.predict([PAIRS[0], TEXTS[0]])


class Plugin:
    """A classifier that answers as it is told."""

    def __init__(self, classes=None, probabilities=None):
        self.classes, self.probabilities = classes, probabilities

    def get_params(self, deep=True):
        return {"classes": self.classes, "probabilities": self.probabilities}

    def fit(self, texts, labels):
        self.classes_ = np.unique(labels)
        return self

    def predict(self, texts):
        return self.classes(texts)

    def predict_proba(self, texts):
        return self.probabilities(texts)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda texts: np.zeros((len(texts), 2)), r"Plugin\.predict gave shape \(2, 2\) for 2 texts; expected \(2,\)"),
        (lambda texts: ["pos"], r"Plugin\.predict gave shape \(1,\) for 2 texts"),
        (lambda texts: "pos", r"Plugin\.predict gave shape \(\) for 2 texts"),
        (lambda texts: ["pos", "other"], r"Plugin\.predict gave .*other.*none of its classes \['neg', 'pos'\]"),
        (lambda texts: [0, 1], r"none of its classes \['neg', 'pos'\]"),
    ],
)
def test_classes_that_are_none_are_refused(encoding, answer, cause):
    model = RobustClassifier(encoding, Plugin(answer)).fit(TEXTS, LABELS)
    for use in (lambda: model.predict(["good", "bad"]), lambda: list(certify(model, ["good", "bad"], ["pos", "neg"]))):
        with pytest.raises(ModelError, match=cause):
            use()


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda texts: np.full((len(texts), 2), np.nan), r"Plugin\.predict_proba gave \[nan, nan\] .* not finite"),
        (lambda texts: np.full((len(texts), 2), np.inf), "not finite"),
        (lambda texts: np.ones((len(texts), 3)), r"gave shape \(2, 3\) for 2 texts and 2 classes; expected \(2, 2\)"),
        (lambda texts: np.ones(len(texts)), r"gave shape \(2,\)"),
    ],
)
def test_probabilities_that_are_none_are_refused(encoding, answer, cause):
    model = RobustClassifier(encoding, Plugin(None, answer)).fit(TEXTS, LABELS)
    with pytest.raises(ModelError, match=cause):
        model.predict_proba(["good", "bad"])


def test_each_encoding_is_asked_for_once_when_probabilities_are(encoding):
    asked = []

    def answer(texts):
        asked.extend(texts)
        return np.full((len(texts), 2), 0.5)

    model = RobustClassifier(encoding, Plugin(None, answer)).fit(TEXTS, LABELS)
    assert model.predict_proba(["the film", "thhe film", "THE FILM", "the"]).shape == (4, 2)
    assert asked == encoding(["the film", "the"])


def test_a_missing_package_is_named_with_its_extra(encoding, tmp_path, monkeypatch):
    monkeypatch.setattr("roben.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"needs the package sklearn: pip install 'roben\[classify\]'"):
        RobustClassifier(encoding).fit(TEXTS, LABELS)
    model = RobustClassifier(encoding, tfidf()).fit(TEXTS, LABELS)
    with pytest.raises(MissingExtraError, match=r"needs the package skops: pip install 'roben\[classify\]'"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    assert issubclass(MissingExtraError, ImportError)
