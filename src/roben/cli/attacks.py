"""The command that attacks models."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from roben import EditOne, InternalPermutation, Surface
from roben.cli.models import SOURCES, add_column_options, add_trust_option, labelled, labels_as_in, show_broken
from roben.cli.terminal import Command, add_json_option, counting_bar, print_summary


def attack(options: argparse.Namespace) -> None:
    """Searches for typos that a model gets wrong: what it loses, encoded or not, whoever trained it."""
    from roben.classifier import open_model

    search = _search(options, options.tokens)  # what is wrong with the options is found before long work
    model = open_model(options.model, trusted=options.trust, device=options.device)
    encoding = getattr(model, "encoding_", None)
    tokens = (options.tokens or "words") if encoding is None else encoding.tokens
    search = _search(options, tokens)
    data = labelled(options.data, options)
    if options.sample is not None:
        data = data.sample(options.sample, seed=options.seed)
    labels = labels_as_in(model, data)
    surface = _surface(model, options)
    attacked = _corrected(model, tokens, options)
    found: list[Any] = []
    start = time.perf_counter()
    with ExitStack() as stack:
        out = stack.enter_context(open(options.out, "w", encoding="utf-8")) if options.out else None
        advance = stack.enter_context(counting_bar("attacking", len(data)))

        def keep(result: Any) -> None:
            found.append(result)
            line = json.dumps({**vars(result), "is_broken": result.is_broken})
            if out is not None:
                print(line, file=out, flush=True)
            if options.json:
                print(line, flush=True)
            advance(len(found), f"{sum(r.is_broken for r in found):,} broken")

        search(attacked, data.texts, labels, surface, seed=options.seed, progress=keep)
    if not options.json:
        _print(found, data, surface, tokens, options, time.perf_counter() - start)


def _search(options: argparse.Namespace, tokens: str | None) -> Callable[..., Any]:
    from roben.attack import ATTACKS

    chosen = {
        "budget": options.budget,
        "max_queries": options.max_queries,
        "tokens": tokens,
        "width": options.width,
    }
    if options.attack == "random":
        if options.width is not None:
            raise ValueError("a random search has no --width")
        del chosen["width"]
    return ATTACKS[options.attack](**{name: value for name, value in chosen.items() if value is not None})


def _surface(model: Any, options: argparse.Namespace) -> Surface:
    encoding = getattr(model, "encoding_", None)
    if options.surface is None:
        return EditOne() if encoding is None else encoding.surface
    return InternalPermutation() if options.surface == "permutations" else EditOne()


def _corrected(model: Any, tokens: str, options: argparse.Namespace) -> Any:
    if options.corrector is None:
        return model
    from roben import baseline

    named: dict[str, Callable[..., Any]] = {
        "symspell": baseline.symspell,
        "pyspellchecker": baseline.pyspellchecker,
    }
    if options.corrector in named:
        return baseline.Corrected(named[options.corrector](tokens=tokens), model)
    return baseline.Corrected(baseline.TypoCorrector.load(options.corrector, device=options.device), model)


def _print(
    found: list[Any], data: Any, surface: Surface, tokens: str, options: argparse.Namespace, seconds: float
) -> None:
    from roben.attack import attack_accuracy, interval

    found.sort(key=lambda result: result.index)
    n = len(found)
    n_wrong = sum(result.is_broken and result.n_changed == 0 for result in found)
    turned = [result for result in found if result.n_changed]

    def percent(share: float) -> str:
        low, high = interval(share, n)
        return f"{100 * share:.1f}%  (95%: {100 * low:.1f} to {100 * high:.1f})"

    changed = Counter(result.n_changed for result in turned)
    summary = {
        "data": data.name,
        "examples": n,
        "surface": repr(surface),
        "tokens": tokens,
        "attack": options.attack,
        "budget": "any number of tokens" if options.budget is None else f"{options.budget} tokens",
    }
    if n:
        summary |= {
            "standard accuracy": percent(1 - n_wrong / n),
            "attack accuracy": percent(attack_accuracy(found)),
            "queries": f"{sum(result.n_queries for result in found) / n:.1f} an example",
        }
    if turned:
        summary["broken by changed tokens"] = {str(b): changed[b] for b in sorted(changed)}
    summary["seconds"] = round(seconds, 2)
    print_summary(summary, options)
    show_broken([(r.index, r.label, r.n_changed, r.attacked) for r in turned[: options.show]])


def add_commands(command: Callable[[Command, str], argparse.ArgumentParser]) -> None:
    """Tells the parser of it."""
    parser = command(
        attack,
        "  roben attack reviews-model reviews:test --sample 200\n"
        "  roben attack reviews-model reviews:test --attack greedy --budget 2 --out attacked.jsonl\n"
        "  roben attack pipeline.skops dev.csv --text review --label stars --surface permutations\n"
        "  roben attack bert-folder glue:GLUE/SST-2:dev --attack greedy --max-queries 500\n"
        "  roben attack bert-folder glue:GLUE/SST-2:dev --corrector symspell",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="the folder of a model, of roben or transformers; a file of skops; or hub:NAME"
    )
    parser.add_argument("data", metavar="DATA", help=f"labelled text: {SOURCES}")
    add_column_options(parser)
    parser.add_argument(
        "--attack",
        choices=("beam", "greedy", "random"),
        default="beam",
        help="beam: the paper's, few typos of each token in random order; greedy: the whole ball, the tokens that "
        "matter most first; random: whole perturbations, as a floor (default: beam)",
    )
    parser.add_argument("--width", type=int, metavar="N", help="texts kept at a time (default: beam 5, greedy 1)")
    parser.add_argument("--budget", type=int, metavar="B", help="change at most B tokens (default: any number)")
    parser.add_argument(
        "--max-queries", type=int, metavar="N", help="ask at most N texts an example (default: random 500, else no end)"
    )
    parser.add_argument(
        "--surface",
        choices=("edits", "permutations"),
        help="what may be typed: one edit inside each token, or its inner letters in any order (default: that of the "
        "model's encoding, or edits)",
    )
    parser.add_argument(
        "--tokens", choices=("words", "spaces"), help="how texts are split where the model has no encoding (words)"
    )
    parser.add_argument(
        "--corrector", metavar="NAME", help="put one in front: symspell, pyspellchecker, or the folder of a trained one"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="take N examples at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and the attack (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was found as JSONL, as it is found")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="show N broken examples (default: 5)")
    parser.add_argument("--device", help="of a transformer: cuda, cpu, … (default: a GPU if there is one)")
    add_trust_option(parser)
    add_json_option(parser)
