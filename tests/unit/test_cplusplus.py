"""C++ functions by the names that people use."""

from __future__ import annotations

import pytest

from gdbcuda.text import cplusplus
from gdbcuda.text.demangling import demangled


@pytest.mark.parametrize("symbol, name, is_so", [
    ("Pool::grow(unsigned long)", "Pool::grow", True),
    ("Pool::grow(unsigned long)", "grow", True),
    ("Pool::grow(unsigned long)", "ool::grow", False),
    ("eng::Loader::load(int)", "Loader::load(int)", True),
    ("eng::Loader::load(unsigned long)", "Loader::load(int)", False),
    ("eng::Loader::load(unsigned long) const", "load( unsigned long )", True),
    ("float* make<float>(unsigned long)", "make", True),
    ("float* make<float>(unsigned long)", "make<float>", True),
    ("float* make<float>(unsigned long)", "make<double>", False),
    ("void grow<std::vector<int> >(int)", "grow", True),
    ("(anonymous namespace)::apply(unsigned long)", "apply", True),
    ("name[abi:cxx11](int)", "name", True),
    ("eng::Op::operator()(unsigned long) const", "Op::operator()", True),
    ("eng::Op::operator()(unsigned long) const", "operator()(unsigned long)", True),
    ("eng::Op::operator()(int) const", "operator()(unsigned long)", False),
    ("eng::operator==(Op const&, Op const&)", "operator==", True),
    ("Table::operator[](int)", "Table::operator[]", True),
    ("x64::Kernel<(x64::Isa)16>::step(int, bool)", "step", True),
    ("x64::Kernel<(x64::Isa)16>::step(int, bool)", "Kernel<(x64::Isa)16>::step(int,bool)", True),
    ("x64::Kernel<(x64::Isa)16>::step(int, bool)", "Isa", False),
    ("eng::operator<(Op const&, Op const&)", "operator<", True),
    ("Op::operator->() const", "Op::operator->", True),
    ("void Op::operator< <int>(int)", "operator< <int>", True),
    ("main", "main", True),
    ("domain", "main", False),
    ("main", "", False),
])  # fmt: skip
def test_what_a_function_may_be_called(symbol: str, name: str, is_so: bool) -> None:
    assert cplusplus.is_called(symbol, name) is is_so


@pytest.mark.parametrize("symbol, name", [
    ("float* eng::make<float>(unsigned long)", "eng::make"),
    ("main", "main"),
    ("Pool::grow(unsigned long)", "Pool::grow"),
    ("char* (anonymous namespace)::text(int)", "text"), ("Op::operator bool() const", "Op::operator bool"),
    ("bool* Op::operator new(unsigned long)", "Op::operator new"),
])  # fmt: skip
def test_what_completion_offers(symbol: str, name: str) -> None:
    assert cplusplus.plain(symbol) == name


@pytest.mark.parametrize("name, part", [("eng::Pool<int>::grow(int)", "grow"), ("main", "main"), ("::", ""),
                                        ("Op::operator()(int)", "Op"), ("operator()", ""),
                                        ("Op::operator new(int)", "Op"), ("Op::operator bool", "Op")])  # fmt: skip
def test_what_a_mangled_name_has_in_it(name: str, part: str) -> None:
    assert cplusplus.last_identifier(name) == part


LONG = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"


@pytest.mark.parametrize("name, most, shown", [
    ("main", 72, "main"),
    ("eng::Loader<int>::load(float*)", 30, "eng::Loader<int>::load(float*)"),
    ("eng::Loader<int>::load(float*)", 29, "eng::Loader<...>::load(...)"),
    (f"{LONG}(int, at::native::FillFunctor<float>) in libtorch_cuda.so", 100,
     "void at::native::vectorized_elementwise_kernel<...>(...) in libtorch_cuda.so"),
    ("c10::(anonymous namespace)::allocate(unsigned long, void**) in libc10.so", 60,
     "c10::(anonymous namespace)::allocate(...) in libc10.so"),
    ("bool operator< <int>(Pair<int> const&, Pair<int> const&) at pair.h:12", 44,
     "bool operator< <...>(...) at pair.h:12"),
    ("Handle<Very<Deep<Type> > >::operator->() const", 36, "Handle<...>::operator->() const"),
    ("a_function_of_c_with_a_very_long_name_indeed", 20, "a_functio...e_indeed"),
    ("Pool::grow((anonymous namespace)::Block&, bool, std::shared_ptr<int> const&)", 40, "Pool::grow(...)"),
    (LONG + "(int)", 51, "at::native::vectorized_elementwise_kernel<...>(...)"),
    (LONG + "(int)", 46, "at::native::vectorized_elementwise_kernel<...>"),
])  # fmt: skip
def test_a_long_name_is_shortened_in_the_middle(name: str, most: int, shown: str) -> None:
    assert cplusplus.shortened(name, most) == shown and len(shown) <= most


@pytest.mark.parametrize(("name", "shown"), [
    ("_ZN2at6native18elementwise_kernelIL…", "at::native::elementwise_kernel<...>"),
    ("_ZN2at6native12_GLOBAL__N_16kernelEPi, …", "at::native::(anonymous namespace)::kernel"),
    ("_Z4grow…", "grow"), ("_ZN2at6nati…", "_ZN2at6nati…"), ("_ZL…", "_ZL…"), ("_ZN9999a…", "_ZN9999a…"),
    ("plain…", "plain…"),
])  # fmt: skip
def test_of_a_mangled_name_that_is_cut_off_the_beginning_is_told(name: str, shown: str) -> None:
    assert demangled(name) == shown


