"""Text to robust text, and what the attacker can make of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, overload

from roben import artifact
from roben.artifact import ArtifactError
from roben.clustering import Clustering, agglomerate, checked_gamma
from roben.graph import Rows, n_threads, typo_graph
from roben.kernel import is_native, is_word_character, kernel_for, split_for, split_name
from roben.surface import EditOne, Surface, surface_from_config
from roben.typed import TypedText
from roben.vocabulary import Vocabulary

__all__ = ["Encoding", "Explanation", "Slot", "Slots", "StageProgress"]

# Tokens whose slots are kept, so that a stream of any length takes bounded memory.
REMEMBERED = 1 << 17

Pair = tuple[str, str]
StageProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class Explanation:
    """What became of one token."""

    token: str
    word: str | None
    """The word that the token is, or is taken to be a typo of."""
    cluster: tuple[str, ...]
    """The words that share its code."""
    code: str
    reachable: frozenset[str]
    """The codes of everything that the attacker may type for the token."""


class Slot(NamedTuple):
    """One token: its codes, its own first, and the size of its ball."""

    token: str
    codes: tuple[str, ...]
    n_typos: int


class Slots(dict[str, Slot]):
    """The slot of every token of an encoding, made when it is first asked for."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __missing__(self, token: str) -> Slot:
        if len(self) > REMEMBERED:
            self.clear()
        slot = self[token] = self.encoding.slot(token)
        return slot


