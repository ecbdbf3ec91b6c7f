"""Models as TextAttack's victims: with a stand-in for TextAttack, and with TextAttack itself where it is installed."""

import importlib.util
import pickle
import sys
from collections import OrderedDict
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import roben
from roben import data
from roben.extras import MissingExtraError
from roben.victim import constraint, dataset, victim

EDITS = roben.EditOne()
EXAMPLE = Path(__file__).parent.parent / "examples" / "textattack_victim.py"

FILMS = data.Dataset(
    ("a good film", "a fine film", "a bad film", "an awful film"), ("pos", "pos", "neg", "neg"), name="films"
)
PAIRS = data.Dataset(
    (("a cat", "an animal"), ("a dog", "an animal"), ("a cat", "no animal"), ("a dog", "no animal")), (1, 1, 0, 0)
)


@pytest.fixture
def textattack(monkeypatch) -> None:
    """As much of TextAttack as roben.victim asks for."""

    class ModelWrapper:
        pass

    class Dataset:
        def __init__(self, dataset, input_columns, label_names):
            self.dataset, self.input_columns, self.label_names = dataset, input_columns, label_names

    class Constraint:
        def __init__(self, compare_against_original):
            self.compare_against_original = compare_against_original

    parts = {
        "textattack": {},
        "textattack.models": {},
        "textattack.models.wrappers": {"ModelWrapper": ModelWrapper},
        "textattack.datasets": {"Dataset": Dataset},
        "textattack.constraints": {"Constraint": Constraint},
    }
    for name, contents in parts.items():
        module = ModuleType(name)
        module.__spec__, module.__path__ = ModuleSpec(name, None), []
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(scope="module")
def films(encoding) -> roben.RobustClassifier:
    return roben.RobustClassifier(encoding).fit(FILMS.texts, FILMS.labels)


@pytest.fixture(scope="module")
def pairs(encoding) -> roben.RobustClassifier:
    return roben.RobustClassifier(encoding).fit(PAIRS.texts, PAIRS.labels)


