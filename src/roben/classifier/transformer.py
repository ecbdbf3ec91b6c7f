"""Transformers from Hugging Face, by hub name or from a local folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roben.classifier.padding import lengths, padded
from roben.classifier.robust import ModelError
from roben.extras import require
from roben.lattice import Lattice, draw
from roben.typed import Text

__all__ = ["TransformerClassifier"]

CONFIG = "transformer.json"
AT_ONCE = 1 << 14  # texts that are tokenised together
MASK = "[MASK]"  # what encodings write for what they do not know


class TransformerClassifier:
    """Any `AutoModelForSequenceClassification`, fine-tuned as its Trainer does. The defaults are the paper's.

    `model` is a name on the hub or a local folder; of a folder nothing is downloaded. `device` is "cuda", "cpu", …
    (None: a GPU if there is one); `precision` is "fp32" or "bf16" (None: bf16 on a GPU that has it);
    `predict_batch_size` is how many texts are predicted together (None: 64, on a GPU 512).

    **One numeric path.** The last bits of a transformer's scores move with padding, batch size and precision. So a text
    is decided by its *own* scores: computed for it alone, unpadded, in fp32. Batches are only a short cut, taken where
    the two best classes are further apart than batching can move them (`tolerance_`, measured on this machine); any
    closer text is computed alone. What was certified is then what will be predicted, in whatever company.
    """

    predicts_likeliest = True
    name_: str  # of what it was made from, once it was loaded from a folder

    def __init__(
        self,
        model: str = "bert-base-uncased",
        *,
        learning_rate: float = 2e-5,
        batch_size: int = 8,
        epochs: float = 3,
        max_length: int = 128,
        predict_batch_size: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.max_length = max_length
        self.predict_batch_size = predict_batch_size
        self.device = device
        self.precision = precision
        self.seed = seed

    # -- scikit-learn's conventions ---------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("model", "learning_rate", "batch_size", "epochs", "max_length", "predict_batch_size")
        return {name: getattr(self, name) for name in (*names, "device", "precision", "seed")}

    def set_params(self, **params: Any) -> TransformerClassifier:
        """Changes them."""
        for name, value in params.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params())
                raise ValueError(f"TransformerClassifier has no parameter {name!r}; it has {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"TransformerClassifier({self.model!r})"

    def fit(self, texts: Sequence[Text], labels: Sequence[Any]) -> TransformerClassifier:
        """Fine-tunes on texts, or on pairs of texts."""
        return self._fit(list(texts), labels, None)

    def fit_on_draws(
        self, lattices: Sequence[Lattice], labels: Sequence[Any], *, draws: str, k: int, rng: np.random.Generator
    ) -> TransformerClassifier:
        """Fine-tunes on encodings that an attacker could reach, drawn anew for every epoch.

        "random": any of them. "worst": of k, the one that the model is least sure of as it then is.
        """

        def redraw() -> list[Text]:
            drawn = [[draw(lattice, rng) for lattice in lattices] for _ in range(k if draws == "worst" else 1)]
            if len(drawn) == 1:
                return drawn[0]
            rows = np.arange(len(lattices))
            index = np.searchsorted(self.classes_, np.asarray(labels))
            likelihoods = np.stack([self._probabilities(self._batched(one))[rows, index] for one in drawn])
            return [drawn[int(j)][i] for i, j in enumerate(likelihoods.argmin(axis=0))]

        return self._fit([lattice.own() for lattice in lattices], labels, redraw)

    def predict(self, texts: Sequence[Text]) -> NDArray[Any]:
        """The class of the highest score; of equal ones the first."""
        best: NDArray[Any] = self.classes_[self.scores(texts).argmax(axis=1)]
        return best

    def predict_proba(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """The probability of every class, in the order of `classes_`."""
        return self._probabilities(self.scores(texts))

    def scores(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """The scores of every class: of texts that are near a tie, their own; of others, those of a batch."""
        scores = self._batched(texts)
        if not len(scores):
            return scores
        if not np.isfinite(scores).all():
            worst = int(np.argmax(~np.isfinite(scores).all(axis=1)))
            raise ModelError(f"{self!r} gave the scores {scores[worst].tolist()} for {texts[worst]!r}: not finite")
        best = np.sort(scores, axis=1)
        for i in np.flatnonzero(best[:, -1] - best[:, -2] < self.tolerance_):
            scores[i] = self._alone(texts[int(i)])
        return scores

    # -- on disk ----------------------------------------------------------------------------------------

    def save_pretrained(self, path: Path) -> None:
        """Writes the model and its tokenizer as transformers does, and the classes beside them."""
        with _quiet():
            self.model_.save_pretrained(path)
            self.tokenizer_.save_pretrained(path)
        name = getattr(self, "name_", Path(self.model).name)
        config = {**self.get_params(), "model": name, "classes": self.classes_.tolist()}
        # Where it ran is not where it will run.
        del config["device"], config["precision"]
        (Path(path) / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: Path, *, device: str | None = None, precision: str | None = None) -> TransformerClassifier:
        """Reads what `save_pretrained` wrote."""
        config = json.loads((Path(path) / CONFIG).read_text())
        classes = config.pop("classes")
        # To train on, it starts from this folder; what it was made from is kept as a name.
        classifier = cls(**{**config, "model": str(path)}, device=device, precision=precision)
        classifier.name_ = config["model"]
        classifier._open(len(classes))
        classifier.classes_ = np.array(classes)
        classifier._ready()
        return classifier

    @classmethod
    def from_pretrained(
        cls, model: str, *, device: str | None = None, precision: str | None = None
    ) -> TransformerClassifier:
        """A classifier that was trained elsewhere: a local folder, or a name on the hub.

        Its classes are the names in its `id2label`, or whole numbers where it has none of its own.
        """
        require("torch", extra="transformers")
        require("transformers", extra="transformers")
        import transformers

        config = transformers.AutoConfig.from_pretrained(model, local_files_only=Path(model).is_dir())
        kinds = getattr(config, "architectures", None) or []
        if not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            raise ModelError(
                f"{model!r} is a {', '.join(kinds) or 'model of no kind'}, which does not classify; expected one that "
                "was fine-tuned, …ForSequenceClassification. `roben train --transformer` fine-tunes it"
            )
        if config.num_labels < 2:
            raise ModelError(f"{model!r} gives one score, as for regression; expected two classes or more")
        names = [str(config.id2label[i]) for i in range(config.num_labels)]
        classifier = cls(model, device=device, precision=precision)
        classifier.max_length = min(512, getattr(config, "max_position_embeddings", 512))
        classifier._open(config.num_labels)
        is_unnamed = names == [f"LABEL_{i}" for i in range(len(names))]
        classifier.classes_ = np.arange(len(names)) if is_unnamed else np.array(names)
        classifier._ready()
        return classifier

    # -- training ---------------------------------------------------------------------------------------

    def _fit(
        self, texts: list[Text], labels: Sequence[Any], redraw: Callable[[], list[Text]] | None
    ) -> TransformerClassifier:
        require("torch", extra="transformers")
        require("transformers", extra="transformers")
        import transformers

        from roben.classifier.training import Training, bar

        self.classes_, ranks = np.unique(np.asarray(labels), return_inverse=True)
        transformers.set_seed(self.seed)
        self._open(len(self.classes_))
        training = Training(
            self.model_.to(self._device()),
            ranks,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            epochs=self.epochs,
            max_length=self.max_length,
            seed=self.seed,
            in_bf16=self._uses_bf16(),
        )
        with bar(training.n_steps) as shown:
            for epoch in range(training.n_epochs):
                if epoch > 0 and redraw is not None:
                    texts = redraw()
                if epoch == 0 or redraw is not None:
                    training.show(self._columns(texts), self.tokenizer_)
                for _ in training.epoch(epoch):
                    shown.update()
        self._ready()
        return self

    def _open(self, n_classes: int) -> None:
        require("torch", extra="transformers")
        require("transformers", extra="transformers")
        import transformers

        self._check_device()
        is_local = Path(self.model).is_dir()
        self.tokenizer_ = transformers.AutoTokenizer.from_pretrained(self.model, local_files_only=is_local)
        with _quiet():
            self.model_ = transformers.AutoModelForSequenceClassification.from_pretrained(
                self.model, num_labels=n_classes, local_files_only=is_local, ignore_mismatched_sizes=True
            ).float()

        longest = getattr(self.model_.config, "max_position_embeddings", None)
        if longest is not None and self.max_length > longest:
            raise ValueError(f"max_length is {self.max_length}, but {self.model!r} has {longest} positions")

    def _check_device(self) -> None:
        import torch

        try:
            torch.zeros(1, device=self._device())
        except (RuntimeError, AssertionError) as error:
            reason = str(error).split("\n")[0]
            raise ValueError(f"device is {self.device!r}, which this machine does not have: {reason}") from None

    def _device(self) -> str:
        import torch

        return self.device or ("cuda" if torch.cuda.is_available() else "cpu")

    def _uses_bf16(self) -> bool:
        import torch

        if self.precision not in (None, "fp32", "bf16"):
            raise ValueError(
                f"precision is {self.precision!r}; it may be 'fp32', 'bf16', or None for what suits the device"
            )
        if self.precision is None:
            return self._device().startswith("cuda") and torch.cuda.is_bf16_supported()
        return self.precision == "bf16"

    # -- predicting -------------------------------------------------------------------------------------

    def _ready(self) -> None:
        """Puts the model where it predicts, and measures how far batching moves its scores there."""
        self.model_.to(self._device()).eval()
        self.tolerance_ = 0.0
        probes = self._probes()
        batched = self._batched(probes)
        alone = np.array([self._alone(probe) for probe in probes])
        # Measured on a few dozen texts of all lengths; no text should come near eight times the largest of them.
        self.tolerance_ = 8 * float(np.abs(batched - alone).max()) + 1e-5

    def _probes(self) -> list[Text]:
        """Texts of all lengths, made of the tokenizer's own words."""
        rng = np.random.default_rng(0)
        words = sorted(word for word in self.tokenizer_.get_vocab() if word.isalpha() and word.islower()) or ["a"]
        return [
            " ".join(words[int(i)] for i in rng.integers(len(words), size=1 + n % max(2, self.max_length)))
            for n in range(0, 3 * 37, 3)
        ]

    def _batched(self, texts: Sequence[Text], *, width: int = 0) -> NDArray[np.float64]:
        """Scores from batches of like length, as wide as the longest or as `width`: fast, and off in the last bits."""
        parts = [self._scores_of(texts[at : at + AT_ONCE], width) for at in range(0, len(texts), AT_ONCE)]
        return np.concatenate([np.zeros((0, len(self.classes_))), *parts])

    def _scores_of(self, texts: Sequence[Text], width: int) -> NDArray[np.float64]:
        import torch

        columns, device = self._columns(list(texts)), self._device()
        n_tokens = lengths(columns)
        order = np.argsort(n_tokens, kind="stable")
        widths = np.maximum(n_tokens[order], width)
        matrices = padded(columns, int(widths[-1]), self.tokenizer_)
        # All at once to the device, and all at once back: there each transfer costs as much as a batch.
        shown = {name: torch.from_numpy(matrix[order]).to(device) for name, matrix in matrices.items()}
        from_left = self.tokenizer_.padding_side == "left"
        size = self.predict_batch_size or (512 if device.startswith("cuda") else 64)
        self.model_.eval()
        found = []
        with torch.inference_mode(), torch.autocast(device.split(":")[0], torch.bfloat16, enabled=self._uses_bf16()):
            for start in range(0, len(texts), size):
                stop = min(start + size, len(texts))
                wide = slice(-int(widths[stop - 1]), None) if from_left else slice(int(widths[stop - 1]))
                batch = {name: matrix[start:stop, wide].long() for name, matrix in shown.items()}
                found.append(self.model_(**batch).logits.float())
        scores = np.zeros((len(texts), len(self.classes_)))
        scores[order] = torch.cat(found).cpu().numpy()
        return scores

    def _alone(self, text: Text) -> NDArray[np.float64]:
        """The scores by which a text is decided: alone, unpadded, in fp32."""
        import torch

        columns = self._columns([text])
        batch = {name: torch.tensor(rows, device=self._device()) for name, rows in columns.items()}  # as long as it is
        with torch.inference_mode():
            scores: NDArray[np.float64] = self.model_(**batch).logits[0].double().cpu().numpy()
        return scores

    def _columns(self, texts: list[Text]) -> dict[str, list[list[int]]]:
        mask = self.tokenizer_.mask_token or self.tokenizer_.unk_token
        marked = [_replace_mask(_without_surrogates(text), mask) for text in texts]
        sides = (marked,) if isinstance(marked[0], str) else tuple(map(list, zip(*marked, strict=True)))
        return dict(self.tokenizer_(*sides, truncation=True, max_length=self.max_length))

    @staticmethod
    def _probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        probabilities: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return probabilities


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' word on the new head: that it is new is meant."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _without_surrogates(text: Text) -> Text:
    """Bytes that were no text came in as lone surrogates, which the tokenizers do not take."""
    if isinstance(text, tuple):
        return str(_without_surrogates(text[0])), str(_without_surrogates(text[1]))
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _replace_mask(text: Text, mask: str) -> Text:
    if mask == MASK:
        return text
    if isinstance(text, str):
        return " ".join(mask if token == MASK else token for token in text.split(" "))
    first, second = (str(_replace_mask(side, mask)) for side in text)
    return first, second
