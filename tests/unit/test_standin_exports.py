"""The stand-in exports the whole API, each symbol as the real library does, and never succeeds silently."""

from __future__ import annotations

import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection
from shim_support import SHIM, clean_environment

from gdbcuda import api

LIBRARIES = {
    "libcuda.so.1": ("driver", "13.0"),
    "libnvidia-ml.so.1": ("nvml", "13.0"),
    "libcudart.so.13": ("runtime", "13.0"),
    "libcudart.so.12": ("runtime", "12.9"),
}
NVML = "13.5"
NOT_SUPPORTED = {"driver": 801, "runtime": 801, "nvml": 3}
# not functions of the API: NVML asks the driver how much it has handed out
PRIVATE = {"libcuda.so.1": {"gdbcuda_standin_usage"}}


def exports(library: Path) -> Mapping[str, str]:
    """Defined dynamic symbols, and the version each has ("" for none)."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        symbols, versions = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
        definitions = elf.get_section_by_name(".gnu.version_d")
        assert isinstance(symbols, SymbolTableSection) and isinstance(versions, GNUVerSymSection)
        names = {}
        if isinstance(definitions, GNUVerDefSection):
            names = {d.entry["vd_ndx"]: next(iter(a)).name for d, a in definitions.iter_versions()}
        return {
            symbol.name: names.get(versions.get_symbol(index).entry["ndx"], "")
            for index, symbol in enumerate(symbols.iter_symbols())
            if symbol.entry["st_shndx"] != "SHN_UNDEF" and symbol.entry["st_info"]["type"] == "STT_FUNC"
        }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="bytes of x86-64")
def test_functions_begin_as_the_vendors_do(shim: Path) -> None:
    """Hook libraries that overwrite entries (UCX) move push %rbp; mov %rsp,%rbp, and not whatever comes."""
    with (shim / "standin/libcuda.so.1").open("rb") as file:
        elf = ELFFile(file)
        symbols, code = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".text")
        assert isinstance(symbols, SymbolTableSection)
        for name in ("cuMemAlloc_v2", "cuMemFree_v2", "cuModuleGetGlobal_v2", "cuLaunchKernel"):
            (symbol,) = symbols.get_symbol_by_name(name) or ()
            at = symbol["st_value"] - code["sh_addr"]
            assert code.data()[at : at + 4] == b"\x55\x48\x89\xe5", name


def library_module() -> ModuleType:
    """The generator's, which is no package."""
    spec = importlib.util.spec_from_file_location("standin_library", SHIM / "standin" / "library.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["standin_library"] = module  # NamedTuple looks its module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_function_of_the_table_and_nothing_else(shim: Path, name: str) -> None:
    which, cuda = LIBRARIES[name]
    table = api.load(cuda=cuda, nvml=NVML)
    functions = [f for f in (*table.functions.values(), *table.extras.values()) if f.api == which]
    # a declared function that returns no status cannot say "not supported": two of CUDA 11 are left out
    expected = {f.symbol for f in functions} - {"__cudaRegisterTexture", "__cudaRegisterSurface"}
    assert set(exports(shim / "standin" / name)) == expected | PRIVATE.get(name, set())


@pytest.mark.parametrize("name", ["libcudart.so.13", "libcudart.so.12"])
def test_the_runtime_has_symbol_versions(shim: Path, name: str) -> None:
    assert set(exports(shim / "standin" / name).values()) == {name}


@pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1"])
def test_the_driver_and_nvml_have_none(shim: Path, name: str) -> None:
    assert set(exports(shim / "standin" / name).values()) == {""}


@pytest.mark.parametrize("name", LIBRARIES)
def test_soname_and_what_it_needs(shim: Path, name: str) -> None:
    with (shim / "standin" / name).open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        tags = [(tag.entry["d_tag"], tag) for tag in dynamic.iter_tags()]
    assert [tag.soname for kind, tag in tags if kind == "DT_SONAME"] == [name]
    needed = {tag.needed.split(".")[0] for kind, tag in tags if kind == "DT_NEEDED"}
    assert "libcuda" not in needed, "the runtime must find the driver by dlopen"
    assert {library for library in needed if library.startswith("lib")} <= {"libc", "libdl", "libpthread"}


CALL_ALL = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
zeros = [ctypes.c_void_p(0)] * 20
print(json.dumps({name: getattr(library, name)(*zeros) for name in json.load(sys.stdin)}))
"""


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_has_no_body_says_not_supported(shim: Path, name: str) -> None:
    which, cuda = LIBRARIES[name]
    sources = (SHIM / "standin" / which).glob("*.c")
    library = library_module().Library(which, api.load(cuda=cuda, nvml=NVML), sources)
    stubs = [f.symbol for f in library.functions if library.body_of(f) is None]
    assert stubs
    done = subprocess.run(
        [sys.executable, "-c", CALL_ALL, str(shim / "standin" / name)],
        input=json.dumps(stubs), env=clean_environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout) == dict.fromkeys(stubs, NOT_SUPPORTED[which])


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_has_both_hash_tables(library: str, shim: Path) -> None:
    """Hook libraries that go without dlsym walk through one of them, mostly the older."""
    with (shim / "standin" / library).open("rb") as file:
        tags = {tag.entry.d_tag for tag in ELFFile(file).get_section_by_name(".dynamic").iter_tags()}
    assert tags >= {"DT_HASH", "DT_GNU_HASH"}
