"""A build: a hook library of random shapes and a program of random parts, chosen by seed and number, and compiled."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from compilers import COMPILERS, LEVELS, OPTIONS, works
from kinds import HERE, Kind, files, turn

from gdbcuda import api

SIMPLE = frozenset(["calls", "strings", "churn", "loads"])  # what sanitizers have no opinion on
SANITIZED = 5  # every so manieth build has one
SPECIALS = ("cuGetProcAddress_v2", "cuMemcpy2D_v2", "cuLaunchHostFunc")
CHILDREN = 10000, 1000  # where gdb runs the program, through gdbserver
MOST_CALLS = 1 << 30
FUNCTIONS, SHAPES, PARTS = 7, 5, 3  # functions of a library, of which so many have the shapes whose turn it is


@dataclass
class Build:
    seed: int
    number: int
    folder: Path
    compiler: str = "gcc"
    levels: tuple[str, str] = ("-O2", "-O2")
    options: list[str] = field(default_factory=list)
    way: str = "linked"  # or preloaded, or late: only dlopened
    functions: list[tuple[str, Kind]] = field(default_factory=list)
    parts: list[Kind] = field(default_factory=list)
    workers: int = 0
    rare: int = 60
    status: int = 0
    children: int = 0
    matching: int = 400  # of each worker's calls, the first so many may match

    @property
    def library(self) -> Path:
        return self.folder / "libhook.so"

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.functions]

    @property
    def words(self) -> frozenset[str]:
        return frozenset().union(*(part.words for part in self.parts))

    @property
    def is_sanitized(self) -> bool:
        return any(OPTIONS[name].sanitizer for name in self.options)

    def shape_words(self, name: str) -> frozenset[str]:
        return next((shape.words for symbol, shape in self.functions if symbol == name), frozenset())

    def kinds(self) -> set[str]:
        chosen = {kind.name for _, kind in self.functions} | {part.name for part in self.parts}
        return chosen | {self.compiler, self.way, *self.options}

    def __str__(self) -> str:
        shapes = sorted({kind.name for _, kind in self.functions})
        parts = " ".join(part.name for part in self.parts)
        made = " ".join([self.compiler, *self.levels, *self.options])
        return f"{made}; {self.way}; {parts}; {self.workers} workers; {' '.join(shapes)}"


@cache
def symbols() -> dict[str, str]:
    """Driver functions that take (out pointer of 8 bytes, size of 8 bytes, ...), with the name of the size."""
    found: dict[str, str] = {}
    table = api.load()
    for function in (table.function(symbol) for symbol in table.functions):
        words = function.parameters[:2]
        if function.api == "driver" and len(words) == 2 and not function.symbol.endswith(("_ptsz", "_ptds")):
            target = words[0].type.target
            if target is not None and target.size == words[1].type.size == 8 and words[1].type.target is None:
                found[function.symbol] = words[1].name
    return {name: size for name, size in found.items() if size in ("bytesize", "size")}


def choose(seed: int, number: int, folder: Path, alone: Kind | None = None) -> Build:
    """``alone``: the only part, in the simplest of builds; every other one has fewer children."""
    dice = random.Random(f"build {seed} {number}")
    build = Build(seed, number, folder / f"build-{number}")
    if alone is not None:
        build.parts, build.workers, build.children = [alone], 8, CHILDREN[number % 2]
        build.matching = MOST_CALLS
        choose_shapes(build, dice)
        return build
    if number % SANITIZED == SANITIZED - 1:
        build.options = [turn(sanitizers(), seed, number // SANITIZED, 1)[0].name]
        build.parts = [part for part in files("parts") if part.name in SIMPLE]
    else:
        build.parts = turn(random_parts(), seed, number - number // SANITIZED, PARTS, alone="late")
    if "late" not in build.words and not {"calls"} & {part.name for part in build.parts}:
        build.parts = [*build.parts, next(part for part in files("parts") if part.name == "calls")]
    dice.shuffle(build.parts)
    ways = ["late"] if "late" in build.words else ["linked"] if build.options else ["linked", "preloaded"]
    build.way = dice.choice(ways)
    build.workers = 0 if build.way == "late" else dice.choice([0, 1, 2, 3, 5, 8])
    build.rare, build.status, build.matching = (
        dice.choice([30, 60, 120]),
        dice.choice([0, 3, 42]),
        dice.choice([400, 3000]),
    )
    choose_compiler(build, dice)
    choose_shapes(build, dice)
    return build


def random_parts() -> list[Kind]:
    return [part for part in files("parts") if "byhand" not in part.words]


def choose_compiler(build: Build, dice: random.Random) -> None:
    there = [one for one in COMPILERS if shutil.which(one)]  # clang may come without its sanitizers
    build.compiler = dice.choice([one for one in there if all(works(one, name) for name in build.options)] or there)
    build.levels = dice.choice(LEVELS), dice.choice(LEVELS)
    others = [Kind("option", name, one.about) for name, one in OPTIONS.items() if not one.sanitizer]
    wanted = [*build.options, *(kind.name for kind in turn(others, build.seed, build.number, 2))]
    build.options = [name for name in wanted if works(build.compiler, name)]


def sanitizers() -> list[Kind]:
    return [Kind("sanitizer", name, one.about) for name, one in OPTIONS.items() if one.sanitizer]


def choose_shapes(build: Build, dice: random.Random) -> None:
    fits = [kind for kind in turn(files("shapes"), build.seed, build.number, SHAPES) if possible(kind, build)]
    more = [kind for kind in files("shapes") if possible(kind, build)]
    compiled = next(kind for kind in files("shapes") if kind.name == "compiled")
    shapes = [compiled, *fits, *dice.choices(more, k=FUNCTIONS - 1 - len(fits))]
    build.functions = list(zip(dice.sample(sorted(symbols()), FUNCTIONS), shapes))


def possible(shape: Kind, build: Build) -> bool:
    if shape.path is not None and shape.path.suffix == ".rs" and not shutil.which("rustc"):
        return False
    if "unwinds" in build.words and "blind" in shape.words:
        return False
    return not ("confined" in build.words and "system" in shape.words)


# ---- sources ----


def write(build: Build) -> None:
    build.folder.mkdir(parents=True)
    for folder in ("shapes", "parts", "common"):
        (build.folder / folder).mkdir()
    used = [kind.path for _, kind in build.functions] + [part.path for part in build.parts]
    for path in [*used, *sorted((HERE / "common").iterdir()), HERE / "shapes" / "shape.h"]:
        assert path is not None
        shutil.copy(path, build.folder / path.parent.name / path.name)
    for suffix in (".c", ".cc", ".S", ".rs"):
        write_library(build, suffix, [(name, kind) for name, kind in build.functions if kind.path.suffix == suffix])
    cxx = any(part.path is not None and part.path.suffix == ".cc" for part in build.parts)
    (build.folder / ("program.cc" if cxx else "program.c")).write_text(program_source(build))
    if build.way == "preloaded":
        stubs = "".join(f"int {name}(void) {{ return 999; }}\n" for name in (*build.names, *SPECIALS))
        (build.folder / "driver.c").write_text(stubs)


def write_library(build: Build, suffix: str, functions: Sequence[tuple[str, Kind]]) -> None:
    if not functions:
        return
    if suffix == ".rs":
        text = "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n"
        text += "\n".join(kind.path.read_text().replace("NAME", name) for name, kind in functions if kind.path)
    else:
        text = "".join(included(build, name, kind) for name, kind in functions)
    if suffix == ".S":
        text += '        .section .note.GNU-stack, "", @progbits\n'
    (build.folder / f"library{suffix}").write_text(text)


def included(build: Build, name: str, kind: Kind) -> str:
    assert kind.path is not None
    partner = next(other for other in build.names[1:] if other != name)
    lines = [f"#define NAME {name}", f"#define PARTNER {partner}", f'#include "shapes/{kind.path.name}"']
    return "\n".join([*lines, "#undef PARTNER", "#undef NAME", "", ""])


def program_source(build: Build) -> str:
    late, parts = build.way == "late", [part for part in build.parts if part.path is not None]
    defined = {
        "FUNCTIONS": len(build.functions),
        "WORKERS": build.workers,
        "RARE": build.rare,
        "MATCHING": build.matching,
        "RESERVED": 0 if "reserves" in build.words else -1,
        "SEED": build.seed * 1000 + build.number,
        "STATUS": build.status,
        "CHILDREN": build.children,
    } | ({"LATE": 1} if late else {})
    names = list(enumerate(build.names))
    cases = "" if late else "".join(f"    case {i}: result = {name}(ARGUMENTS(p, n)); break;\n" for i, name in names)
    table = [f'    functions[{i}].name = "{name}";' + ("" if late else f" functions[{i}].call = {name};")
             for i, name in names]  # fmt: skip
    calls = [f"    dice.state = SEED * 31 + {i}; part_{part.name}(&dice);" for i, part in enumerate(parts)]
    return "\n".join([
        *(f"#define {name} ({value})" for name, value in defined.items()),
        '#include "common/torture.h"',
        *([] if late else [f"HOOK int {name}(PARAMETERS);" for name in build.names]),
        "APART int beta(int function, u64 *p, word n)\n{\n    int result = 0;\n    switch (function) {\n"
        f"{cases}    default: result = functions[function].call(ARGUMENTS(p, n));\n    }}\n"
        '    __asm__ volatile("" ::: "memory");\n    return result;\n}',
        *(f'#include "parts/{part.path.name}"' for part in parts if part.path),
        "int main(int count, char **words)\n{\n    struct dice dice;\n    begin(count, words);",
        *table, "    begin_work();", *calls, "    return end_work();\n}", "",
    ])  # fmt: skip
