"""A first instruction that names memory from its own place: gdb up to 13 loses a register in the step off it."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is x86-64's")
GO_ON = (
    "python import itertools; [gdb.execute('continue', to_string=True) for _ in "
    "itertools.takewhile(lambda _: gdb.selected_inferior().pid, itertools.count())]"
)
BEGINS_WITH_A_CALL = """
__asm__(".text; .globl cuMemsetD2D8_v2; .type cuMemsetD2D8_v2, @function\\n"
        "cuMemsetD2D8_v2: mov number@GOTPCREL(%rip), %rax\\n mov %ecx, %eax\\n nop; nop; nop; ret\\n"
        ".size cuMemsetD2D8_v2, . - cuMemsetD2D8_v2");
int number;
"""
STOPPED_BY_ANOTHER = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int cuMemsetD2D8_v2(unsigned long long place, unsigned long pitch, unsigned char value, unsigned long width,
                    unsigned long height);
static volatile int is_over, wrong;
static void *work(void *argument)
{
    for (int i = 1; !is_over; i = i % 1000000 + 1)
        wrong += cuMemsetD2D8_v2(0, 0, 0, i, 0) != i;
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < 100; i++) {
        usleep(3000);
        pthread_kill(pthread_self(), SIGUSR2);
    }
    is_over = 1;
    pthread_join(thread, NULL);
    printf("wrong %d\\n", wrong);
    return 0;
}
"""


def test_a_stop_of_another_thread_costs_no_argument(local: Scenario, compile_c) -> None:
    """gdb up to 13 loses the fourth where it is stopped beside its own breakpoint on such an instruction; a guard has
    none there."""
    hook = compile_c("libcalled.so", BEGINS_WITH_A_CALL, "-shared")
    program = compile_c("stopped", STOPPED_BY_ANOTHER, str(hook), "-pthread")
    text = local.run(program, "handle SIGUSR2 stop noprint nopass", "cuda-break cuMemsetD2D8 --from any if Width == 0",
                     "break main", "RUN", "cuda-guards", GO_ON, hook=hook)  # fmt: skip
    assert "in the process" in text and "wrong 0" in text


# One thread of its own stops the program; the one that calls has a signal's handler.
COUNTED = STOPPED_BY_ANOTHER.replace(
    "usleep(3000);", "usleep(3000); pthread_kill(thread, SIGUSR1); usleep(1000);"
).replace("is_over, wrong;", "is_over, wrong, calls;\nstatic void on_signal(int number) { (void)number; }").replace(
    "wrong += ", "calls++, wrong += "
).replace("pthread_t thread;", "pthread_t thread;\n    signal(SIGUSR1, on_signal);").replace(
    'printf("wrong %d\\n", wrong)', 'printf("wrong %d of %d\\n", wrong, calls)'
)  # fmt: skip


def test_a_log_costs_no_argument_and_counts_each_call_once(local: Scenario, compile_c) -> None:
    """Its breakpoints are none that anybody has named: what gdb up to 13 loses there is put back."""
    hook = compile_c("libcalled.so", BEGINS_WITH_A_CALL, "-shared")
    program = compile_c("counted", COUNTED.replace("i < 100", "i < 60"), str(hook), "-pthread")
    text = local.run(program, "handle SIGUSR2 stop noprint nopass", "handle SIGUSR1 nostop noprint pass",
                     "cuda-log start cuMemsetD2D8", "RUN", GO_ON, "cuda-log stop", hook=hook)  # fmt: skip
    told = re.search(r"^wrong 0 of (\d+)$", text, re.MULTILINE)
    assert told and f"{told[1]} calls kept" in text, text


INTERRUPTED = COUNTED.replace("pthread_kill(pthread_self(), SIGUSR2);", "").replace("i < 100", "i < 60")


def test_a_signal_costs_no_argument_whatever_decides(local: Scenario, compile_c, tmp_path: Path) -> None:
    """gdb asks for the fourth argument by itself: before it is asked, the call has its own again. A condition of the
    user's comes behind that, too, and it is in no file."""
    hook = compile_c("libcalled.so", BEGINS_WITH_A_CALL, "-shared")
    program = compile_c("interrupted", INTERRUPTED, str(hook), "-pthread")
    saved = tmp_path / "saved"
    text = local.run(program, "handle SIGUSR1 nostop noprint pass", "set cuda-guard off", "break main",
                     "cuda-break cuMemsetD2D8 --from any if Width > 2000000", "RUN", "info breakpoints",
                     f"save breakpoints {saved}", f"shell cat {saved}", "condition 2 $rcx > 2000000 || $rdi",
                     "info breakpoints", "delete 1", GO_ON, hook=hook)  # fmt: skip
    assert "wrong 0 of " in text and "Breakpoint 2," not in text, text
    if "$_cuda_registers()" in text:  # gdb 14 gives them back itself
        assert "stop only if $_cuda_registers() && (((unsigned long)$rcx > 2000000))" in text
        assert "stop only if $_cuda_registers() && ($rcx > 2000000 || $rdi)" in text
    assert "Width > 2000000" in text.partition("condition $bpnum $_cuda_break(")[2].partition("\n")[0]


def test_what_a_user_makes_of_such_a_condition_stays(local: Scenario, compile_c) -> None:
    """In the language that it is typed in, added to what is shown, or such that gdb cannot read it yet."""
    hook = compile_c("libcalled.so", BEGINS_WITH_A_CALL, "-shared")
    program = compile_c("stopped", STOPPED_BY_ANOTHER, str(hook), "-pthread")
    typed = (
        "set language rust", "condition 1 $rcx == 7u64", "set language ada", "condition 1 $rcx = 8",
        "set language auto", "condition 1 $_cuda_registers() && ($rcx == 9) && $rcx < 10",
        "condition -force 1 nosuch == 11",
    )  # fmt: skip
    words = (word for one in typed for word in (one, "info breakpoints 1"))
    text = local.run(program, "cuda-break cuMemsetD2D8 --from any if Width == 0", "set cuda-guard off", "break main",
                     "RUN", *words, hook=hook)  # fmt: skip
    assert " failed:" not in text, text
    for wanted in ("$rcx == 7u64", "$rcx = 8", "($rcx == 9) && $rcx < 10\n", "nosuch == 11"):
        assert wanted in text, text
