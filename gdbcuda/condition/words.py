"""The words of a condition that are no parameters: caller, thread, nth, every, after."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import COMPARISONS, MIRRORED, UNSIGNED
from gdbcuda.condition.grammar import parser, syntax
from gdbcuda.condition.grammar.lexer import Integer
from gdbcuda.condition.grammar.show import show
from gdbcuda.condition.typed import Typed
from gdbcuda.errors import UserError

ONLY_AND = "counts the calls that the rest of the condition lets through, so only && can join it to the rest"
Says = Callable[[str], bool]  # is this name a word here, and not a parameter?


def compared(node: syntax.Node, is_word: Says) -> tuple[syntax.Name, str, syntax.Node] | None:
    """``thread`` or ``nth``, how it is compared, and with what; None for anything else."""
    if not isinstance(node, syntax.Binary) or node.op not in COMPARISONS:
        return None
    for word, op, other in ((node.left, node.op, node.right), (node.right, MIRRORED[node.op], node.left)):
        if isinstance(word, syntax.Name) and word.name in ("thread", "nth") and is_word(word.name):
            return word, op, other
    return None


def thread(word: syntax.Name, op: str, other: syntax.Node) -> Typed:
    if word.name != "thread":
        raise misplaced(word, word.name)
    number = typed.Thread(positive(word, other))
    if op not in ("==", "!="):
        raise UserError(f"column {word.column}: a thread is == or != a number, not {op} one")
    return number if op == "==" else typed.Not(number)


def positive(word: syntax.Name, other: syntax.Node) -> int:
    if not isinstance(other, Integer) or other.value < 1:
        raise UserError(f"column {word.column}: {word.name} is compared with a number, 1 or more")
    return other.value


# -- counting


def counts(term: syntax.Node, is_word: Says) -> bool:
    """Whether this is a term that counts, as a whole."""
    found = compared(term, is_word)
    return isinstance(term, syntax.Counting) or (found is not None and found[0].name == "nth")


def count(terms: Sequence[syntax.Node], is_word: Says = lambda name: True) -> typed.Count:
    """All counting terms of a condition: they ask about the same number."""
    test = test_of(terms[0], is_word)
    for term in terms[1:]:
        test = typed.Logic("&&", test, test_of(term, is_word))
    return typed.Count(test, " && ".join(map(show, terms)))


def test_of(term: syntax.Node, is_word: Says) -> Typed:
    ordinal = typed.Ordinal()
    if isinstance(term, syntax.Counting):
        if term.number < 1:
            raise UserError(f"column {term.column}: {term.word} takes a number, 1 or more")
        number = typed.Constant(term.number, UNSIGNED)
        if term.word == "after":
            return typed.Compare(">", ordinal, number)
        rest = typed.Arithmetic("%", ordinal, number, UNSIGNED)
        return typed.Compare("==", rest, typed.Constant(0, UNSIGNED))
    found = compared(term, is_word)
    assert found is not None
    word, op, other = found
    return typed.Compare(op, ordinal, typed.Constant(positive(word, other), UNSIGNED))


def misplaced(node: syntax.Counting | syntax.Name, word: str) -> UserError:
    return UserError(f"column {node.column}: {word} {ONLY_AND}")


def parse_count(text: str) -> typed.Count:
    """The text of a `Count` again; `UserError` where it is none."""
    terms = syntax.conjunction(parser.parse(text))
    if not all(counts(term, lambda name: True) for term in terms):
        raise UserError(f'"{text}" does not count; it is written like nth == 3, every 10 or after 10')
    return count(terms)
