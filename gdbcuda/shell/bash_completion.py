"""``gdbcuda completion``: what bash has to know for Tab behind ``gdbcuda``, made from the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from gdbcuda.command_line.options import Option, Options, Word
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.text import output

# Subcommands before options; where neither begins so, bash offers files.
SCRIPT = """\
# Tab behind gdbcuda, in bash:  eval "$(gdbcuda completion)"
declare -A _gdbcuda_words=(
{table}
)
_gdbcuda() {{
    local word words path=gdbcuda before=${{COMP_WORDS[COMP_CWORD-1]}}
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word != -- ]] || return  # what follows is the program's
        [[ -z ${{_gdbcuda_words["$path $word"]+there}} ]] || path+=" $word"
    done
    word=${{COMP_WORDS[COMP_CWORD]}}
    words=${{_gdbcuda_words["$path:$before"]-${{_gdbcuda_words["$path"]}}}}
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [[ $word == -* ]] || COMPREPLY=(${{COMPREPLY[@]/#-*/}})
}}
complete -o bashdefault -o default -F _gdbcuda gdbcuda"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``completion`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "completion", Options, run, help="print what bash needs to complete gdbcuda's words",
        about="Prints a script for bash: then Tab completes commands, options and topics behind gdbcuda.",
        examples=('eval "$(gdbcuda completion)"', "gdbcuda completion >> ~/.bash_completion"),
    )  # fmt: skip


def run(wanted: Options) -> None:
    from gdbcuda.shell.cli import make_parser  # which imports this file

    rows = (f"  ['{path}']={shlex.quote(' '.join(words))}" for path, words in table(make_parser()))
    output.say(SCRIPT.format(table="\n".join(rows)))


def table(parser: argparse.ArgumentParser, path: str = "gdbcuda") -> Iterator[tuple[str, list[str]]]:
    """By the words that lead to it, what may come next: "gdbcuda log" has views, "gdbcuda trace:--with" its values."""
    words = list[str]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words[:0] = action.choices
            for name, one in action.choices.items():
                yield from table(one, f"{path} {name}")
        words += action.option_strings
    first, of_options = choices(getattr(parser, "declared", None) or Options)
    yield path, [*first, *words, *topics(path)]
    for one in first:
        yield f"{path} {one}", words
    for place in (path, *(f"{path} {one}" for one in first)):
        yield from ((f"{place}:{option}", [*values]) for option, values in of_options.items())


def choices(declared: type[Options]) -> tuple[Sequence[str], dict[str, Sequence[str]]]:
    """What the first word may be, and the value of each option, where these are few."""
    first = next((part.kind.choices for part in declared.parts() if isinstance(part, Word)), ())
    options = [part for part in declared.parts() if isinstance(part, Option) and part.kind.choices]
    return first, {name: part.kind.choices for part in options for name in (part.name, part.short) if name}


def topics(path: str) -> list[str]:
    from gdbcuda.manual import pages

    return list(pages.pages()) if path == "gdbcuda help" else []
