"""``cuda-coverage``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import optional_word
from gdbcuda.errors import UserError
from gdbcuda.live import layers
from gdbcuda.live.commands.check import file_here
from gdbcuda.live.prompt.command import command
from gdbcuda.live.recording import call_log
from gdbcuda.log.options import CoverageOptions
from gdbcuda.text import render

if TYPE_CHECKING:
    from gdbcuda.calls.sinks import Kept


class SessionCoverageOptions(CoverageOptions):
    hook: str | None = optional_word(FILE, "the hook library's file (default: the hook library of this session)")


@command("cuda-coverage", SessionCoverageOptions, purpose="record")
def cuda_coverage(wanted: SessionCoverageOptions) -> str:
    """Say which functions of the hook library were reached, and what went past it.

    All is read out of the recorded calls: 'cuda-log start', then run. 'gdbcuda log coverage' says the same of log
    files, of several together. The ways are: by name (the loader bound it), cuGetProcAddress (the caller had asked
    for it), dlsym, overwritten entry (the hook has written a jump over the driver's function), rewritten slot (over
    the caller's pointer to it), table (a pointer that came otherwise).

    Examples:
      cuda-coverage
      cuda-coverage ./libvgpu.so --all
      cuda-coverage --lcov hook.info"""
    from gdbcuda.coverage import coverage_text, hooked, reached
    from gdbcuda.live.commands.log_views import events, not_kept, nothing_recorded

    kept = call_log.SESSION.kept
    if not kept.calls:
        return nothing_recorded(bool(wanted.json or wanted.lcov))
    file = hooked.HookFile(wanted.hook or hook_here(kept))
    found = reached.Coverage(file).feed(events(list(kept.calls)), call_log.writer().table, kept.notes)
    told = coverage_text.told(found, wanted.json, wanted.all, wanted.lcov)
    if wanted.json:
        return told
    return render.fold_to_screen("\n\n".join(filter(None, (told, not_kept()))))


def hook_here(kept: Kept) -> str:
    """`UserError` where there is none, or its file is on another machine. Of a process that is gone, the log knows one
    that nobody has named."""
    hooks = layers.hooks() or hooks_of(kept)
    if not hooks:
        raise UserError("no hook library has a call in the log; name one: cuda-coverage ./libhook.so")
    path = file_here(hooks[0])
    if not path:
        raise UserError(f"{hooks[0]} is not a file of this machine: name a copy, cuda-coverage FILE")
    return path


def hooks_of(kept: Kept) -> list[str]:
    files = {os.path.basename(file): file for _, file in kept.notes.objects}
    return [files[name] for name in {call.object: None for call in kept.calls if call.layer == "hook"} if name in files]
