"""The adapter of a hook library: its file, and its expressions, which only read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.adapter import adapter_file, expression
from gdbcuda.adapter.expression import (
    BinaryTerm,
    DeviceNumber,
    EachNumber,
    ElementTerm,
    MemberTerm,
    Number,
    SumTerm,
    Tree,
    UnaryTerm,
    Variable,
)
from gdbcuda.errors import UserError

REGION = Variable("region")


@pytest.mark.parametrize(("text", "tree"), [
    ("region->used[$device]", ElementTerm(MemberTerm(REGION, "used", True), DeviceNumber())),
    ("&region->lock", UnaryTerm("&", MemberTerm(REGION, "lock", True))),
    ("**region", UnaryTerm("*", UnaryTerm("*", REGION))),
    ("'limit.c'::used[2]", ElementTerm(Variable("used", "limit.c"), Number(2))),
    ("Pool::instance.total - 4K",
     BinaryTerm("-", MemberTerm(Variable("Pool::instance"), "total", False), Number(4096))),
    ("region | 1 + 2 * 0x10",
     BinaryTerm("|", REGION, BinaryTerm("+", Number(1), BinaryTerm("*", Number(2), Number(16))))),
    ("(region + 1) * 2", BinaryTerm("*", BinaryTerm("+", REGION, Number(1)), Number(2))),
    ("1 - 2 - 3", BinaryTerm("-", BinaryTerm("-", Number(1), Number(2)), Number(3))),
    ("region->parts[..].used", SumTerm(
        MemberTerm(ElementTerm(MemberTerm(REGION, "parts", True), EachNumber()), "used", False),
        MemberTerm(REGION, "parts", True), None)),
    ("1 + used[..region.count]", BinaryTerm("+", Number(1), SumTerm(
        ElementTerm(Variable("used"), EachNumber()), Variable("used"), MemberTerm(REGION, "count", False)))),
    ("-region << 3", BinaryTerm("<<", UnaryTerm("-", REGION), Number(3))),
])  # fmt: skip
def test_expressions(text: str, tree: Tree) -> None:
    assert expression.parse(text) == tree


@pytest.mark.parametrize(("text", "said"), [
    ("total()", "calls a function: an adapter only reads"), ("(*hook)(1)", "calls a function"),
    ("used = 1", "'=' is not for an adapter, which only reads"), ("used++", "does not go on with"),
    ('$_shell("rm -rf /")', "is not for an adapter"), ("$rip", "is not for an adapter"), ("region->", "its end"),
    ("a[..][..]", "two sums in one another"), ("a..b", "does not go on with '..'"),
    ("used[1", "its end"), ("used 1", "does not go on with '1'"), ("", "its end"), ("1x", "is no number"),
    ("(" * 60 + "1", "too deep"), ("a" * 500, "at most 400"), ("region->a::b", "does not go on with 'a::b'"),
])  # fmt: skip
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as problem:
        expression.parse(text)
    assert said in str(problem.value) and "\n" not in str(problem.value)


@given(st.text(alphabet="ax1$'[]()->.*&+ :\n", max_size=30))
def test_any_text_is_an_expression_or_one_line(text: str) -> None:
    try:
        expression.parse(text)
    except UserError as problem:
        assert "\n" not in str(problem).replace(repr(text), "")


WHOLE = """# a comment
[books]
used = region->used[$device]   # bytes
limit-variable = LIMIT
devices = 4
[locks]
region lock = &region->lock
gate = &region->gate
[owners]
gate = region->owner
[functions]
internal = oom_check, add_chunk Pool::grow
[environment]
LIMIT = bytes of a device = all of it
LIMIT_* = of one
"""


def read(folder: Path, text: str) -> adapter_file.Adapter:
    file = folder / "libhook.so-gdbcuda.ini"
    file.write_text(text)
    return adapter_file.read(str(file))


def test_a_whole_file(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found.books["used"].text == "region->used[$device]" and found.books["devices"].tree == Number(4)
    assert (found.limit_variable, [*found.locks], [*found.owners]) == ("LIMIT", ["region lock", "gate"], ["gate"])
    assert found.functions == ("oom_check", "add_chunk", "Pool::grow")
    assert found.environment == {"LIMIT": "bytes of a device = all of it", "LIMIT_*": "of one"}
    assert found.described() == "books, 2 locks, 3 functions, 2 variables"
    assert read(tmp_path, "[books]\n").described() == "nothing"


@pytest.mark.parametrize(("text", "said"), [
    ("[book]\nused = 1\n", "no section [book]; did you mean books?"),
    ("[books]\nuse = 1\n", "[books] has no 'use'; did you mean used? (there are used, limit, limit-variable, devices)"),
    ("[books]\nused = f(1)\n", "[books] used: 'f(1)' calls a function"),
    ("[owners]\ngate = 1\n", "[owners] has 'gate', which is no lock of [locks]"),
    ("[functions]\nexternal = a\n", "[functions] has no 'external' (there is internal)"),
    ("[functions]\ninternal = a;b\n", "[functions] internal: 'a;b' is no name of a function"),
    ("[environment]\n1X = a\n", "[environment] '1X' is no name of a variable"),
    ("used = 1\n", "no section headers"), ("[books]\nused\n", "parsing errors"),
    ("[books]\nused = 1\nused = 2\n", "option 'used' in section 'books' already exists"),
    ("\x00\x01\xff", "no section headers"), ("", "the file is empty"),
])  # fmt: skip
def test_mistakes_are_one_line_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as problem:
        read(tmp_path, text)
    line = str(problem.value)
    assert said in line and line.startswith(f"{tmp_path}/libhook.so-gdbcuda.ini: ") and "\n" not in line


def test_it_lies_beside_the_library_or_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "libhook.so.1", tmp_path / "libhook.so"
    real.touch()
    link.symlink_to(real)
    assert adapter_file.found_beside(str(link)) == "" == adapter_file.found_beside("")
    (tmp_path / "real" / "libhook.so.1-gdbcuda.ini").touch()
    assert adapter_file.found_beside(str(link)) == f"{real}-gdbcuda.ini" == adapter_file.found_beside(str(real))
    (tmp_path / "libhook.so-gdbcuda.ini").touch()
    assert adapter_file.found_beside(str(link)) == f"{link}-gdbcuda.ini"


def test_a_python_without_the_reader_of_ini_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gdb that is packed with a part of Python's library still loads the extension."""
    monkeypatch.setitem(sys.modules, "configparser", None)
    with pytest.raises(UserError, match="the Python here has no module configparser"):
        adapter_file.read(str(tmp_path / "any.ini"))
