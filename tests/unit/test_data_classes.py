"""Our dataclasses do what those of the standard library do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import pytest

from gdbcuda import data_classes

BOTH = (dataclasses, data_classes)


def classes(of: Any) -> dict[str, Any]:
    """The same, declared with either module."""

    @of.dataclass(frozen=True)
    class Size:
        number: int
        unit: str = "B"
        shown: str = of.field(default="", compare=False)
        most: ClassVar[int] = 8

    @of.dataclass
    class Block:
        at: int
        sizes: list[int] = of.field(default_factory=list)
        known: int = of.field(init=False, default=5)
        seen: set[int] = of.field(init=False, default_factory=set)

    @of.dataclass
    class Held(Block):
        by: str = "nobody"

        def __post_init__(self) -> None:
            self.seen.add(self.at)

    @of.dataclass(frozen=True)
    class Nothing:
        pass

    class Named(Size):  # type: ignore[misc, valid-type]
        pass

    return {one.__name__: one for one in (Size, Block, Held, Nothing, Named)}


OURS, PYTHONS = classes(data_classes), classes(dataclasses)
MAKING: list[Callable[[dict[str, Any]], Any]] = [
    lambda of: of["Size"](1),
    lambda of: of["Size"](1, "KB", "one"),
    lambda of: of["Size"](unit="KB", number=2),
    lambda of: of["Named"](1, shown="x"),
    lambda of: of["Block"](1),
    lambda of: of["Block"](1, [2]),
    lambda of: of["Held"](1, [2], "me"),
    lambda of: of["Nothing"](),
]
COMPARING: list[Callable[[dict[str, Any]], Any]] = [
    lambda of: of["Size"](1) == of["Size"](1, shown="one"),
    lambda of: of["Size"](1) == of["Size"](2),
    lambda of: of["Size"](1) == of["Named"](1),
    lambda of: of["Size"](1) == (1, "B", ""),
    lambda of: of["Size"](1) != of["Size"](1),
    lambda of: of["Block"](1) == of["Block"](1, []),
    lambda of: of["Block"](1).sizes is of["Block"](1).sizes,
    lambda of: of["Held"](1) == of["Block"](1),
    lambda of: {of["Size"](1, shown="x"): 7}.get(of["Size"](1)),
    lambda of: of["Block"].__hash__,
    lambda of: of["Size"].most,
    lambda of: of["Size"].unit,
    lambda of: hasattr(of["Block"], "sizes"),
]
FAILING: list[Callable[[dict[str, Any]], Any]] = [
    lambda of: of["Size"](),
    lambda of: of["Size"](1, 2, 3, 4),
    lambda of: of["Size"](1, other=2),
    lambda of: of["Block"](1, known=2),
    lambda of: hash(of["Block"](1)),
]


@pytest.mark.parametrize("make", MAKING)
def test_what_is_made(make: Callable[[dict[str, Any]], Any]) -> None:
    made, expected = make(OURS), make(PYTHONS)
    assert vars(made) == vars(expected) and repr(made) == repr(expected)


@pytest.mark.parametrize("ask", COMPARING)
def test_what_is_equal(ask: Callable[[dict[str, Any]], Any]) -> None:
    assert ask(OURS) == ask(PYTHONS)


@pytest.mark.parametrize("make", FAILING)
def test_what_cannot_be_made(make: Callable[[dict[str, Any]], Any]) -> None:
    said = []
    for of in (OURS, PYTHONS):
        with pytest.raises(TypeError) as caught:
            make(of)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("of", BOTH)
def test_another_like_it(of: ModuleType) -> None:
    known = OURS if of is data_classes else PYTHONS
    one = known["Size"](1, shown="x")
    assert of.replace(one, unit="KB") == known["Size"](1, "KB") and of.replace(one, unit="KB").shown == "x"


def test_methods_are_compiled_when_they_are_called() -> None:
    size = classes(data_classes)["Size"]
    before = size.__init__, size.__eq__
    size(1)
    assert size.__init__ is not before[0] and size.__eq__ is before[1]
