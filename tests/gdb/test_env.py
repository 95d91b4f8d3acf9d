"""cuda-env: in the process and for the next run."""

from __future__ import annotations

import pytest
from idle_gdb import IdleGdb
from scenario import Scenario

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int checkpoint(void) { return 0; }
int main(int argc, char **argv) {
    checkpoint();
    for (int i = 1; i < argc; i++) printf("<%s=%s>\\n", argv[i], getenv(argv[i]) ? getenv(argv[i]) : "(null)");
    setenv("AFTER", "1", 1);
    printf("<still %s>\\n", getenv("HOME") ? "HOME" : "nothing");
    return 0;
}
"""


@pytest.mark.parametrize("value", ["1", "", "a longer value than before " * 9, "with = and 'quotes' é"])
def test_in_the_running_process(scenario: Scenario, compile_c, value: str) -> None:
    program = compile_c("env", PROGRAM)
    quoted = "'" + value.replace("'", "\\'") + "'" if "'" not in value else '"' + value + '"'
    text = scenario.run(
        program,
        "break checkpoint",
        "RUN",
        f"cuda-env NEW={quoted}",
        f"cuda-env HOME={quoted}",
        "cuda-env NEW",
        "continue",
        hook=None,
        arguments=("NEW", "HOME"),
    )
    assert f"<NEW={value}>" in text
    assert f"<HOME={value}>" in text
    assert "<still HOME>" in text


def test_for_the_next_run(local: Scenario, compile_c) -> None:
    text = local.run(
        compile_c("env", PROGRAM), "cuda-env NEW=before", "run", "cuda-env NEW", hook=None, arguments=("NEW",)
    )
    assert "NEW=before for the next run" in text
    assert "<NEW=before>" in text


def test_many_variables(local: Scenario, compile_c) -> None:
    program = compile_c("env", PROGRAM)
    names = [f"V{i}" for i in range(40)]
    text = local.run(
        program,
        "break checkpoint",
        "run",
        *[f"cuda-env {n}=value-of-{n}" for n in names],
        "continue",
        hook=None,
        arguments=tuple(names),
    )
    if "setenv cannot be called" in text:
        pytest.skip("no spare bytes for 40 variables here, and this gdb is too old to call a function of this libc")
    assert all(f"<{n}=value-of-{n}>" in text for n in names)


@pytest.mark.parametrize(
    ("argument", "message"),
    [("1BAD=x", "is not a variable's name"), ("=x", "is not a variable's name"), ("", "is missing")],
)
def test_mistakes(not_started: IdleGdb, argument: str, message: str) -> None:
    assert message in not_started.run(f"cuda-env {argument}")


def test_before_main_it_says_why_not(local: Scenario) -> None:
    text = local.run("test_alloc", "starti", "cuda-env NEW=1", hook=None)
    assert "main" in text.rpartition("cuda-env:")[2]


def test_an_empty_value_is_one(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-env EMPTY=", "cuda-env EMPTY", "cuda-env UNSET")
    assert "EMPTY= for the next run\nEMPTY= for the next run\nUNSET is not set for the next run" in text
