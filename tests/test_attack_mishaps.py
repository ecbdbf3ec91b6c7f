"""Mishaps of attacks, each of which happened once."""

import signal

import numpy as np
import pytest

import roben
from roben.attack import AttackError, beam_search, from_function, greedy, random_search

EDITS = roben.EditOne()


class Model:
    """1 for the texts it is told, else 0 (or the other way round)."""

    def __init__(self, right=lambda text: True):
        self.classes_, self.right, self.asked = np.array([0, 1]), right, []

    def predict_proba(self, texts):
        self.asked += list(texts)
        return np.array([[0.1, 0.9] if self.right(t) else [0.9, 0.1] for t in texts])


def test_a_token_cannot_move_to_the_other_side_of_a_pair():
    """Legal with n_changed=0, budget 0; so it 'breaks' a RobustClassifier whose certificate says robust."""
    clean = ("a good film", "bad")
    attack = from_function(lambda *_: ("a good", "film bad"), budget=0)
    with pytest.raises(AttackError):
        attack(Model(lambda t: t == clean), [clean], [1], EDITS)


def test_nor_may_a_pair_have_three_sides():
    clean = ("a good film", "bad")
    with pytest.raises(AttackError):
        from_function(lambda *_: ("a good film", "bad", ""))(Model(lambda t: t == clean), [clean], [1], EDITS)


def test_a_side_that_is_no_str_is_an_attack_error():
    clean = ("a good film", "bad")
    with pytest.raises(AttackError):
        from_function(lambda *_: ("a good film", None))(Model(lambda t: t == clean), [clean], [1], EDITS)


@pytest.mark.parametrize("make", [beam_search, greedy, random_search])
def test_texts_from_an_array_may_be_broken(make):
    """list(np.array(texts)) holds np.str_; what is typed is str: 'expected a text, or a pair where it was one'."""
    texts = list(np.array(["a good film"]))
    (r,) = make(max_queries=50)(Model(lambda t: t == texts[0]), texts, [1], EDITS)
    assert r.is_broken


def test_a_function_may_give_a_numpy_str():
    (r,) = from_function(lambda *_: np.str_("a god film"))(
        Model(lambda t: t == "a good film"), ["a good film"], [1], EDITS
    )
    assert r.is_broken


@pytest.mark.parametrize("shape", ["column", "probabilities", "unknown labels"])
def test_a_predict_that_gives_no_labels_breaks_nothing(shape):
    """Keras' predict gives probabilities, many give a column: every example is 'wrong as it stands'."""

    class Odd(Model):
        def predict(self, texts):
            if shape == "column":
                return np.ones((len(texts), 1), dtype=int)
            return self.predict_proba(texts) if shape == "probabilities" else np.array(["1"] * len(texts))

    with pytest.raises(ValueError, match="predict"):
        beam_search()(Odd(), ["a good film"], [1], EDITS)


def test_a_success_is_seen_though_the_one_before_it_in_the_same_step_was_none():
    """Two texts of a step look wrong by predict_proba; predict says so of the second only. It is never looked at."""

    class Two(Model):
        def predict_proba(self, texts):
            return np.array([[0.51, 0.49] if t != "good" else [0.1, 0.9] for t in texts])

        def predict(self, texts):
            return np.array([0 if t == "gold" else 1 for t in texts])

    def sample(surface, token, rng):
        return ["god", "gold"]

    (r,) = beam_search(sample=sample)(Two(), ["good"], [1], EDITS)
    assert r.attacked == "gold"


def test_greedy_without_end_is_as_good_as_a_proof_where_predict_is_not_argmax():
    """predict says 0 of one typo, argmax says 0 of every typo: found only if it is the first of its step."""
    needle = "gold"

    class Below(Model):
        def predict_proba(self, texts):
            return np.array([[0.4, 0.6] if t == "good" else [0.6, 0.4] for t in texts])

        def predict(self, texts):
            return np.array([0 if t == needle else 1 for t in texts])

    (r,) = greedy(budget=1)(Below(), ["good"], [1], EDITS)
    assert r.attacked == needle


def test_n_queries_are_distinct_texts():
    model = Model()
    (r,) = random_search(max_queries=200)(model, ["the"], [1], EDITS)
    assert r.n_queries == len(set(model.asked))


def test_a_long_token_is_not_its_own_typo():
    """_shuffled_ball leaves the token out of a listed ball, not out of a sampled one."""
    model = Model()
    token = "abcdefghijklmnopqrstuvwxyzabc"
    (r,) = greedy()(model, [token], [1], EDITS)
    assert r.n_queries == len(set(model.asked))


@pytest.mark.parametrize("options", [{"max_queries": 20.5}, {"max_queries": float("nan")}])
def test_a_search_that_would_never_end_is_refused(options):
    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(2)
    try:
        with pytest.raises((ValueError, TypeError), match="max_queries"):
            random_search(**options)(Model(), ["the film"], [1], EDITS)
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("options", [{"budget": 1.5}, {"budget": True}, {"width": 1.5}, {"budget": "1"}])
def test_options_that_are_no_whole_numbers_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=r"is .*; expected"):
        greedy(**options)


def test_with_a_budget_of_nothing_nothing_is_asked():
    (r,) = greedy(budget=0)(Model(), ["a few words of text"], [1], EDITS)
    assert r.n_queries == 1


def test_a_function_may_ask_a_generator():
    seen = []

    class Patient(Model):
        def predict(self, texts):
            texts = list(texts)
            seen.extend(texts)
            return np.ones(len(texts), dtype=int)

    def find(model, text, label, surface, rng):
        model.predict(t for t in ["god film", "gold film"])

    (r,) = from_function(find)(Patient(), ["good film"], [1], EDITS)
    assert r.n_queries == 3


@pytest.mark.parametrize("n", [1, 2, 10, 37])
def test_the_interval_holds_the_share(n):
    """10 of 10: high is 0.9999999999999999; scipy gives 1.0."""
    for k in range(n + 1):
        low, high = roben.attack.interval(k / n, n)
        assert low <= k / n <= high


@pytest.mark.parametrize("make", [beam_search, greedy, random_search])
def test_a_success_of_predict_alone_is_found(make):
    """A model with a threshold of its own: of every typo the highest probability is right, the decision is wrong."""

    class Cautious(Model):
        def predict_proba(self, texts):
            return np.array([[0.1, 0.9] if t == "good" else [0.45, 0.55] for t in texts])

        def predict(self, texts):
            return np.array([1 if t == "good" else 0 for t in texts])

    (r,) = make(max_queries=50)(Cautious(), ["good"], [1], EDITS)
    assert r.is_broken
    assert r.n_changed == 1


def test_where_nothing_may_be_deleted_other_typos_are_tried():
    surface = roben.EditOne(edits=("substitute",))
    (r,) = beam_search()(Model(lambda t: t == "wonderful movies"), ["wonderful movies"], [1], surface)
    assert r.is_broken
