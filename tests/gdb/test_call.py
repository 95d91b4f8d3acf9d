"""cuda-call, the stop line, $_cuda_ functions: the call as a person reads it."""

from __future__ import annotations

import json
import re

import pytest
from scenario import Scenario


def last_json(text: str) -> dict:
    return json.loads(next(row for row in reversed(text.splitlines()) if row.startswith("{")))


def test_the_line_of_the_caller_is_there_where_its_file_is(local: Scenario) -> None:
    asked = ("cuda-break cuMemAlloc", "RUN", "cuda-call")
    shown = local.run("test_alloc", *asked)
    assert re.search(r"^  25: CUresult result = cuMemAlloc\(.*\);\n  dptr ", shown, re.MULTILINE)
    elsewhere = local.run("test_alloc", "set substitute-path / /nowhere/", *asked)
    assert "called by app allocate_buffer() at test_alloc.c:25, thread 1\n  dptr " in elsewhere


def test_full_call(scenario: Scenario) -> None:
    text = scenario.run("runtime_alloc", "cuda-break cudaMemcpy", "RUN", "cuda-call")
    assert re.search(r"cudaMemcpy in hook libgdbcuda-hook\.so, called by app copy_there_and_back\(\)", text)
    assert re.search(r"^  count +size_t +4096 \[4\.00 KiB\]$", text, re.MULTILINE)
    assert re.search(r"^  kind +.*cudaMemcpyKind +cudaMemcpyHostToDevice \(1\)$", text, re.MULTILINE)


