"""The compilers and their options. An option is a kind; one that this machine's compiler cannot do is left out."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kinds import Kind

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
COMPILERS = ("gcc", "clang")
SECONDS = 120


@dataclass(frozen=True)
class Option:
    """What it adds to the library's and the program's compilation, and to both links."""

    about: str
    library: str = ""
    program: str = ""
    link: str = ""
    sanitizer: bool = False


OPTIONS = {
    "lto": Option("link-time optimisation", "-flto", "-flto"),
    "cf-protection": Option("endbr64 at every entry", "-fcf-protection=full", "-fcf-protection=full"),
    "no-cf-protection": Option("no endbr64", "-fcf-protection=none", "-fcf-protection=none"),
    "pg": Option("a call of mcount behind each prologue", "-pg"),
    "fentry": Option("a call of __fentry__ at each entry", "-pg -mfentry"),
    "patchable-entry": Option("nops before and behind each entry", "-fpatchable-function-entry=8,3"),
    "no-plt": Option("calls through the GOT", "-fno-plt", "-fno-plt"),
    "stack-protector": Option("canaries and probes", "-fstack-protector-all", "-fstack-protector-all"),
    "frame-pointer": Option("push rbp at each entry", "-fno-omit-frame-pointer", "-fno-omit-frame-pointer"),
    "debug": Option("debug info", "-g", "-g"),
    "stripped": Option("no symbols but the dynamic ones", "-s"),
    "now": Option("slots bound at the start, read-only", link="-Wl,-z,now,-z,relro"),
    "one-segment": Option("headers, code and constants in one segment, without filling", link="-Wl,-z,noseparate-code"),
    "symbolic": Option("the library binds its calls to itself", "-Wl,-Bsymbolic"),
    "no-pie": Option("the program at its fixed address", program="-no-pie -fno-pie"),
    "undefined": Option("sanitizer of undefined behaviour", "-fsanitize=undefined", link="-fsanitize=undefined",
                        sanitizer=True),
    "address": Option("address sanitizer", "-fsanitize=address", "-fsanitize=address", sanitizer=True),
    "thread": Option("thread sanitizer", "-fsanitize=thread", "-fsanitize=thread", sanitizer=True),
}  # fmt: skip


def kinds() -> list[Kind]:
    ways = {"linked": "the program is linked to the library", "preloaded": "it is preloaded", "late": "it is dlopened"}
    found = [Kind("compiler", name, f"{name} of this machine") for name in COMPILERS if shutil.which(name)]
    found += [Kind("option", name, option.about) for name, option in OPTIONS.items()]
    return found + [Kind("way", name, about) for name, about in ways.items()]


@cache
def works(compiler: str, option: str) -> bool:
    """A shared object of one function and a program can be made so."""
    one = OPTIONS[option]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.c"
        source.write_text("int f(void) { return 0; }\nint main(void) { return f(); }\n")
        out = ["-o", f"{folder}/out", str(source)]
        library = [compiler, "-O2", "-fPIC", "-shared", *one.library.split(), *one.link.split(), *out]
        program = [compiler, *one.program.split(), *one.link.split(), *out]
        return all(
            subprocess.run(line, capture_output=True, check=False).returncode == 0 for line in (library, program)
        )


class Failed(Exception):
    """A compiler did not take what was generated: a fault of this run's, not of what it tries."""


def compile_with(line: list[str], folder: Path) -> None:
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    with (folder / "commands").open("a") as file:
        file.write(" ".join(line) + "\n")
    if done.returncode:
        errors = [text for text in done.stderr.splitlines() if "rror" in text] or done.stderr.splitlines()
        raise Failed(f"{' '.join(line)}: {errors[0] if errors else done.returncode}")
