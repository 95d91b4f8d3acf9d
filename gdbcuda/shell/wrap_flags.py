"""``gdbcuda wrap-flags``: what a build adds so that calls of a runtime inside the program are recorded, too."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from gdbcuda.command_line.argument_types import one_of, text
from gdbcuda.command_line.options import Options, flag, option, words
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.text import output

LIBRARY = "libgdbcuda-wrap.a"
_ABOUT = """\
Prints the flags with which the linker leads calls of these functions to a wrapper (ld --wrap), for programs that have
the runtime inside (nvcc's default, -cudart static). The wrappers do nothing but call the function; in a program that
gdbcuda trace has started the calls are recorded, with what they become in the driver."""
_EXAMPLES = (
    "gdbcuda wrap-flags cudaMalloc cudaFree 'cudaMemcpy*'",
    "gdbcuda wrap-flags --all --for nvcc > flags; nvcc a.o --options-file flags",
    "gdbcuda wrap-flags cudaMalloc cudaFree --for cmake",
)


class WrapOptions(Options):
    function: list[str] = words(text("FUNC"), "base names, symbols or globs; a base name is all its variants")
    all: bool = flag("every function of the runtime, the driver and NVML")
    tool: str = option(one_of("gcc", "nvcc", "cmake", "meson"), "who links; gcc is g++ too", "--for", default="gcc")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``wrap-flags`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "wrap-flags", WrapOptions, run,
        help="what to link with, so that a static runtime is recorded", about=_ABOUT, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: WrapOptions) -> None:
    names = symbols(wanted)
    library = places.built(LIBRARY)
    if not library:
        raise UserError(f"{LIBRARY} is not built: make -C {places.clone_or_cache() / 'shim'} wrap does it")
    output.hand_out(FLAGS[wanted.tool](names, library))


def symbols(wanted: WrapOptions) -> list[str]:
    """In the order in which they were named, each once."""
    from gdbcuda import api  # --help does without

    table = api.load_all()
    if wanted.all == bool(wanted.function):
        raise UserError("name functions or --all, for example: " + _EXAMPLES[0])
    if wanted.all:
        return sorted(table.functions)
    found: dict[str, None] = {}
    for name in wanted.function:
        some = table.find(name)
        if not some:
            near = table.nearest(name, 1)
            raise UserError(f"no function {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        found.update(dict.fromkeys(one.symbol for one in some))
    return list(found)


def quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'" if set(path) & set(" '\"$\\") else path


def for_gcc(names: Sequence[str], library: str) -> str:
    return " ".join([*(f"-Wl,--wrap={name}" for name in names), quoted(library)])


def for_nvcc(names: Sequence[str], library: str) -> str:
    return " ".join([*(f"-Xlinker --wrap={name}" for name in names), quoted(library)])


def for_cmake(names: Sequence[str], library: str) -> str:
    """TARGET is the user's own."""
    flags = "\n".join(f'    "LINKER:--wrap={name}"' for name in names)
    return f'target_link_options(TARGET PRIVATE\n{flags})\ntarget_link_libraries(TARGET PRIVATE "{library}")'


def for_meson(names: Sequence[str], library: str) -> str:
    flags = "\n".join(f"  '-Wl,--wrap={name}'," for name in names)
    return f"link_args: [\n{flags}\n  '{library}',\n]"


FLAGS = {"gcc": for_gcc, "nvcc": for_nvcc, "cmake": for_cmake, "meson": for_meson}
