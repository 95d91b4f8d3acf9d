"""gdbcuda trace: what is recorded of real programs without a debugger, and that the programs do not notice."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from of_two_versions import OF_ONE_VERSION, compile_older
from shim_support import HOOK, SHIM, Run
from traced_programs import Trace, Traced, needs_recorder, trace, traced

from gdbcuda.errors import UserError
from gdbcuda.rings.traced.ring_file import RingFile
from gdbcuda.shell.trace import starting

__all__ = ["trace", "traced"]  # the fixtures
pytestmark = needs_recorder


def test_the_calls_of_a_program(trace: Trace, run: Run) -> None:
    found = trace("test_alloc")
    assert found.done.stdout == run("test_alloc").stdout
    assert (found.done.returncode, found.done.stderr) == (0, "")
    calls = found.calls()
    assert [call["name"] for call in calls] == [
        "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemGetInfo_v2",
        *["cuMemAlloc_v2"] * 3, "cuMemGetInfo_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", *["cuMemFree_v2"] * 3,
        "cuMemGetInfo_v2",
    ]  # fmt: skip
    assert {(call["layer"], call["object"], call["depth"]) for call in calls} == {("driver", "libcuda.so.1", 0)}
    assert [call["arguments"]["bytesize"] for call in calls[5:8]] == [64 << 20, (1 << 30) + 1, 3 << 30]
    assert all(call["result"] == "CUDA_SUCCESS" and call["out"]["dptr"]["value"] for call in calls[5:8])
    caller, source = calls[5]["caller"], (SHIM / "sample" / "test_alloc.c").read_text().splitlines()
    assert (caller["function"], caller["layer"]) == ("allocate_buffer", "app")
    assert "cuMemAlloc(" in source[int(caller["source"].removeprefix("test_alloc.c:")) - 1]
    assert found.log("show").stderr == ""


def test_signals_are_as_without_us(trace: Trace) -> None:
    line = [str(shutil.which("grep")), "SigIgn", "/proc/self/status"]
    assert trace(*line).done.stdout == subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_what_a_hook_library_makes_of_them(trace: Trace, run: Run, shim: Path) -> None:
    found = trace("test_alloc", options=("--hook", str(shim / HOOK)))
    assert found.done.stdout == run("test_alloc", preload=[HOOK]).stdout
    calls = found.calls()
    by_program = [call for call in calls if call["depth"] == 0]
    assert {call["layer"] for call in by_program} == {"hook"} and len(by_program) == 15
    below = [call for call in calls if call["depth"]]
    assert {(call["layer"], call["caller"]["layer"]) for call in below} == {("driver", "hook")}
    assert {call["name"] for call in by_program} <= {call["name"] for call in below}


AUDITS = """
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
static int (*next)(unsigned long *, unsigned long *);
static int own(unsigned long *rest, unsigned long *total) { return next(rest, total); }
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    if (strcmp(name, "cuMemGetInfo_v2"))
        return symbol->st_value;
    next = (int (*)(unsigned long *, unsigned long *))symbol->st_value;
    return (uintptr_t)own;
}
"""


@pytest.mark.parametrize("name", ["libdlsym_hook.so", "libcuda-control.so", "libnvidia-vgpu.so", "libcuda.so.1"])
def test_what_the_user_calls_the_hook_library_is_it(trace: Trace, shim: Path, tmp_path: Path, name: str) -> None:
    """Whatever its file is called."""
    hook = tmp_path / name
    source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        int cuInit(unsigned flags)
        {
            return ((int (*)(unsigned))dlsym(dlopen(DRIVER, RTLD_NOW), "cuInit"))(flags);
        }
    """
    driver = f'-DDRIVER="{shim}/standin/libcuda.so.1"'
    subprocess.run(["gcc", "-x", "c", "-shared", "-fPIC", driver, "-o", hook, "-"], input=source, text=True, check=True)
    found = trace("test_alloc", options=("--hook", str(hook), "--in", "hook"))
    assert [(call["name"], call["layer"]) for call in found.calls()] == [("cuInit", "hook")]


def test_a_hook_library_that_the_loader_asks(trace: Trace, tmp_path: Path) -> None:
    """In front of it and behind it, also where a child has lost what is preloaded."""
    (tmp_path / "audits.c").write_text(AUDITS)
    hook = tmp_path / "with blank" / "audits.so"  # ld.so splits LD_AUDIT at colons alone
    hook.parent.mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", hook, tmp_path / "audits.c"], check=True)
    recorded = trace("fork_exec", options=("--hook", str(hook))).recorded()
    assert Counter(call.name for call in recorded)["cuInit"] == 3
    found = [(call.object, call.layer) for call in recorded if call.name == "cuMemGetInfo_v2"]
    assert found == [("audits.so", "hook"), ("libcuda.so.1", "driver")] * 3


