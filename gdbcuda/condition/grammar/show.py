"""The tree of a condition to text."""

from __future__ import annotations

from gdbcuda.condition.arithmetic import COMPARISONS
from gdbcuda.condition.grammar.lexer import BARE_PLACE, INT_MAX, Integer, Text
from gdbcuda.condition.grammar.syntax import STRENGTH, Binary, Counting, Name, Node, Path, WrittenCallerIn, WrittenUnary

BITWISE = ("|", "^", "&")


def show(node: Node) -> str:
    """The condition as text with no more parentheses than needed; parsing it gives the same tree."""
    if isinstance(node, Binary):
        return f"{_operand(node.left, node.op)} {node.op} {_operand(node.right, node.op, is_right=True)}"
    if isinstance(node, WrittenUnary):
        inside = show(node.operand)
        blank = " " if node.op == "-" and inside.startswith("-") else ""  # --name would be an option
        return f"{node.op}({inside})" if isinstance(node.operand, Binary) else node.op + blank + inside
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Path):
        return _path(node)
    if isinstance(node, WrittenCallerIn):
        return f"caller in {_place(','.join(node.words))}"
    if isinstance(node, Counting):
        return f"{node.word} {node.number}"
    return _text(node) if isinstance(node, Text) else _number(node)


def _operand(node: Node, parent: str, is_right: bool = False) -> str:
    if not isinstance(node, Binary):
        return show(node)
    misleads = node.op in COMPARISONS and parent in (*COMPARISONS, *BITWISE)
    is_weaker = STRENGTH[node.op] < STRENGTH[parent] + is_right
    return f"({show(node)})" if misleads or is_weaker else show(node)


def _path(node: Path) -> str:
    first, *others = node.steps
    if first == 0 and not others:
        return f"*{node.name.name}"
    if first == 0 and isinstance(others[0], str):
        return f"{node.name.name}->{others[0]}{''.join(map(_step, others[1:]))}"
    return node.name.name + "".join(map(_step, node.steps))


def _step(step: int | str) -> str:
    return f".{step}" if isinstance(step, str) else f"[{step}]"


def _place(words: str) -> str:
    return words if BARE_PLACE.fullmatch(words) else f'"{escaped(words)}"'


def _number(node: Integer | float) -> str:
    if isinstance(node, float):
        return repr(node)
    if node.value == -1 - INT_MAX:
        return f"(-{INT_MAX} - 1)"  # C has no literal for it either
    return f"{node.value}u" if node.unsigned and node.value <= INT_MAX else str(node.value)


def _text(node: Text) -> str:
    inside = escaped(node.value).replace("*", "\\*")
    return f'"{inside}*"' if node.prefix else f'"{inside}"'


def escaped(text: str) -> str:
    for plain, letter in (("\\", "\\"), ('"', '"'), ("\n", "n"), ("\t", "t"), ("\0", "0")):
        text = text.replace(plain, "\\" + letter)
    return text
