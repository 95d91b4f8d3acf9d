"""How long the calls of a long log took."""

from __future__ import annotations

import random
import sys

import pytest

from gdbcuda.log.views.times import EXACT, Times


def of(values: list[float]) -> Times:
    found = Times()
    for one in values:
        found.add(one)
    return found


def test_few_are_exact() -> None:
    found = of([0.003, 0.001, 0.002, 1.0])
    assert (found.count, found.total, found.least, found.most) == (4, pytest.approx(1.006), 0.001, 1.0)
    assert (found.quantile(0.5), found.quantile(0.99)) == (0.003, 1.0)


def test_many_are_exact_to_a_thousandth() -> None:
    dice = random.Random(1)
    values = [round(10 ** dice.uniform(-8, 2), 9) for _ in range(2 * EXACT + 5)]
    found, ordered = of(values), sorted(values)
    assert (found.least, found.most) == (ordered[0], ordered[-1])
    for part in (0.0, 0.01, 0.5, 0.99):
        assert found.quantile(part) == pytest.approx(ordered[int(part * len(ordered))], rel=1e-3)


def test_short_ones_are_exact() -> None:
    values = [1e-9 * (at % 300) for at in range(3 * EXACT)]
    assert of(values).quantile(0.5) == pytest.approx(150e-9, rel=1e-9)


def test_memory_does_not_grow() -> None:
    found = of([1e-6 + 1e-9 * at for at in range(4 * EXACT)])
    assert len(found.few) <= EXACT and sys.getsizeof(found.many) < 200_000
