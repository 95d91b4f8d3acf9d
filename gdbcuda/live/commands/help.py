"""``cuda-help``."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.command_line.argument_types import text
from gdbcuda.command_line.options import Options, words
from gdbcuda.errors import UserError
from gdbcuda.live.layers import names, table_version
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import PURPOSES, REGISTRY, command
from gdbcuda.manual import pages, plain, search
from gdbcuda.text import render
from gdbcuda.text.highlight import C, highlighted

COMMAND = "cuda-help"
LISTS = {"commands": "what each command does", "topics": "what each page of the manual answers"}


def complete_topics(token: str) -> Iterable[str]:
    return [*LISTS, *pages.pages(), *REGISTRY, *(names.complete_functions(token) if token else ())]


class HelpOptions(Options):
    topic: list[str] = words(
        text("TOPIC", complete_topics), "a page of the manual, a command, a function of the API, or what to search for"
    )


@command(COMMAND, HelpOptions, purpose="help")
def cuda_help(wanted: HelpOptions) -> str:
    """Show the commands by what they are for and the manual's topics, or one page.

    Without a word it is an overview; 'commands' and 'topics' say a line of each. For a function it shows the
    prototypes: conditions are written on the names of its parameters. For any other word it searches the
    pages and the help of the commands.

    Examples:
      cuda-help
      cuda-help commands
      cuda-help breakpoints
      cuda-help cuda-break
      cuda-help cuMemAlloc
      cuda-help bytesize"""
    terminal = plain.Terminal(COMMAND, render.screen(), settings.colour())
    topic = " ".join(wanted.topic)
    if not topic:
        return overview(terminal)
    if topic in LISTS:
        return plain.listed(terminal) if topic == "topics" else commands_listed(terminal)
    if pages.topic_of(topic):
        return plain.shown(pages.pages()[pages.topic_of(topic)].text, terminal)
    if topic in REGISTRY:
        return REGISTRY[topic].help
    return render.fold(searched(topic), terminal.width)


def searched(topic: str) -> str:
    found = [*search.in_pages(topic, COMMAND), *in_commands(topic)]
    if declared := prototypes(topic):
        return "\n".join([*declared, *search.shown(topic, found)])
    said = search.answer(topic, found, complete_topics(""))
    if not found:
        raise UserError(said)
    return said


def prototypes(name: str) -> list[str]:
    functions = [] if names.is_glob(name) else table_version.table().find(name)
    return [highlighted(f"{one};", C, settings.colour()) for one in functions]


def in_commands(word: str) -> list[search.Match]:
    found = []
    for name, one in REGISTRY.items():
        lines = [(one.first_line, line.strip()) for line in one.help.splitlines()]
        found += search.matches(word, f"help {name}", lines)
    return found


def overview(terminal: plain.Terminal) -> str:
    """It fits a screen of 80 columns and 24 lines: names alone, subcommands are in the list of `LISTS`."""
    named = {title: [name for name in of_purpose(purpose) if " " not in name] for purpose, title in PURPOSES.items()}
    told = f"{COMMAND} TOPIC shows a page, help COMMAND its help, {COMMAND} WORD searches."
    lists = [f"{COMMAND} {name:<10}{says}" for name, says in LISTS.items()]
    named["The manual"] = list(pages.pages())
    shown = [under(title, ", ".join(names), terminal) for title, names in named.items()]
    return "\n".join([*shown, *lists, render.wrap(told, terminal.columns)])


def under(title: str, names: str, terminal: plain.Terminal) -> str:
    return f"{heading(title, terminal)}\n  {render.fold(names, terminal.columns - render.GAP)}"


def commands_listed(terminal: plain.Terminal) -> str:
    """Of each command, of each subcommand too, the first line of its help."""
    return "\n\n".join(group(title, purpose, terminal) for purpose, title in PURPOSES.items())


def group(title: str, purpose: str, terminal: plain.Terminal) -> str:
    rows = [(name, REGISTRY[name].first_line) for name in of_purpose(purpose)]
    return f"{heading(title, terminal)}\n\n{render.table(rows, ('command', 'does'), width=terminal.columns)}"


def of_purpose(purpose: str) -> list[str]:
    return sorted(name for name, one in REGISTRY.items() if one.purpose == purpose)


def heading(title: str, terminal: plain.Terminal) -> str:
    return render.colour(title, "title", terminal.is_coloured)
