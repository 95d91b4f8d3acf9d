"""What an object says of a set of names, kept: it says the same as long as it is mapped.

Each load is a reason to ask every object again, and large programs load hundreds.
"""

from __future__ import annotations

import functools
from collections.abc import Set
from typing import Any, Callable, TypeVar

Asked = TypeVar("Asked")
MOST = 16  # sets of names; those go first that nobody has asked for the longest


def by_names(method: Callable[[Any, Set[str]], Asked]) -> Callable[[Any, Set[str]], Asked]:
    """The answer is not to be changed. It is found again at once where the very same frozenset is asked for."""
    place = f"_kept_{method.__name__}"

    @functools.wraps(method)
    def kept(self: Any, names: Set[str]) -> Asked:
        answers: dict[frozenset[str], Asked] = self.__dict__.setdefault(place, {})
        key = frozenset(names)
        answer = answers.pop(key) if key in answers else method(self, key)
        if len(answers) >= MOST:
            del answers[next(iter(answers))]
        answers[key] = answer
        return answer

    return kept
