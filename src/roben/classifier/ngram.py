"""The default classifier: a linear model over word 1- and 2-grams, certified exactly by dynamic programming.

Its scores are sums of whole numbers, one for every n-gram of the text: the same in any order, so what the dynamic
programme finds is what `predict` says, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roben.extras import require
from roben.typed import Text, sides_of

__all__ = ["NgramClassifier", "Weakest"]

# A weight of 1.0 as a whole number. Sums over 2^31 n-grams of weight 1 stay below 2^63.
ONE = 1 << 32

# A sum for what cannot be: above all others, and small enough to add to.
IMPOSSIBLE = 1 << 61

# Of each token of each side of a text: the codes that it can take, its own first.
Lattice = Sequence[Sequence[Sequence[str]]]
# Of each token, by its code and the number of changes so far, which code of the token before led there.
Trail = list[NDArray[Any]]


class Weakest(NamedTuple):
    """The encoding that the classifier is least sure of."""

    codes: list[list[str]]
    n_changes: int
    is_wrong: bool


class NgramClassifier:
    """Multinomial logistic regression over counts of word n-grams.

    Texts are split at white space. Of a pair, the n-grams of either side are features of their own.
    """

    def __init__(self, *, C: float = 1.0, bigrams: bool = True, max_iter: int = 300) -> None:
        self.C = C
        self.bigrams = bigrams
        self.max_iter = max_iter

    # -- scikit-learn's conventions ---------------------------------------------------------------------

    predicts_likeliest = True

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"C": self.C, "bigrams": self.bigrams, "max_iter": self.max_iter}

    def set_params(self, **params: Any) -> NgramClassifier:
        """Changes them."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"NgramClassifier has no parameter {name!r}; it has {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"NgramClassifier(C={self.C:g}, bigrams={self.bigrams})"

    def fit(self, texts: Sequence[Text], labels: Sequence[Any]) -> NgramClassifier:
        """Trains on texts, or on pairs of texts. The result depends on them alone."""
        require("sklearn", extra="classify")
        from scipy import sparse
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        counts, self.ranks_ = [], []
        for side in _sides(texts):
            vectorizer = CountVectorizer(
                analyzer="word", token_pattern=r"\S+", lowercase=False, ngram_range=(1, 2 if self.bigrams else 1)
            )
            counts.append(_fit_counts(vectorizer, side))
            found = getattr(vectorizer, "vocabulary_", {})
            self.ranks_.append({ngram: int(rank) for ngram, rank in found.items()})
        if not any(self.ranks_):
            raise ValueError("no text has any token; there is nothing to learn from")
        model = LogisticRegression(C=self.C, max_iter=self.max_iter)
        # On one thread, so that sums are made in one order; several gain nothing on sparse counts.
        with threadpool_limits(1):
            model.fit(sparse.hstack(counts, format="csr"), labels)
        self.classes_: NDArray[Any] = model.classes_
        weights, bias = model.coef_, model.intercept_
        if len(weights) == 1:  # two classes: scikit-learn keeps the difference only
            weights, bias = np.vstack([np.zeros_like(weights), weights]), np.array([0.0, bias[0]])
        self._set_weights(np.rint(weights.T * ONE).astype(np.int64), np.rint(bias * ONE).astype(np.int64))
        return self

    def predict(self, texts: Sequence[Text]) -> NDArray[Any]:
        """The class of the highest score; of equal ones the first."""
        best: NDArray[Any] = self.classes_[self.scores(texts).argmax(axis=1)]
        return best

    def predict_proba(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """The probability of every class, in the order of `classes_`."""
        scores = self.scores(texts)
        exact = (scores - scores.max(axis=1, keepdims=True)).astype(np.float64) / ONE
        powers = np.exp(exact)
        probabilities: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return probabilities

    def scores(self, texts: Sequence[Text]) -> NDArray[np.int64]:
        """The score of every class, times 2^32, exactly."""
        rows = []
        for text in texts:
            sides = sides_of(text)
            if len(sides) != len(self.ranks_):
                raise ValueError(f"found {text!r}; the classifier was trained on {self._shape()}")
            total = self.bias_.copy()
            for ranks, offset, side in zip(self.ranks_, self._offsets, sides, strict=True):
                found = [offset + ranks[ngram] for ngram in self._ngrams(side.split()) if ngram in ranks]
                if found:
                    total += self.weights_[found].sum(axis=0)
            rows.append(total)
        return np.array(rows, dtype=np.int64).reshape(-1, len(self.bias_))

    # -- certificates -----------------------------------------------------------------------------------

    def weakest(self, lattice: Lattice, label: int, budget: int | None = None) -> Weakest:
        """Of all encodings in the lattice with at most `budget` changed codes, one least in favour of the class.

        If any of them is classified wrongly, so is this one.
        """
        found = []
        for rival in self._rivals(label):
            sums, trail = self._least_leads(lattice, label, rival, budget)
            changes = int(sums.min(axis=0).argmin())
            lead, codes, n_changes = self._trace(sums, trail, changes, lattice)
            is_wrong = bool(self._is_wrong(lead, label, rival))
            found.append((not is_wrong, lead, Weakest(codes, n_changes, is_wrong)))
        return min(found, key=lambda one: one[:2])[2]

    def fewest_changes(self, lattice: Lattice, label: int, budget: int | None = None) -> Weakest | None:
        """An encoding that is classified wrongly, with as few changed codes as can be; None if there is none."""
        fallback: Weakest | None = None
        rivals = []
        for rival in self._rivals(label):
            sums, trail = self._least_leads(lattice, label, rival, None)
            lead, codes, n_changes = self._trace(sums, trail, 0, lattice)
            if self._is_wrong(lead, label, rival):
                rivals.append(rival)
                if fallback is None or n_changes < fallback.n_changes:
                    fallback = Weakest(codes, n_changes, True)
        if fallback is None:
            return None
        most = fallback.n_changes if budget is None else min(budget, fallback.n_changes)
        # Few changes suffice as a rule, and the cost grows with their number.
        width = min(2, most)
        while True:
            found = []
            for rival in rivals:
                sums, trail = self._least_leads(lattice, label, rival, width)
                wrong = np.flatnonzero(self._is_wrong(sums.min(axis=0), label, rival))
                if len(wrong):
                    _, codes, n_changes = self._trace(sums, trail, int(wrong[0]), lattice)
                    found.append(Weakest(codes, n_changes, True))
            if found:
                return min(found, key=lambda weakest: weakest.n_changes)
            if width == most:
                return None
            width = min(4 * width, most)

    def _rivals(self, label: int) -> list[int]:
        return [rival for rival in range(len(self.classes_)) if rival != label]

    def _is_wrong(self, lead: Any, label: int, rival: int) -> Any:
        """Does a class with this lead over the rival lose? Of equal scores, the first class wins."""
        return lead < 0 if label < rival else lead <= 0

    def _least_leads(
        self, lattice: Lattice, label: int, rival: int, budget: int | None
    ) -> tuple[NDArray[np.int64], Trail]:
        """The least lead of a class over a rival, for every code of the last token and every number of changes.

        Token by token: for each code that it can take and each number of changes so far, the least sum of what the
        n-grams add to the lead, and which code of the token before made it (the trail). Without a budget changes are
        not told apart.
        """
        lead = (self.weights_[:, label] - self.weights_[:, rival]).tolist()
        width = 1 if budget is None else budget + 1
        sums = np.full((1, width), IMPOSSIBLE, dtype=np.int64)
        sums[0, 0] = self.bias_[label] - self.bias_[rival]
        trail: Trail = []
        for ranks, offset, side in zip(self.ranks_, self._offsets, lattice, strict=True):
            before: Sequence[str] = ()  # no n-gram goes from one side to the other
            for codes in side:
                next_sums = np.full((len(codes), width), IMPOSSIBLE, dtype=np.int64)
                origin = np.zeros((len(codes), width), dtype=np.uint8 if len(sums) <= 256 else np.uint16)
                for i, code in enumerate(codes):
                    own = lead[offset + ranks[code]] if code in ranks else 0
                    added = [own] * len(sums)
                    if self.bigrams:
                        for b, previous in enumerate(before):
                            rank = ranks.get(f"{previous} {code}")
                            if rank is not None:
                                added[b] += lead[offset + rank]
                    step = 0 if budget is None or i == 0 else 1
                    reached = width - step
                    if len(sums) == 1:
                        next_sums[i, step:] = sums[0, :reached] + added[0]
                    else:
                        options = sums[:, :reached] + np.array(added, dtype=np.int64)[:, None]
                        best = options.argmin(axis=0)
                        origin[i, step:] = best
                        next_sums[i, step:] = options[best, np.arange(reached)]
                sums, before = next_sums, codes
                trail.append(origin)
        return sums, trail

    def _trace(
        self, sums: NDArray[np.int64], trail: Trail, changes: int, lattice: Lattice
    ) -> tuple[int, list[list[str]], int]:
        """The least lead with this number of changes, the codes that make it, and how many of them are changed."""
        slots = [codes for side in lattice for codes in side]
        at = int(sums[:, changes].argmin())
        lead, is_told_apart = int(sums[at, changes]), sums.shape[1] > 1
        chosen = []
        for codes, origin in zip(reversed(slots), reversed(trail), strict=True):
            chosen.append(codes[at])
            at, changes = int(origin[at, changes]), changes - (1 if is_told_apart and at > 0 else 0)
        chosen.reverse()
        return lead, *_by_side(chosen, lattice)

    # -- on disk ----------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Writes the fitted model into a folder that is there. Equal models give equal bytes."""
        from safetensors.numpy import save

        config = {**self.get_params(), "classes": self.classes_.tolist()}
        (path / "ngram.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        for number, ranks in enumerate(self.ranks_):
            (path / f"ngrams-{number}.txt").write_text(
                "".join(f"{ngram}\n" for ngram in sorted(ranks, key=ranks.__getitem__)),
                encoding="utf-8",
                errors="surrogatepass",
                newline="\n",
            )
        arrays = {"weights": self.weights_, "bias": self.bias_}
        (path / "weights.safetensors").write_bytes(save(arrays))

    @classmethod
    def load(cls, path: Path) -> NgramClassifier:
        """Reads what `save` wrote."""
        from safetensors.numpy import load

        config = json.loads((path / "ngram.json").read_text())
        classes = config.pop("classes")
        model = cls(**config)
        model.classes_ = np.array(classes)
        model.ranks_ = []
        while (ngrams := path / f"ngrams-{len(model.ranks_)}.txt").exists():
            lines = ngrams.read_text(encoding="utf-8", errors="surrogatepass").split("\n")[:-1]
            model.ranks_.append({ngram: rank for rank, ngram in enumerate(lines)})
        arrays = load((path / "weights.safetensors").read_bytes())
        weights, bias = arrays["weights"], arrays["bias"]
        n_ngrams = sum(map(len, model.ranks_))
        if weights.dtype != np.int64 or weights.shape != (n_ngrams, len(classes)) or bias.shape != (len(classes),):
            raise ValueError(
                f"{path} holds {weights.dtype} weights of shape {weights.shape}; "
                f"expected int64 for {n_ngrams:,} n-grams and {len(classes)} classes"
            )
        model._set_weights(weights, bias)
        return model

    # -- inside -----------------------------------------------------------------------------------------

    def _set_weights(self, weights: NDArray[np.int64], bias: NDArray[np.int64]) -> None:
        self.weights_ = np.ascontiguousarray(weights)
        self.bias_ = bias
        self._offsets = np.cumsum([0, *map(len, self.ranks_)]).tolist()[:-1]

    def _ngrams(self, tokens: list[str]) -> Iterable[str]:
        yield from tokens
        if self.bigrams:
            yield from map("{} {}".format, tokens, tokens[1:])

    def _shape(self) -> str:
        return "pairs of texts" if len(self.ranks_) == 2 else "single texts"


def _fit_counts(vectorizer: Any, texts: list[str]) -> Any:
    from scipy import sparse

    if not any(text.split() for text in texts):  # one side of all pairs may be empty
        return sparse.csr_matrix((len(texts), 0))
    return vectorizer.fit_transform(texts)


def _sides(texts: Sequence[Text]) -> list[list[str]]:
    """The texts, or the first and the second of each pair."""
    if not len(texts):
        raise ValueError("there are no texts to train on")
    if isinstance(texts[0], str):
        return [[text if isinstance(text, str) else _mixed(text) for text in texts]]
    return [[text[side] if not isinstance(text, str) else _mixed(text) for text in texts] for side in (0, 1)]


def _mixed(text: Text) -> str:
    raise ValueError(f"found {text!r} among others; texts are all single or all pairs")


def _by_side(chosen: list[str], lattice: Lattice) -> tuple[list[list[str]], int]:
    """Codes one after the other, by side again, and how many are not the first of theirs."""
    codes: list[list[str]] = []
    n_changes = at = 0
    for side in lattice:
        codes.append(chosen[at : at + len(side)])
        n_changes += sum(code != slot[0] for code, slot in zip(codes[-1], side, strict=True))
        at += len(side)
    return codes, n_changes
