"""What save breakpoints and cuda-save write comes back as what cuda-break was asked for."""

from __future__ import annotations

import re

from scenario import Scenario

COMMANDS = "python gdb.execute('commands 1\\nsilent\\necho COMMANDS RAN\\\\n\\nend')"


def test_save_breakpoints_brings_them_back(local: Scenario, tmp_path) -> None:
    saved = tmp_path / "saved"
    local.run("test_alloc", "cuda-break cuMemAlloc if bytesize > 1G", f"save breakpoints {saved}")
    text = local.run("test_alloc", f"source {saved}", "set breakpoint pending on", "run")
    assert "bytesize=1073741825" in text
    assert "bytesize=67108864" not in text


def test_save_at_a_stop_brings_them_back_before_the_next_run(scenario: Scenario, tmp_path) -> None:
    saved = tmp_path / "saved"
    first = scenario.run(
        "test_alloc",
        "cuda-break cuMemAlloc if bytesize > 1G",
        "cuda-break cuMemFree --in driver --on return",
        "cuda-break cuMemGetInfo --on return",
        "RUN",
        f"save breakpoints {saved}",
        "info breakpoints",
        "continue",
    )
    assert re.search(r"Breakpoint 1  hook .*bytesize=1073741825", first)
    assert first.count("$_cuda_break") == 0
    assert "disable" not in saved.read_text()
    assert "break *0x" not in saved.read_text()
    text = scenario.run(
        "test_alloc",
        "break exit",  # so that the numbers are others
        f"source {saved}",
        "RUN",
        "continue",
        "delete 2",
        "continue",
        "info breakpoints",
    )
    assert re.search(r"Breakpoint 4  hook .*cuMemGetInfo_v2\(.*= CUDA_SUCCESS", text)
    assert re.search(r"Breakpoint 2  hook .*bytesize=1073741825", text)
    assert "$_cuda_break" not in text


def test_what_comes_back_is_tested_in_the_process_again(scenario: Scenario, tmp_path) -> None:
    """With its callers and its count, under another number; a condition that was changed stays as it was changed."""
    saved = tmp_path / "saved"
    counted = "cuda-break cuMemAlloc --from allocate_buffer --count if bytesize < 2G && nth == 2"
    changed = ("cuda-break cuMemFree", "RUN", "condition 2 $rdi != 0")
    scenario.run("test_alloc", counted, *changed, f"save breakpoints {saved}")
    assert 'cuda_break("cuda-break cuMemAlloc_v2 --from allocate_buffer --count if bytesize < 2' in saved.read_text()
    text = scenario.run("test_alloc", "break exit", f"source {saved}", "RUN", "info breakpoints", "cuda-guards")
    assert "bytesize=1073741825" in text and "bytesize=67108864" not in text
    assert '&& $_cuda_from("allocate_buffer") && $_cuda_count(2, "nth == 2")' in text
    assert "\tstop only if $rdi != 0" in text
    assert re.search(r"^2 +in the process +2 ", text, re.MULTILINE), text
    assert re.search(r"^3 +by gdb.* its condition was changed", text, re.MULTILINE), text


def test_saving_in_the_middle_of_a_call_does_not_lose_its_return(scenario: Scenario, tmp_path) -> None:
    saved = tmp_path / "saved"
    words = ("cuda-break cuMemAlloc --on return", "cuda-break cuMemAlloc --in driver --once", "RUN")
    text = scenario.run("test_alloc", *words, f"save breakpoints {saved}", "delete 2", "continue")
    assert "Breakpoint 2  driver" in text and "break *0x" not in saved.read_text()
    assert re.search(r"^Breakpoint 1  hook .* = CUDA_SUCCESS", text, re.MULTILINE)


def test_saving_leaves_what_is_pending_as_it_is(local: Scenario, tmp_path) -> None:
    """gdb disables such a breakpoint once its condition is set."""
    saved = tmp_path / "saved"
    text = local.run("dlsym_alloc", "cuda-break cuMemAlloc if bytesize > 64M", f"save breakpoints {saved}", "run")
    assert "Breakpoint 1 pending: gdb cannot save what was asked, cuda-save can\n" in text
    assert "Error in re-setting" not in text
    assert re.search(r"^Breakpoint 1  hook .*cuMemAlloc_v2\(", text, re.MULTILINE)


def test_cuda_save_writes_commands(scenario: Scenario, tmp_path) -> None:
    saved = tmp_path / "breaks.gdb"
    made = scenario.run(
        "dlsym_alloc", "cuda-break cuMemAlloc if bytesize >= 64M", COMMANDS, "ignore 1 1", "cuda-dlsym break 'cuMem*'",
        'cuda-break dlsym --from any if symbol == "cuInit"', "cuda-break cuMemFree --on error --in driver", "disable 2",
        f"cuda-save {saved}",
    )  # fmt: skip
    assert f"4 breakpoints written to {saved}; back with  source {saved}\n" in made
    assert saved.read_text() == CUDA_SAVE
    text = scenario.run("dlsym_alloc", f"source {saved}", "RUN", "info breakpoints")
    assert "Breakpoint 3  hook libgdbcuda-hook.so  dlsym asked for cuInit" in text
    assert re.search(
        r"^1 .*\n\tstop only if .*rsi >= 67108864.*\n\tignore next 1 hits\n +silent\n", text, re.MULTILINE
    ), text
    assert re.search(r"^2 +breakpoint +keep n ", text, re.MULTILINE)
    assert re.search(r'\tstop only if (\$_cuda_registers\(\) && \()?\$_cuda_returns\(4, "error"\)', text), text


CUDA_SAVE = r"""cuda-break cuMemAlloc_v2 --from app if bytesize >= 67108864
ignore $bpnum 1
commands
silent
echo COMMANDS RAN\n
end
cuda-dlsym break "cuMem*" --by dlsym --from app
disable $bpnum
cuda-break dlsym --from any if symbol == "cuInit"
cuda-break cuMemFree_v2 --from any --in driver --on error
"""


def test_a_symbol_whose_name_means_another_one(local: Scenario, tmp_path) -> None:
    """The old cuMemAlloc, in C sources cuMemAlloc_v2."""
    made = ("cuda-break 'cuMemAlloc*' --in driver if bytesize > 2G", f"cuda-save {tmp_path}/breaks", "delete")
    text = local.run("test_alloc", *made, f"source {tmp_path}/breaks", "run", f"save breakpoints {tmp_path}/own",
                     "delete", f"source {tmp_path}/own", "info breakpoints")  # fmt: skip
    table = text.rpartition("Num     Type")[2]
    assert len(re.findall(r"^\d+\.\d+ +y .* in cuMemAlloc at ", table, re.MULTILINE)) == 1, table
    assert len(re.findall(r"^\d+\.\d+ +y .* in cuMemAlloc_v2 at ", table, re.MULTILINE)) == 1, table


def test_cuda_save_of_nothing(local: Scenario, tmp_path) -> None:
    text = local.run("test_alloc", f"cuda-save {tmp_path}/x", "cuda-break cuMemAlloc", "cuda-save /nowhere/x")
    assert "cuda-save: there are no breakpoints of cuda-break to write\n" in text
    assert "cuda-save: cannot write /nowhere/x: no such file or directory\n" in text
