"""What cuda-log shows, sums up, compares and saves of the calls that it has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import log_files
from forking_gdbcuda import run_gdbcuda
from idle_gdb import IdleGdb
from log_files import alloc_of, free_of
from scenario import Scenario


def test_what_the_hook_changed(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-log start cuMemAlloc cuMemGetInfo", "RUN", "cuda-log show --changed",
        environment={"GDBCUDA_MEMORY_LIMIT": "2g"},
    )  # fmt: skip
    assert re.search(r"bytesize=3221225472 \[3\.00 GiB\]\) = CUDA_ERROR_OUT_OF_MEMORY \(2\).*\n +never forwarded", text)
    assert "out total: got 17179869184 [16.00 GiB], told 2147483648 [2.00 GiB]" in text
    assert re.search(r"\d+ of \d+ calls of the hook library did more", text)
    granted = re.search(r"bytesize=67108864 .*\n(.*)", text)
    assert granted is None or "never forwarded" not in granted.group(1)


def test_conditions_and_callers(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-log start cuMemAlloc --from app --stack 3 if bytesize > 2G", "RUN", "cuda-log show"
    )
    assert len(re.findall(r"^#", text, re.MULTILINE)) == 1
    assert "bytesize=3221225472" in text
    own = scenario.run("test_alloc", "cuda-log start cuMemAlloc --from hook", "RUN", "cuda-log show")
    assert set(re.findall(r"T1  (\w+) ", own)) == {"driver"}


def test_a_condition_on_what_was_recorded(scenario: Scenario) -> None:
    """It chooses, in the words of cuda-break; summary and --changed take it too."""
    text = scenario.run("test_alloc", "cuda-log start", "RUN", "cuda-log show cuMemAlloc if bytesize == 3G",
                        "echo @@\\n", "cuda-log show if bytesize > 2G && caller in app", "echo @@\\n",
                        "cuda-log summary if bytesize > 2G", "echo @@\\n",
                        "cuda-log show --changed if bytesize < 2G")  # fmt: skip
    one, any_function, summary, changed = text.split("@@\n")
    calls = re.findall(r"^#.*", one, re.MULTILINE)
    assert calls and all("cuMemAlloc_v2" in line and "bytesize=3221225472 " in line for line in calls)
    sizes = re.findall(r"^#.* bytesize=(\d+) ", any_function, re.MULTILINE)
    assert set(sizes) == {"3221225472"} and len(sizes) == any_function.count("#")
    assert {line.split()[0] for line in summary.splitlines() if " hook " in line} == {"cuMemAlloc_v2"}
    assert "bytesize=3221225472" not in changed and "calls of the hook library" in changed


def test_completion_knows_the_parameters_of_what_is_recorded(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start cuMemAlloc cuMemFree", "run", "complete cuda-log show if bytes",
                     "complete cuda-log summary cuMemFree if dp")  # fmt: skip
    assert "cuda-log show if bytesize" in text and "cuda-log summary cuMemFree if dptr" in text


def test_summary_counts_by_layer(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "cuda-log start cuMemAlloc cuMemcpyDtoH", "RUN", "cuda-log summary",
                        environment={"GDBCUDA_MEMORY_LIMIT": "2g"})  # fmt: skip
    rows = [line.split() for line in text.splitlines()]
    assert ["cuMemAlloc_v2", "hook", "3", "1"] in [row[:4] for row in rows]
    assert ["cuMemAlloc_v2", "driver", "2"] in [row[:3] for row in rows]
    assert ["cuMemAlloc_v2", "hook", "CUDA_ERROR_OUT_OF_MEMORY", "1"] in rows
    assert "device to host  4096 [4.00 KiB]" in text


def test_backtraces_are_shown_when_asked(scenario: Scenario) -> None:
    text = scenario.run(
        "test_alloc", "cuda-log start cuMemFree --stack 5 --in hook", "RUN", "cuda-log show --stack --last 1"
    )
    assert re.search(r"by release_buffers at test_alloc\.c:\d+\n +from main at test_alloc\.c:\d+\n", text), text


def test_as_data_for_scripts(local: Scenario) -> None:
    text = local.run(
        "test_alloc", "cuda-log start cuMemAlloc --in hook,driver if bytesize > 0", "run", "cuda-log show --json",
        "cuda-log show --changed --json", "cuda-log summary --json", "cuda-memory --json", "cuda-memory live --json",
        "cuda-log show --in driver --tree --last 1 --json",
        environment={"GDBCUDA_MEMORY_LIMIT": "2g"},
    )  # fmt: skip
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    *calls, changed, summary, memory, outer, inner = found
    assert (outer["layer"], inner["layer"], inner["parent"]) == ("hook", "driver", outer["number"])
    assert [(one["layer"], one["depth"]) for one in calls] == [("hook", 0), ("driver", 1)] * 2 + [("hook", 0)]
    assert calls[0]["arguments"]["bytesize"] == 64 << 20 and calls[0]["caller"]["function"] == "allocate_buffer"
    assert changed["changes"] == [{"what": "never forwarded"}] and changed["number"] == 4
    assert summary["calls"] == 5 and sum(one["bytes"] for one in memory["live"]) == (64 << 20) + (1 << 30) + 1
    assert memory["unknown_whether_freed"] == [0, 2]  # a condition takes some calls alone
    assert "cuda-memory: --json gives all views at once" in text


def test_saved_is_what_was_kept(local: Scenario, tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = local.run("test_alloc", "cuda-log start cuMemAlloc", "run", f"cuda-log save {log}", "cuda-log clear",
                     "cuda-log show")  # fmt: skip
    assert f"12 calls written to {log}" in text and "12 calls forgotten" in text and "Nothing is recorded yet" in text
    assert [e["phase"] for e in log_files.lines(log) if e.get("op_id") is not None].count("E") == 12


def test_where_this_run_parts_from_another(scenario: Scenario, tmp_path: Path) -> None:
    """As gdbcuda log diff says it of two files; the calls of the session stay as they are."""
    without, hook, arguments = tmp_path / "without", scenario.sample("forgetful_hook.so"), ("1", "30")
    start, diff = "cuda-log start 'cuMem*' --in hook,driver", f"cuda-log diff {without}"
    scenario.run("threads", f"{start} --to {without}", "RUN", hook=None, arguments=arguments)
    text = scenario.run(
        "threads", diff, start, "RUN", "echo ==\\n", diff, "echo ==\\n", f"{diff} --in driver", "echo ==\\n",
        f"{diff} --in driver --json", "echo ==\\n", "cuda-log show --tree --last 1", hook=hook, arguments=arguments,
    )  # fmt: skip
    before, alike, parted, as_json, tree = text.split("==\n")
    assert "Nothing is recorded: cuda-log start" in before and "calls of the program." in alike
    assert alike.startswith("No difference in "), alike
    assert re.search(r"Differs in order, thread \d of each log: cuMemsetD8_v2 in the first, cuMem", parted), parted
    assert json.loads(as_json)["differences"]["order"] == 1
    _, outer, *inner = tree.splitlines()
    assert " hook " in outer and inner and all(re.search(r" driver {5}", line) for line in inner), tree


def test_two_files_at_the_prompt(not_started: IdleGdb, tmp_path: Path) -> None:
    first, second = (log_files.write(tmp_path / str(size), [alloc_of(0, "0x10", size), free_of(1, "0x10")])
                     for size in (64, 65))  # fmt: skip
    assert "bytesize is 64 in the first, 65 in the second" in not_started.run(f"cuda-log diff {first} {second}")
    some = f"cuda-log diff {first} {second} --function cuMemFree --function cuInit"
    assert "No difference in 1 call of" in not_started.run(some)
    assert "did you mean cuMemAlloc?" in not_started.run(f"cuda-log diff {first} {second} --function cuMemAlocc")


def test_a_string_is_kept_with_its_address(local: Scenario, tmp_path: Path) -> None:
    """A condition on the log means what the breakpoint means."""
    (tmp_path / "requests").write_text("cuInit 12000 0\ncuMemAlloc 12000 0\n")
    text = local.run("proc_address", "cuda-log start cuGetProcAddress", f"run < {tmp_path / 'requests'}",
                     "cuda-log show if symbol - 1 > 4096", "echo --\\n", "cuda-log show if symbol[2] == 73",
                     hook=local.sample("wrong/version_ignored.so"))  # fmt: skip
    every, initial = text[text.index("#") :].split("--\n")
    assert 'symbol="cuInit"' in every and 'symbol="cuMemAlloc"' in every
    assert 'symbol="cuInit"' in initial and "cuMemAlloc" not in initial


def test_every_view_of_the_shell_takes_what_gdb_has_written(scenario: Scenario, tmp_path: Path) -> None:
    """And the export for Perfetto names the program as gdb's log does."""
    log = tmp_path / "log"
    scenario.run("test_alloc", f"cuda-log start --memory --to {log}", "RUN")

    def shell(view: str, *words: str) -> str:
        return run_gdbcuda("log", view, log, *words, check=True).stdout

    events = json.loads(shell("export"))["traceEvents"]
    assert [one["args"]["name"] for one in events if one["name"] == "process_name"] == ["test_alloc"]
    assert any(one["ph"] == "C" for one in events) and any(one["ph"] == "X" for one in events)
    assert "calls of the hook library did more" in shell("changes")
    assert "=allocate" in shell("timeline") and "Peak of device memory: " in shell("memory")
    for view in ("show", "tree", "summary"):
        assert "cuMem" in shell(view), view
    assert "cuMemAlloc" in shell("export", "--format", "csv") and "cuMemAlloc" in shell("export", "--format", "jsonl")
