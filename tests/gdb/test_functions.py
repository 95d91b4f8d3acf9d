"""``$_cuda_…`` in the hands of someone who types them: one line for every mistake."""

from __future__ import annotations

import pytest
from idle_gdb import IdleGdb
from scenario import Scenario


@pytest.mark.parametrize(
    "expression, said",
    [
        ('$_cuda_error_name(2, "foo")', "'foo' is none of driver, runtime, nvml"),
        ("$_cuda_error_name()", "$_cuda_error_name(2): the name of a status"),
        ('$_cuda_error_name("x")', "Cannot convert value to long"),
        ('$_cuda_arg("bytesize")', "No frame is currently selected"),
        ("$_cuda_arg(1, 2)", '$_cuda_arg("bytesize"): an argument of the selected frame'),
        ("$_cuda_registers()", "= 1"),
        ("$_cuda_returned(1)", "= 0"),
        ("$_cuda_too_deep(1)", "= 0"),
        ("$_cuda_layer(-1)", '= ""'),
    ],
)
@pytest.mark.smoke
def test_no_process_and_wrong_arguments(not_started: IdleGdb, expression: str, said: str) -> None:
    text = not_started.run(f"print {expression}")
    assert said in text
    assert len(text.splitlines()) == 1


ALL = r"""
import re
for name in sorted(set(re.findall(r"\$_cuda_\w+", gdb.execute("help function", to_string=True)))):
    for given in ("", "1", "-1", "0xffffffffffffffff", "(char *) 0", "1.5", '"x"', "\'\\033\'", "1, 2, 3, 4, 5"):
        try:
            gdb.execute(f"print {name}({given})", to_string=True)
        except gdb.error as problem:
            if "gdbcuda" in str(problem):
                print(name, given, problem)
"""


def test_every_function_bears_every_argument(not_started: IdleGdb) -> None:
    assert not_started.run(f"python exec({ALL!r}, {{'gdb': gdb}})") == ""


@pytest.mark.usefixtures("calls_functions")
def test_text_ends_where_it_ends(local: Scenario) -> None:
    """Before gdb 14 a Python string has no NUL in gdb, and printf takes what lies behind it."""
    text = local.run("test_alloc", "cuda-break cuInit", "run", 'printf "[%s]\\n", $_cuda_error_name(2)',
                     'printf "[%s]\\n", $_cuda_layer()', 'print $_streq($_cuda_layer(), "hook")')  # fmt: skip
    if "SIGSEGV" in text and "unknown type [0x13] section `.relr.dyn'" in text:
        pytest.skip("to print such a string this gdb calls malloc, and it is too old to call a function of this libc")
    assert "[CUDA_ERROR_OUT_OF_MEMORY]\n[hook]\n$1 = 1\n" in text
