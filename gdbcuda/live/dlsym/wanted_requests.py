"""Which requests by name are of interest: all while the user logs them, else those that breakpoints wait for."""

from __future__ import annotations

from functools import lru_cache

from gdbcuda import api
from gdbcuda.live import layers
from gdbcuda.live.dlsym import changed_answers
from gdbcuda.live.layers import library_files
from gdbcuda.live.noticing import answer_search
from gdbcuda.routes import requests
from gdbcuda.routes.snapshot import API_RESOLVERS

_is_on: list[bool] = []  # the user's wish, for every process


def is_on() -> bool:
    return bool(_is_on)


def set_on(on: bool) -> None:
    _is_on[:] = [True] if on else []


def is_wanted() -> bool:
    return is_everything_wanted() or bool(answered_for())


def is_everything_wanted() -> bool:
    return is_on() or bool(changed_answers.ANSWERS)


def answered_for() -> frozenset[str]:
    """Base names of the functions that the user's breakpoints wait for, and that no hook library has by name: its
    resolvers may answer for them with code of other names."""
    waiting = answer_search.wanted()
    return base_names(waiting, tuple(library_files.defined(path) for path in layers.hooks()) if waiting else ())


@lru_cache(maxsize=4)  # asked for at each request, of which a framework makes thousands
def base_names(waiting: frozenset[str], by_name: tuple[frozenset[str], ...]) -> frozenset[str]:
    """Of those that are in none of the others; none where there are no others."""
    return frozenset(map(api.base_name, waiting.difference(*by_name))) if by_name else frozenset()


def is_asked_for(request: requests.Request) -> bool:
    """Without the log, only what may be answered for a function that is waited for; and for a resolver, which then
    answers the rest."""
    base = api.base_name(request.name)
    return is_everything_wanted() or base in answered_for() or base in API_RESOLVERS
