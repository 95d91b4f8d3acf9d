"""What the programs of the situations call: the memory functions that the hook library has, each once."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda import api
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.books.sequences import of_allocators
from gdbcuda.contract.c_programs.filling import POOL, block_type
from gdbcuda.ledger.effects import roles

SIZE = 2 << 20
START = """\
static int loud = 1;

static void say(const char *name, long result)
{
    if (loud) {
        printf("%s %ld\\n", name, result);
        fflush(stdout);
    }
}

static __attribute__((unused)) void start(void)
{
    CUcontext context = NULL;
    say("cuInit", CALL(cuInit)(0));
    say("cuDevicePrimaryCtxRetain", CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    say("cuCtxSetCurrent", CALL(cuCtxSetCurrent)(context));
}
"""


STATES = """\
enum { BEFORE_INIT, WITHOUT_CONTEXT, WITH_CONTEXT, WITH_MEMORY, STATES, MOST_PLACES = 1 << 14 };

/* Each is one that the driver may find the program in. */
static __attribute__((unused)) void reach(int state)
{
    if (state == WITHOUT_CONTEXT)
        say("cuInit", CALL(cuInit)(0));
    else if (state == WITH_CONTEXT)
        start();
    else if (state == WITH_MEMORY)
        keep();
}

static __attribute__((unused)) int states(int count, char **told)
{
    return count > 2 && told[2][0] == '2' ? WITH_CONTEXT : STATES;
}

static __attribute__((unused)) void quietly(void (*run)(void))
{
    loud = 0;
    run();
    loud = 1;
}

/* In this state. */
static __attribute__((unused)) int is_new_place(unsigned long at)
{
    static unsigned long places[MOST_PLACES];
    for (unsigned i = 0; i < MOST_PLACES; i++) {
        unsigned long *place = &places[(at + i) % MOST_PLACES];
        if (*place == at)
            return 0;
        if (!*place) {
            *place = at;
            return 1;
        }
    }
    return 0;
}
"""


def text(functions: MemoryFunctions) -> str:
    """``start()``, ``ask()``, ``work()`` and ``refused()`` in C; the program says before it what CALL(name) is."""
    pairs = used(functions)
    alone = [one for one in pairs if is_refused(functions, one[0])]
    asked = [one for one in functions.numbers if one.api == "driver"]
    return "\n".join([
        of_allocators(functions, {allocator.symbol for allocator, _ in pairs}), START,
        function("ask", map(asking, asked)), function("work", [*(pair(functions, *one) for one in pairs), "ask();"]),
        function("refused", [*(pair(functions, *one) for one in alone), "ask();"]),
        function("keep", [kept(functions, one) for one, _ in pairs[:1]]), STATES,
    ])  # fmt: skip


def used(functions: MemoryFunctions) -> list[tuple[api.Function, api.Function]]:
    """Allocators, each with a release; those of the hook library where it has any."""
    hooked = [one for one in functions.allocators if one.symbol in functions.hooked] or functions.allocators
    return [(one, next(iter(functions.releases(one)[-1:]))) for one in hooked if functions.releases(one)]


def is_refused(functions: MemoryFunctions, allocator: api.Function) -> bool:
    """Where there is no context, before the driver takes any lock."""
    call = functions.call(allocator, "block", "size")
    asks_for_pool = call is None or POOL in [one.text for one in call.helpers]
    return roles.kind_of(allocator) != "physical" and not asks_for_pool


def function(name: str, lines: Iterable[str]) -> str:
    body = "".join(f"    {line}\n" for text in lines for line in text.splitlines())
    return f"static __attribute__((unused)) void {name}(void)\n{{\n{body}}}\n"


def asking(one: api.Function) -> str:
    outs = [(p.name, p.type.target.spelling) for p in one.parameters if p.type.target]
    declared = "".join(f"    {spelling} {name} = 0;\n" for name, spelling in outs)
    arguments = ", ".join(f"&{name}" for name, _ in outs)
    return f'{{\n{declared}    say("{one.symbol}", CALL({one.symbol})({arguments}));\n}}'


def pair(functions: MemoryFunctions, allocator: api.Function, release: api.Function) -> str:
    got, given = (called(functions, one) for one in (allocator, release))
    return (f'{{\n    {block_type(allocator)} block = 0;\n    say("{allocator.symbol}", {got});\n'
            f'    say("{release.symbol}", {given});\n}}')  # fmt: skip


def kept(functions: MemoryFunctions, allocator: api.Function) -> str:
    """Got, and never given back."""
    return (f'static {block_type(allocator)} block;\n'
            f'say("{allocator.symbol}", {called(functions, allocator)});')  # fmt: skip


def called(functions: MemoryFunctions, one: api.Function) -> str:
    call = functions.call(one, "block", str(SIZE))
    return call.text.replace(one.symbol, f"CALL({one.symbol})", 1) if call else "0"