def test_what_the_loader_asks_is_the_hook_library_whatever_its_name(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "audits.c").write_text(AUDITS)
    hook = tmp_path / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", hook, tmp_path / "audits.c"], check=True)
    found = trace("test_alloc", options=("--hook", str(hook), "--in", "hook")).calls()
    assert {call["layer"] for call in found} == {"hook"}


def test_of_a_runtime_too(trace: Trace) -> None:
    calls = trace("runtime_alloc").calls()
    assert {"runtime", "driver"} == {call["layer"] for call in calls}
    (alloc, *_) = [call for call in calls if call["name"] == "cuMemAlloc_v2"]
    parent = next(call for call in calls if call["number"] == alloc["parent"])
    assert (parent["name"], parent["layer"]) == ("cudaMalloc", "runtime")


@pytest.mark.parametrize(
    "places, layers",
    [(["hook"], {"hook"}), (["driver"], {"driver"}), (["hook,driver"], {"hook", "driver"}), (["runtime"], set()),
     (["libcuda.so.1"], {"driver"}), (["libcuda.so"], {"driver"})],
)  # fmt: skip
def test_of_some_layers_alone(trace: Trace, shim: Path, places: list[str], layers: set[str]) -> None:
    chosen = [word for place in places for word in ("--in", place)]
    found = trace("test_alloc", options=("--hook", str(shim / HOOK), *chosen))
    assert found.done.returncode == 0
    assert {call["layer"] for call in (found.calls() if layers else [])} == layers


def test_what_hands_out_functions_is_followed_in_every_layer(trace: Trace, shim: Path) -> None:
    found = trace("runtime_alloc", options=("--in", "driver"))
    assert {call["layer"] for call in found.calls("--function", "cuMemAlloc")} == {"driver"}


def test_functions_that_only_one_of_two_versions_has(trace: Trace, shim: Path, tmp_path: Path) -> None:
    program = compile_older(shim, tmp_path)
    assert [call["name"] for call in trace(program).calls() if not call["depth"]] == OF_ONE_VERSION


def test_two_runtimes_that_extension_modules_have_loaded(trace: Trace, shim: Path, tmp_path: Path) -> None:
    source = "int cudaRuntimeGetVersion(int *); int version(void) { int i; cudaRuntimeGetVersion(&i); return i; }"
    for major in ("12", "13"):
        line = ["gcc", "-x", "c", "-", "-x", "none", "-shared", "-fPIC", "-o", str(tmp_path / f"uses{major}.so")]
        subprocess.run([*line, str(shim / f"standin/libcudart.so.{major}")], input=source, text=True, check=True)
    script = "import ctypes, sys; print(*[ctypes.CDLL(path).version() for path in sys.argv[1:]])"
    found = trace(sys.executable, "-c", script, str(tmp_path / "uses12.so"), str(tmp_path / "uses13.so"))
    assert found.done.stdout == "12090 13000\n"
    calls = found.calls("--function", "cudaRuntimeGetVersion")
    assert [(call["object"], call["layer"], call["out"]["runtimeVersion"]["value"]) for call in calls] == [
        ("libcudart.so.12", "runtime", 12090), ("libcudart.so.13", "runtime", 13000),
    ]  # fmt: skip


def test_as_a_log_of_cuda_log(trace: Trace, shim: Path, tmp_path: Path) -> None:
    found = trace("test_alloc", options=("--hook", str(shim / HOOK)))
    lines = found.log("export", "--format", "jsonl").stdout
    (tmp_path / "calls.jsonl").write_text(lines)
    again = Traced(found.done, tmp_path / "calls.jsonl")
    assert again.log("show", "--tree").stdout == found.log("show", "--tree").stdout
    assert again.log("summary").stdout == found.log("summary").stdout and again.log("summary").stderr == ""
    assert again.log("export", "--format", "jsonl").stdout == lines


