"""``gdbcuda demo``: from an installed wheel, or a clone, to a breakpoint inside a hook library. No GPU needed."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import Options, flag, optional_word
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.files.places import CLONE, clone_or_cache, own_command, sourced_file
from gdbcuda.files.preloadable import require_folder_for_preloading
from gdbcuda.observe import ptracing
from gdbcuda.shell.demo import folder
from gdbcuda.shell.gdb_words import gdb_words, require_python
from gdbcuda.text import output
from gdbcuda.text.printable import typed, visible

HERE = Path(__file__).resolve().parent
OF_CLONE = "move the clone"
OF_CACHE = "set XDG_CACHE_HOME to a folder without them, for this and later commands"
STANDIN = "cuda-env LD_LIBRARY_PATH"


class DemoOptions(Options):
    dir: str | None = optional_word(
        FILE, "the folder to build in, new or of an earlier demo (default: the clone, else one in ~/.cache/gdbcuda)"
    )
    real: bool = flag("over the driver of this machine, not the stand-in")
    build_only: bool = flag("build, say where, and play nothing")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``demo`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "demo", DemoOptions, run,
        help="build a stand-in driver and samples, and play a first session over them",
        about="Builds a hook library, a stand-in driver and sample programs with gcc and make, and plays a session in "
              "gdb over them: to a stop inside the hook library, arguments decoded. No GPU needed.",
        examples=("gdbcuda demo", "gdbcuda demo ~/cuda-without-a-gpu", "gdbcuda demo --build-only"),
    )  # fmt: skip


def run(wanted: DemoOptions) -> int:
    if wanted.real and wanted.build_only:
        raise UserError("--real plays a session, --build-only plays none: write one of them")
    if wanted.real and not has_driver():
        raise UserError("--real: no libcuda.so.1 on this machine; without --real the stand-in is used")
    gdb = [] if wanted.build_only else gdb_words()
    folder.require_tools()
    if gdb:
        require_python()
        ptracing.require()
    where = (Path(wanted.dir) if wanted.dir else clone_or_cache()).absolute()
    require_folder_for_preloading(str(where), *([] if wanted.dir else [OF_CLONE if where == CLONE else OF_CACHE]))
    samples = f"the hook library, the stand-in driver and the samples in {visible(str(where))}/shim/build"
    output.hand_out(f"Building {samples} ...")
    output.finish()
    folder.built(where, "demo")
    failed = play(gdb, where, "runtime_alloc", wanted.real) if gdb else 0
    if gdb and not failed and shutil.which("nvcc"):
        folder.built(where, "cuda")
        failed = play(gdb, where, "vector_add", wanted.real)
    if not failed:
        output.hand_out(next_steps(where))
    return failed


def has_driver() -> bool:
    from ctypes.util import find_library

    return find_library("cuda") is not None


def play(gdb: list[str], where: Path, program: str, real: bool) -> int:
    """In the folder, for its names are relative. gdb's exit status."""
    played, standin = f"{HERE}/{program}.gdb", STANDIN if real else ""
    script = f"from gdbcuda.live.prompt.script import play; play({played!r}, {standin!r})"
    line = [*gdb, "-nx", "-q", "-batch", "-x", str(sourced_file()), "-ex", f"python {script}"]
    kept = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    output.hand_out("")
    output.finish()
    return subprocess.run([*line, f"shim/build/sample/{program}"], cwd=where, env=kept, check=False).returncode


def next_steps(where: Path) -> str:
    built, gdb = where / "shim" / "build", f"gdb -x {typed(sourced_file())}"
    standin, program = typed(built / "standin"), typed(built / "sample" / "test_alloc")
    return f"""
A program over the stand-in:     LD_LIBRARY_PATH={standin} {gdb} {program}
A hook library to start from:    {own_command()} new-hook myhook
Your own, there already:         {gdb} YOUR_PROGRAM   then  cuda-load ./YOUR_LIBRARY.so"""