class Written:
    """Writes down what it is asked. Its probabilities are of single precision."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self):
        self.asked = []

    def predict_proba(self, texts):
        self.asked += texts
        return np.array([[0.7, 0.2, 0.1]] * len(texts), dtype=np.float32)


def typed(clean, other) -> tuple[SimpleNamespace, SimpleNamespace]:
    """What a constraint is given: the typed text, and the one that it was."""
    return SimpleNamespace(tokenizer_input=other), SimpleNamespace(tokenizer_input=clean)


# -- the victim ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("textattack")
def test_a_victim_gives_the_probability_of_each_class(films):
    texts = ["a good film", "an awful film", "a gpod flim"]
    wrapper = victim(films)
    assert isinstance(wrapper, sys.modules["textattack.models.wrappers"].ModelWrapper)
    assert wrapper.model is films  # TextAttack looks at its class
    probabilities = wrapper(texts)
    assert probabilities.shape == (3, 2)
    assert films.classes_.tolist() == ["neg", "pos"]
    assert probabilities.argmax(axis=1).tolist() == [1, 0, 1]
    np.testing.assert_allclose(probabilities, films.predict_proba(texts))


@pytest.mark.usefixtures("textattack")
def test_pairs_come_as_tuples_and_stay_pairs(pairs):
    assert victim(pairs)([("a cat", "an animal"), ("a cat", "no animal")]).argmax(axis=1).tolist() == [1, 0]
    model = Written()
    victim(model)([("one", "two"), ["three", "four"]])
    assert model.asked == [("one", "two"), ("three", "four")]


@pytest.mark.usefixtures("textattack")
def test_any_model_with_predict_proba_will_do_and_rows_sum_to_one():
    probabilities = victim(Written())(["x", "y"], batch_size=2)
    assert probabilities.dtype == np.float64
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-12
    with pytest.raises(TypeError, match="Dataset has no predict_proba"):
        victim(FILMS)


# -- data ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("textattack")
def test_labels_become_ranks(films, pairs):
    made = dataset(films, FILMS)
    assert made.dataset == [("a good film", 1), ("a fine film", 1), ("a bad film", 0), ("an awful film", 0)]
    assert (made.input_columns, made.label_names) == (["text"], ["neg", "pos"])
    made = dataset(pairs, PAIRS.head(1))
    assert made.dataset == [(("a cat", "an animal"), 1)]
    assert (made.input_columns, made.label_names) == (["sentence1", "sentence2"], ["0", "1"])


@pytest.mark.usefixtures("textattack")
def test_data_without_labels_or_with_others_is_an_error(films):
    with pytest.raises(ValueError, match="data has no labels"):
        dataset(films, data.Dataset(FILMS.texts))
    with pytest.raises(ValueError, match=r"the label 'so so' is none of the model's: \['neg', 'pos'\]"):
        dataset(films, data.Dataset(("x", "y"), ("so so", "pos")))


# -- what the surface allows --------------------------------------------------------------------------------


@pytest.mark.usefixtures("textattack")
@pytest.mark.parametrize(
    ("clean", "other", "is_allowed"),
    [
        ("a well-made film", "a well-made film", True),
        ("a well-made film", "a wlel-mde FLLM", True),
        ("a well-made film", "a wellmade film", False),
        ("a well-made film", "a wel-l-made film", False),
        ("a well-made film", "a well-made ilm", False),
        ("a well-made film", "a well-made", False),
        (("a cat", "an animal"), ("a cut", "an anmal"), True),
        (("a cat", "an animal"), ("a cat an", "animal"), False),
    ],
)
def test_a_constraint_keeps_to_the_surface(clean, other, is_allowed):
    within = constraint(EDITS)
    assert within.compare_against_original
    assert within._check_constraint(*typed(clean, other)) == is_allowed


@pytest.mark.usefixtures("textattack")
def test_a_constraint_splits_by_the_tokens_it_is_told_of():
    within = constraint(EDITS, "spaces")
    assert within._check_constraint(*typed("a well-made film", "a wellmade film"))
    assert not within._check_constraint(*typed("well-made", "wel-l-made."))


# -- the extra ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: victim(Written()), lambda: dataset(Written(), FILMS), lambda: constraint(EDITS)]
)
def test_without_textattack_the_extra_is_named(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "textattack", None)
    with pytest.raises(MissingExtraError, match=r"textattack: pip install 'roben\[textattack\]'"):
        make()


@pytest.mark.usefixtures("textattack")
def test_victims_and_constraints_go_to_other_processes(films):
    copied = pickle.loads(pickle.dumps((victim(films), constraint(EDITS, "spaces"))))
    texts = list(FILMS.texts)
    np.testing.assert_array_equal(copied[0](texts), victim(films)(texts))
    assert copied[1]._check_constraint(*typed("well-made", "wellmade"))


# -- TextAttack itself --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example, as a module."""
    spec = importlib.util.spec_from_file_location("textattack_victim", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def real(example) -> ModuleType:
    if importlib.util.find_spec("textattack") is None:
        pytest.skip("textattack is not installed")
    return example.import_textattack()


# TextAttack logs by a deprecated method.
@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")
def test_textattack_breaks_no_more_than_is_proved(real, example, encoding, capsys):
    train, test = data.reviews("train").head(3000), data.reviews("test").head(40)
    model = roben.RobustClassifier(encoding).fit(train.texts, train.labels)
    certificates = list(roben.certify(model, test.texts, test.labels))
    free = example.broken(example.typos(real, model), dataset(model, test))
    held = example.broken(example.typos(real, model, constraint(EDITS)), dataset(model, test))
    assert roben.robust_accuracy(certificates).lower <= held.count(None) / len(test)
    assert sum(text is None for text in free) < (model.predict(test.texts) == test.labels).sum()
    for found, certificate in zip(held, certificates, strict=True):
        if found is not None:
            assert certificate.verdict == "broken"
            assert example.is_allowed(certificate.text, found)
            assert model.predict([found])[0] != certificate.label
            assert found == certificate.text or certificate.is_correct


@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")
def test_textattack_reads_pairs(real, example, pairs):
    columns = OrderedDict([("sentence1", "a cat"), ("sentence2", "an animal")])
    assert dataset(pairs, PAIRS)[0] == (columns, 1)
    result = example.typos(real, pairs, constraint(EDITS)).attack(columns, 1)
    assert result.original_result.output == 1
    assert result.original_result.attacked_text.tokenizer_input == ("a cat", "an animal")
    skipped = example.typos(real, pairs).attack(columns, 0)
    assert type(skipped).__name__ == "SkippedAttackResult"
