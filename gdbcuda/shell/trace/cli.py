"""``gdbcuda trace`` in a shell."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from gdbcuda.command_line.argument_types import FILE, NUMBER, text
from gdbcuda.command_line.options import flag, option, options, rest
from gdbcuda.command_line.shell_command import add_command
from gdbcuda.errors import UserError
from gdbcuda.rings.ring_layout import MOST_CALLERS
from gdbcuda.shell import observers
from gdbcuda.shell.observers.options import AUTO, RECORDER, STRACE, UPROBE, ObserverOptions
from gdbcuda.shell.trace.memory_limit import AHEAD, LAST
from gdbcuda.text import output
from gdbcuda.text.printable import visible

_ABOUT = """\
Starts PROGRAM and records its calls of CUDA and NVML, without a debugger: those that the program makes, and those that
a hook library makes of them. What each thread called last is in FOLDER, also after a crash or kill -9, and
gdbcuda log reads it; with --all a process beside the program keeps all calls. The children of the program are recorded
as well."""
_ENDING = "Exit status: the program's own; 127 or 126 where it cannot be started."
MOST_WORDS = 8  # of a command, in front of a debugger's name: "env A=b timeout 60 cuda-gdb ..."
_EXAMPLES = (
    "gdbcuda trace -- ./train --epochs 3",
    "gdbcuda trace --hook ./libvgpu.so -o calls -- python train.py",
    "gdbcuda trace --all -o calls -- ./train",
    "gdbcuda trace --preload --hook ./libvgpu.so -- ./train",
    "gdbcuda trace --filter 'bytesize > 1G' -- python train.py",
    "gdbcuda trace --in hook --last 100000 -- ./serve",
    "gdbcuda trace --gpu -o calls -- ./train",
    "gdbcuda trace --python -o calls -- python train.py",
    "gdbcuda trace -p 4711 --for 10s -o calls",
    "gdbcuda trace --with strace -o kernel.jsonl -- ./train",
    "gdbcuda trace --with uprobe --function 'cuMem*' --filter 'bytesize > 1M' -p 47",
)


PROGRAMS_END = "--for is with -p PID: a program that is started is recorded until it ends"


class TraceOptions(ObserverOptions):
    pid: int | None = option(NUMBER, "record a process that runs: gdb puts the recorder in, and takes it out", "--pid",
                             short="-p")  # fmt: skip
    preload: bool = flag("by the loader alone: no gdb, no ptrace; says what that changes for other preloaded libraries")
    hook: str | None = option(FILE, "preload this hook library into the program")
    output: str | None = option(text("FOLDER"), "a new folder for what is recorded", short="-o")
    places: list[str] = options(text("LAYER|LIB"), "functions of these layers or libraries alone", "--in")
    condition: str | None = option(text("COND"), "only calls for which this holds, such as 'bytesize > 1G'", "--filter")
    gpu: bool = flag("what the GPU does as well: kernels, copies and fills, by CUPTI; means --all unless --last")
    all: bool = flag("keep all calls, as far as they can be written away")
    last: int = option(NUMBER, f"of each thread at least the last N calls ({LAST}, and {AHEAD} for --all)", default=0)
    stack: int = option(NUMBER, f"with the callers of each call, at most N ({MOST_CALLERS})", default=0)
    python: bool = flag("with the lines of Python that led to each call that makes memory")
    python_for: list[str] = options(text("FUNC"), "the same for calls of these functions, such as 'cuLaunch*'")
    program: list[str] = rest(text("PROGRAM"), "the program and its arguments")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``trace`` to the subcommands of ``gdbcuda``."""
    return add_command(
        subparsers, "trace", TraceOptions, run,
        help="record the calls of a program, without gdb", about=_ABOUT, ending=_ENDING, examples=_EXAMPLES,
    )  # fmt: skip


def run(wanted: TraceOptions) -> int:
    """Becomes the program, or stays beside it until it ends."""
    from gdbcuda.shell.trace import preloaded

    words = wanted.program[1:] if wanted.program[:1] == ["--"] else wanted.program
    if wanted.preload:
        preloaded.require_start(wanted)
    elif wanted.way == AUTO:
        observers.choose(wanted, words)
    if wanted.seconds is not None and words:
        raise UserError(PROGRAMS_END)
    if wanted.way not in (RECORDER, AUTO):
        require_no_recorder(wanted)
        return observers.run(wanted, words, wanted.hook, wanted.output)
    if wanted.of_others():
        raise UserError(f"{wanted.of_others()} is for --with {UPROBE} or {STRACE}")
    if wanted.pid is not None:
        return attach(wanted, words)
    require_program(wanted, words)
    return record(wanted, words)


