"""The libraries of the shim: the right one is ready, each wrong one is found out with the sentence that mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from elf_build import compiled
from shim_support import Run

from gdbcuda.check.file import check
from gdbcuda.check.finding import Report
from gdbcuda.shell.cli import main

# library -> (the finding that finds it out, its severity, what the advice must name)
WRONG = {
    "hidden": ("hidden-functions", "error", 'visibility("default")'),
    "minus_one": ("returns-minus-one", "warning", "CUDA_ERROR_OUT_OF_MEMORY"),
    "next_trouble": ("asks-next-only", "warning", "check for NULL"),
    "no_debug": ("no-debug-info", "warning", "-g -O0"),
    "null_out": ("out-parameter-unused", "warning", "write to it"),
    "only_dlsym": ("only-dlsym", "error", 'visibility("default")'),
    "partial_suffix": ("per-thread-missing", "warning", "_ptsz"),
    "private_dl_sym": ("glibc-private", "error", "dlvsym(RTLD_NEXT"),
    "recursing_dlsym": ("dlsym-recursion", "error", "dlvsym(RTLD_NEXT"),
    "version_ignored": ("version-ignored", "warning", "version and flags"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_on_purpose(shim: Path, name: str) -> None:
    id, severity, advice = WRONG[name]
    report = check(shim / "sample" / "wrong" / f"{name}.so")
    found = [finding for finding in report.findings if finding.id == id]
    assert [finding.severity for finding in found] == [severity]
    assert advice in found[0].do
    assert id in report.verdict
    assert report.exit_status == (1 if severity == "error" else 0)


def test_none_is_forgotten(shim: Path) -> None:
    harmless = set(check(shim / "sample" / "minimal_hook.so").ids())
    for path in (shim / "sample" / "wrong").glob("*.so"):
        assert path.stem in WRONG or set(check(path).ids()) - harmless, path.name


def test_the_right_one_is_ready(shim: Path) -> None:
    report = check(shim / "libgdbcuda-hook.so")
    assert (report.verdict, report.exit_status) == ("ready", 0)
    hooks = next(finding for finding in report.findings if finding.id == "hooks")
    assert "637 of 637 driver functions (CUDA 13.0)" in hooks.seen


@pytest.mark.parametrize(
    ("program", "hook", "verdict"),
    [
        ("test_alloc", "sample/minimal_hook.so", "will be reached"),
        ("test_alloc", "sample/wrong/only_dlsym.so", "will not be reached"),
        ("test_alloc", "sample/wrong/hidden.so", "will not be reached"),
        ("test_alloc", "sample/wrong/private_dl_sym.so", "will not run"),
        ("dlsym_alloc", "sample/minimal_hook.so", "may not be reached"),
        ("dlsym_alloc", "sample/wrong/only_dlsym.so", "will be reached"),
        ("runtime_alloc", "libgdbcuda-hook.so", "will be reached"),
        ("runtime_alloc", "sample/wrong/only_dlsym.so", "will be reached"),
        ("nvml_dlopen", "libgdbcuda-hook.so", "will be reached"),
        ("nvml_info", "sample/minimal_hook.so", "will not be reached"),
        ("static_program", "libgdbcuda-hook.so", "cannot be hooked"),
    ],
)
def test_pairs(shim: Path, program: str, hook: str, verdict: str) -> None:
    assert _pair(shim, program, hook).verdict.startswith(verdict)


def _pair(shim: Path, program: str, hook: str) -> Report:
    path = shim / "sample" / program
    if not path.exists():
        pytest.skip(f"{program} is not built here")
    return check(path, hook=shim / hook)


def test_the_same_from_the_librarys_side(shim: Path) -> None:
    report = check(shim / "sample" / "minimal_hook.so", program=shim / "sample" / "test_alloc")
    assert "reached" in report.ids("note")
    assert report.role == "hook library"


@pytest.mark.parametrize(
    ("program", "verdict", "status"),
    [
        ("runtime_alloc", "will be reached by runtime_alloc, not by linked programs (only-dlsym)", 0),
        ("dlsym_alloc", "will be reached by dlsym_alloc, not by linked programs (only-dlsym)", 0),
        ("test_alloc", "will not be reached by this program (not-reached)", 1),
    ],
)
def test_a_release_library_is_judged_by_the_program_at_hand(
    shim: Path, program: str, verdict: str, status: int
) -> None:
    """cuda-load shows this: who asks dlsym gets there, whatever is hidden from others."""
    report = check(shim / "sample" / "wrong" / "only_dlsym.so", program=shim / "sample" / program)
    assert (report.verdict, report.exit_status) == (verdict, status)


@pytest.mark.parametrize(
    ("programs", "status"), [(["dlsym_alloc"], 0), (["test_alloc"], 1), (["test_alloc", "dlsym_alloc"], 1)]
)
def test_a_release_library_beside_its_programs_in_a_shell(
    shim: Path, capsys: pytest.CaptureFixture[str], programs: list[str], status: int
) -> None:
    """The library has an error of its own only where no program at hand asks it; the advice is for the others."""
    hook = shim / "sample" / "wrong" / "only_dlsym.so"
    words = ["check", "--hook", str(hook), *(str(shim / "sample" / one) for one in programs)]
    assert main(words) == status
    of_library = capsys.readouterr().out.partition("\n\n")[0]
    is_asked = "dlsym_alloc" in programs
    assert ("-> nothing, for dlsym_alloc; for linked programs write" in " ".join(of_library.split())) == is_asked
    assert ("debug the other one" in " ".join(of_library.split())) != is_asked
    assert of_library.endswith("(only-dlsym)")


HANDED_OUT = """
static int granted(void **p, unsigned long n) { return p && n; }
static int answers(const char *n, void **p) { *p = (void *)granted; return !n; }
void *dlsym(void *h, const char *n) { return n[0] == 'c' ? (void *)answers : h; }
"""


@pytest.mark.parametrize(("flags", "why", "of_it"), [
    ((), "its functions have other names", "what it answers with is not told by its functions' names"),
    (("-s",), "it is stripped", "stripped, so what it hides cannot be told"),
    (("-Wl,-x,-S",), "it is stripped", "stripped, so what it hides cannot be told"),  # as `strip -x` does
])  # fmt: skip
def test_what_a_dlsym_hands_out_need_not_have_its_name(
    shim: Path, tmp_path: Path, flags: tuple[str, ...], why: str, of_it: str
) -> None:
    """The runtime asks for cuGetProcAddress; that `answers` stands for it no name tells, nor that it does not."""
    program = shim / "sample" / "runtime_alloc"
    report = check(program, hook=compiled(tmp_path, HANDED_OUT, "-fvisibility=default", *flags))
    assert report.verdict == "will be reached" and "not-reached" not in report.ids()
    assert f"(the CUDA runtime asks, if it answers that: {why})" in str(report.findings)
    assert of_it in str(check(tmp_path / "libhook.so", program=program).findings)


@pytest.mark.parametrize("program", ["test_alloc", "dlsym_alloc", "runtime_alloc"])
@pytest.mark.parametrize("hook", ["minimal_hook", "hook_first", "wrong/hidden", "wrong/no_debug", "wrong/only_dlsym"])
def test_what_is_foretold_comes_true(shim: Path, run: Run, program: str, hook: str) -> None:
    """Each of these hooks says on stderr when it is called."""
    path = f"sample/{hook}.so"
    report = _pair(shim, program, path)
    if "may not" in report.verdict or "if it answers" in str(report.findings):
        pytest.skip("cannot be told from the files, and the report says so")
    done = run(program, preload=[path])
    called = f"{hook.rpartition('/')[2]}: cuMem" in done.stderr
    assert called == ("reached" in report.ids()) == ("not-reached" not in report.ids()), done.stderr
