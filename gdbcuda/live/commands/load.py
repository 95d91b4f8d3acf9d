"""``cuda-load``."""

from __future__ import annotations

import os

from gdbcuda.command_line.argument_types import FILE, text
from gdbcuda.command_line.options import Options, flag, option, optional_word
from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.layers import library_files, table_version
from gdbcuda.live.noticing import notice
from gdbcuda.live.preloading import load_remarks, preload, presence
from gdbcuda.live.prompt.command import command
from gdbcuda.text.printable import visible


class LoadOptions(Options):
    lib: str | None = optional_word(FILE, "the hook library (a file on this machine)")
    last: bool = flag("behind what LD_PRELOAD already names, instead of in front of it")
    there: str | None = option(
        text("PATH"), "its path on the machine of the program, if elsewhere (target extended-remote)"
    )
    adapter: str | None = option(FILE, "what only its author knows of it (default: LIB-gdbcuda.ini, beside it)")
    unchecked: bool = flag("without a look at its build; cuda-check looks when it is asked")
    remove: bool = flag("take the library out again, from the next run on")


@command("cuda-load", LoadOptions, purpose="start", needs="stopped")
def cuda_load(wanted: LoadOptions) -> str:
    """Preload a hook library into the program under debug, and into nothing else.

    First the library is looked at: what it exports, its debug info, the verdict of cuda-check. At the next
    run the program alone preloads it, not gdb and not the start-up shell. From then on it is the hook layer,
    and cuda-break stops in it. The first stop says whether it is really loaded, and first in the search
    order.

    Without LIB the command says what is loaded now. Where a gdbserver starts the program, it says what to
    type there (see cuda-remote).

    An adapter is a small file that tells of the library's accounting, its limits, its locks and its variables.
    One beside the library is read without being named: it only reads. cuda-help own-books says more.

    Examples:
      cuda-load ./libvgpu.so
      cuda-load ./libtrace.so --last
      cuda-load ./libvgpu.so --unchecked
      cuda-load ./build/libvgpu.so --there /usr/local/vgpu/libvgpu.so
      cuda-load ./libtrace.so --remove"""
    from gdbcuda.live.books import adapters

    if wanted.lib is None:
        return adapted(wanted.adapter) if wanted.adapter else current()
    path, there = os.path.abspath(wanted.lib), wanted.there or ""  # a link as it is named: ld.so too takes it so
    if wanted.remove:
        return take_out(path, wanted.lib)
    if there and not layers.is_same_file(there, path):
        raise UserError(f"--there names {there}: the library is known by its name, which is {os.path.basename(path)}")
    if wanted.adapter:
        adapters.name_for(path, wanted.adapter)
    return put_in(path, wanted, there)


def adapted(file: str) -> str:
    """Of the hook library that is known already."""
    from gdbcuda.live.books import adapters

    hooks = layers.hooks()
    if len(hooks) != 1:
        which = ", ".join(map(os.path.basename, hooks)) or "none"
        raise UserError(visible(f"whose adapter? cuda-load LIB --adapter {file} (hook libraries: {which})"))
    adapters.name_for(hooks[0], file)
    return adapter_line(hooks[0])


def adapter_line(hook: str) -> str:
    """ "adapter libvgpu.so-gdbcuda.ini: books, 2 locks", or why it is not read; "" where there is none."""
    from gdbcuda.live.books import adapters

    path = adapters.path_of(hook)
    try:
        return visible(f"adapter {os.path.basename(path)}: {adapters.read(path).described()}") if path else ""
    except UserError as problem:
        return visible(f"adapter not read: {problem}")


def put_in(path: str, wanted: LoadOptions, there: str) -> str:
    verdict = "" if wanted.unchecked else visible(f"check: {verdict_on(path)}")
    lines = [describe(path), verdict, adapter_line(path)]
    lines.append(visible(load_remarks.other_door(path)))
    if not process.is_remote() or process.connection() == "extended-remote":
        preload.add(path, behind=wanted.last, there=there)
        lines += map(visible, (load_remarks.in_front(path), load_remarks.leaks(path), load_remarks.reach()))
    layers.remember_hook(path)
    if process.is_alive():
        lines += in_process(path)
    return "\n".join(filter(None, lines))


def in_process(path: str) -> list[str]:
    """Is it there? At the very start, where a gdbserver waits, nothing is mapped yet: then the next stop tells."""
    found = presence.verify()
    presence.SEEN().is_told = bool(found)
    if not found:
        presence.SEEN().is_warned = True
        warned = visible(presence.not_coming(path))
        return [warned or "no library is mapped yet: whether this one is there is told at the next stop"]
    if any(layers.is_same_file(name, path) for name in process.shared_objects()):
        return [found]
    return [found, load_remarks.remote_advice(path) if process.is_remote() else "It will be preloaded by the next run."]


def describe(path: str) -> str:
    """ "hook libvgpu.so: 203 driver and 247 NVML functions, dlsym; debug info". UserError if it cannot be a hook."""
    from gdbcuda import elf

    found = elf.open(path)
    if found.kind != "shared":
        raise UserError(f"{path} is not a shared object ({found.kind}): build it with -shared -fPIC")
    program = process.strip_prefix(process.program())
    if program and os.path.isfile(program) and elf.open(program).machine != found.machine:
        raise UserError(f"{path} is for {found.machine}, the program for {elf.open(program).machine}")
    debug = "debug info" if found.dwarf.sections else "no debug info"
    exported = notice.described(library_files.exported(path), table_version.table())
    return visible(f"hook {os.path.basename(path)}: exports {exported}; {debug}")


def verdict_on(path: str) -> str:
    from gdbcuda.live.commands.check import report_on

    return report_on(path).verdict


def current() -> str:
    if not layers.named_hooks():
        noticed = [os.path.basename(h) for h in layers.hooks()]
        if noticed:
            return visible(f"No hook library named; in the process: {', '.join(noticed)}")
        if process.is_alive():
            return visible(presence.nothing_there())
        return "No hook library. Name one:  cuda-load ./libhook.so"
    if process.is_alive():
        others = [visible(f"hook {os.path.basename(h)} is loaded too, not by cuda-load") for h in layers.other_hooks()]
        return "\n".join([presence.verify(), *others])
    return "\n".join(visible(f"hook {os.path.basename(h)}: preloaded by the next run") for h in layers.named_hooks())


def take_out(path: str, typed: str) -> str:
    from gdbcuda.live.books import adapters

    if path not in layers.named_hooks():
        known = ", ".join(layers.named_hooks())
        raise UserError(f"{typed} was not loaded with cuda-load" + (f"; {known} was" if known else ""))
    preload.remove(path)
    layers.forget_hook(path)
    adapters.forget(path)
    return visible(f"hook {os.path.basename(path)} is not preloaded from the next run on")
