"""What the ledger knows, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Callable

from gdbcuda.calls.record import Call
from gdbcuda.calls.references import BEFORE, GAP
from gdbcuda.calls.text import CallWriter, duration, value
from gdbcuda.errors import UserError
from gdbcuda.ledger.blocks import Block, by, given_back, where
from gdbcuda.ledger.book import Ledger, Problem
from gdbcuda.ledger.sites import SiteColumn
from gdbcuda.ledger.unseen import Release
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some
from gdbcuda.text.units import human

ROWS = 40
NOTHING = "No block was handed out."
View = Callable[[Ledger, CallWriter], str]


def size(count: int) -> str:
    """1073741825 [1.00 GiB]"""
    return f"{count} [{human(count)}]" if count >= 1024 else str(count)


def blocks_table(blocks: Sequence[Block], ledger: Ledger, writer: CallWriter) -> str:
    """The largest first."""
    shown, sites = sorted(blocks, key=lambda block: -block.size)[:ROWS], SiteColumn(writer)
    rows = [
        (f"{b.address:#x}", (size(b.size) if b.size else "unknown") + given_back(b), b.counted_as,
         f"#{b.call.number} {b.call.name}", f"T{b.call.thread}",
         "" if b.device is None else b.device, "" if b.stream is None else value(b.stream),
         duration(max(ledger.latest - b.call.start, 0)), sites.cell(b, writer.place(b.call.process, b.site)))
        for b in shown
    ]  # fmt: skip
    titles = ["address", "bytes", "kind", "by", "thread", "device", "stream", "age", "site"]
    empty = [i for i in (5, 6) if not any(str(row[i]) for row in rows)]
    filled = [[cell for i, cell in enumerate(row) if i not in empty] for row in rows]
    text = sites.table(filled, [title for i, title in enumerate(titles) if i not in empty])
    left = len(blocks) - len(shown)
    return text + (f"\n... and {left} smaller ones" if left else "")


def live(ledger: Ledger, writer: CallWriter, least: int = 0) -> str:
    found, smaller = divided(ledger.blocks.live(), least)
    if not found:
        return smaller or none_live(ledger)
    return "\n".join(filter(None, [blocks_table(found, ledger, writer), totals(ledger), smaller]))


def divided(blocks: Sequence[Block], least: int) -> tuple[list[Block], str]:
    """Those of at least so many bytes, and what to say of the others."""
    found = [block for block in blocks if block.size >= least]
    left = len(blocks) - len(found)
    return found, f"Left out: {counted(left, 'block')} of less than {size(least)}." if left else ""


def totals(ledger: Ledger) -> str:
    return total(ledger.blocks.live()) + unknown_text(ledger) if ledger.blocks.live() else none_live(ledger)


def none_live(ledger: Ledger) -> str:
    """Of what was handed out before the recording nobody can tell."""
    return f"No block{' that the log knows' if began_later(ledger) else ''} is live."


def began_later(ledger: Ledger) -> bool:
    return any(BEFORE in names for names in ledger.notes.unseen.values())


def total(blocks: Sequence[Block]) -> str:
    """ "3 blocks: device 4096 [4.00 KiB] in 2, host 64 in 1"."""
    kinds, sizes = Counter(block.counted_as for block in blocks), Counter[str]()
    for block in blocks:
        sizes[block.counted_as] += block.present
    each = ", ".join(f"{kind} {size(sizes[kind])} in {count}" for kind, count in sorted(kinds.items()))
    return f"{counted(len(blocks), 'block')}: {each}"


def leaked(ledger: Ledger) -> list[Block]:
    """What is known not to be freed."""
    return [block for block in ledger.blocks.live() if not ledger.not_followed(block)]


def unknown_text(ledger: Ledger) -> str:
    """What is said of blocks whose releases the log may lack."""
    found = [block for block in ledger.blocks.live() if ledger.not_followed(block)]
    if not found:
        return ""
    names = sorted({name for block in found for name in ledger.not_followed(block)})
    way = ledger.notes.seen_by.get(found[0].call.process)
    hint = f" ({way} records them)" if way else ""
    return f"\nUnknown whether freed: {total(found)}; not every call of {some(names)} was recorded{hint}"


def leaks(ledger: Ledger, writer: CallWriter, least: int = 0) -> str:
    """Never freed, by site: one line says who forgot how much."""
    found, smaller = divided(leaked(ledger), least)
    unknown = unknown_text(ledger).lstrip()
    if not found:
        seen = "the log has seen" if began_later(ledger) else "was"
        known = f"Everything that {seen} handed out has been given back." if ledger.blocks.all() else NOTHING
        return "\n".join(filter(None, [smaller, unknown])) or known
    groups: dict[tuple[int, str], list[Block]] = {}
    for block in found:
        groups.setdefault((block.site, block.call.name), []).append(block)
    ordered = sorted(groups.items(), key=lambda item: -sum(b.size for b in item[1]))
    sites = SiteColumn(writer)
    rows = [(len(blocks), size(sum(b.present for b in blocks)), name, sites.cell(blocks[0], site(blocks[0], writer)),
             f"#{blocks[0].call.number} at {blocks[0].address:#x}")
            for (_, name), blocks in ordered[:ROWS]]  # fmt: skip
    table = sites.table(rows, ["blocks", "bytes", "by", "site", "the first"])
    return "\n".join(filter(None, [table, f"Not freed: {total(leaked(ledger))}", unknown, smaller]))


def by_site(ledger: Ledger, writer: CallWriter, least: int = 0) -> str:
    blocks, smaller = divided(ledger.blocks.all(), least)
    if not blocks:
        return smaller or NOTHING
    groups: dict[int, list[Block]] = {}
    for block in blocks:
        groups.setdefault(block.site, []).append(block)
    sites = SiteColumn(writer)
    rows = [(len(found), size(sum(b.size for b in found)), len(held), size(sum(b.present for b in held)),
             sites.cell(found[0], site(found[0], writer)))
            for found in sorted(groups.values(), key=lambda blocks: -sum(b.size for b in blocks))
            for held in [[b for b in found if b.release is None]]]  # fmt: skip
    table = sites.table(rows[:ROWS], ["blocks", "bytes", "live", "bytes live", "site"])
    return "\n".join(filter(None, [table, smaller]))


def peak(ledger: Ledger, writer: CallWriter) -> str:
    top = ledger.usage.at_peak()
    if top is None:
        return "No device memory was handed out."
    lines = [f"Most device memory: {size(top.bytes)} in {counted(len(top.blocks), 'block')}, when "
             f"{writer.line(top.call)}", blocks_table(top.blocks, ledger, writer)]  # fmt: skip
    refused = ledger.out_of_memory
    if refused is not None:
        lines += [f"First refusal: {writer.line(refused.call)}",
                  f"{size(refused.bytes)} were live then, in {counted(len(refused.blocks), 'block')}:",
                  blocks_table(refused.blocks, ledger, writer)]  # fmt: skip
    return "\n".join(lines)


def history(ledger: Ledger, writer: CallWriter, address: int) -> str:
    """Every block that the address has belonged to."""
    found = [b for b in ledger.blocks.all() if b.holds(address)]
    if not found:
        raise UserError(f"{address:#x} has not been in any block that was recorded")
    lines = []
    for block in found:
        lines.append(writer.with_stack(block.call))
        if block.release is not None:
            lines.append(writer.with_stack(block.release))
        elif block in ledger.blocks.freed:
            lines.append("       freed by a call that was not recorded: the address was handed out again")
    return "\n".join(lines)


def at(ledger: Ledger, writer: CallWriter, address: int) -> str:
    block, verb = ledger.blocks.memory.block_at(address), ""
    if block is None:
        block = ledger.blocks.memory.freed_block_at(address)
        verb = f", freed{by(block)}" if block is not None else ""
    if block is None:
        return f"{address:#x} is in no block that was recorded{neighbour(ledger, address)}."
    place = f"{address:#x} is {counted(address - block.address, 'byte')} into {where(block)}{verb}"
    return visible(f"{place}; {block.kind}, by {site(block, writer)}.")


def site(block: Block, writer: CallWriter) -> str:
    return writer.place(block.call.process, block.site) or "a caller that was not recorded"


def neighbour(ledger: Ledger, address: int) -> str:
    """Behind the end of a block is where most wild pointers are."""
    known = [b for b in ledger.blocks.live() if b.kind in ("device", "managed", "host")]
    before = [b for b in known if b.address <= address]
    if not before:
        return ""
    nearest = max(before, key=lambda block: block.address)
    return f"; {address - nearest.address - nearest.size} bytes behind the end of {where(nearest)}"


def problem_text(problem: Problem, writer: CallWriter) -> str:
    """With the call itself, the one that handed the block out, and the one that had freed it already."""
    calls: list[Call | None] = [problem.call]
    if problem.block is not None:
        calls += [problem.block.call, problem.block.release]
    before = (call for call in calls if call is not None and call.number <= problem.call.number)  # not a later free
    lines = (f"  {line}" for call in before for line in writer.with_stack(call).split("\n"))
    return "\n".join([f"{writer.paint(problem.kind, 'error')}: {visible(problem.text)}", *lines])


def problems(ledger: Ledger, writer: CallWriter) -> str:
    if not ledger.problems:
        return "No bad free and no bad copy was seen." + elsewhere_text(ledger)
    shown = [problem_text(problem, writer) for problem in ledger.problems[:ROWS]]
    left = len(ledger.problems) - len(shown)
    return "\n".join([*shown, *([f"... and {left} more"] if left else [])]) + elsewhere_text(ledger)


def elsewhere_text(ledger: Ledger) -> str:
    """Frees that are right or wrong, nobody can tell."""
    freed = [one for one in ledger.elsewhere.ended if not one.call.failed]
    refused = [one for one in ledger.elsewhere.ended if one.call.failed]
    text = f"\nBlocks that the log does not know were freed by {calls_text(freed)}: {why_unknown(freed[0])}." \
        if freed else ""  # fmt: skip
    return text + (f"\nFrees of addresses that the log does not know failed: {calls_text(refused)}; "
                   f"{why_unknown(refused[0])}." if refused else "")  # fmt: skip


def calls_text(found: Sequence[Release]) -> str:
    first = found[0].call
    return f"{counted(len(found), 'call')}, the first #{first.number} {first.name}"


def why_unknown(one: Release) -> str:
    known = {GAP: "calls are missing in between", BEFORE: "the recording began later"}
    return known.get(one.why.partition(",")[0], f"not every {one.why} was recorded")


def overview(ledger: Ledger, writer: CallWriter) -> str:
    """Totals, the peak, what was refused, what is wrong."""
    lines = [totals(ledger)]
    if ledger.usage.peak_call is not None:
        lines.append(f"Peak of device memory: {size(ledger.usage.peak)}, at #{ledger.usage.peak_call.number}")
    if ledger.out_of_memory is not None:
        lines.append(f"First refusal: {writer.line(ledger.out_of_memory.call)}")
    lines.append(problems(ledger, writer))
    return "\n".join(lines)


def reported(ledger: Ledger, writer: CallWriter) -> str:
    """What was told about memory in use, by each layer, beside the ledger's own count at that moment."""
    if not ledger.reported:
        return "No recorded call has asked how much memory there is."
    rows = [(name, layer, size(r.used), size(r.total), size(r.ours), size(r.used - r.ours), f"#{r.call.number}")
            for (layer, name), r in ledger.reported.items()]  # fmt: skip
    return render.table(rows, ["asked", "layer", "in use", "in all", "ledger", "not ours", "call"])


VIEWS: dict[str, View] = {"live": live, "leaks": leaks, "peak": peak, "by-site": by_site, "reported": reported,
                          "problems": problems}  # fmt: skip
BY_SIZE = {"live": live, "leaks": leaks, "by-site": by_site}


def view(name: str, least: int) -> View:
    """Of blocks of at least so many bytes; any other name is the overview."""
    if name in BY_SIZE:
        return partial(BY_SIZE[name], least=least)
    if least:
        raise UserError(f"--least is for {', '.join(BY_SIZE)}")
    return VIEWS.get(name, overview)
