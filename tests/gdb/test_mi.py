"""An IDE's view: the extension behind gdb's machine interface, driven by pygdbmi."""

from __future__ import annotations

import os

import pytest
from scenario import GDB, ROOT, Scenario

pygdbmi = pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed (scripts/test installs it)")


@pytest.fixture
def ide(local: Scenario):
    os.environ["LD_LIBRARY_PATH"] = str(local.shim / "standin")
    controller = pygdbmi.GdbController(
        [
            GDB,
            "-nx",
            "-q",
            "--interpreter=mi3",
            "-x",
            str(ROOT / "gdbcuda.py"),
            str(local.sample("test_alloc")),
        ]
    )
    del os.environ["LD_LIBRARY_PATH"]
    yield controller
    controller.exit()


def say(ide, command: str, until: str = "") -> list[dict]:
    """The records of a command; ``until`` names an async record to wait for ("stopped").

    pygdbmi returns what has come so far, which on a busy machine is the echo alone."""
    records = ide.write(command, timeout_sec=20, raise_error_on_timeout=True)
    while not (any(r["type"] == "result" for r in records) and until in ["", *(r["message"] for r in records)]):
        records += ide.get_gdb_response(timeout_sec=20)
    return records


def console(records: list[dict]) -> str:
    return "".join(r["payload"] for r in records if r["type"] == "console")


def test_a_stop_in_the_hook(ide, local: Scenario) -> None:
    say(ide, f"cuda-load {local.hook}")
    made = say(ide, "cuda-break cuMemAlloc if bytesize > 1G")
    assert "in hook libgdbcuda-hook.so" in console(made)
    assert any(r["message"] == "breakpoint-created" for r in made)  # so that the IDE's list shows it
    records = say(ide, "-exec-run", until="stopped")
    stop = next(r for r in records if r["message"] == "stopped")["payload"]
    assert (stop["reason"], stop["bkptno"]) == ("breakpoint-hit", "1")
    assert stop["frame"]["func"] == "cuMemAlloc_v2"
    records += ide.get_gdb_response(timeout_sec=1, raise_error_on_timeout=False)
    assert "cuMemAlloc_v2(dptr=0x" in console(records)
    assert "\x1b" not in console(records)


def test_an_error_stop_has_a_number(ide, local: Scenario) -> None:
    say(ide, f"cuda-load {local.hook}")
    say(ide, "cuda-env GDBCUDA_MEMORY_LIMIT=2g")
    say(ide, "cuda-break cuMemAlloc --on error")
    records = say(ide, "-exec-run", until="stopped")
    stop = next(r for r in records if r["message"] == "stopped")["payload"]
    assert stop["reason"] == "breakpoint-hit"
    assert int(stop["bkptno"]) > 1


def test_a_mistake_is_a_clean_error(ide) -> None:
    record = next(r for r in say(ide, "cuda-break cuMemAloc") if r["type"] == "result")
    assert record["message"] == "error"
    assert record["payload"]["msg"].startswith("cuda-break: no function 'cuMemAloc'")


def test_conditions_can_be_changed_by_the_ide(ide, local: Scenario) -> None:
    say(ide, f"cuda-load {local.hook}")
    say(ide, "cuda-break cuMemAlloc")
    record = next(r for r in say(ide, "-break-condition 1 $rsi > 2000000000") if r["type"] == "result")
    assert record["message"] == "done"
    records = say(ide, "-exec-run", until="stopped")
    records += ide.get_gdb_response(timeout_sec=1, raise_error_on_timeout=False)
    assert "bytesize=3221225472 [3.00 GiB]" in console(records)