def test_an_unbalanced_name_is_no_trouble() -> None:
    assert len(cplusplus.shortened("f<<<(((" * 40, 50)) <= 50


def test_a_name_without_the_namespaces_in_front() -> None:
    assert cplusplus.endings("eng::Loader::load") == ["eng::Loader::load", "Loader::load", "load"]
    assert cplusplus.endings("main") == ["main"]
    assert cplusplus.endings("a::f<b::c>(d::e)") == ["a::f<b::c>(d::e)", "f<b::c>(d::e)"]


@pytest.mark.parametrize(("typed", "words"), [
    ("cuMemAlloc --from app", ["cuMemAlloc", "--from", "app"]),
    ("eng::Pool<unsigned long long, 3>::grow --once", ["eng::Pool<unsigned long long, 3>::grow", "--once"]),
    ("grow(unsigned long, std::pair<int, float> &) x", ["grow(unsigned long, std::pair<int, float> &)", "x"]),
    ("eng::operator< (a b) next", ["eng::operator<", "(a", "b)", "next"]),
    ("Op::operator()(unsigned long) x", ["Op::operator()(unsigned long)", "x"]),
    ("Pool<int, never closed", ["Pool<int,", "never", "closed"]),
    ("cuMemAlloc bytesize < 5 && bytesize > 3", ["cuMemAlloc", "bytesize", "<", "5", "&&", "bytesize", ">", "3"]),
    ("ptr->at < 3 >", ["ptr->at", "<", "3", ">"]),
    ("(anonymous namespace)::hidden --once", ["(anonymous namespace)::hidden", "--once"]),
    ("Op::operator new[] x", ["Op::operator new[]", "x"]), ("operator const char* x", ["operator const char*", "x"]),
    ("Op::operator unsigned long x", ["Op::operator unsigned long", "x"]), ("my operator", ["my", "operator"]),
    ("Op::operator bool --in app", ["Op::operator bool", "--in", "app"]),
    ("", []),
])  # fmt: skip
def test_a_name_with_blanks_in_its_brackets_is_one_word(typed: str, words: list[str]) -> None:
    assert cplusplus.joined(typed.split()) == words


@pytest.mark.parametrize(("typed", "name"), [
    ("cuMemAlloc --fr", "--fr"), ("cuMemAlloc ", ""), ("", ""), ("f(int) g", "g"),
    ("x Pool<unsigned long, 3>::g", "Pool<unsigned long, 3>::g"), ("x Pool<unsigned ", "Pool<unsigned "),
    ("x Op::operator n", "Op::operator n"), ("Op::operator ", "Op::operator "), ("(anonymous na", "(anonymous na"),
    ("x 'eng::load(unsigned l", "'eng::load(unsigned l"), ("'a b' c", "c"),
])  # fmt: skip
def test_the_name_that_is_being_typed(typed: str, name: str) -> None:
    assert cplusplus.begun(typed) == name


@pytest.mark.parametrize(("symbol", "name"), [
    ("(anonymous namespace)::cudaMalloc(void**, unsigned long)", "(anonymous namespace)::cudaMalloc"), ("main", "main"),
    ("Kernel<(Isa)16>::step(int)", "Kernel<(Isa)16>::step"), ("Op::operator()(unsigned long)", "Op::operator()"),
    ("eng::(anonymous namespace)::Pool::grow(int) const", "eng::(anonymous namespace)::Pool::grow"), ("", ""),
])  # fmt: skip
def test_a_name_without_its_arguments(symbol: str, name: str) -> None:
    assert cplusplus.without_arguments(symbol) == name


@pytest.mark.parametrize(("symbol", "name"), [
    ("float* eng::make<float>(unsigned long)", "eng::make<float>(unsigned long)"), ("main", "main"),
    ("std::vector<int, a<b> > f<int, 3>(int) [clone .isra.0] [clone .cold]", "f<int, 3>(int)"),
    ("char* (anonymous namespace)::text(int)", "(anonymous namespace)::text(int)"),
    ("Op::operator bool() const", "Op::operator bool() const"), ("void* Op::operator new()", "Op::operator new()"),
    ("std::ostream& std::operator<< <char>(int)", "std::operator<< <char>(int)"),
    ("Op::operator()(unsigned long)", "Op::operator()(unsigned long)"),
])  # fmt: skip
def test_a_name_without_what_the_function_returns(symbol: str, name: str) -> None:
    assert cplusplus.whole(symbol) == name


@pytest.mark.parametrize(("text", "names"), [
    ("app", ("app",)), ("app,Pool<int,3>::grow,hook", ("app", "Pool<int,3>::grow", "hook")),
    ("load(int, long), app", ("load(int, long)", "app")), ("a,,b", ("a", "", "b")), ("", ("",)),
])  # fmt: skip
def test_commas_in_brackets_part_no_names(text: str, names: tuple[str, ...]) -> None:
    assert cplusplus.listed(text) == names
