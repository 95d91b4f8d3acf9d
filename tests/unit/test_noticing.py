"""Which shared objects are hook libraries, by what they export."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.linkage import hook_library

API_NAMES = api.load().functions.keys()


def built(folder: Path, source: str, *flags: str) -> Path:
    out = folder / "libmine.so"
    line = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(out), *flags]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    return out


def exported(path: Path) -> set[str]:
    return set(hook_library.exported_by_file(str(path), API_NAMES))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("int cuMemcpyHtoD_v2(void) { return 0; }", {"cuMemcpyHtoD_v2"}),
        ("int dlsym(void) { return 0; }", {"dlsym"}),
        ("int real_cuInit(void) { return 0; } int cuInit(void) { return 0; }", {"cuInit"}),  # one string in the file
        ("int cuMemoryAllocate(void) { return 0; } int cuda_to_nvml_map;", set()),  # internals of a hook library
        ("int cuInit(void); int use(void) { return cuInit(); }", set()),
        ("__attribute__((visibility(\"hidden\"))) int cuInit(void) { return 0; }", set()),
        ("int cudaMalloc(void) { return 0; }", {"cudaMalloc"}),
        ("int cudaMalloc(void) { return 0; } int __cudaRegisterFatBinary(void) { return 0; }", set()),
        ("int cuInit(void) { return 0; } int __cudaRegisterFatBinary(void) { return 0; }", {"cuInit"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("style", ["gnu", "sysv"])
def test_what_it_exports(tmp_path: Path, source: str, found: set[str], style: str) -> None:
    assert exported(built(tmp_path, source, f"-Wl,--hash-style={style}")) == found


@pytest.mark.parametrize("style", ["gnu", "sysv"])
def test_of_many_functions_those_that_others_find(tmp_path: Path, style: str) -> None:
    """Looked up one by one they would cost a program's start 10 microseconds each."""
    names = sorted(function.symbol for function in api.load().functions.values() if function.api == "driver")[:400]
    kinds = ("int {}(void) {{ return 0; }}", "static int {}(void) {{ return 0; }}\nint (*p_{})(void) = {};",
             "__attribute__((visibility(\"hidden\"))) int {}(void) {{ return 0; }}", "__thread int {};")  # fmt: skip
    source = "\n".join(kinds[at % 4].replace("{}", name).format() for at, name in enumerate(names))
    asks = "\nint nvmlInit_v2(void); int asks(void) { return nvmlInit_v2(); }"
    assert exported(built(tmp_path, source + asks, f"-Wl,--hash-style={style}")) == set(names[::4])


def test_of_long_strings_the_telltales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = built(tmp_path, "int cuInit(void) { return 0; } int cuMemcpyHtoD_v2(void) { return 0; }")
    assert not isinstance(hook_library.exported_by_file(str(library), API_NAMES), hook_library.SomeNames)
    monkeypatch.setattr(hook_library, "IN_FILE", 10)
    assert isinstance(hook_library.exported_by_file(str(library), API_NAMES), hook_library.SomeNames)
    assert exported(library) == {"cuInit"}


def test_no_file_is_too_bad(tmp_path: Path) -> None:
    data = built(tmp_path, "int cuInit(void) { return 0; }").read_bytes()
    file, choose = tmp_path / "bad", random.Random(7)
    for _ in range(300):
        bad = bytearray(data[: choose.randrange(len(data))] if choose.random() < 0.3 else data)
        for _ in range(choose.randrange(1, 20)):
            if bad:
                bad[choose.randrange(min(len(bad), 1000))] = choose.randrange(256)
        file.write_bytes(bad)
        assert exported(file) <= {"cuInit"}
    assert exported(tmp_path / "nowhere") == exported(tmp_path) == set()
