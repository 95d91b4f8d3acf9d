"""``cuda-dlsym answer``."""

from __future__ import annotations

import re
from collections.abc import Iterable

import gdb

from gdbcuda.command_line.argument_types import ArgumentType, text
from gdbcuda.command_line.options import Options, flag, option, words
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.dlsym import changed_answers, request_log, wanted_requests
from gdbcuda.live.layers import names, table_version, this_snapshot
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import command
from gdbcuda.routes import right_function
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted

NOTHING = ("NULL", "nothing", "0")
PF_X = 1


def complete_words(token: str) -> Iterable[str]:
    fixed = ["with", *changed_answers.LAYERS, "NULL"]
    return [*fixed, *names.complete_functions(token)] if token else fixed


def complete_numbers(token: str) -> Iterable[str]:
    return ["all", *map(str, changed_answers.ANSWERS)]


def numbers(typed: str) -> list[int]:
    known = list(changed_answers.ANSWERS)
    chosen = known if typed == "all" else [int(typed)] if typed.isdecimal() and int(typed) in known else []
    if not chosen:
        raise UserError(f"there is no answer {typed}" if known else "there is no answer to take back")
    return chosen


ANSWER_NUMBERS = ArgumentType("NUMBER|all", numbers, complete=complete_numbers)


class AnswerOptions(Options):
    words: list[str] = words(
        text("WORDS", complete_words), "NAME with OTHER|ADDRESS|hook|driver|NULL; nothing: the list"
    )
    once: bool = flag("the next request only")
    remove: list[int] | None = option(ANSWER_NUMBERS, "takes a wish back: its number, or all")

    @property
    def is_list(self) -> bool:
        return self.remove is None and not self.words


@command("cuda-dlsym answer", AnswerOptions, needs=lambda wanted: "" if wanted.is_list else "stopped")
def cuda_dlsym_answer(wanted: AnswerOptions) -> str:
    """Answer the program's requests for a name differently.

    OTHER: the request is answered as if that name had been asked for. ADDRESS (0x..., &function): the answer
    is that function. hook, driver: the answer is their function of the name, version and flags that are asked
    for. NULL: the answer is nothing.

    The answer holds for dlsym, dlvsym, cuGetProcAddress and cudaGetDriverEntryPoint. It holds for the
    program's requests and not for the hook's own, in this run and in later ones.

    The name in the program's memory is not touched. The answer is written into a register. Where gdb cannot
    write registers, the return address is led over a few bytes of code (set cuda-answer-by). The original
    request is made all the same, so dlerror() still tells what it said.

    Examples:
      cuda-dlsym answer nvmlDeviceGetMemoryInfo with nvmlInit_v2
      cuda-dlsym answer cuMemAlloc_v2 with driver --once
      cuda-dlsym answer cuMemAllocAsync with NULL
      cuda-dlsym answer
      cuda-dlsym answer --remove 1"""
    if wanted.remove is not None:
        return take_back(wanted.remove)
    if wanted.is_list:
        return listing()
    if len(wanted.words) != 3 or wanted.words[1].lower() != "with":
        raise UserError("write NAME with OTHER, ADDRESS, hook, driver or NULL", page="requests")
    return add(wanted.words[0], wanted.words[2], wanted.once)


def add(name: str, text: str, once: bool) -> str:
    if process.connection() == "core":
        raise UserError("a core file asks for nothing any more", page="processes")
    address = address_of(text)
    if process.is_alive() and text in changed_answers.LAYERS:
        refuse_unknown(name, text)
    number = next(changed_answers.NUMBERS)
    answer = changed_answers.ChangedAnswer(number, name, text, address, once)
    changed_answers.ANSWERS[number] = answer
    request_log.plant()
    return "\n".join([f"Answer {number}: {described(answer)}", *warnings(answer)])


def described(answer: changed_answers.ChangedAnswer) -> str:
    head = f"{'the next request' if answer.once else 'requests'} for {visible(answer.name)}"
    get = "gets" if answer.once else "get"
    if answer.address is not None:
        return f"{head} {get} {answer.other if answer.address else 'NULL'}"
    if answer.other in changed_answers.LAYERS:
        return f"{head} {get} the {answer.other}'s function"
    return f"{head} {get} what a request for {answer.other} gets"


def address_of(text: str) -> int | None:
    """The number, or gdb expression that begins like an address; None for a name."""
    if text in NOTHING:
        return 0
    if not re.match(r"[0-9&$*(]", text):
        return None
    try:
        value = int(gdb.parse_and_eval(text)) & (1 << 64) - 1
    except gdb.error as problem:
        raise UserError(f"{text}: {problem}") from None
    if process.is_alive() and not is_code(value):
        raise UserError(f"{text} is not code: calling it would end the program")
    return value


def is_code(address: int) -> bool:
    """In an executable segment; outside of every object (code made at run time) it must at least be readable."""
    holder = this_snapshot.objects().holder(address)
    if holder is None:
        return bool(process.InferiorMemory().read(address, 1))
    return any(start <= address < end and flags & PF_X for start, end, flags in holder.image.segments)


def refuse_unknown(name: str, layer: str) -> None:
    snapshot = this_snapshot.now()
    meant = [f.symbol for f in snapshot.table.find(name)] or [name]
    if snapshot.in_layer(layer) and not any(changed_answers.function_of(snapshot, layer, symbol) for symbol in meant):
        raise UserError(f"the {layer} has no {name} that is known by name")


def warnings(answer: changed_answers.ChangedAnswer) -> list[str]:
    """What will happen is the user's wish, but may not be what they think."""
    table = table_version.table()
    if answer.address is not None or answer.other in changed_answers.LAYERS or table.function(answer.name) is None:
        return []
    other = table.function(answer.other)
    if other is None:
        return [f"  ({answer.other} is no function of the API)"]
    different = right_function.difference(table, answer.name, other)
    return [f"  (their parameters differ{different})"] if different else []


def take_back(chosen: list[int]) -> str:
    which = f"Answer {chosen[0]}" if len(chosen) == 1 else "All answers"
    for number in chosen:
        del changed_answers.ANSWERS[number]
    if not wanted_requests.is_wanted():
        request_log.switch_off()
    return f"{which} taken back: requests are answered as ever."


def listing() -> str:
    if not changed_answers.ANSWERS:
        return "Every request is answered as ever."
    rows = [(a.number, a.name, a.other, "once" if a.once else "always", counted(a.given, "time"), a.refused)
            for a in changed_answers.ANSWERS.values()]  # fmt: skip
    return render.table(rows, ("#", "asked for", "answered with", "when", "given", "refused"), colour=settings.colour())