def require_program(wanted: TraceOptions, words: list[str]) -> None:
    if not words:
        raise UserError(f"name the program behind --, for example: {_EXAMPLES[0]}")
    if wanted.stack > MOST_CALLERS:
        raise UserError(f"--stack is {MOST_CALLERS} at most, not {wanted.stack}")


def record(wanted: TraceOptions, words: list[str]) -> int:
    """Becomes the program, with the recorder in it. What it finds there is in the folder by then."""
    from gdbcuda.gpu import gpu_recording
    from gdbcuda.shell.trace import memory_limit, preloaded, starting

    keeps_all = wanted.all or (wanted.gpu and not wanted.last)
    environment = starting.environment(os.environ, wanted.hook, wanted.last, wanted.places, keeps_all)
    _, of_memory = memory_limit.fitting(wanted.last or memory_limit.wanted(keeps_all))
    of_order = preloaded.remark(os.environ, wanted.hook) if wanted.preload else ""
    for remark in filter(None, [of_order, of_memory, *starting.remarks(words[0])]):
        output.complain(f"gdbcuda: {visible(remark)}")
    files = files_for_process(wanted)
    if wanted.gpu and any(os.path.basename(word) == "cuda-gdb" for word in words[:MOST_WORDS]):
        raise UserError(gpu_recording.UNDER_CUDA_GDB, page="gpu")
    of_gpu = gpu_recording.environment(environment) if wanted.gpu else {}
    refused = starting.refusal(words[0])
    if refused:
        return refused
    path = made_folder(wanted, words[0], files)
    if wanted.gpu:
        environment.update(of_gpu, **{gpu_recording.FOLDER: path})
    if keeps_all:
        starting.keep_all(path)
    return starting.become(words, {**environment, starting.STACK: str(wanted.stack), starting.FOLDER: path})


def files_for_process(wanted: TraceOptions) -> dict[str, bytes]:
    """By name: what the recorder in the process reads of the options."""
    from gdbcuda import api
    from gdbcuda.rings.traced import trace_folder
    from gdbcuda.shell.trace import filters, python_names

    files: dict[str, bytes] = {}
    if wanted.condition:
        asked = filters.filters(wanted.condition, api.load_all())
        if asked.left_to_reader:
            count, why = asked.left_to_reader, asked.why
            output.complain(f"gdbcuda: of {count} functions --filter is asked when the log is read ({why})")
        files = {trace_folder.CONDITION: wanted.condition.encode(), trace_folder.FILTERS: asked.packed()}
    of_python = python_names.packed(wanted.python_for, api.load_all(), wanted.python)
    if wanted.python or wanted.python_for:
        files[trace_folder.PYTHON_NAMES] = of_python
    return files


def made_folder(wanted: TraceOptions, program: str, files: dict[str, bytes]) -> str:
    """The new folder, with ``files`` by name in it, made once nothing is refused any more."""
    from gdbcuda.shell.trace import starting

    folder = starting.new_folder(wanted.output, program)
    if wanted.output is None:
        output.complain(f"gdbcuda: recording into {visible(folder)}")
    output.finish()
    path = os.path.abspath(folder)
    for name, data in files.items():
        starting.write(path, name, data)
    return path


def attach(wanted: TraceOptions, words: list[str]) -> int:
    from gdbcuda import api
    from gdbcuda.shell.trace import attached, memory_limit, python_names, starting

    if wanted.gpu:
        raise UserError("CUPTI comes in when a program initializes CUDA: --gpu is for a program that is started")
    if words or wanted.hook:
        raise UserError("-p PID is a process that runs: it takes neither a program nor --hook")
    places = [one for one in starting.checked(wanted.places) if one]
    last, of_memory = memory_limit.fitting(wanted.last or memory_limit.wanted(wanted.all), int(wanted.pid or 0))
    if of_memory:
        output.complain(f"gdbcuda: {of_memory}")
    python_names.wanted(wanted.python_for, api.load_all(), wanted.python)  # said before gdb is started
    start = [*attached.python_words(wanted.python, wanted.python_for),
             *attached.words_of(wanted.condition, places, last, wanted.stack)]  # fmt: skip
    folder = os.path.abspath(wanted.output or f"trace-{wanted.pid}-{time.strftime('%Y%m%d-%H%M%S')}")
    return attached.run(int(wanted.pid or 0), wanted.seconds, folder, start, wanted.all)


def require_no_recorder(wanted: TraceOptions) -> None:
    """What only the library in the program can do."""
    given = {"--all": wanted.all, "--last": wanted.last, "--stack": wanted.stack, "--in": wanted.places,
             "--gpu": wanted.gpu, "--python": wanted.python, "--python-for": wanted.python_for}  # fmt: skip
    for name in (name for name, value in given.items() if value):
        raise UserError(f"{name} is for --with {RECORDER}, not for --with {wanted.way}")
