"""A program with the recorder in it: what its loader is told, and where the calls go."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from gdbcuda import elf
from gdbcuda.errors import UserError, cannot
from gdbcuda.files import places
from gdbcuda.files.preloadable import require_auditable, require_preloadable
from gdbcuda.rings.ring_layout import MOST_RECORDS
from gdbcuda.rings.traced import trace_folder
from gdbcuda.shell.hook_given import AUDIT, INJECTION, PRELOAD, hook_given, named_in, of_this_machine
from gdbcuda.shell.inherited import signals_of_a_shell
from gdbcuda.shell.trace import memory_limit
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import meant

FOLDER, LAST, PLACES = "GDBCUDA_TRACE", "GDBCUDA_TRACE_LAST", "GDBCUDA_TRACE_IN"
STACK, SHARED, WHOLE = "GDBCUDA_TRACE_STACK", "GDBCUDA_TRACE_SHARED", "GDBCUDA_TRACE_WHOLE"
HOOK = "GDBCUDA_TRACE_HOOK"
AUDITED = "GDBCUDA_TRACE_AUDIT"  # the hook library, where the loader asks it too
WHOLE_PROCESSES = 64  # of later ones each thread keeps fewer calls, 256 in the end
WHOLE_RINGS = 16  # threads that may be AHEAD calls ahead; the n-th one gets a 16th of n of that
LAYERS = ("app", "runtime", "hook", "driver")
TELLS_OF_ALL = (2, 35)  # glibc: older ones bind functions at the start without a word
CANNOT_BE_STARTED, NOT_FOUND = 126, 127  # as shells and env say it
PATH_MAX, LONGEST_NAME = 4096, 80  # bytes (linux/limits.h; struct file_name)


def environment(
    own: Mapping[str, str], hook: str | None, last: int, where: Sequence[str], keeps_all: bool = False
) -> dict[str, str]:
    """Of the program. Its libraries come in the order in which they come without us. ``last``: 0 where nobody has
    asked for a number."""
    tracer = places.built(places.TRACER)
    if not tracer:
        raise UserError(f"{places.TRACER} is not built: {places.HOW_BUILT}, on x86-64")
    if last > MOST_RECORDS:
        raise UserError(f"--last is {MOST_RECORDS} at most, not {last}")
    given = [of_this_machine(hook_given(hook, (PRELOAD, AUDIT)))] if hook else []
    way = named_in(elf.open(given[0]).exported) if given else PRELOAD
    libraries = [tracer, *(given if way == PRELOAD else [])]
    audited = list(map(os.path.realpath, given)) if way == AUDIT else []
    for library in libraries:
        require_preloadable(library)
    for library in audited:
        require_auditable(library)
    fit, _ = memory_limit.fitting(last or memory_limit.wanted(keeps_all))
    shared = WHOLE_RINGS * fit if keeps_all and not last else 0
    whole = 0 if keeps_all or last else WHOLE_PROCESSES
    return {**own, LAST: str(fit), SHARED: str(shared), WHOLE: str(whole), PLACES: ",".join(checked(where)),
            AUDIT: joined(tracer, *audited, *[tracer] * len(audited), own.get(AUDIT, "")), AUDITED: joined(*audited),
            PRELOAD: joined(*libraries, own.get(PRELOAD, "")),
            HOOK: "".join([*audited, *given][:1]),
            **({INJECTION: given[0]} if way == INJECTION else {})}  # fmt: skip


def checked(where: Sequence[str]) -> Iterator[str]:
    for one in ",".join(where).split(","):
        if one and one not in LAYERS and ".so" not in one:
            near = meant(one, LAYERS)
            raise UserError(f"--in is {', '.join(LAYERS)}, or a library such as libvgpu.so, not {one!r}{near}")
        yield one


def joined(*parts: str) -> str:
    return ":".join(filter(None, parts))


def remarks(program: str) -> Iterator[str]:
    """What keeps calls from being recorded."""
    version = libc()
    if version is None:
        yield "this system's C library is not glibc: nothing will be recorded"
    elif version < TELLS_OF_ALL:
        yield (f"the loader of glibc {version[0]}.{version[1]} does not tell of functions that are bound at the start: "
               f"calls of programs and libraries that are linked with -z now are not recorded")  # fmt: skip
    file = opened(places.on_path(program))
    if file is not None and is_static(file):
        yield f"{program} is linked statically, no loader runs: nothing will be recorded"
    elif file is not None and hides_runtime(file):
        yield (f"the CUDA runtime is inside {program}: its calls are recorded only where they were linked with gdbcuda "
               f"wrap-flags; what they become in the driver is")  # fmt: skip


def libc() -> tuple[int, int] | None:
    """The version of glibc."""
    try:
        found = re.fullmatch(r"glibc (\d+)\.(\d+).*", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (ValueError, OSError):
        return None
    return (int(found[1]), int(found[2])) if found else None


def opened(path: str | None) -> elf.Elf | None:
    try:
        return elf.open(path) if path is not None else None
    except UserError:  # a script
        return None


def is_static(file: elf.Elf) -> bool:
    return file.kind in ("executable", "pie") and not file.interpreter


def hides_runtime(file: elf.Elf) -> bool:
    """Calls within a program pass no loader, but for those that the linker has led to wrappers."""
    from gdbcuda import api
    from gdbcuda.check.subjects import runtime_inside

    return runtime_inside.is_inside(file) and not runtime_inside.is_wrapped(file, api.load_all())


def new_folder(wanted: str | None, program: str) -> str:
    """For its owner alone."""
    name = re.sub(r"[^\w.-]", "_", os.path.basename(program)) or "program"
    folder = wanted or f"trace-{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    require_short(folder)
    try:
        if os.path.isdir(folder) and is_own(folder):
            for one in trace_folder.without_calls(folder):
                os.unlink(os.path.join(folder, one))
        if not (os.path.isdir(folder) and not os.listdir(folder)):
            os.mkdir(folder, 0o700)
        require_own(folder)
    except FileExistsError:
        refuse_link(folder)
        raise UserError(f"{folder} is there already, and not empty: name another folder with -o") from None
    except OSError as problem:
        raise cannot(f"make the folder {folder}", problem) from None
    return folder


def require_short(folder: str) -> None:
    """The recorder opens its files by their whole paths."""
    size, most = len(os.fsencode(os.path.abspath(folder))), PATH_MAX - LONGEST_NAME
    if size > most:
        raise UserError(f"the path of the folder has {size} bytes: {most} at most leave room for its files' names")


def refuse_link(folder: str) -> None:
    """Also where it leads nowhere."""
    if os.path.islink(folder):
        raise UserError(f"{folder} is a symbolic link: name a folder of your own with -o")


def is_own(folder: str) -> bool:
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def require_own(folder: str) -> None:
    """Who else may write there could exchange the files."""
    refuse_link(folder)
    found = os.lstat(folder)
    if found.st_uid != os.geteuid():
        raise UserError(f"{folder} is somebody else's: name a folder of your own with -o")
    if found.st_mode & 0o077:
        raise UserError(f"others may enter {folder}: chmod 700 {folder}, or name a new folder with -o")


def write(folder: str, name: str, raw: bytes) -> None:
    try:
        with open(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(raw)
    except OSError as problem:
        raise cannot(f"write into {folder}", problem) from None


def keep_all(folder: str, pid: int | None = None) -> None:
    """Beside what this process becomes, and not its child: it goes on where the one that is started has ended."""
    helper = places.built(places.DRAIN)
    if not helper:
        raise UserError(f"{places.DRAIN} is not built: {places.HOW_BUILT}")
    subprocess.run([helper, folder, str(pid or os.getpid())], check=False)


def refusal(name: str) -> int:
    """A shell's status for a command that cannot be started, said before a folder is made for it; 0 where it can be."""
    try:
        places.program(name)
    except UserError as problem:
        output.complain(f"gdbcuda: {visible(str(problem))}")
        return status_of(places.named(name))
    return 0


def status_of(path: str | None) -> int:
    """Of what cannot be started."""
    try:
        os.stat(path or "")
    except FileNotFoundError:
        return NOT_FOUND
    except OSError:  # a file where a folder is named
        pass
    return CANNOT_BE_STARTED


def become(words: list[str], environment: Mapping[str, str]) -> int:
    """Only returns where the program cannot be started."""
    signals_of_a_shell()
    try:
        os.execvpe(words[0], words, environment)
    except OSError as problem:
        output.complain(f"gdbcuda: {visible(str(places.not_started(words[0], problem)))}")
        return NOT_FOUND if isinstance(problem, FileNotFoundError) else CANNOT_BE_STARTED