@dataclass(frozen=True)
class Encoding:
    """α: every token of a text becomes the code of its cluster.

    `tokens` says what a token is. By "words": a run of letters, digits and apostrophes, and every other mark by
    itself. By "spaces": whatever stands between white space. Texts are lower-cased first.

    >>> from roben import EditOne, Vocabulary, connected_components, typo_graph
    >>> vocab = Vocabulary.from_counts({"the": 20, "movie": 9, "was": 8, "miserable": 2})
    >>> encoding = Encoding(connected_components(typo_graph(vocab, EditOne())))
    >>> encoding("Thae mvie wjs misreable!")
    'the movie was miserable !'
    >>> encoding.code("xylophone")
    '[MASK]'
    """

    clusters: Clustering
    tokens: str = field(default="words", kw_only=True)
    unknown: str = field(default="[MASK]", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.clusters, Clustering):
            raise TypeError(f"expected the clusters of words, found {type(self.clusters).__name__}")
        if not isinstance(self.unknown, str) or self.unknown.split() != [self.unknown]:
            raise ValueError(f"unknown is {self.unknown!r}; it must be a string without white space")
        self._check_alphabet()
        self._encoder  # noqa: B018  (built now, so that an encoding is ready once it is there)

    # -- building ---------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        vocabulary: Vocabulary,
        surface: Surface | None = None,
        *,
        gamma: float = 0.3,
        tokens: str = "words",
        unknown: str = "[MASK]",
        threads: int | None = None,
        progress: StageProgress | None = None,
    ) -> Encoding:
        """All stages at once: the typo graph of the vocabulary, its agglomerative clusters, and their encoding.

        `progress` is called with the name of the stage and the share of it that is done.
        """

        def stage(name: str) -> Callable[[float], None] | None:
            return None if progress is None else lambda share: progress(name, share)

        checked_gamma(gamma)
        graph = typo_graph(
            vocabulary, EditOne() if surface is None else surface, threads=threads, progress=stage("typo graph")
        )
        clusters = agglomerate(graph, gamma, threads=threads, progress=stage("clusters"))
        return cls(clusters, tokens=tokens, unknown=unknown)

    @classmethod
    def english(
        cls,
        n: int = 100_000,
        *,
        gamma: float = 0.3,
        tokens: str = "words",
        progress: StageProgress | None = None,
    ) -> Encoding:
        """The `n` most frequent English words under `EditOne`: built once, then kept in the user's cache folder.

        The folder is the system's, or what the environment variable ROBEN_CACHE names.
        """
        from filelock import FileLock

        gamma = checked_gamma(gamma)
        split_name(tokens, keeps_ends=True)
        path = _cache_folder() / f"english-{n}-gamma{gamma!r}-{tokens}-format{artifact.FORMAT}-{_words_version()}"

        def built() -> Encoding:
            return cls.build(Vocabulary.english(n), gamma=gamma, tokens=tokens, progress=progress)

        try:
            cached = _load_or_none(path)
            if cached is not None:
                return cached
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{path}.lock"):  # of processes that start at once, the first builds, the others wait
                encoding = _load_or_none(path)
                if encoding is None:
                    encoding = built()
                    encoding.save(path)
                return encoding
        except (OSError, ArtifactError) as error:
            warnings.warn(f"the encoding is not kept: {error}. Set ROBEN_CACHE to a folder", stacklevel=2)
            return built()

    # -- encoding ---------------------------------------------------------------------------------------

    # A str is an iterable of str, and so is a pair; the first that fits is meant.
    @overload
    def __call__(self, text: str, *, threads: int | None = 1) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, text: Pair, *, threads: int | None = 1) -> Pair: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, text: Iterable[str], *, threads: int | None = 1) -> list[str]: ...
    @overload
    def __call__(self, text: Iterable[Pair], *, threads: int | None = 1) -> list[Pair]: ...

    def __call__(self, text: Any, *, threads: int | None = 1) -> Any:
        """The codes of a text's tokens, joined by blanks: of a str, of a pair (a tuple), or of many of either."""
        if isinstance(text, str):
            return self._encoder.encode(text)
        if isinstance(text, tuple):
            return tuple(self._encoder.encode(part) for part in _checked_pair(text))
        if not isinstance(text, Iterable) or isinstance(text, (bytes, bytearray)):
            raise TypeError(
                f"found {text!r} ({type(text).__name__}); expected a text, a pair of texts, or many of either"
            )
        texts = list(text)
        kinds = set(map(type, texts))
        if any(issubclass(kind, tuple) for kind in kinds):
            sides = [self(list(side), threads=threads) for side in zip(*map(_checked_pair, texts), strict=True)]
            return list(zip(*sides, strict=True))
        if not all(issubclass(kind, str) for kind in kinds):
            item = next(item for item in texts if not isinstance(item, str))
            raise TypeError(f"found {item!r} ({type(item).__name__}) among the texts; expected str")
        return self._encoder.encode_many(texts, n_threads(threads))

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, lower-cased: what the attacker may change, one by one.

        "Well-made, isn't it?" gives well, -, made, the comma, isn't, it, ? by words, and three tokens by spaces.
        """
        tokens: list[str] = kernel_for(self.surface).tokenize(_checked_text(text), self._split)
        return tokens

    def word(self, token: str) -> str | None:
        """The word that a token is, or is taken to be a typo of: the most frequent whose ball holds it."""
        rank = self._encoder.word(self._token(token))
        return None if rank is None else self.vocabulary.words[rank]

    def code(self, token: str) -> str:
        """π: the code of one token.

        A token that is no word's typo becomes `unknown`; but if the attacker cannot change it, as a mark of
        punctuation, it stays itself.
        """
        code: str = self._encoder.code(self._token(token))
        return code

    def reachable(self, token: str) -> frozenset[str]:
        """B_π: the codes of everything that the attacker may type for the token."""
        token = self._token(token)
        if not self._is_native:
            self._check_ball(token)
        codes: frozenset[str] = self._encoder.reachable(token)
        return codes

    def slot(self, token: str) -> Slot:
        """`code` and `reachable` of a token from `tokenize`, its own code first; and |B(token)|."""
        if not self._is_native:
            self._check_ball(self._token(token))
        codes, n_typos = self._encoder.slot(token)
        return Slot(token, codes, self.surface.count(token) if n_typos is None else n_typos)

    @cached_property
    def slots(self) -> Slots:
        """The slots of tokens, each made when it is first asked for: `encoding.slots[token]`."""
        return Slots(self)

    def typo_with(self, token: str, code: str) -> str:
        """A typo of the token that has this code."""
        typo: str | None = self._encoder.typo_with(self._token(token), code)
        if typo is None:
            raise ValueError(f"no typo of {token!r} has the code {code!r}; it reaches {sorted(self.reachable(token))}")
        return typo

    def typed(self, text: str) -> TypedText:
        """The text with its tokens and where they stand."""
        return TypedText(_checked_text(text), self._split)

    def explain(self, text: str) -> list[Explanation]:
        """What becomes of each token of a text, and why."""

        def explained(token: str) -> Explanation:
            word = self.word(token)
            cluster = () if word is None else self.clusters.members(word)
            return Explanation(token, word, cluster, self.code(token), self.reachable(token))

        return [explained(token) for token in self.tokenize(text)]

    def _token(self, token: Any) -> str:
        """A token as the tokenisers make it."""
        lowered = _checked_text(token).lower()
        if self._split != "spaces":
            lowered = lowered.replace("\u2019", "'")
        if lowered.split() != [lowered]:
            raise ValueError(f"{token!r} is no token: tokens are not empty and hold no white space")
        return lowered

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that have codes."""
        return self.clusters.vocabulary

    @property
    def surface(self) -> Surface:
        """What the attacker may type."""
        return self.clusters.surface

    def __repr__(self) -> str:
        c = self.clusters
        return (
            f"Encoding({len(c.vocabulary):,} words, {c.n_clusters:,} codes, {c.surface!r}, "
            f"gamma={c.gamma:g}, tokens={self.tokens!r})"
        )

    # -- on disk ----------------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """A checksum over the whole encoding: equal ones have the same."""
        return artifact.fingerprint(self._config(), self.vocabulary.words, self._arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the encoding as a folder, or replaces the one that is there, in one step."""
        artifact.write(Path(path), self._config(), self.vocabulary.words, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, surface: Surface | None = None) -> Encoding:
        """Reads a folder that `save` wrote. `ArtifactError` says what is wrong with any other.

        A surface of one's own has to be handed in again: its code is not on disk.
        """
        config, words, arrays = artifact.read(Path(path))
        try:
            clusters = Clustering(
                Vocabulary(words, arrays["counts"]),
                _surface_of(config["surface"], surface),
                arrays["codes"],
                Rows(arrays["reachable_offsets"], arrays["reachable_targets"]),
                checked_gamma(config["gamma"]),
            )
            return cls(clusters, tokens=config["tokens"], unknown=config["unknown"])
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"{path} is no encoding that this roben can read: {error}") from error

    def _config(self) -> dict[str, Any]:
        return {
            "surface": _config_of(self.surface),
            "gamma": self.clusters.gamma,
            "tokens": self.tokens,
            "unknown": self.unknown,
        }

    def _arrays(self) -> dict[str, Any]:
        return {
            "counts": self.vocabulary.counts,
            "codes": self.clusters.codes,
            "reachable_offsets": self.clusters.reachable.offsets,
            "reachable_targets": self.clusters.reachable.targets,
        }

    # -- inside -----------------------------------------------------------------------------------------

    @cached_property
    def _split(self) -> str:
        return split_for(self.tokens, self.surface)

    @cached_property
    def _is_native(self) -> bool:
        return is_native(self.surface)

    @cached_property
    def _encoder(self) -> Any:
        c = self.clusters
        return kernel_for(c.surface).Encoder(
            c.vocabulary.words, c.codes, c.reachable.offsets, c.reachable.targets, c.surface, self._split, self.unknown
        )

    def __copy__(self) -> Encoding:
        return self  # it cannot change

    def __deepcopy__(self, memo: dict[int, Any]) -> Encoding:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # The encoder is the kernel's and is built again.
        return {"clusters": self.clusters, "tokens": self.tokens, "unknown": self.unknown}

    def _check_alphabet(self) -> None:
        """By words, a run must stay a run whatever is typed into it."""
        for letter in getattr(self.surface, "alphabet", "") if self._split != "spaces" else "":
            if letter != "'" and not is_word_character(letter):
                raise ValueError(
                    f"the surface may type {letter!r}, which ends a word: the tokens of a typed text would not line up "
                    "with those of the clean one. Use tokens='spaces', or an alphabet of letters and digits"
                )

    def _check_ball(self, token: str) -> None:
        """The same for a surface of one's own, typo by typo; what its author thought of is not known."""
        typos = self.surface.typos(token)
        if token not in typos:
            raise ValueError(f"the surface leaves {token!r} out of its own ball; `typos` must hold the token itself")
        for typo in typos:
            if getattr(self.surface, "keeps_ends", False) and (typo[:1], typo[-1:]) != (token[0], token[-1]):
                raise ValueError(f"the surface may type {typo!r} for {token!r}, though it says that it keeps_ends")
            tokens = self.tokenize(typo)
            # A mark may stand between two runs without a blank: it may become another mark, but never a run.
            joins = self._split != "spaces" and _is_mark(token, self._split) and not _is_mark(typo, self._split)
            if tokens != [typo] or joins:
                raise ValueError(
                    f"the surface may type {typo!r} for {token!r}, which tokens={self.tokens!r} reads as {tokens}: the "
                    "tokens of a typed text would not line up with those of the clean one. "
                    + ("Mend the surface" if self.tokens == "spaces" else "Use tokens='spaces', or mend the surface")
                )


def _is_mark(token: str, split: str) -> bool:
    return len(token) == 1 and not is_word_character(token) and not (token == "'" and split == "words")


def _checked_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"found {text!r} ({type(text).__name__}); expected a text as str")
    return text


