"""A file for every check, by what the check looks at; `CASES` has them by the id of the finding."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from check_cases.building import CASES

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")

__all__ = ["CASES"]
