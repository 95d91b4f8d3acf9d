"""What is typed of a fault, in words: ``cuda-fail cuMemAlloc if bytesize > 1G with CUDA_ERROR_OUT_OF_MEMORY``."""

from __future__ import annotations

import re

from gdbcuda.errors import UserError
from gdbcuda.text.patterns import pattern

IF = pattern(r"(?:^|\s)if(?=[\s(]|$)")
ASSIGNED = pattern(r"\s(\*?[A-Za-z_][\w.\[\]>-]*)\s*=\s*([^\s=,][^\s,]*),?(?:\s+on\s+return(?=\s|$))?")
NO_FUNCTION = pattern(r"\s*[A-Za-z_][\w.\[\]>-]*\s*=")
WITH = pattern(r"\swith(?:\s+(\S+)|\s*$)")


def status_as_option(text: str, example: str) -> str:
    """``with STATUS``, in front of the condition or behind it, as an option in front."""
    found = list(WITH.finditer(text))
    if not text.strip() or "--with" in text:
        return text
    if not found or not found[-1][1]:
        raise UserError(f"'with STATUS', what the call returns, is missing, for example: {example}")
    return condition_last(text[: found[-1].start()], f"--with={found[-1][1]}", text[found[-1].end() :])


def value_as_option(text: str, example: str) -> str:
    """``OUT = VALUE on return`` as an option."""
    head, condition = parted(text)
    found = ASSIGNED.search(head)
    if not text.strip() or "--to" in text:
        return text
    if NO_FUNCTION.match(head):
        raise UserError(f"the function that writes it is missing, for example: {example}")
    if found is None:
        raise UserError(f"'OUT = VALUE', what is set and to what, is missing, for example: {example}")
    refuse_more(head[found.end() :], found[1])
    option = f"--to={found[1]}={found[2]}"
    return f"{head[: found.start()]} {option} {head[found.end() :]}" + (f" if {condition}" if condition else "")


def refuse_more(text: str, out: str) -> None:
    """What people write behind a value, and what has no meaning there."""
    second = ASSIGNED.search(text)
    if second is not None:
        raise UserError(f"one value in one command: {second[1]} wants another one, with the same condition")
    moment = re.match(r"\s+on\s+(\S+)", text)
    if moment is not None:
        raise UserError(f"{out} is set on return, when the call has written it, not on {moment[1]}")


def condition_last(before: str, option: str, behind: str) -> str:
    heads, conditions = zip(*map(parted, (before, behind)))
    if all(conditions):
        raise UserError(f"there are two conditions: if {conditions[0]}, and if {conditions[1]}")
    condition = "".join(conditions)
    return f"{heads[0]} {option} {heads[1]}" + (f" if {condition}" if condition else "")


def parted(text: str) -> tuple[str, str]:
    """In front of the condition, and the condition; options may follow where the fault does."""
    found = IF.search(text)
    return (text[: found.start()], text[found.end() :].strip()) if found else (text, "")
