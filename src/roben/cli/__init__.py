"""The command line. Each command parses, calls the library, and prints.

Text goes in on stdin or from files, results go out on stdout, progress and messages on stderr.
Exit codes: 0 done, 1 the input was wrong, 2 the command line was, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import NoReturn

from roben import __version__
from roben.cli import attacks, encodings, models, paper
from roben.cli.terminal import Command, one_line

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest:  # files after an option are files too
        if not hasattr(options, "files") or any(word.startswith("-") and word != "-" for word in rest):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        options.files += rest
    sys.set_int_max_str_digits(0)  # a long text has more perturbations than Python prints without this
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("roben: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        print(f"roben: error: {one_line(error)}", file=sys.stderr)
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"roben: error: {message}\nSee `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="roben",
        description="Text classifiers that are provably robust to typos.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Each command has its own help: roben build --help",
    )
    parser.add_argument("--version", action="version", version=f"roben {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Command, examples: str) -> argparse.ArgumentParser:
        """A command named by its function, described by its docstring."""
        added = commands.add_parser(
            run.__name__,
            help=run.__doc__,
            description=run.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=f"examples:\n{examples}",
        )
        added.set_defaults(run=run)
        return added

    encodings.add_commands(command)
    models.add_commands(command)
    attacks.add_commands(command)
    paper.add_commands(command)
    return parser