@pytest.mark.smoke("local")
def test_json(scenario: Scenario) -> None:
    call = last_json(scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", "cuda-call --json"))
    assert (call["function"], call["base"], call["api"], call["layer"]) == (
        "cuMemAlloc_v2",
        "cuMemAlloc",
        "driver",
        "hook",
    )
    assert call["arguments"]["bytesize"] == 64 << 20
    assert call["caller"]["function"] == "allocate_buffer"
    assert call["result"] is None


def test_any_frame_that_is_an_api_call(scenario: Scenario) -> None:
    text = scenario.run(
        "runtime_alloc",
        "cuda-break cuMemAlloc --from any",
        "cuda-break cudaMalloc",
        "RUN",
        "continue",
        "python f = gdb.newest_frame()",
        "python\nwhile f and f.name() != 'cudaMalloc': f = f.older()",
        "python f.select()",
        "cuda-call",
    )
    assert re.search(r"^cudaMalloc in \w+ \S+, called by ", text, re.MULTILINE)


def test_a_frame_that_is_none(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-call")
    assert "cuda-call: main is not an API function" in text


def test_after_finish_the_result(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-break cuMemAlloc", "RUN", "finish", "cuda-call")
    assert re.search(r"Returned  hook \S+  cuMemAlloc_v2\(dptr=0x\w+ -> 0x\w+, .*\) = CUDA_SUCCESS", text)
    assert re.search(r"^  = CUDA_SUCCESS$", text, re.MULTILINE)


def test_unknown_is_said_to_be_unknown(local: Scenario) -> None:
    """Deep inside a driver function without debug info the registers are somebody else's."""
    text = local.run(
        "test_alloc",
        "cuda-break cuMemAlloc --in driver --from any --once",
        "run",
        "delete",
        "break malloc",
        "python gdb.execute('continue')",
        "frame function cuMemAlloc_v2",
        "cuda-call",
        hook=None,
    )
    assert "cuda-call: this is a bug" not in text


def test_functions(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc",
        "RUN",
        'print $_cuda_arg("bytesize") / 1024',
        'print $_cuda_arg("size")',
        "print $_cuda_error_name(2)",
        'print $_cuda_error_name(999, "nvml")',
        "print $_cuda_layer()",
        "print $_cuda_layer($pc)",
    )
    assert "= 65536" in text
    assert "cuMemAlloc_v2 has no parameter 'size'; it has dptr, bytesize" in text
    assert '"CUDA_ERROR_OUT_OF_MEMORY"' in text
    assert '"NVML_ERROR_UNKNOWN"' in text
    assert text.count('"hook"') == 2


def test_error_name_works_before_the_start(local: Scenario) -> None:
    text = local.run("test_alloc", "print $_cuda_error_name(2)", "print $_cuda_error_name(12345)")
    assert '"CUDA_ERROR_OUT_OF_MEMORY"' in text
    assert '"unknown error 12345"' in text


def test_before_the_start_and_after_the_end(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-call", "run", "cuda-call")
    assert text.count("cuda-call: no process: run the program first") == 2


def test_null_and_unreadable_pointers(scenario: Scenario, compile_c) -> None:
    program = compile_c(
        "bad_pointers",
        """
        #include "gdbcuda_api.h"
        int main(void) { cuMemAlloc_v2(0, 5); cuMemAlloc_v2((CUdeviceptr *)16, 6); return 0; }""",
        f"-I{scenario.shim}",
        f"-L{scenario.shim}/standin",
        "-l:libcuda.so.1",
    )
    text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "continue", hook=scenario.sample("minimal_hook.so"))
    assert "cuMemAlloc_v2(dptr=NULL, bytesize=5)" in text
    assert "dptr=0x10" in text


def test_quiet_when_asked(local: Scenario) -> None:
    text = local.run("test_alloc", "set cuda-stop-info off", "cuda-break cuMemAlloc", "run")
    assert "called by" not in text


def test_plain_breakpoints_are_described_as_well(local: Scenario) -> None:
    text = local.run("test_alloc", "set breakpoint pending on", "break main", "run", "break cuMemAlloc_v2", "continue")
    assert re.search(r"Breakpoint 2  \w+ \S+  cuMemAlloc_v2\(", text)


RETURNS = """
#include "gdbcuda_api.h"
int main(void) {
    struct cudaDeviceProp all;
    struct cudaChannelFormatDesc made = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindFloat);
    cudaGetErrorName(2);
    return cudaGetDeviceProperties(&all, 0) + made.x - 8;
}
"""


def test_results_that_are_no_status_and_structs_that_are_long(scenario: Scenario, compile_c) -> None:
    standin = scenario.shim / "standin" / "libcudart.so.13"
    program = compile_c("returns", RETURNS, "-I", str(scenario.shim), str(standin))
    text = scenario.run(
        program,
        "cuda-break cudaCreateChannelDesc cudaGetErrorName cudaGetDeviceProperties --on return",
        "RUN",
        "cuda-call --json",
        "continue",
        "continue",
        "cuda-call",
    )
    assert re.search(r"\) = 0x\w+ -> \{x=8, y=16, z=0, w=0, f=cudaChannelFormatKindFloat \(2\)\}", text)
    assert last_json(text)["result"]["value"]["y"] == 16
    assert '= "cudaErrorMemoryAllocation"' in text
    line = next(row for row in text.splitlines() if re.match(r"Breakpoint 3  hook", row))
    assert len(line) < 500 and "\u2026 (cuda-call shows all)" in line
    assert re.search(r"^  prop .*hostNumaMultinodeIpcSupported=\d\}$", text, re.MULTILINE)


def test_a_request_at_dlsym(scenario: Scenario) -> None:
    """The resolver is no function of the API, but the call has something to show."""
    text = scenario.run("dlsym_alloc", "cuda-dlsym break cuMemAlloc_v2", "RUN", "cuda-call", "cuda-call --json")
    assert "dlsym in hook libgdbcuda-hook.so, asked for cuMemAlloc_v2 in libcuda.so.1\n" in text
    assert "\n  by app dlsym_alloc main() at dlsym_alloc.c:" in text
    found = last_json(text)
    assert (found["resolver"], found["name"], found["handle_of"]) == ("dlsym", "cuMemAlloc_v2", "libcuda.so.1")
    assert found["object"].endswith("/libgdbcuda-hook.so") and found["process"], text
    assert (found["layer"], found["thread"], found["number"]) == ("hook", 1, None), text
