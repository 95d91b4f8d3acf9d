"""bt: every frame of gdb's own, with its layer and object in front."""

from __future__ import annotations

import re
import subprocess

from scenario import GDB, ROOT, Scenario

HOOK_THAT_BEGINS_EARLY = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned flags)
{
    return ((int (*)(unsigned))dlsym(RTLD_NEXT, "cuInit"))(flags);
}
__attribute__((constructor)) static void begin(void)
{
    cuInit(0);
}
"""

LIBRARY = """
int cuInit(unsigned);
int library_init(void)
{
    return cuInit(0) + 1;
}
"""

PROGRAM = """
int library_init(void);
int main(void)
{
    return library_init();
}
"""


def numbers(text: str) -> list[str]:
    return re.findall(r"^#(\d+) ", text, re.MULTILINE)


def test_shows_as_many_frames_as_gdb_where_the_stack_ends_at_address_0(local: Scenario, compile_c) -> None:
    hook = compile_c("libearly.so", HOOK_THAT_BEGINS_EARLY, "-shared")
    text = local.run(
        "test_alloc", "cuda-break cuInit --from any", "RUN", "bt", "echo plain\\n", "bt -no-filters", hook=hook
    )
    ours, _, plain = text.partition("plain\n")
    assert "[hook libearly.so] begin" in ours
    assert numbers(ours) == numbers(plain) != []


def test_names_the_library_of_the_program(scenario: Scenario, compile_c, tmp_path) -> None:
    driver = str(scenario.shim / "standin" / "libcuda.so.1")
    library = compile_c("libmiddle.so", LIBRARY, "-shared", "-g0", driver)
    program = compile_c("through_library", PROGRAM, str(library), "-Wl,-rpath," + str(tmp_path), driver)
    text = scenario.run(program, "cuda-break cuInit", "RUN", "bt")
    assert re.search(r"^#1 .* in \[app libmiddle\.so\] library_init \(\)$", text, re.MULTILINE)
    assert re.search(r"^#2 .* in \[app\] main \(\)", text, re.MULTILINE)


def test_a_program_without_cuda_is_shown_as_gdb_shows_it(local: Scenario, compile_c) -> None:
    twice = "int twice(int a)\n{\n    return 2 * a;\n}\n"
    program = compile_c("plain", twice + "int main(void)\n{\n    return twice(0);\n}\n")
    text = local.run(program, "break twice", "run", "bt", "info frame-filter", hook=None)
    assert "#0  twice (a=0) at " in text and "#1 " in text and "[app]" not in text
    assert "No frame filters" in text


def test_the_next_program_is_another(local: Scenario, compile_c) -> None:
    program = compile_c("plain", "int main(void)\n{\n    return 0;\n}\n")
    other = (f"file {program}", "break main", "run", "bt", "info frame-filter")
    text = local.run("test_alloc", "break main", "run", "bt", "kill", "delete", *other, hook=None)
    first, _, second = text.partition("[Inferior 1")
    assert "[app] main" in first and "[app]" not in second and "No frame filters" in second


IN_HANDLER = """
#include <signal.h>
int cuInit(unsigned);
int asked(int a)
{
    return a + 1;
}
static void handle(int signal)
{
    asked(signal);
}
int main(void)
{
    signal(SIGUSR1, handle);
    cuInit(0);
    return raise(SIGUSR1);
}
"""


def test_frames_that_are_no_functions_have_no_layer(local: Scenario, compile_c) -> None:
    driver = str(local.shim / "standin" / "libcuda.so.1")
    program = compile_c("in_handler", IN_HANDLER, driver)
    text = local.run(program, "break asked", "handle SIGUSR1 nostop noprint", "run", "bt", hook=None)
    assert "[app] handle (signal=10)" in text
    assert re.search(r"^#2 +<signal handler called> \(\)$", text, re.MULTILINE)


def test_a_stop_in_a_program_without_cuda_is_not_unwound(compile_c) -> None:
    """gdb asks for the caller when the user does: here the process is gone by then."""
    program = compile_c("program", "int i;\nint main(void)\n{\n    i = 1;\n    i = 2;\n    return 0;\n}\n", "-O0")
    kill = "python import os, time; os.kill(gdb.selected_inferior().pid, 9); time.sleep(0.5)"
    server = f"target remote | gdbserver --once - {program}"
    typed = (server, "break 5", "continue", kill, "echo killed\\n", "bt")
    said = []
    for sourced in ([], ["-x", str(ROOT / "gdbcuda.py")]):
        line = [GDB, "-nx", "-q", "-batch", *sourced, *(part for one in typed for part in ("-ex", one)), str(program)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
        said.append(re.sub(r"pid = \d+", "", (done.stdout + done.stderr).partition("killed")[2]))
    assert said[0] == said[1]


FULL_STACK = """
int cuMemAlloc_v2(unsigned long long *p, unsigned long n)
{
    volatile char room[4096];
    room[0] = 1;
    return cuMemAlloc_v2(p, n + room[0]) + room[0];
}
"""


def test_what_cannot_be_read_leaves_its_frame_whole(scenario: Scenario, compile_c) -> None:
    """Where the stack is full, not even the arguments are there: gdb says so and goes on, but not where a filter is."""
    hook = compile_c("libfull.so", FULL_STACK, "-shared")
    program = compile_c("program", "int cuMemAlloc_v2(void *, long); int main(void) { return cuMemAlloc_v2(0, 1); }",
                        str(scenario.shim / "standin" / "libcuda.so.1"))  # fmt: skip
    text = scenario.run(program, "RUN", "bt full 2", "set print frame-arguments all", "bt 1", hook=hook)
    first = r"#0  0x\w+ in \[hook libfull.so\] cuMemAlloc_v2 "
    assert re.search(first + r"\(p=\.\.\., n=\.\.\.\) at .*\n +room = \"<error reading variable: Cannot access", text)
    assert re.search(first + r"\(p=\"<error reading variable: Cannot access.*\) at \S+:\d+\n", text)
    assert re.search(r"#1 .* cuMemAlloc_v2 \(p=0x0, n=\d+\) at .*\n +room = ", text)
