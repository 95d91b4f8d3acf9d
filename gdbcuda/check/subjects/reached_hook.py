"""Whether a program's calls arrive in a hook library, and by which way."""

from __future__ import annotations

from functools import cached_property

from gdbcuda.api.vendor import NAMES
from gdbcuda.check.subjects.subject import Subject, important_first
from gdbcuda.text.sentences import some

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

    @cached_property
    def other_version(self) -> list[str]:
        """Functions that it calls by name, in another version than the library's: the loader does not take those."""
        return [
            name for name in important_first(self._called) if name in self._exported and not self._version_fits(name)
        ]

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
        """Functions that it calls by name, and that go past a library which is about functions; the runtime's only
        where it is about those: they lead to the driver's."""
        about = self.apis | {"driver", "nvml"} if self.apis else set()
        past = {n: f for n, f in self._called.items() if f.api in about and n not in self.by_name}
        return [name for name in important_first(past) if name not in self.hidden]

    @cached_property
    def runtime(self) -> bool:
        """The program has the CUDA runtime: that loads the driver and asks dlsym for cuGetProcAddress alone."""
        uses = self._subject.uses
        return "runtime" in uses.linked or uses.static_runtime

    @cached_property
    def loaded(self) -> list[str]:
        """The APIs of the library whose vendor's library the program loads, itself or in the CUDA runtime."""
        loads = {*self._subject.uses.loads, *(["driver"] if self.runtime else [])}
        return sorted(loads & (self.apis or loads))

    @property
    def through_dlsym(self) -> list[str]:
        """What of ``loaded`` the program itself asks dlsym for, when the library answers that."""
        # the name of libcuda in a program with the runtime inside is the runtime's
        others = [api for api in self.loaded if not (api == "driver" and self.runtime)]
        return others if "dlsym" in self._exported else []

    @property
    def through_proc_address(self) -> bool:
        """The runtime gets the library's cuGetProcAddress; so too, perhaps, where no name tells what dlsym answers."""
        answers = any(name in self._subject.defined for name in RESOLVERS) or self._subject.answers_unknown
        return self.runtime and "driver" in self.loaded and "dlsym" in self._exported and bool(answers)

    @property
    def perhaps(self) -> list[str]:
        """What the program loads itself and the library exports functions of: dlsym finds those for a program that
        asks with RTLD_DEFAULT, and not for one that asks with the handle of the vendor's library."""
        exported = {function.api for function in self._subject.hooked.values()}
        own = set(self._subject.uses.loads) - ({"driver"} if self.runtime else set())
        return sorted(own & exported) if "dlsym" not in self._exported else []

    def described(self) -> list[str]:
        """The ways that lead into the library, in words."""
        ways = [f"by name ({some(self.by_name, 4)})"] if self.by_name else []
        if self.through_dlsym:
            ways.append("through dlsym (" + some([NAMES[api] for api in self.through_dlsym]) + ")")
        if self.through_proc_address:
            unknown = self._subject.answers_unknown
            perhaps = f", if it answers that: {unknown}" if unknown else ""
            ways.append(f"through cuGetProcAddress (the CUDA runtime asks{perhaps})")
        return ways
