"""Which functions a program can still call past the hook: variants, releases, and whole functions."""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.check.registry import LIBRARY, Answer, Answered, check
from gdbcuda.check.subjects.subject import IMPORTANT_ROLES, Subject, important_first
from gdbcuda.ledger.effects import roles
from gdbcuda.routes.right_function import difference
from gdbcuda.text.sentences import some

_WHERE_THEY_MATTER = "define them where such programs matter"


def _bases(subject: Subject) -> dict[str, list[str]]:
    """Base name -> its exported variants."""
    found: dict[str, list[str]] = {}
    for symbol in subject.in_order:
        found.setdefault(api.base_name(symbol), []).append(symbol)
    return found


def _per_thread(subject: Subject, symbol: str) -> str | None:
    """The variant for the per-thread default stream."""
    names = (symbol + stream for stream in api.STREAM_SUFFIXES)
    return next((name for name in names if name in subject.table.functions), None)


@check(
    "old-symbol-only", "warning", LIBRARY,
    means="a program compiled today calls another symbol of the same function: the header renames it",
)  # fmt: skip
def old_symbol_only(subject: Subject) -> Answer:
    missing = {}
    for base, hooked in _bases(subject).items():
        today = subject.table.source_symbol(base)
        known = today in subject.table.functions and today not in subject.hooked
        if known and not any(each.startswith(today) for each in hooked):
            missing[today] = hooked[-1]
    if not missing:
        return None
    seen = [f"{hooked} but not {today}" for today, hooked in missing.items()]
    return Answered(f"hooks {some(seen)}", do=_define(subject, missing))


def _define(subject: Subject, missing: dict[str, str]) -> str:
    """By symbol, the hooked one that is nearest: one body will do for both only where nothing differs."""
    differing = {today: difference(subject.table, today, subject.hooked[hooked]) for today, hooked in missing.items()}
    same = [today for today, what in differing.items() if not what]
    each = "each around the real function of its own name" if len(same) > 1 else f"around the real {some(same)}"
    told = [f"define {some(same)}, with the same body, {each}"] if same else []
    told += [f"define {today}, with a body of its own ({missing[today]}: {what[2:]})"
             for today, what in differing.items() if what]  # fmt: skip
    return "; ".join(told)


@check(
    "per-thread-missing", "warning", LIBRARY,
    means="a program compiled with --default-stream per-thread (or that asks cuGetProcAddress for it) goes past",
)  # fmt: skip
def per_thread_missing(subject: Subject) -> Answer:
    pairs = [(symbol, _per_thread(subject, symbol)) for symbol in subject.in_order]
    missing = {other: symbol for symbol, other in pairs if other and other not in subject.hooked}
    if not missing:
        return None
    seen = [f"{symbol} but not {other}" for other, symbol in missing.items()]
    return Answered(f"hooks {some(seen, 4)}", do=_define(subject, missing))


@check(
    "other-versions-missing", "note", LIBRARY,
    means="programs compiled for another CUDA version call these symbols of functions that are hooked",
    do=_WHERE_THEY_MATTER,
)  # fmt: skip
def other_versions_missing(subject: Subject) -> Answer:
    missing = list[str]()
    for base in _bases(subject):
        today = subject.table.source_symbol(base)
        variants = [v for v in subject.variants[base] if v not in subject.hooked]
        missing += [v for v in variants if v not in (base, today) and not v.endswith(api.STREAM_SUFFIXES)]
    is_of_driver = any(subject.table.functions[one].api == "driver" for one in missing)
    more = "; cuGetProcAddress hands them out by version" if is_of_driver else ""
    return Answered(some(missing), do=_WHERE_THEY_MATTER + more) if missing else None


@check(
    "free-missing", "warning", LIBRARY,
    means="a ledger of allocations only grows: the hook sees memory handed out and never given back",
    do="hook the release as well",
)  # fmt: skip
def free_missing(subject: Subject) -> Answer:
    bases = set(_bases(subject))
    missing: dict[str, list[str]] = {}  # by the releases
    for symbol in subject.in_order:
        function = subject.hooked[symbol]
        if roles.hands_out_memory(function) and function.released_by and not bases.intersection(function.released_by):
            releases = " or ".join(map(subject.table.source_symbol, function.released_by))
            missing.setdefault(releases, []).append(symbol)
    told = [f"{some(symbols)} but not {releases}" for releases, symbols in missing.items()]
    return f"hooks {'; '.join(told)}" if told else None


RESOLVERS = {"dlsym", "cuGetProcAddress", "cuGetProcAddress_v2"}
NOT_BY_NAME = ("the program calls the vendor's library directly for these, unless the resolvers of this one answer "
               "with functions of other names, which a process tells: cuda-route")


@check(
    "not-hooked", "note", LIBRARY,
    means="the program calls the vendor's library directly for these",
)  # fmt: skip
def not_hooked(subject: Subject) -> Answer:
    today = subject.not_hooked
    if not today:
        return None
    apis, ordered = {function.api for function in today.values()}, important_first(today)
    past_quota = [symbol for symbol in ordered if roles.takes_device_memory(today[symbol])]
    told = [f"takes device memory: {', '.join(past_quota)}"] if past_quota else []
    for role in IMPORTANT_ROLES:
        names = [one for one in ordered if today[one].role == role and one not in past_quota]
        if names:
            told.append(f"{role}: {some(names, 3)}")
    return Answered(
        "; ".join([f"{len(today)} functions of {' and '.join(sorted(apis))}", *told]),
        means=NOT_BY_NAME if RESOLVERS & {*subject.defined, *subject.library.exported} else "",
    )