def test_places_have_what_stands_in_their_line(trace: Trace, shim: Path, tmp_path: Path) -> None:
    """As in a log of cuda-log; not where the source was written after the trace, for then it may be another line."""
    source, program = tmp_path / "one.c", tmp_path / "one"
    source.write_text("int cuInit(unsigned);\nint main(void)\n{\n    return cuInit(0);\n}\n")
    subprocess.run(["gcc", "-g", "-o", program, source, f"-L{shim}/standin", "-lcuda"], check=True)
    found = trace(program)
    assert '"source":"one.c:4","text":"return cuInit(0);"' in found.log("export", "--format", "jsonl").stdout
    later = time.time() + 3600
    os.utime(source, (later, later))
    of_later = found.log("export", "--format", "jsonl").stdout
    assert '"source":"one.c:4"' in of_later and '"text"' not in of_later


def test_a_place_without_a_name_is_an_offset(trace: Trace, shim: Path, tmp_path: Path) -> None:
    """Of a stripped program: the same in every run, and what objdump shows."""
    source, program = tmp_path / "one.c", tmp_path / "stripped"
    source.write_text("int cuInit(unsigned);\nint main(void)\n{\n    return cuInit(0);\n}\n")
    subprocess.run(["gcc", "-s", "-o", program, source, f"-L{shim}/standin", "-lcuda"], check=True)
    at = re.search(r"  by stripped\+0x([0-9a-f]+)$", trace(program).log("show").stdout.rstrip())
    listing = subprocess.run(["objdump", "-d", program], capture_output=True, text=True, check=True).stdout
    assert at is not None and re.search(rf"call .*<cuInit@plt>\n *{at[1]}:", listing)


def test_every_call_of_every_thread(trace: Trace) -> None:
    found = trace("threads", "8", "2500")
    lines = found.done.stdout.splitlines()
    said = [{name: int(count) for name, count in re.findall(r"(cu\w+) (\d+)", line)} for line in lines]
    counted: dict[int, Counter[str]] = {}
    for call in found.recorded():
        counted.setdefault(call.thread, Counter())[call.name] += 1
    threads = [{name: count[name] for name in said[0]} for count in counted.values() if count["cuMemAlloc_v2"]]
    assert sorted(map(str, threads)) == sorted(map(str, said)) and sum(map(sum, map(dict.values, said))) == 20000
    assert found.log("summary").stderr == ""


def test_a_million_calls_of_8_threads_are_counted(trace: Trace) -> None:
    found = trace("threads", "8", "125000", options=("--last", "100"))
    begun = [RingFile(path.read_bytes()).begun for path in found.folder.glob("*.ring")]
    assert sorted(begun) == [4 + 8, *[125001] * 8]  # each thread begins with one more
    missing = re.search(r"(\d+) x an older call", found.log("show").stderr)
    assert missing and int(missing[1]) + len(found.calls()) == 1_000_020


def test_the_oldest_are_overwritten_and_that_is_said(trace: Trace, traced: Path, tmp_path: Path) -> None:
    found = trace(traced, "exit", "100", options=("--last", "60"))
    assert found.done.returncode == 100
    shown = found.log("show", "--json")
    assert len(shown.stdout.splitlines()) == 64
    assert "37 x an older call that has been overwritten: gdbcuda trace --last N keeps more" in shown.stderr
    as_lines = tmp_path / "calls.jsonl"
    as_lines.write_text(found.log("export", "--format", "jsonl").stdout)
    again = Traced(found.done, as_lines).log("show", "--json")
    assert (again.stdout, again.stderr) == (shown.stdout, shown.stderr.replace(str(found.folder), str(as_lines)))


@pytest.mark.parametrize(
    "how, with_signal", [("kill", signal.SIGKILL), ("abort", signal.SIGABRT), ("crash", signal.SIGSEGV)]
)
def test_nothing_is_lost_when_the_program_dies(trace: Trace, traced: Path, how: str, with_signal: int) -> None:
    found = trace(traced, how, "1000")
    assert found.done.returncode == -with_signal
    assert found.counts() == {"cuInit": 1, "cuDeviceGet": 1000}


def test_the_call_that_crashes_is_the_last_one(trace: Trace, traced: Path) -> None:
    found = trace(traced, "crash-inside", "3")
    assert found.done.returncode == -signal.SIGSEGV
    (*_, last) = found.calls()
    assert (last["name"], last["ended"]) == ("cuDeviceGetCount", "not over")
    shown = found.log("show").stdout
    assert re.search(r"cuDeviceGetCount\(count=0x8\) \.\.\. not over  by main at traced\.c:\d+\n", shown)


