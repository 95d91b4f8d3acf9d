"""Small libraries and programs for the tests of elf and check, made by the compiler of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from shim_support import OLDER_LIBC


def compiled(folder: Path, source: str, *flags: str, name: str = "libhook.so", source_name: str = "hook.c") -> Path:
    """``source`` compiled with gcc in ``folder`` (as a shared object unless the flags say otherwise)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / source_name).parent.mkdir(parents=True, exist_ok=True)
    (folder / source_name).write_text(source)
    shared = () if {"-c", "-pie", "-no-pie", "-static", "-static-pie"} & set(flags) else ("-shared", "-fPIC")
    command = ["gcc", *shared, "-o", name, source_name, *flags, *([] if "-c" in flags else OLDER_LIBC)]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return folder / name


def tool(*command: str | Path) -> str:
    """What a program of binutils prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr
    return done.stdout
