"""A hook library that overwrites the driver's entries reads them first: it finds what is there without a debugger."""

from __future__ import annotations

import re

from answering_hooks import COPIES, ENTRIES, GOES_ON, JUMPS, stops
from scenario import Scenario

READS_FIRST = ENTRIES.replace("JUMP", f"if (*entry != 0xcc) {{ {JUMPS['through']} }}")


def test_nothing_of_ours_is_there_while_it_installs_itself(scenario: Scenario, compile_c) -> None:
    hook = compile_c("libentries.so", READS_FIRST, "-shared")
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc cuInit", "cuda-break cuMemAlloc if bytesize > 1G",
                        "cuda-break cuMemAlloc --in driver", "cuda-break cuInit --in driver", "RUN", "continue",
                        "cuda-break cuMemAlloc_v2 --in driver", "delete", "continue", "cuda-log show",
                        "cuda-log show --changed", hook=hook)  # fmt: skip
    assert stops(text) == ["hook libentries.so own_alloc for"], text
    assert re.search(r"^Breakpoint 3  driver libcuda.so.1  cuInit\(", text, re.MULTILINE), text
    why = "the entry in libcuda.so.1 jumps into a hook library, which comes in behind it"
    assert text.count(f"\nBreakpoint 2: nothing stops at cuMemAlloc_v2 in driver: {why}\n") == 1, text
    assert re.findall(r"^Breakpoint \d+: cuMemAlloc_v2 in driver \((.*)\)$", text, re.MULTILINE) == [
        "pending until it is loaded",
        f"nothing stops there: {why}",
    ], text
    assert len(re.findall(r"^#\d+ .* hook +cuMemAlloc_v2\(", text, re.MULTILINE)) == 3, text
    assert " driver   cuInit(" in text and "driver   cuMemAlloc_v2(" not in text, text
    assert "Whether 3 calls of the hook library were passed on is not known: an entry that the hook has overw" in text


def test_what_is_passed_on_behind_the_jump_is_in_the_log(scenario: Scenario, compile_c) -> None:
    source = GOES_ON.replace("JUMP", COPIES.replace("SIZE", "16") + JUMPS["through"])
    hook = compile_c("libentries.so", source, "-shared")
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc", "RUN", "cuda-log show --in hook,driver cuMemAlloc",
                        "cuda-log show --changed", "cuda-coverage", hook=hook)  # fmt: skip
    calls = re.findall(r"^#\d.*  (hook|driver) +cuMemAlloc_v2\(.* \[(.*)\]\) = (\w+)", text, re.MULTILINE)
    assert calls[:5] == [
        ("hook", "64.00 MiB", "CUDA_SUCCESS"), ("driver", "64.00 MiB", "CUDA_SUCCESS"),
        ("hook", "1.00 GiB", "CUDA_SUCCESS"), ("driver", "1.00 GiB", "CUDA_SUCCESS"),
        ("hook", "3.00 GiB", "CUDA_ERROR_OUT_OF_MEMORY"),
    ], text  # fmt: skip
    assert "1 of 3 calls of the hook library did more than pass the call on." in text, text
    assert "By which way: overwritten entry 3" in text, text
