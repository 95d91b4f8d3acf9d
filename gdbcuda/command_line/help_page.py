"""Help as gdb shows it, in 80 columns: gdb breaks no line of a help text itself, and does not say how wide it is."""

from __future__ import annotations

WIDEST = 79


def of(docstring: str) -> str:
    """As inspect.cleandoc, whose module takes 3 ms: the lines below the first without the indent that they share."""
    first, *rest = docstring.expandtabs().strip("\n").split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[indent:] for line in rest)]).rstrip()


def row(label: str, width: int, text: str) -> str:
    """What a word means, behind it; what follows stays in the second column."""
    line = f"  {label:<{width}} {text}"
    return folded(line, " " * (width + 3))


def filled(text: str) -> str:
    """Its paragraphs, filled. Lines that are further in stand as they are: examples."""
    return "\n\n".join(map(paragraph, text.split("\n\n")))


def paragraph(text: str) -> str:
    lines = text.split("\n")
    if any(line.startswith(" ") for line in lines) or max(map(len, lines)) <= WIDEST:
        return text
    head = "\n" * (len(text) - len(text.lstrip("\n")))
    return head + folded(" ".join(text.split()), "")


def each_line(text: str) -> str:
    """Of a text in which each line says a thing of its own."""
    return "\n".join(folded(line, "  ") for line in text.split("\n"))


def folded(line: str, further: str) -> str:
    """By hand, for textwrap takes ten times as long: this is done at every start of gdb."""
    lines = []
    while len(line) > WIDEST and (end := line.rfind(" ", len(further) + 1, WIDEST + 1)) > 0:
        lines.append(line[:end])
        line = further + line[end + 1 :]
    return "\n".join([*lines, line])
