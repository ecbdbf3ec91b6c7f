"""A typo corrector that is trained for a task: a semi-character recurrent network.

Of every token it sees the first character, the last, and how often each character stands between them, but not in
which order. Two LSTMs, one for each direction, read the tokens of a text; for each token the network names one of the
most frequent words of the training texts, or none.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roben.baseline.front import CorrectorError
from roben.extras import require
from roben.folder import checksum, checksum_of, whole_folder
from roben.kernel import native_kernel, split_for, split_name
from roben.surface import Surface
from roben.typed import Text, sides_of

__all__ = ["TypoCorrector"]

FORMAT = 1
KIND = "roben typo corrector"
MANIFEST = "roben-corrector.json"
WEIGHTS = "weights.safetensors"
SPLITS = ("inner-words", "words", "spaces")

# What is read of a token, and how many tokens of a text are shown at once in training. Both bound the memory.
LONGEST_TOKEN = 256
LONGEST_PIECE = 128

# Tokens that training shows if nobody says how often it shows each text.
ENOUGH = 3_000_000
MOST_EPOCHS = 50

# The share of tokens that training leaves as they are: a text that nobody has attacked must survive too. On SST-2 a
# tenth keeps 0.3% more clean words than none at all and restores as many typed ones; a quarter restores 0.5% fewer.
CLEAN = 0.1

# Draws that a word gets in an epoch: a frequent word shows each of them many times, and other ones in the next.
POOL = 16

# In a step of training a word competes with the words of its batch and with about so many others.
RIVALS = 2000

# Texts that are corrected in one go, and tokens whose scores are held at once.
WINDOW = 16_384
BATCH_TEXTS = 256
BATCH_TOKENS = 1024

# Far above what batching can do to a score, reduced precision on a GPU included.
CLOSE = 0.01

Progress = Callable[[float], None]
Integers = NDArray[np.int64]


class TypoCorrector:
    """Names for every token the word that was meant; texts come out as these words, joined by spaces.

    The words are the `n_words` most frequent tokens of the training texts. A token that is none of them, as far as the
    network can tell, becomes `unknown`. Training shows each text `epochs` times (None: until three million tokens were
    shown, and each once at least and fifty times at most), about `batch_size` tokens at a time. `device` is "cuda",
    "cpu", … (None: a GPU if there is one).

    Training is repeated exactly for a seed on the same machine's CPU with as many threads; a GPU sums in any order.
    """

    def __init__(
        self,
        n_words: int = 10_000,
        *,
        hidden_size: int = 128,
        epochs: int | None = None,
        batch_size: int = 1280,
        learning_rate: float = 1e-2,
        tokens: str = "words",
        unknown: str = "a",
        seed: int = 0,
        device: str | None = None,
    ) -> None:
        self.n_words = _positive("n_words", n_words)
        self.hidden_size = _positive("hidden_size", hidden_size)
        self.epochs = None if epochs is None else _positive("epochs", epochs)
        self.batch_size = _positive("batch_size", batch_size)
        is_number = isinstance(learning_rate, (int, float)) and not isinstance(learning_rate, bool)
        if not is_number or not 0 < learning_rate < math.inf:
            raise ValueError(f"learning_rate is {learning_rate!r}; it must be a number above 0")
        self.learning_rate = float(learning_rate)
        split_name(tokens, keeps_ends=True)  # says what is wrong with it
        self.tokens = tokens
        if not isinstance(unknown, str):
            raise ValueError(f"unknown is {unknown!r}; it must be the str that stands for what is no word")
        self.unknown = unknown
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise ValueError(f"seed is {seed!r}; it must be a whole number, 0 or more")
        self.seed = seed
        self.device = device

    def __repr__(self) -> str:
        if not hasattr(self, "words_"):
            return f"TypoCorrector(n_words={self.n_words:,}, not fitted)"
        return f"TypoCorrector({len(self.words_):,} words, hidden size {self.hidden_size})"

    def fit(self, texts: Iterable[Text], surface: Surface, *, progress: Progress | None = None) -> TypoCorrector:
        """Learns to undo what the surface may do to these texts; either side of a pair is a text of its own.

        Typos are drawn anew for every epoch. `progress` is called with the share that is done.
        """
        require("torch", extra="transformers")
        from roben.classifier.robust import as_texts  # scikit-learn comes with it

        device = _device(self.device)
        split = split_for(self.tokens, surface)
        corpus = _Corpus.of(as_texts(texts), split)
        words = tuple(word for word in corpus.words if _is_word(word))[: self.n_words]
        alphabet = _alphabet(corpus.words, getattr(surface, "alphabet", None) or "")
        network = _train(self, corpus, words, alphabet, surface, device, progress)
        # All at once and last: a fit that fails leaves the corrector as it was.
        self.words_, self.alphabet_, self.split_ = words, alphabet, split
        self.network_, self.device_ = network, device
        return self

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Each text with its typos mended: lower-case words with one space between."""
        self._check_fitted()
        if isinstance(texts, str):
            raise TypeError("found one text; expected many: pass [text]")
        corrected: list[str] = []
        for start in range(0, len(texts), WINDOW):
            corrected += self._corrected(texts[start : start + WINDOW])
        return corrected

    # -- on disk ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the corrector as a folder, or replaces the one that is there. No pickle."""
        self._check_fitted()
        path = Path(path).resolve()
        _check_place(path)
        with whole_folder(path) as made:
            self._write(made)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str | None = None) -> TypoCorrector:
        """Reads a folder that `save` wrote, and checks all of it before it is believed."""
        require("torch", extra="transformers")
        path = Path(path)
        manifest = _read_manifest(path)
        try:
            corrector = cls(**manifest["options"], device=device)
        except (TypeError, ValueError) as error:
            raise CorrectorError(f"{path / MANIFEST} is damaged: {error}") from None
        corrector.words_ = _checked_words(path, manifest["words"], corrector.n_words)
        corrector.alphabet_ = _checked_alphabet(path, manifest["alphabet"])
        corrector.split_ = manifest["split"]
        shapes = _shapes(corrector.hidden_size, len(corrector.alphabet_), len(corrector.words_))
        arrays = _read_weights(path, manifest["weights"], shapes)
        corrector.device_ = _device(device)
        corrector.network_ = _network(shapes, 0)
        _set_weights(corrector.network_, arrays, corrector.device_)
        return corrector

    def _write(self, path: Path) -> None:
        from safetensors.numpy import save

        from roben import __version__

        arrays = {name: weights.numpy(force=True) for name, weights in self.network_.state_dict().items()}
        (path / WEIGHTS).write_bytes(save(arrays))
        options = ("n_words", "hidden_size", "epochs", "batch_size", "learning_rate", "tokens", "unknown", "seed")
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "roben": __version__,
            "options": {name: getattr(self, name) for name in options},
            "split": self.split_,
            "alphabet": self.alphabet_.tolist(),
            "words": list(self.words_),
            "weights": checksum(path / WEIGHTS),
        }
        manifest["checksum"] = checksum_of(manifest)
        (path / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    # -- inside -----------------------------------------------------------------------------------------

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise CorrectorError("the corrector has not learnt anything yet: call fit, or TypoCorrector.load(path)")

    def _corrected(self, texts: Sequence[str]) -> list[str]:
        tokenize = native_kernel().tokenize
        tokens = [tokenize(text, self.split_) for text in texts]
        numbers: dict[str, int] = {}
        flat = np.array([numbers.setdefault(token, len(numbers)) for token in chain(*tokens)], dtype=np.int64)
        lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        outputs = _outputs(self.network_, _read(list(numbers), self.alphabet_), flat, lengths, self.device_)
        words = np.array([*self.words_, self.unknown], dtype=object)[outputs].tolist()
        return [" ".join(words[start:end]) for start, end in pairwise(accumulate(lengths.tolist(), initial=0))]


# -- what the network sees ----------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """What the network sees of some tokens: the numbers of the features that each has, one token after the other."""

    features: Integers
    starts: Integers
    counts: Integers

    def of(self, numbers: Integers) -> tuple[Integers, Integers]:
        """The features of some of the tokens, and where each one's start."""
        counts = self.counts[numbers]
        starts = np.cumsum(counts) - counts
        shifts = np.repeat(self.starts[numbers] - starts, counts)
        return self.features[shifts + np.arange(len(shifts))], starts


def _read(tokens: Sequence[str], alphabet: Integers) -> _Reading:
    """First characters, interior characters and last ones are features of their own; a lone character is a first one.

    The character 0 stands for all that are not in the alphabet.
    """
    shortened = [token if len(token) <= LONGEST_TOKEN else _shortened(token) for token in tokens]
    codes = np.frombuffer("".join(shortened).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    counts = np.fromiter(map(len, shortened), dtype=np.int64, count=len(shortened))
    ends = np.cumsum(counts)
    starts = ends - counts
    found = np.searchsorted(alphabet, codes)
    characters = np.where(np.append(alphabet, -1)[found] == codes, found + 1, 0)
    places = np.ones(len(codes), dtype=np.int64)
    places[ends[counts > 0] - 1] = 2
    places[starts[counts > 0]] = 0
    return _Reading(characters + places * (len(alphabet) + 1), starts, counts)


def _shortened(token: str) -> str:
    return token[: LONGEST_TOKEN - 1] + token[-1]


def _alphabet(words: Sequence[str], letters: str) -> Integers:
    """The characters that the network tells apart, by their numbers in Unicode."""
    characters = set(letters).union(*map(set, words))
    return np.array(sorted(ord(c) for c in characters if not "\ud800" <= c <= "\udfff"), dtype=np.int64)


def _is_word(token: str) -> bool:
    """Can the token be written to a file as an output?"""
    return len(token) < LONGEST_TOKEN and not any("\ud800" <= c <= "\udfff" for c in token)


# -- the network --------------------------------------------------------------------------------------------


def _shapes(hidden_size: int, n_characters: int, n_words: int) -> dict[str, tuple[int, ...]]:
    """The weights of the network.

    One-hot vectors times a matrix are a sum of the matrix's rows, and that is how it is computed.
    """
    gates = 4 * hidden_size
    reader: dict[str, tuple[int, ...]] = dict.fromkeys(("weight_ih_l0", "weight_hh_l0"), (gates, hidden_size))
    reader |= dict.fromkeys(("bias_ih_l0", "bias_hh_l0"), (gates,))
    return {
        "characters.weight": (3 * (n_characters + 1), hidden_size),
        **{f"{direction}.{name}": shape for direction in ("onward", "backward") for name, shape in reader.items()},
        "words.weight": (n_words + 1, 2 * hidden_size),
        "words.bias": (n_words + 1,),
    }


def _network(shapes: dict[str, tuple[int, ...]], seed: int) -> Any:
    """The network before it has learnt anything. The last of its outputs stands for unknown words."""
    import torch
    from torch import nn

    n_features, hidden_size = shapes["characters.weight"]
    n_outputs, _ = shapes["words.weight"]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = nn.ModuleDict(
            {
                "characters": nn.EmbeddingBag(n_features, hidden_size, mode="sum"),
                "onward": nn.LSTM(hidden_size, hidden_size, batch_first=True),
                "backward": nn.LSTM(hidden_size, hidden_size, batch_first=True),
                "words": nn.Linear(2 * hidden_size, n_outputs),
            }
        )
        nn.init.normal_(network["characters"].weight, std=0.3)
    return network


def _states(network: Any, seen: Any, lengths: Integers) -> Any:
    """What the two LSTMs make of every token: `seen` is (texts, longest, hidden size); out come (tokens, states).

    Each text is turned round within its own length for the second, so what fills up a shorter text always comes last
    and changes nothing.
    """
    import torch

    places = np.arange(seen.shape[1])
    is_token = places < lengths[:, None]
    turned = torch.from_numpy(np.where(is_token, lengths[:, None] - 1 - places, places)).to(seen.device)
    rows = torch.arange(len(lengths), device=seen.device)[:, None]
    onward, _ = network["onward"](seen)
    backward, _ = network["backward"](seen[rows, turned])
    states = torch.cat([onward, backward[rows, turned]], dim=2)
    return states[torch.from_numpy(is_token).to(seen.device)]


def _seen(network: Any, reading: _Reading, numbers: Integers, device: str) -> Any:
    """The sum of the features' vectors, of some of the tokens."""
    import torch

    features, starts = reading.of(numbers)
    return network["characters"](torch.from_numpy(features).to(device), torch.from_numpy(starts).to(device))


def _outputs(network: Any, reading: _Reading, flat: Integers, lengths: Integers, device: str) -> Integers:
    """The number of the likeliest word for every token, text after text.

    Rounding moves with the other texts of a batch, and must not decide. A text in which two words are nearly as likely
    is computed once more, alone.
    """
    import torch

    outputs = np.zeros(len(flat), dtype=np.int64)
    firsts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    network.eval()
    with torch.inference_mode():
        vectors = _seen(network, reading, np.arange(len(reading.counts)), device)

        def decide(texts: Integers) -> Integers:
            """Writes down their outputs; gives those of the texts that are in doubt."""
            at, is_token = _grid(firsts[texts], lengths[texts])
            states = _states(network, vectors[torch.from_numpy(flat[at]).to(device)], lengths[texts])
            outputs[at[is_token]], is_close = _likeliest(network["words"], states)
            return texts[np.unique(np.nonzero(is_token)[0][is_close])]

        for start in range(0, len(order), BATCH_TEXTS):
            for text in decide(order[start : start + BATCH_TEXTS]):
                decide(np.array([text]))
    return outputs


def _likeliest(layer: Any, states: Any) -> tuple[Integers, NDArray[np.bool_]]:
    """The best output for every state, and whether the second best is close."""
    import torch

    found, close = [], []
    for some in states.split(BATCH_TOKENS):
        scores = layer(some)
        best = scores.max(dim=1)
        second = scores.scatter_(1, best.indices[:, None], -math.inf).amax(dim=1)
        found.append(best.indices)
        close.append(best.values - second < CLOSE)
    return torch.cat(found).cpu().numpy(), torch.cat(close).cpu().numpy()


def _grid(firsts: Integers, lengths: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Where the tokens of some texts stand, a row for each text, and which of the places are filled.

    The places behind a text's end repeat its first token; nothing looks at what is made of them.
    """
    places = np.arange(lengths.max())
    is_token = places < lengths[:, None]
    return firsts[:, None] + np.where(is_token, places, 0), is_token


# -- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Corpus:
    """The different texts of a training set, in pieces that are not too long, as numbers of words."""

    words: tuple[str, ...]
    """Every token, the most frequent first."""
    counts: Integers
    flat: Integers
    firsts: Integers
    lengths: Integers

    @classmethod
    def of(cls, texts: Sequence[Text], split: str) -> _Corpus:
        tokenize = native_kernel().tokenize
        sides = dict.fromkeys(side for text in texts for side in sides_of(text))
        different = dict.fromkeys(tuple(tokenize(side, split)) for side in sides)
        pieces = [
            [token if len(token) <= LONGEST_TOKEN else _shortened(token) for token in tokens[start:end]]
            for tokens in different
            for start, end in ((start, start + LONGEST_PIECE) for start in range(0, len(tokens), LONGEST_PIECE))
        ]
        if not pieces:
            raise ValueError(f"there is no token in {len(texts):,} texts; a corrector learns from texts with words")
        counts = Counter(chain(*pieces))
        words = sorted(counts, key=lambda word: (-counts[word], word))
        numbers = {word: number for number, word in enumerate(words)}
        lengths = np.array([len(piece) for piece in pieces])
        return cls(
            tuple(words),
            np.array([counts[word] for word in words]),
            np.array([numbers[token] for token in chain(*pieces)]),
            np.cumsum(lengths) - lengths,
            lengths,
        )

    def typed(self, surface: Surface, rng: np.random.Generator) -> tuple[list[str], Integers]:
        """Tokens as they might be typed, and the number of one of them for every token of the texts."""
        tokens = list(self.words)
        firsts, sizes = np.zeros_like(self.counts), np.minimum(self.counts, POOL)
        for number, word in enumerate(self.words):
            firsts[number] = len(tokens)
            tokens += surface.sample(word, rng, int(sizes[number]))
        drawn = firsts[self.flat] + rng.integers(sizes[self.flat])
        return tokens, np.where(rng.random(len(self.flat)) < CLEAN, self.flat, drawn)

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[Integers]:
        """Texts of about the same length and of `size` tokens together, in random order."""
        order = rng.permutation(len(self.lengths))
        blocks = np.cumsum(self.lengths[order]) // (64 * size)
        order = order[np.lexsort((self.lengths[order], blocks))]
        ends = np.diff(np.cumsum(self.lengths[order]) // size) + np.diff(blocks)
        batches = np.split(order, np.flatnonzero(ends) + 1)
        return (batches[i] for i in rng.permutation(len(batches)))


def _train(
    options: TypoCorrector,
    corpus: _Corpus,
    words: tuple[str, ...],
    alphabet: Integers,
    surface: Surface,
    device: str,
    progress: Progress | None,
) -> Any:
    import torch

    rng = np.random.default_rng(options.seed)
    network = _network(_shapes(options.hidden_size, len(alphabet), len(words)), options.seed).to(device)
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    outputs = {word: output for output, word in enumerate(words)}
    meant = np.array([outputs.get(word, len(words)) for word in corpus.words])[corpus.flat]
    rivals = _Rivals(np.bincount(meant, minlength=len(words) + 1) / len(meant), rng)
    epochs = options.epochs or min(MOST_EPOCHS, math.ceil(ENOUGH / len(corpus.flat)))
    n_shown, n_tokens = 0, epochs * len(corpus.flat)
    network.train()
    for _ in range(epochs):
        tokens, shown = corpus.typed(surface, rng)
        reading = _read(tokens, alphabet)
        for batch in corpus.batches(options.batch_size, rng):
            at, is_token = _grid(corpus.firsts[batch], corpus.lengths[batch])
            seen = _seen(network, reading, shown[at.ravel()], device).view(*at.shape, -1)
            states = _states(network, seen, corpus.lengths[batch])
            loss = rivals.loss(network["words"], states, meant[at[is_token]])
            for group in optimizer.param_groups:
                group["lr"] = options.learning_rate * _pace(n_shown / n_tokens)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            n_shown += len(states)
            if progress is not None:
                progress(n_shown / n_tokens)
    return network.eval()


def _pace(share: float) -> float:
    """What part of the learning rate is used when so much of training is done: it rises briefly, then falls to 0."""
    return min(1.0, share / 0.05) * (1 - share)


@dataclass(frozen=True)
class _Rivals:
    """The softmax over all words, from some of them: those of the batch, and as many others as time allows."""

    frequencies: NDArray[np.float64]
    rng: np.random.Generator

    def loss(self, layer: Any, states: Any, meant: Integers) -> Any:
        import torch

        chosen = np.zeros(len(self.frequencies), dtype=np.bool_)
        chosen[self.rng.integers(len(chosen), size=RIVALS)] = True
        chosen[meant] = True
        rivals = np.flatnonzero(chosen)
        # A rare word is seldom among them, and so must count for more when it is.
        missed = (1 - 1 / len(chosen)) ** RIVALS * (1 - self.frequencies[rivals]) ** len(meant)
        weights = torch.from_numpy(-np.log1p(-missed)).float().to(states.device)
        index = torch.from_numpy(rivals).to(states.device)
        scores = torch.nn.functional.linear(states, layer.weight[index], layer.bias[index] + weights)
        places = torch.from_numpy(np.searchsorted(rivals, meant)).to(states.device)
        return torch.nn.functional.cross_entropy(scores, places)


# -- on disk ------------------------------------------------------------------------------------------------


def _check_place(path: Path) -> None:
    if path == Path.cwd():
        raise CorrectorError(f"{path} is the current folder, which cannot be replaced; name one in it")
    if path.exists() and not path.is_dir():
        raise CorrectorError(f"{path} is a file; a corrector is saved as a folder")
    if path.is_dir() and any(path.iterdir()) and not (path / MANIFEST).exists():
        raise CorrectorError(
            f"{path} is a folder with other things in it; choose one that is new, or holds a corrector"
        )


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; TypoCorrector.save makes a corrector's folder")
    if not file.is_file():
        raise CorrectorError(f"{path} holds no {MANIFEST}: it is no corrector")
    try:
        manifest = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CorrectorError(f"{file} is not readable as JSON: {str(error)[:200]}") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(manifest.get("format"), int):
        raise CorrectorError(f"{file} is not that of a corrector")
    if manifest["format"] > FORMAT:
        raise CorrectorError(
            f"{path} has format {manifest['format']}; this roben reads up to {FORMAT}: install a newer one"
        )
    for key, kind in (("options", dict), ("split", str), ("alphabet", list), ("words", list), ("weights", str)):
        if not isinstance(manifest.get(key), kind):
            raise CorrectorError(f"{file} is damaged: {key} is missing")
    if manifest.get("checksum") != checksum_of(manifest):
        raise CorrectorError(f"{file} was edited: its checksum does not match")
    if manifest["split"] not in SPLITS:
        raise CorrectorError(f"{file} names the split {manifest['split']!r}; known are {', '.join(SPLITS)}")
    return manifest


def _checked_words(path: Path, words: list[Any], n_words: int) -> tuple[str, ...]:
    for word in words:
        if not isinstance(word, str) or word.split() != [word] or not _is_word(word):
            raise CorrectorError(f"{path / MANIFEST} holds {str(word)[:40]!r} among its words, which is none")
    if not len(set(words)) == len(words) <= n_words:
        raise CorrectorError(f"{path / MANIFEST} holds {len(words):,} words, not all different, or over {n_words:,}")
    return tuple(words)


def _checked_alphabet(path: Path, alphabet: list[Any]) -> Integers:
    is_number = all(type(code) is int and 0 <= code < 0x110000 for code in alphabet)
    if not is_number or any(a >= b for a, b in pairwise(alphabet)):
        raise CorrectorError(f"{path / MANIFEST} has an alphabet that is not one: characters by their rising numbers")
    return np.array(alphabet, dtype=np.int64)


def _read_weights(
    path: Path, expected_checksum: str, shapes: dict[str, tuple[int, ...]]
) -> dict[str, NDArray[np.float32]]:
    from safetensors.numpy import load

    file = path / WEIGHTS
    if not file.is_file():
        raise CorrectorError(f"{file} is missing")
    if checksum(file) != expected_checksum:
        raise CorrectorError(f"{file} was edited or damaged: its checksum is not the one in {MANIFEST}")
    try:
        arrays = load(file.read_bytes())
    except Exception as error:  # of whatever reads it
        raise CorrectorError(f"{file} cannot be read: {type(error).__name__}: {error}") from None
    found = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    expected = {name: ("float32", shape) for name, shape in shapes.items()}
    if found != expected:
        name = min(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        raise CorrectorError(f"{file} has {name} as {found.get(name)}; expected {expected.get(name)}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise CorrectorError(f"{file} has numbers in {name} that are not finite")
    return arrays


def _set_weights(network: Any, arrays: dict[str, NDArray[np.float32]], device: str) -> None:
    import torch

    network.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()})
    network.to(device).eval()


# -- options ------------------------------------------------------------------------------------------------


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number, 1 or more")
    return value


def _device(device: str | None) -> str:
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"device is {device!r}, which this machine does not have: {reason}") from None
    return device
