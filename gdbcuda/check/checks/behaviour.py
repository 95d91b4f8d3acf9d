"""What the machine code of the hooks gives away."""

from __future__ import annotations

from gdbcuda import api, elf
from gdbcuda.api.vendor import api_of
from gdbcuda.check.registry import LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.text.sentences import some

_STATUS = {"CUresult", "cudaError_t", "nvmlReturn_t"}
MOST_HELPERS = 3  # that return each other's result
_RESOLVERS = {"cuGetProcAddress", "cuGetProcAddress_v2"}
_NEXT_FINDS = ("RTLD_NEXT finds the real function in programs linked to the vendor's library; where the program loads "
               "it (the CUDA runtime does) it finds nothing")  # fmt: skip


def _hooks(subject: Subject) -> list[tuple[api.Function, elf.Symbol]]:
    """The exported hooks, but not of a vendor's library, which may have its reasons."""
    if api_of(subject.library.soname):
        return []
    exported = subject.library.exported
    return [(subject.hooked[name], exported[name]) for name in subject.in_order]


@check(
    "returns-minus-one", "warning", LIBRARY,
    means="-1 is no CUresult, cudaError_t or nvmlReturn_t: the program prints an error that no table knows, or takes "
          "it for a success",
    do="return a constant of the API, such as CUDA_ERROR_OUT_OF_MEMORY",
)  # fmt: skip
def returns_minus_one(subject: Subject) -> Answer:
    found = [
        f"{function.symbol}{where}"
        for function, symbol in _hooks(subject)
        if function.result.name in _STATUS and (where := _minus_one_from(subject, symbol, MOST_HELPERS))
    ]
    return f"-1 is returned at {some(found)}" if found else None


def _minus_one_from(subject: Subject, symbol: elf.Symbol, deep: int) -> str:
    """ "+0x1c", " by its helper check_limit+0x1c", whose result the function returns, or "+0x1c by way of its helper
    fail", which returns the -1 that it is given; "" for none."""
    code = subject.library.code
    at = code.returns_minus_one(symbol.value, symbol.size)
    if at is not None:
        return f"+{at:#x}"
    for target, call in code.returned_calls(symbol.value, symbol.size) if deep else ():
        helper = subject.function_called(target)
        if helper is None:
            continue
        returned = code.arguments_returned(helper.value, helper.size)
        if returned and returned & code.minus_ones_passed(symbol.value, symbol.size, call):
            return f"+{call:#x} by way of its helper {helper.name}"
        found = _minus_one_from(subject, helper, deep - 1)
        if found:
            return found if found.startswith(" ") else f" by its helper {helper.name}{found}"
    return ""


def _ignored(subject: Subject, function: api.Function, symbol: elf.Symbol) -> list[api.Parameter]:
    """Parameters that unoptimised code of the hook never looks at."""
    unused = subject.library.code.unused_arguments(symbol.value, symbol.size)
    whole = ("int", "uint", "bool", "char", "enum", "pointer")
    if not unused or any(parameter.type.kind not in whole for parameter in function.parameters[: max(unused) + 1]):
        return []  # a struct by value or a double moves the others to other registers
    return [parameter for number, parameter in enumerate(function.parameters) if number in unused]


@check(
    "out-parameter-unused", "warning", LIBRARY,
    means="it can report success, and the program's variable is as it was: a NULL pointer that fails later",
    do="write to it, or pass it on to the real function",
)  # fmt: skip
def out_parameter_unused(subject: Subject) -> Answer:
    code = subject.library.code
    found = [
        f"{function.symbol} never uses {parameter.name}"
        for function, symbol in _hooks(subject)
        for parameter in _ignored(subject, function, symbol)
        if parameter.direction == "out" and code.calls_anything(symbol.value, symbol.size)
    ]
    return some(found) if found else None


@check(
    "out-parameter-unchecked", "warning", LIBRARY,
    means="a program that passes NULL there is told so by the driver (CUDA_ERROR_INVALID_VALUE), or may do it; here it "
          "ends with SIGSEGV in the hook",
    do="test the pointer before writing, or write only what the real function has taken: if (result) return result;",
)  # fmt: skip
def out_parameter_unchecked(subject: Subject) -> Answer:
    found, known = [], dict[int, set[int]]()
    for function, symbol in _hooks(subject):
        written = _written(subject, symbol, MOST_HELPERS, known)
        parameters = enumerate(function.parameters if written else ())  # made when first asked for
        names = [parameter.name for number, parameter in parameters if number in written
                 and parameter.direction in ("out", "inout") and parameter.type.kind == "pointer"]  # fmt: skip
        found += [f"{function.symbol} writes through {some(names)}"] if names else []
    return f"{some(found)} without a test for NULL" if found else None


def _written(subject: Subject, symbol: elf.Symbol, deep: int, known: dict[int, set[int]]) -> set[int]:
    """Numbers of the pointers that the function or its helpers write through. Other hooks speak for themselves."""
    code, writers = subject.library.code, {}
    for target in code.called_directly(symbol.value, symbol.size) if deep else ():
        helper = subject.function_called(target)
        if helper is not None and helper.name not in subject.hooked and helper.value != symbol.value:
            if helper.value not in known:
                known[helper.value] = set()  # one that calls itself in the end
                known[helper.value] = _written(subject, helper, deep - 1, known)
            writers[target] = known[helper.value]
    return code.unchecked_writes(symbol.value, symbol.size, {at: one for at, one in writers.items() if one})


@check(
    "version-ignored", "warning", LIBRARY,
    means="the caller gets a function with other parameters than it was compiled for: cuMemAdvise asked at 8000 is "
          "not cuMemAdvise_v2, and flag 2 wants the _ptsz variant",
    do="choose the symbol by version and flags, as the driver does",
)  # fmt: skip
def version_ignored(subject: Subject) -> Answer:
    found = [
        f"{function.symbol} never uses {some(names)}"
        for function, symbol in _hooks(subject)
        if function.symbol in _RESOLVERS
        and (names := [each.name for each in _ignored(subject, function, symbol) if each.direction == "in"])
    ]
    return some(found) if found else None


@check(
    "asks-next-only", "note", LIBRARY,
    means=_NEXT_FINDS + ", and NULL is called: a jump to address 0",
    do="remember the pointers that dlsym and cuGetProcAddress returned, and check for NULL",
)  # fmt: skip
def asks_next_only(subject: Subject) -> Answer:
    library = subject.library
    if {"dlopen", "dlmopen"} & library.undefined.keys() | {"dlopen", "dlmopen"} & library.exported.keys():
        return None  # it can find the vendor's library by itself, or hears of each that is loaded
    found = [(f, s) for f, s in _hooks(subject) if library.code.passes_next(s.value, s.size)]
    blind = [f.symbol for f, s in found if not library.code.compares_with_null(s.value, s.size)]
    if blind and "dlsym" in library.exported:  # programs that load the driver come here too
        call = "calls" if len(blind) == 1 else "call"
        return Answered(f"{some(blind)} {call} what RTLD_NEXT gives without looking at it", severity="warning")
    seen = f"RTLD_NEXT is passed in {some([f.symbol for f, _ in found])}, and the library never calls dlopen"
    tests = all(library.code.compares_next_with_null(s.value, s.size) for _, s in found)
    ending = "the library tests for that" if tests else "no test for that is seen behind the call"
    return Answered(seen, means="" if blind else f"{_NEXT_FINDS}; {ending}") if found else None
