"""``if COND`` over recorded calls: the condition language of a breakpoint, asked afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Details, References
from gdbcuda.condition.grammar import parser, syntax
from gdbcuda.condition.grammar.unknown import RESULTS
from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files import object_names
from gdbcuda.log.selecting import recorded
from gdbcuda.text import cplusplus


class Where:
    """Holds for calls of functions that have the parameters which the condition names, and for which it is true.

    ``named``: what each name that was asked for means; of each some function has to have them, without a name any.
    ``undecided``: calls of which the log does not have what the condition looks at."""

    def __init__(
        self, text: str, table: api.Table, notes: References, named: Sequence[Sequence[api.Function]] = ()
    ) -> None:
        self.text, self.table, self.notes = text, table, notes
        self.undecided = 0
        self.ordinals = count(1)
        self.names = list(names(parser.parse(text)))
        self.callers = [node for node in syntax.nodes(parser.parse(text)) if isinstance(node, syntax.WrittenCallerIn)]
        self._bound: dict[str, conditions.Condition | None] = {}
        self.refuse_results([function for functions in named for function in functions])
        for functions in named:
            if not any(self.bind(function.symbol) for function in functions):
                conditions.parse(text, table, functions[-1:])  # says why not
        if not named and not any(map(self.bind, table.functions)):
            raise UserError(self.why_not())

    def holds(self, call: Call) -> bool:
        function, condition = self.table.function(call.name), self.bind(call.name)
        if condition is None or function is None:
            return False
        try:
            values = recorded.values(call, function, condition.arguments(function), self.table)
            memory = recorded.memory(call, function, self.table)
            return condition.evaluate(values, function, memory, RecordedCaller(call, self))
        except (Unreadable, TypeError, ValueError):
            self.undecided += 1
            return False

    def bind(self, symbol: str) -> conditions.Condition | None:
        """The condition for one function; None where it makes no sense for it."""
        if symbol not in self._bound:
            function, found = self.table.function(symbol), None
            with suppress(UserError):
                found = conditions.parse(self.text, self.table, [function]) if function is not None else None
            self._bound[symbol] = found
        return self._bound[symbol]

    def refuse_results(self, functions: Sequence[api.Function]) -> None:
        for name in self.names:
            if name.name in RESULTS and not any(function.parameter(name.name) for function in functions):
                raise UserError(f"column {name.column}: a condition is on arguments; --failed is for results")

    def why_not(self) -> str:
        """The name that is nobody's, with the nearest that is somebody's; or that no function has all of them."""
        known = {p.name for function in self.table.functions.values() for p in function.parameters}
        for name in self.names:
            if name.name not in known and self.table.constant(name.name) is None:
                return f'column {name.column}: no function has a parameter "{name.name}"{nearest(name.name, known)}'
        names = list(dict.fromkeys(name.name for name in self.names if name.name in known))
        having = (f for f in self.table.functions.values() if names and all(map(f.parameter, names)))
        return self.refusal(next(having, None)) or (
            f"no function has all of these parameters: {', '.join(names)}" if names else f"of no function: {self.text}"
        )

    def refusal(self, function: api.Function | None) -> str:
        """Why the condition makes no sense for a function that has all that it names; "" for none."""
        try:
            conditions.parse(self.text, self.table, [function] if function else [])
        except UserError as refused:
            return str(refused) if function else ""
        return ""

    def remark(self) -> str:
        """What the reader of the answer should know about it, a line each; "" for nothing."""
        lines = []
        if self.undecided:
            calls = "1 call is" if self.undecided == 1 else f"{self.undecided} calls are"
            lines.append(f"{calls} left out: what the condition looks at was not recorded of them")
        places = self.notes.all_frames()
        for word in (word for node in self.callers for word in node.words):
            if not any(means(word, place) for place in places):
                known = {one for place in places for one in called(place)}
                lines.append(f"no caller in the log is called {word}{nearest(word, known)}")
        return "\n".join(lines)


def names(tree: syntax.Node) -> Iterator[syntax.Name]:
    for node in syntax.nodes(tree):
        if isinstance(node, (syntax.Name, syntax.Path)):
            yield node if isinstance(node, syntax.Name) else node.name


class RecordedCaller:
    """Who called, by what the log says of the caller's address."""

    def __init__(self, call: Call, where: Where) -> None:
        self.call, self.where = call, where

    def is_from(self, words: Sequence[str]) -> bool:
        places = [one for at in (self.call.caller, *self.scripts())
                  for one in self.where.notes.frames(self.call.process, at)]  # fmt: skip
        return any(means(word, place) for word in words for place in places)

    def scripts(self) -> Iterator[int]:
        """The frames of Python that the log has of it: each of them has asked."""
        found = (self.call.python, *self.call.stack)
        return (at for at in found if "script" in self.where.notes.place(self.call.process, at))

    def thread(self) -> int:
        return self.call.thread

    def count(self) -> int:
        return next(self.where.ordinals)


def means(word: str, place: Details) -> bool:
    """A layer, an object or a function; ``app`` is everyone but hook, driver and system, as for a breakpoint."""
    if "script" in place:
        frame = PythonFrame(str(place.get("object", "")), place.get("line"), str(place.get("function", "")))
        return own_code.is_meant(frame, word)
    layer, file = str(place.get("layer", "")), str(place.get("object", ""))
    if word in ("any", layer) or (word == "app" and layer in ("runtime", "")):
        return True
    return object_names.is_meant(word, file) or is_function(str(place.get("function", "")), word)


@lru_cache(maxsize=4096)
def is_function(recorded_as: str, word: str) -> bool:
    """A C++ one is called as for a breakpoint: without its namespaces, too."""
    return bool(recorded_as) and (recorded_as == word or cplusplus.is_called(recorded_as, word))


def called(place: Details) -> tuple[str, ...]:
    """What `means` can be true for."""
    function = cplusplus.without_arguments(str(place.get("function", "")))
    return str(place.get("layer", "")), str(place.get("object", "")).rpartition("/")[2], function


def nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # slow to import, and only for an error message

    near = get_close_matches(name, sorted(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
