"""dataclasses, of which each method is compiled when it is first called.

The standard library's compiles all methods of a class where the class is made, and asks inspect how it is called. That
is 0.7 ms a class, of which a hundred are imported and a session uses few. For readers and mypy nothing is different.
That a frozen one stays as it is, mypy alone holds; so one is made in a third of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:

    def dataclass(one: type | None = None, *, frozen: bool = False) -> Any:
        return complete(one, frozen) if one is not None else lambda one: complete(one, frozen)

    def field(default: Any = ..., default_factory: Any = None, init: bool = True, compare: bool = True) -> Any:
        return DeclaredField(default, default_factory, init, compare)

    def replace(one: Any, **changes: Any) -> Any:
        same = {name: getattr(one, name) for name, known in type(one).__fields__.items() if known.is_argument}
        return type(one)(**{**same, **changes})


__all__ = ["dataclass", "field", "replace"]


class DeclaredField:
    """``default``: ... where there is none."""

    def __init__(self, default: Any, factory: Callable[[], Any] | None, is_argument: bool, is_compared: bool) -> None:
        self.default, self.factory, self.is_argument, self.is_compared = default, factory, is_argument, is_compared


def complete(one: Any, is_frozen: bool) -> Any:
    own = dict(vars(one))
    one.__fields__ = {name: known for base in one.__mro__[:0:-1] for name, known in fields_of(base).items()}
    one.__fields__.update(declared(one, own))
    for name in ("__init__", "__eq__"):
        if name not in own:
            setattr(one, name, at_first_call(one, name))
    if own.get("__hash__") is None:
        one.__hash__ = at_first_call(one, "__hash__") if is_frozen else None
    if "__repr__" not in own:
        one.__repr__ = shown
    return one


def fields_of(one: type) -> dict[str, DeclaredField]:
    found: dict[str, DeclaredField] = vars(one).get("__fields__", {})
    return found


def declared(one: type, own: dict[str, Any]) -> dict[str, DeclaredField]:
    found = {}
    for name in [name for name, kind in own.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]:
        given = own.get(name, ...)
        found[name] = known = given if isinstance(given, DeclaredField) else DeclaredField(given, None, True, True)
        if known is given and known.default is ...:
            delattr(one, name)
        elif known is given:
            setattr(one, name, known.default)
    return found


def at_first_call(one: type, name: str) -> Callable[..., Any]:
    def first(*arguments: Any, **named: Any) -> Any:
        method = compiled(one, name)
        setattr(one, name, method)
        return method(*arguments, **named)

    return first


def compiled(one: type, name: str) -> Callable[..., Any]:
    fields = fields_of(one)
    known: dict[str, Any] = {f"{name}_": field.factory or field.default for name, field in fields.items()}
    known.update(__name__=one.__module__, NotGiven=NotGiven)
    exec(SOURCES[name](one, fields), known)
    made: Callable[..., Any] = known[name]
    made.__qualname__ = f"{one.__qualname__}.{name}"
    return made


class NotGiven:
    """Stands for what a factory makes."""


def init(one: type, fields: dict[str, DeclaredField]) -> str:
    words, lines = ["self"], ["pass"]
    after = ["self.__post_init__()"] if hasattr(one, "__post_init__") else []
    for name, field in fields.items():
        if field.is_argument:
            default = "" if field.default is ... and field.factory is None else f"={name}_"
            words.append(f"{name}=NotGiven" if field.factory else name + default)
            lines.append(f"self.{name} = {name}_() if {name} is NotGiven else {name}" if field.factory
                         else f"self.{name} = {name}")  # fmt: skip
        elif field.factory:
            lines.append(f"self.{name} = {name}_()")
    return f"def __init__({', '.join(words)}):\n " + "\n ".join(lines + after)


def values(fields: dict[str, DeclaredField], of: str) -> str:
    return f"({''.join(f'{of}.{name}, ' for name, field in fields.items() if field.is_compared)})"


def equality(one: type, fields: dict[str, DeclaredField]) -> str:
    same = f"{values(fields, 'self')} == {values(fields, 'other')}"
    return f"def __eq__(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented"


def hashing(one: type, fields: dict[str, DeclaredField]) -> str:
    return f"def __hash__(self):\n return hash({values(fields, 'self')})"


SOURCES = {"__init__": init, "__eq__": equality, "__hash__": hashing}


def shown(one: Any) -> str:
    values = ", ".join(f"{name}={getattr(one, name)!r}" for name in one.__fields__)
    return f"{type(one).__qualname__}({values})"
