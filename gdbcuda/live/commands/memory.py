"""``cuda-memory``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import gdb

from gdbcuda.command_line.argument_types import known
from gdbcuda.command_line.options import flag, optional_word, words
from gdbcuda.errors import UserError
from gdbcuda.live import layers
from gdbcuda.live.prompt.command import command, need
from gdbcuda.live.prompt.completing import EXPRESSION
from gdbcuda.live.recording import call_log
from gdbcuda.log.options import LedgerOptions
from gdbcuda.text import render
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.ledger import Ledger
    from gdbcuda.live.books.accounts import Account

WITH_ADDRESS = ("history", "at")
COMPARE, TORCH = "compare", "torch"


def views_there() -> Iterable[str]:
    from gdbcuda.ledger import views

    return [*views.VIEWS, COMPARE, TORCH, *WITH_ADDRESS]


class MemoryOptions(LedgerOptions):
    view: str | None = optional_word(
        known("view", views_there),
        "live, leaks, peak, by-site, problems, reported, compare, torch, history ADDRESS, at ADDRESS",
    )
    address: list[str] = words(EXPRESSION, "for history and at: any expression of gdb")
    json: bool = flag("for scripts: everything, as one JSON object")


def ledger_here() -> Ledger:
    ledger = call_log.SESSION.ledger()
    if ledger is None:
        if not call_log.can_record():
            raise UserError(f"nothing was recorded, and {call_log.NO_CALLS}", page="processes")
        raise UserError("nothing is recorded: cuda-log start --memory, then run", page="memory")
    return ledger


need("ledger", ledger_here)


def needs(wanted: MemoryOptions) -> str:
    return "stopped" if wanted.view == TORCH else "ledger"


@command("cuda-memory", MemoryOptions, purpose="record", needs=needs)
def cuda_memory(wanted: MemoryOptions) -> str:
    """Show what memory the API has handed out, by whom, and what was used wrongly.

    All is read out of the recorded calls. 'cuda-log start --memory', before run, records what is needed. With
    --stack N the site of a block is the nearest function of the program itself.

    'set cuda-memory-stop on' stops the program at a mistake: a double free; an unknown or interior pointer; a
    free of the wrong family; a copy or fill of freed or unmapped memory, or beyond the end of a block.

    live: the blocks that are not freed yet. leaks: the same by site. peak: the most at once, and what was
    live then and at the first refusal. by-site: who allocates. reported: what the layers said was in use,
    beside the ledger's count.

    compare: the same, asked now, beside the hook library's own books where it has an adapter. The selected
    thread calls cuMemGetInfo and nvmlDeviceGetMemoryInfo of each layer while the others stand still. No other
    view calls a function of the program.

    torch: what PyTorch's caching allocator holds now, beside the calls that made its segments. It is read from
    memory, in core files too, and needs no log.

    Examples:
      cuda-memory
      cuda-memory leaks
      cuda-memory live --least 1M
      cuda-memory at dptr
      cuda-memory history 0x200000000000
      cuda-memory --json"""
    if wanted.view == TORCH:
        return of_torch(wanted)
    ledger = ledger_here()
    if wanted.json:
        return as_json(ledger, wanted)
    return render.fold_to_screen(shown(wanted, ledger))


def shown(wanted: MemoryOptions, ledger: Ledger) -> str:
    from gdbcuda.ledger import views

    view, writer = views.view(wanted.view or "", wanted.least), call_log.writer()
    writer.is_wide = wanted.wide
    if wanted.view in WITH_ADDRESS:
        look = views.history if wanted.view == "history" else views.at
        return look(ledger, writer, address_of(wanted.view, wanted.address))
    if wanted.address:
        raise UserError(f"{wanted.view} takes no address")
    return compared(ledger) if wanted.view == COMPARE else view(ledger, writer)


def of_torch(wanted: MemoryOptions) -> str:
    from gdbcuda.calls.data import line
    from gdbcuda.ledger import torch_memory
    from gdbcuda.live.books import pytorch_here

    if wanted.address or wanted.least:
        raise UserError("torch takes neither an address nor --least")
    ledger, writer = call_log.SESSION.ledger(), call_log.writer()
    writer.is_wide = wanted.wide
    found = torch_memory.TorchMemory(pytorch_here.segments(), ledger, torch_memory.NOT_IN_MEMORY)
    if wanted.json:
        return line(torch_memory.as_data(found, writer))
    return render.fold_to_screen(torch_memory.text(found, writer))


def as_json(ledger: Ledger, wanted: MemoryOptions) -> str:
    from gdbcuda.calls.data import line
    from gdbcuda.ledger import ledger_data

    if wanted.view is not None or wanted.least:
        raise UserError("--json gives all views at once: cuda-memory --json")
    return line(ledger_data.ledger(ledger, call_log.writer()))


def compared(ledger: Ledger) -> str:
    from gdbcuda.ledger.views import size
    from gdbcuda.live.books import accounts
    from gdbcuda.live.recording import memory_in_use

    ours = ledger.usage.on_device
    try:
        asked = memory_in_use.ask()
    except UserError as problem:
        return without_asking(str(problem), ledger)
    if not asked:
        raise UserError("neither the driver nor NVML is loaded: nobody could be asked")
    books = {device: accounts.account(max(device, 0)) for device in sorted({one.device for one in asked})}
    rows = [(a.spot.symbol, layers.shown(a.spot.layer, a.spot.file),
             *((size(a.used), size(a.total), size(ours), size(a.used - ours)) if not a.error
               else (a.error, "", "", "")), own_books(books[a.device]))
            for a in asked]  # fmt: skip
    titles = ["asked", "of", "in use", "in all", "ledger", "not ours", "hook's books"]
    told = any(books.values())
    table = render.table([row if told else row[:-1] for row in rows], titles if told else titles[:-1])
    return "\n".join([table, *(limit_line(one) for one in books.values() if one is not None)])


def without_asking(problem: str, ledger: Ledger) -> str:
    """The ledger and the hook library's books need no call."""
    from gdbcuda.ledger.views import size
    from gdbcuda.live.books import accounts

    account = accounts.account(0)
    if account is None:
        raise UserError(problem)
    return f"cuda-memory: {visible(problem)}\nLedger: {size(ledger.usage.on_device)} in use\n{limit_line(account)}"


def own_books(account: Account | None) -> str:
    """What the hook library has written down of the device."""
    from gdbcuda.ledger.views import size

    if account is None or account.used is None:
        return "unknown" if account is not None and account.error else ""
    return size(account.used)


def limit_line(account: Account) -> str:
    """Below the table."""
    from gdbcuda.ledger.views import size

    whose = f"{os.path.basename(account.hook)}, device {account.device}"
    if account.error:
        return visible(f"The books of {whose} are not known: {account.error}")
    limit = "" if account.limit is None else f", limit {size(account.limit) if account.limit else 'none'}"
    return visible(f"Books of {whose}: {size(account.used or 0)} in use{limit}")


def address_of(view: str, words: list[str]) -> int:
    if not words:
        raise UserError(f"{view} wants an address, for example: cuda-memory {view} dptr")
    return int(gdb.parse_and_eval(" ".join(words))) & (1 << 64) - 1
