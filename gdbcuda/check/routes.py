"""Whether a program's calls arrive in a hook library, and by which way."""

from __future__ import annotations

from functools import cached_property

from .subject import Subject, important_first
from .vendor import NAMES

RESOLVERS = ("cuGetProcAddress", "cuGetProcAddress_v2")


class Routes:
    """The ways of one program into one hook library."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._called = subject.uses.called
        self._exported = subject.library.exported

    @cached_property
    def apis(self) -> set[str]:
        """The APIs that the library is about."""
        subject = self._subject
        return {function.api for function in (*subject.hooked.values(), *subject.hidden.values())}

    @cached_property
    def by_name(self) -> list[str]:
        """Functions that the program calls by name and that the loader takes from the library."""
        return [name for name in important_first(self._called) if name in self._exported and self._version_fits(name)]

    def _version_fits(self, name: str) -> bool:
        offered = self._exported[name].version
        wanted = {c.undefined[name].version for c in self._subject.uses.callers if name in c.undefined}
        return not offered or not any(wanted) or offered in wanted

    @cached_property
    def hidden(self) -> list[str]:
        """Functions that it calls by name and the library defines without exporting."""
        return [name for name in important_first(self._called) if name in self._subject.hidden]

    @cached_property
    def not_hooked(self) -> list[str]:
        """Functions that it calls by name, of an API that the library is about, and goes past."""
        past = {n: f for n, f in self._called.items() if f.api in self.apis and n not in self.by_name}
        return [name for name in important_first(past) if name not in self.hidden]

    @cached_property
    def loaded(self) -> list[str]:
        """The APIs of the library that the program, or the CUDA runtime in it, loads by itself."""
        uses = self._subject.uses
        loaded = set(uses.loads)
        if "runtime" in uses.linked or uses.static_runtime:
            loaded.add("driver")
        return sorted(loaded & (self.apis or loaded))

    @property
    def through_dlsym(self) -> list[str]:
        """What of ``loaded`` comes to the library because it answers dlsym."""
        return self.loaded if "dlsym" in self._exported else []

    @property
    def through_proc_address(self) -> bool:
        return "driver" in self.through_dlsym and any(name in self._subject.defined for name in RESOLVERS)

    def described(self) -> list[str]:
        """The ways that lead into the library, in words."""
        ways = [f"by name ({', '.join(self.by_name[:4])}{', ...' if self.by_name[4:] else ''})"] if self.by_name else []
        if self.through_dlsym:
            ways.append("through dlsym (" + ", ".join(NAMES[api] for api in self.through_dlsym) + ")")
        if self.through_proc_address:
            ways.append("through cuGetProcAddress")
        return ways