def test_threads_that_come_one_after_another(trace: Trace, traced: Path) -> None:
    found = trace(traced, "threads", "10")
    assert sorted(Counter(call["thread"] for call in found.calls()).values()) == [10, 11, 12, 13, 14, 21]


def test_names_that_nobody_has_are_there_for_nobody(trace: Trace, traced: Path) -> None:
    assert trace(traced, "names").done.stdout == "1 0 0 0\n1\n"


def test_a_program_that_closes_all_files(trace: Trace, traced: Path) -> None:
    assert trace(traced, "close-all", "5").counts()["cuDeviceGet"] == 10


@pytest.mark.parametrize("how", ["confined", "confined-by-syscall"])
def test_a_program_that_confines_itself_is_not_ended_for_our_system_calls(
    trace: Trace, traced: Path, how: str
) -> None:
    found = trace(traced, how, "1000")
    assert found.done.returncode == 0
    assert found.counts()["cuDeviceGet"] == 1000  # there is no clock any more


def test_what_is_not_recorded_is_not_said_to_be_unreadable(trace: Trace) -> None:
    """The name that cuGetErrorName answers with is behind a pointer that is behind one."""
    found = trace("families")
    texts = [call["out"]["pStr"]["value"] for call in found.calls("--last", "0") if call["name"] == "cuGetErrorName"]
    assert texts and all(text["unreadable"] is None for text in texts)
    assert re.search(r"pStr=\w+ -> \w+ -> \(not recorded\)", found.log("show", "--last", "0").stdout)


def test_a_layer_that_there_is_not(trace: Trace) -> None:
    said = trace("test_alloc", options=("--in", "hok")).done.stderr
    assert said == ("gdbcuda: --in is app, runtime, hook, driver, or a library such as libvgpu.so, not 'hok'; "
                    "did you mean hook?\n")  # fmt: skip


def test_cuda_gdb_and_the_gpu(trace: Trace) -> None:
    found = trace("env", "A=b", "cuda-gdb", "--args", "true", options=("--gpu",))
    assert (found.done.returncode, found.done.stdout) == (2, "")
    assert found.done.stderr == "gdbcuda: under cuda-gdb CUPTI tells nothing: use gdb for --gpu (gdbcuda help gpu)\n"


def test_mistakes_are_one_line(trace: Trace, traced: Path, tmp_path: Path) -> None:
    found = trace("no_such_program")
    assert found.done.returncode == 127
    assert re.fullmatch(r"gdbcuda: cannot start \S+no_such_program: no such file or directory\n", found.done.stderr)
    (tmp_path / "calls").mkdir()  # not made for what cannot be started
    (tmp_path / "calls" / "more").touch()
    again = trace(traced, "exit")
    assert (again.done.returncode, again.done.stdout) == (2, "")
    assert re.fullmatch(
        r"gdbcuda: \S+ is there already, and not empty: name another folder with -o\n", again.done.stderr
    )
    assert os.listdir(found.folder) == ["more"]


@pytest.mark.parametrize("options", [("--filter", "bytesize > 1"), ("--python",), ()], ids=["filter", "python", "none"])
def test_a_folder_without_a_call_can_be_named_again(
    trace: Trace, options: tuple[str, ...], shim: Path, tmp_path: Path
) -> None:
    """Also of a program whose functions are bound at its start, and that calls none of them."""
    source, program = tmp_path / "none.c", tmp_path / "none"
    source.write_text("int cuMemAlloc_v2();\nint main(int count)\n{\n    return count > 1 ? cuMemAlloc_v2() : 0;\n}\n")
    subprocess.run(["gcc", "-o", program, source, "-Wl,-z,now", f"-L{shim}/standin", "-lcuda"], check=True)
    for _ in range(2):
        done = trace(program, options=options).done
        assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "calls").glob("*.process")) != []


def test_what_is_of_the_users_stays_in_a_folder(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir(mode=0o700)
    (tmp_path / "calls" / "python").write_text("mine")
    assert "not empty" in trace("test_alloc").done.stderr and (tmp_path / "calls" / "python").read_text() == "mine"


def test_a_folder_whose_path_leaves_no_room_for_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"the path of the folder has \d+ bytes: 4016 at most"):
        starting.new_folder("/".join(["d" * 200] * 21), "train")


def test_a_static_program_cannot_be_recorded(trace: Trace) -> None:
    found = trace("static_program")
    assert found.done.returncode == 0
    assert "static_program is linked statically, no loader runs: nothing will be recorded" in found.done.stderr
