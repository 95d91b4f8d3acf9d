"""Regular expressions that are compiled at their first use: sourcing the extension waits for none of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class LazyPattern(Generic[AnyStr]):
    """What is asked of it once is its own from then on, so that it is as fast as the pattern itself."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(re.compile(self._text, self._flags), name)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))
