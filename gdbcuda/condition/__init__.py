"""The one condition language of gdbcuda: C expressions on the parameters of an API function, by name.

    bytesize > 1<<30                                     sizes: 4K 1M 2G 1T, also 1KiB or 1MB; 1K is 1024
    kind == cudaMemcpyDeviceToHost && count >= 1M        enum constants and flag macros of the API
    (Flags & CU_EVENT_DISABLE_TIMING) != 0               || && ! | ^ & == != < <= > >= << >> + - * / % ~
    dptr == NULL || hStream != 0                         pointers and handles are unsigned numbers
    symbol == "cuInit" || symbol == "cuMem*"             strings: equal, or (a star at the end) beginning so
    blockDim.x > 256                                     members of a struct that is passed by value
    *count > 8 || pCopy->WidthInBytes >= 1M              what a parameter points to, if the function reads it
    caller in app || caller in libfoo.so,main            layers, objects (globs too) and functions
    thread == 2                                          gdb's number of the thread
    nth == 3        every 10        after 100            counted: the calls that the rest lets through

Precedence is C's; where C's surprises (``a < b < c``, ``flags & 1 == 1``) parentheses are demanded. The types
are those of the function's parameters, whatever the debug info says, but all integers are widened to 64 bits
first: arithmetic and comparisons are signed 64-bit unless an operand is an unsigned 64-bit number (size_t, a
pointer), so an unsigned int never equals -1, while a size_t of all ones does. `numbers` has the rest.

A comparison that would read through a NULL pointer, or behind the end of an array, is false (`pointees`); no string
equals NULL or what cannot be read. Any other pointer that leads nowhere is an error: gdb stops and says so. Counting
terms stand alone or are joined to the rest by &&, and are asked last: ``nth == 3`` is true for the third call that
everything else lets through, ``every 10`` for the 10th, the 20th …, ``after 100`` from the 101st on. All of one
condition count the same calls; the count begins with the process.

A condition is parsed once and bound to each function of a breakpoint; back ends (`to_gdb`, `to_python`,
`machine_code`) walk the typed tree and agree on every value, or refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from gdbcuda import api
from gdbcuda.condition import to_gdb, to_python, typed
from gdbcuda.condition.binding import Bound, bind
from gdbcuda.condition.grammar import parser, syntax
from gdbcuda.condition.grammar.lexer import Text
from gdbcuda.condition.grammar.show import show
from gdbcuda.condition.place import Surroundings
from gdbcuda.condition.to_gdb import Native
from gdbcuda.condition.to_python import CallValues, Value
from gdbcuda.condition.words import parse_count
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.machine import abi
from gdbcuda.memory import Memory

SHOWN_FUNCTIONS = 4  # in an error message


def parse(text: str, table: api.Table, functions: Sequence[api.Function], optional: Container[str] = ()) -> Condition:
    """The condition, valid for every one of ``functions``; those whose symbols are ``optional`` it may leave out, as
    long as one is left.

    `UserError` with the column of a syntax error, the parameters that a function has instead of an unknown
    name, or the types that do not fit; it names the functions for which the condition is not valid.
    """
    tree = parser.parse(text)
    if isinstance(tree, Text):  # as it is right in a shell
        raise UserError(f"the condition is in quotes; here it is written without: {show(tree)[1:-1]}")
    bound, problems = {}, {}
    for function in functions:
        try:
            bound[function.symbol] = bind(tree, function, table)
        except UserError as problem:
            problems[function.symbol] = str(problem)
    needed = {symbol: problem for symbol, problem in problems.items() if symbol not in optional or not bound}
    if needed:
        raise UserError(_summary(needed))
    callers = [node for node in syntax.nodes(tree) if isinstance(node, syntax.WrittenCallerIn)]
    return Condition(show(tree), bound, callers, frozenset(problems))


def _summary(problems: Mapping[str, str]) -> str:
    first, *others = problems
    if not others:
        return problems[first]
    shown = ", ".join(others[:SHOWN_FUNCTIONS])
    more = f" and {len(others) - SHOWN_FUNCTIONS} more" if len(others) > SHOWN_FUNCTIONS else ""
    return f"{problems[first]}; nor is the condition valid for {shown}{more}"


class Condition:
    """A condition for some functions. ``text``: as it is shown, sizes as decimals; ``trees``: by symbol;
    ``callers``: what is written behind ``caller in``, each time; ``left_out``: functions that it does not fit."""

    def __init__(
        self, text: str, bound: Mapping[str, Bound], callers: Sequence[syntax.WrittenCallerIn], left_out: Container[str]
    ) -> None:
        self.text = text
        self.left_out = left_out
        self.callers = callers
        self.bound = bound
        self.trees: Mapping[str, typed.Typed] = {symbol: one.tree for symbol, one in bound.items()}
        self._compiled = {symbol: to_python.compiled(tree) for symbol, tree in self.trees.items()}
        self._arguments = {symbol: typed.arguments(tree) for symbol, tree in self.trees.items()}

    def __str__(self) -> str:
        return self.text

    def fits(self, symbol: str) -> bool:
        """Whether it is valid for that function, or (one that is not in the table) nobody knows."""
        return symbol not in self.left_out

    def arguments(self, function: api.Function) -> dict[str, int]:
        """The parameters whose values the condition looks at, and their positions."""
        return self._arguments[function.symbol]

    def to_gdb(self, function: api.Function, locations: Sequence[abi.ValuePlace]) -> Native:
        """What gdb can evaluate at the function's entry, from ``abi.locate(function)``."""
        bound = self.bound[function.symbol]
        return to_gdb.native(bound.terms, bound.count, locations)

    def evaluate(
        self,
        values: Mapping[str, Value],
        function: api.Function | None = None,
        memory: Memory | None = None,
        surroundings: Surroundings | None = None,
    ) -> bool:
        """Whether the condition holds for these arguments (at least those of `arguments`), by name.

        Numbers wrap to the parameter's type. A string is its text, or its address with ``memory`` to read it
        from; NULL and an unreadable string equal no text. `Unreadable` for other memory that cannot be read.
        ``surroundings``: who calls, for the terms that ask. Without ``function`` it is the first one's."""
        symbol = function.symbol if function is not None else next(iter(self.trees))
        return self._compiled[symbol](CallValues(values, memory, surroundings)) != 0

    def holds(
        self,
        function: api.Function,
        raws: Sequence[bytes | None],
        memory: Memory,
        surroundings: Surroundings | None = None,
    ) -> bool:
        """The same for the bytes of each argument as ``Location.read`` gives them; `Unreadable` if one that
        the condition looks at is None."""
        values = {}
        for name, index in self.arguments(function).items():
            raw = raws[index]
            if raw is None:
                raise Unreadable(0)
            values[name] = abi.number(function.parameters[index].type, raw)
        return self.evaluate(values, function, memory, surroundings)


def ordinal_test(text: str) -> Callable[[int], bool]:
    """For the text of terms that count, "nth == 3": whether they hold for a call's number. `UserError` for others."""
    test = to_python.compiled(parse_count(text).test)

    def holds(ordinal: int) -> bool:
        call = CallValues({}, None)
        call.ordinal = ordinal
        return test(call) != 0

    return holds