def _checked_pair(pair: Any) -> Pair:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise TypeError(f"found {pair!r} ({type(pair).__name__}); expected a tuple of two texts, as every other is")
    return pair


def _config_of(surface: Surface) -> dict[str, Any]:
    if is_native(surface):
        config: dict[str, Any] = surface.config()  # type: ignore[attr-defined]
        return config
    named = {"kind": "custom", "name": f"{type(surface).__module__}.{type(surface).__qualname__}"}
    return {**named, "value": repr(surface)} if is_dataclass(surface) else named


def _surface_of(config: Any, surface: Surface | None) -> Surface:
    if not isinstance(config, dict):
        raise ValueError(f"its surface is {config!r}")
    if config.get("kind") != "custom":
        known = surface_from_config(config)
        if surface is not None and surface != known:
            raise ValueError(f"it was built for {known!r}, not for {surface!r}")
        return known
    if surface is None:
        raise ValueError(
            f"it was built for a surface of its author, {config.get('name')}: load(path, surface=…) takes it"
        )
    if _config_of(surface) != config:
        raise ValueError(f"it was built for the surface {config.get('name')}, not for {surface!r}")
    return surface


def _cache_folder() -> Path:
    chosen = os.environ.get("ROBEN_CACHE")
    if chosen:
        return Path(chosen) / "encodings"
    from platformdirs import user_cache_path

    return user_cache_path("roben", appauthor=False) / "encodings"


def _words_version() -> str:
    from importlib.metadata import version

    return f"wordfreq{version('wordfreq')}"


def _load_or_none(path: Path) -> Encoding | None:
    try:
        return Encoding.load(path)
    except FileNotFoundError:
        return None
    except ArtifactError as error:
        if path.exists():
            warnings.warn(f"the kept encoding is built again: {error}", stacklevel=3)
        return None
