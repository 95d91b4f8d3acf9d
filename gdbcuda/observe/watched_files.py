"""The files whose functions are watched: of a running process, of a program before it starts, or one that is named."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence

from gdbcuda import api, elf
from gdbcuda.api import vendor
from gdbcuda.check.subjects import runtime_inside
from gdbcuda.check.subjects.uses import Uses
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.observe.patched import processes
from gdbcuda.observe.probes import WatchedFile, launches
from gdbcuda.observe.process_code import DELETED, is_mapped, mappings, outside

USUAL = ("libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.13", "libcudart.so.12")  # that programs load by themselves

RESOLVERS = {"dlsym", "dlvsym", "cuGetProcAddress", "cuGetProcAddress_v2", "cudaGetDriverEntryPoint",
             "cudaGetDriverEntryPointByVersion"}  # fmt: skip


@dataclass
class Target:
    """``files`` that may implement the API, and the API functions that others name (``used``)."""

    files: list[tuple[WatchedFile, elf.Elf]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def add(self, path: str, name: str, file: elf.Elf) -> None:
        if all(not os.path.samefile(one.path, path) for one, _ in self.files):
            self.files.append((WatchedFile(path, name), file))

    def nameless_runtimes(self, table: api.Table) -> list[str]:
        """Files that have the runtime inside and were stripped: its functions cannot be found."""
        loading = (one for one in self.files if "dlopen" in one[1].undefined)  # as it looks for libcuda.so
        return [watched.short for watched, file in loading if runtime_inside.is_nameless(file, table)]

    def note_uses(self, file: elf.Elf, table: api.Table) -> None:
        """What vendors' libraries and hook libraries call below them is not the program's doing."""
        is_program = file.kind in ("pie", "executable")
        if is_program or not (vendor.layer_of(file.path) or file.exported.keys() & table.functions.keys()):
            self.used.update(name for name in file.undefined if name in table.functions or name in launches(table))
            self.used.update(named_in(file, table))


def named_in(file: elf.Elf, table: api.Table) -> Iterator[str]:
    """What it may ask dlsym for. A runtime inside it has the names of all functions, and says nothing of its own."""
    try:
        contents = file.contents(".rodata") if file.undefined.keys() & RESOLVERS else None
        text = contents.read(0, min(contents.readable, 16 << 20)) if contents is not None else b""
    except UserError:
        return
    for word in set(text.split(b"\0")) if runtime_inside.MARK not in text else ():
        if word.startswith((b"cu", b"nvml")) and len(word) < 100:
            yield from (one.symbol for one in functions(word.decode("ascii", "replace"), table))


def functions(name: str, table: api.Table) -> Iterable[api.Function]:
    """That cuGetProcAddress or dlsym may answer for a name."""
    if name in table.functions:
        yield table.functions[name]
    yield from (table.functions[one.symbol] for one in table.proc_versions(name) if one.symbol in table.functions)


def of_process(pid: int, table: api.Table) -> Target:
    """What it has loaded now."""
    found = Target()
    if not os.path.isdir(f"/proc/{pid}"):
        raise UserError(f"no process {pid}")
    for name, one in {one.file: one for one in mappings(pid) if one.is_code}.items():
        path = outside(pid, one)
        is_there = not name.endswith(DELETED) or is_mapped(path, pid, one)
        file = opened(path) if is_there else None
        if file is not None:
            found.add(path, name.removesuffix(DELETED), file)
            found.note_uses(file, table)
    if not found.files:
        raise UserError(f"cannot read what process {pid} has loaded: /proc/{pid}/maps")
    return found


def of_program(words: Sequence[str], preloaded: Sequence[str], table: api.Table) -> Target:
    """What the loader will take, and the libraries that such programs load by themselves."""
    path = places.program(words[0])
    program, found, root = opened(path), Target(), elf.Root()
    if program is None:  # a script: its interpreter is not looked for
        return usual(found, root, None)
    libraries = Uses(program, root, table).libraries.found.values()
    for one in [program, *filter(None, map(opened, preloaded)), *libraries]:
        found.add(os.path.realpath(one.path), os.path.realpath(one.path), one)
        found.note_uses(one, table)
    usual(found, root, program)
    for runtime in filter(None, map(opened, runtimes_of_python(path))):
        found.add(os.path.realpath(runtime.path), os.path.realpath(runtime.path), runtime)
    return found


def runtimes_of_python(path: str) -> list[str]:
    """What packages of an interpreter bring: PyTorch loads the libcudart of nvidia-cuda-runtime, wherever the loader
    would find another. [] for other programs."""
    if not os.path.basename(path).startswith("python"):
        return []
    packages = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(path))), "lib", "python3*", "site-packages")
    return sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib", "libcudart.so.*")))


def usual(found: Target, root: elf.Root, program: elf.Elf | None) -> Target:
    asker = program or elf.open("/proc/self/exe")
    loaded = {vendor.api_of(one.name) for one, _ in found.files}
    loaded |= {"runtime"} if program is not None and runtime_inside.is_inside(program) else set()
    for name in USUAL:
        library = root.find(name, asker) if vendor.api_of(name) not in loaded else None
        if library is not None:
            found.add(os.path.realpath(library.path), os.path.realpath(library.path), library)
    return found


def of_library(name: str) -> tuple[WatchedFile, elf.Elf]:
    """By its path, or by the name under which the loader finds it."""
    found = elf.Root().find(name, elf.open("/proc/self/exe")) if "/" not in name else None
    path = found.path if found is not None else name
    if not os.path.exists(path):
        require_no_container(path)
    file = elf.open(path)
    return WatchedFile(settled(path), os.path.realpath(path)), file


def settled(path: str) -> str:
    """Without links, but for the one that leads into another process's mounts (/proc/PID/root): there it is read as a
    path of ours."""
    real = os.path.realpath(path)
    return real if os.path.exists(real) and os.path.samefile(real, path) else os.path.abspath(path)


def require_no_container(path: str) -> None:
    """`UserError` where a process has the file, which has other mounts than we."""
    for pid in processes(None):
        there = f"/proc/{pid}/root{path}"
        if path.startswith("/") and os.path.exists(there):
            raise UserError(f"there is no {path} here, but where process {pid} is: name {there}")


def opened(path: str) -> elf.Elf | None:
    try:
        return elf.open(path)
    except UserError:
        return None
