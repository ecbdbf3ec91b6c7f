"""The commands about encodings: build, encode, explain, inspect."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roben import EditOne, Encoding, InternalPermutation, Surface, Vocabulary
from roben.cli.terminal import (
    Command,
    add_encoding_option,
    add_json_option,
    add_threads_option,
    chosen_encoding,
    console,
    plain,
    print_json,
    print_summary,
    progress,
    read_lines,
    some,
)

LINES_AT_A_TIME = 1 << 16


def build(options: argparse.Namespace) -> None:
    """Builds an encoding and saves it as a folder."""
    with progress() as report:
        report("vocabulary", 0.0)
        vocabulary = _vocabulary(options)
        report("vocabulary", 1.0)
        encoding = Encoding.build(
            vocabulary,
            _surface(options),
            gamma=options.gamma,
            tokens=options.tokens,
            unknown=options.unknown,
            threads=options.threads,
            progress=report,
        )
        encoding.save(options.path)
    print_summary(_summary(encoding), options)


def encode(options: argparse.Namespace) -> None:
    """Encodes lines of text."""
    encoding = chosen_encoding(options)
    out = sys.stdout.buffer
    for name in options.files or ["-"]:
        lines = read_lines(name)
        while batch := list(itertools.islice(lines, LINES_AT_A_TIME)):
            encoded = encoding(batch, threads=options.threads)
            out.write(("\n".join(encoded) + "\n").encode("utf-8", "surrogateescape"))
            out.flush()


def explain(options: argparse.Namespace) -> None:
    """Shows what becomes of every token of a text."""
    encoding = chosen_encoding(options)
    text = " ".join(options.text) if options.text else sys.stdin.read()
    explanations = encoding.explain(text)
    if options.json:
        rows = [{**vars(e), "cluster": list(e.cluster), "reachable": sorted(e.reachable)} for e in explanations]
        print_json({"text": text, "encoded": encoding(text), "tokens": rows})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("token", "word", "code", "reachable codes", "cluster"):
        table.add_column(column, overflow="fold")
    for e in explanations:
        word = "—" if e.word is None else e.word if e.word != e.token else ""
        reachable = some(sorted(e.reachable, key=lambda code: (code != e.code, code)), 6)
        table.add_row(*map(plain, (e.token, word, e.code, reachable, some(e.cluster, 6))))
    n_encodings = math.prod(len(e.reachable) for e in explanations)
    console().print(table)
    counted = "1 encoding" if n_encodings == 1 else f"{n_encodings:,} encodings"
    console().print(f"\n{counted} can be reached by typos.", highlight=False)


def inspect(options: argparse.Namespace) -> None:
    """Describes an encoding on disk, after checking it."""
    encoding = Encoding.load(options.path)
    print_summary(_summary(encoding), options)


def _summary(encoding: Encoding) -> dict[str, Any]:
    clusters = encoding.clusters
    sizes = Counter(clusters.codes.tolist())
    reachable = Counter(clusters.reachable.sizes.tolist())
    return {
        "words": len(clusters.vocabulary),
        "codes": clusters.n_clusters,
        "surface": repr(clusters.surface),
        "tokens": encoding.tokens,
        "unknown": encoding.unknown,
        "gamma": clusters.gamma,
        "stability": clusters.stability,
        "fidelity": clusters.fidelity,
        "objective": clusters.objective(),
        "largest clusters": {clusters.vocabulary.words[code]: n for code, n in sizes.most_common(5)},
        "words by number of reachable codes": {str(n): reachable[n] for n in sorted(reachable)},
        "fingerprint": encoding.fingerprint,
    }


def _vocabulary(options: argparse.Namespace) -> Vocabulary:
    if options.words:
        like = Vocabulary.language(options.language, None)
        return Vocabulary.from_file(options.words, options.size, like=like)
    if not options.corpus:
        return Vocabulary.language(options.language, options.size)
    texts = itertools.chain.from_iterable(map(read_lines, options.corpus))
    corpus = Vocabulary.from_texts(texts, tokens=options.tokens)
    if options.general == 0:
        return Vocabulary.from_counts(dict(zip(corpus.words, corpus.counts.tolist(), strict=True)), options.size)
    return corpus.blend(Vocabulary.language(options.language, None), options.general, options.size)


def _surface(options: argparse.Namespace) -> Surface:
    if options.surface == "permutations":
        return InternalPermutation()
    chosen = {name: getattr(options, name) for name in ("keep_first", "keep_last", "alphabet", "edits")}
    return EditOne(**{name: value for name, value in chosen.items() if value is not None})


def add_commands(command: Callable[[Command, str], argparse.ArgumentParser]) -> None:
    """Tells the parser of them."""
    builder = command(
        build,
        "  roben build english\n"
        "  roben build german --language de --alphabet abcdefghijklmnopqrstuvwxyzäöüß\n"
        "  roben build reviews --corpus train.txt --general 0.05 --gamma 0.5\n"
        "  roben build coca --words coca_by_rank.txt --size 100000 --tokens spaces\n"
        "  roben build shuffled --surface permutations",
    )
    _add_build_options(builder)

    encoder = command(
        encode,
        "  echo 'thae mvoie was graet' | roben encode\n  roben encode --encoding reviews train.txt > encoded.txt",
    )
    encoder.add_argument("files", nargs="*", metavar="FILE", help="text, a line at a time; stdin without any, or as -")
    add_encoding_option(encoder)
    add_threads_option(encoder)

    explainer = command(explain, "  roben explain 'I haate this fr3e mony'\n  roben explain --json 'a gret film'")
    explainer.add_argument("text", nargs="*", metavar="TEXT", help="the text; stdin without any")
    add_encoding_option(explainer)
    add_json_option(explainer)

    inspector = command(inspect, "  roben inspect english\n  roben inspect english --json")
    inspector.add_argument("path", type=Path, metavar="PATH", help="the folder of an encoding")
    add_json_option(inspector)


def _add_build_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="the folder to write; an encoding there is replaced")
    words = parser.add_argument_group("words")
    words.add_argument("--language", default="en", metavar="CODE", help="of the general words (default: en)")
    source = words.add_mutually_exclusive_group()
    source.add_argument("--words", metavar="FILE", help="take the words of a file, one a line: with counts, or by rank")
    source.add_argument(
        "--corpus", nargs="+", metavar="FILE", help="take the words of texts, a line at a time; - is stdin"
    )
    words.add_argument(
        "--general",
        type=float,
        default=0.05,
        metavar="WEIGHT",
        help="with --corpus: the weight of the language's general words beside it; 0 for none (default: 0.05)",
    )
    words.add_argument(
        "--size", type=int, default=100_000, metavar="N", help="keep the N most frequent (default: 100000)"
    )
    surface = parser.add_argument_group("what the attacker may type")
    surface.add_argument(
        "--surface",
        choices=("edits", "permutations"),
        default="edits",
        help="one edit inside each token, or its inner letters in any order (default: edits)",
    )
    surface.add_argument("--keep-first", type=int, metavar="N", help="first characters that stay (default: 1)")
    surface.add_argument("--keep-last", type=int, metavar="N", help="last characters that stay (default: 1)")
    surface.add_argument("--alphabet", metavar="LETTERS", help="letters to insert and substitute (default: a to z)")
    surface.add_argument(
        "--edits",
        type=lambda text: tuple(text.split(",")),
        metavar="LIST",
        help="some of insert,delete,substitute,swap (default: all)",
    )
    result = parser.add_argument_group("encoding")
    result.add_argument(
        "--gamma",
        type=float,
        default=0.3,
        help="0: as few codes as possible, most robust; 1: every word its own code, most faithful (default: 0.3)",
    )
    result.add_argument(
        "--tokens",
        choices=("words", "spaces"),
        default="words",
        help="split text into words and marks, or at white space only (default: words)",
    )
    result.add_argument(
        "--unknown", default="[MASK]", help="the code of tokens that are no word's typo (default: [MASK])"
    )
    add_threads_option(parser)
    add_json_option(parser)
