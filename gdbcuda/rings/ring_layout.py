"""What the recorder in the process writes, word by word: all numbers are words of 8 bytes, little-endian.

This is the one description. `python -m gdbcuda.rings.ring_layout` prints it as a header, with which libgdbcuda.so is
built (shim/recorder); `ring` reads by it.
"""

from __future__ import annotations

from gdbcuda.files.word_layout import offsets

WORD = 8
VERSION = 7  # of what is in a process's memory
FILE_VERSION = 5  # of what is in the files of a trace folder
STATE_SYMBOL, FUNCTIONS_SYMBOL, SLOTS_SYMBOL = "gdbcuda_recorder_v1", "gdbcuda_functions_v1", "gdbcuda_slots_v1"
DOORS_SYMBOL = "gdbcuda_doors_v1"

REGISTERS, STACK_WORDS, FLOATS, OUT_WORDS, IN_WORDS, MOST_CALLERS = 6, 10, 8, 35, 32, 24  # of a record
FRONT_OUT_WORDS = 2  # a value of one word
MOST_RINGS, MOST_FUNCTIONS, MOST_OUTS, MOST_INS = 1024, 4096, 8, 3
MOST_RECORDS = 1 << 18  # of a ring: 160 MB
SLOT_SIZE = 16  # bytes of code that a function's entry jumps to
DOOR_SIZE = 32  # bytes of code that stand for a function where no entry is changed; they jump to its slot
RING_HEADER = 4096 // WORD  # words in front of the records
FILE_HEADER = RING_HEADER * WORD  # bytes in front of what any file has: a process's, a ring's, that of kept calls
SEEN_AT, SEEN = 64, 64  # words in a ring's header and pairs of them: pages that its thread could read, and when
NOT_READ = (1 << 64) - 1  # what an out-value has for its size where the memory could not be read

# At STATE_SYMBOL. RECORDS is how many a new ring gets, a power of two; SHARED: the n-th one gets no more than this
# divided by n, 0 for no such limit; MISSED counts the calls that found no ring.
# CONFINED: the program makes few system calls from now on, so the recorder makes none; NO_TICKS: nor may it read the
# time stamp counter (prctl(2): PR_SET_SECCOMP with strict mode, PR_SET_TSC), so it records nothing.
# LOOKED_ON: where a debugger has a breakpoint in each process that it looks on, and not in a child that it lets go: in
# that nothing is recorded. 0 where children are recorded too.
# CALLERS: how many callers of the caller a record gets, at most MOST_CALLERS.
# AROUND and BEHIND: code that is told when a call begins and ends that makes work for a GPU (shim/gpu); 0 for none.
STATE = offsets("VERSION", "RECORDS", "SHARED", "MISSED", "CONFINED", "LOOKED_ON", "CALLERS", "AROUND", "BEHIND",
                "COUNT", ("RINGS", MOST_RINGS))  # fmt: skip

# Of each recorded function, from FUNCTIONS_SYMBOL on. ORIGINAL: what is called. STACK, FLOATS: how many words of
# arguments are on the stack, and in how many of the first vector registers (of a record few lines are touched).
# OUTS and INS: INDEX | SIZE << 8, bytes that the argument word (registers, then stack) points to when the call returns,
# or begins; with IS_TEXT as many of them as there are.
# AFTER: code that is called when the call has succeeded, with the record: before its OUTS are noted (0), and then (1);
# 0 for none. ADDRESS: the function's entry, where that jumps to the recorder: another debugger finds the slot by it.
# PYTHON: 1 where CALLERS begin with the Python that led to the call.
# MAKES_WORK: 1 where AROUND and BEHIND are told of its calls.
# SHAPE: what of this a call has to look at, as the recorder finds it when the first one comes; 0 until then.
# RECORDED, ROOM: found then as well: FUNCTION of a record, without its PLACE, and how many words of more it has.
# What most calls need comes first, in one cache line.
FUNCTION = offsets("ORIGINAL", "SHAPE", "RECORDED", "ROOM", "STACK", "OUT_COUNT", ("OUTS", MOST_OUTS), "FLOATS",
                   "IN_COUNT", ("INS", MOST_INS), "AFTER", "ADDRESS", "MAKES_WORK", "PYTHON", "UNUSED")  # fmt: skip
IS_TEXT = 1 << 32
NO_TICKS = 2

# Of one thread. HEAD: records begun, ever. MORE: words that these have taken beside their fronts, ever. RECORDS is 0
# where there is nothing yet: in the child of a fork, too.
# The clock pairs say what CLOCK_MONOTONIC was (nanoseconds) at which tick; LATER_NS is 0 while it is written.
# BEFORE, MORE_BEFORE: what HEAD and MORE were when the ring was begun, which happens again where a debugger has set
# RECORDS to 0.
# COPY: where these words are kept in a file, 0 for nowhere. (The records behind them are in the file themselves.)
# FRONTS_SOON, MORE_SOON: up to which position, and which of MORE, pages have been asked for before they are written to.
# WANTED: RECORDS, had there been room for them; 0 where that is not known. NO_ROOM: in a file of calls that are kept, 1
# where the disk was full at some time.
RING = offsets("RECORDS", "HEAD", "MORE", "LWP", "PID", "FIRST_TICKS", "FIRST_NS", "LATER_TICKS", "LATER_NS",
               "COPY", "BEFORE", "MORE_BEFORE", "FRONTS_SOON", "MORE_SOON", "WANTED", "NO_ROOM")  # fmt: skip

# One call. POSITION is its number in the ring, from 1, and is written last at the entry; DONE is the same, written
# last at the return. BACK: the return address. TOP: the stack pointer after the return. OUTS, INS: each its size
# and its bytes. CALLERS: return addresses further up the stack, up to a 0; the first may be the id of a Python stack,
# in which the bit IS_PYTHON is set.
_OF_EACH = ("POSITION", "FUNCTION", "ENTERED", "BACK", "TOP", "LEFT", "RESULT", "DONE", ("REGISTERS", REGISTERS))
_OF_SOME = (("STACK", STACK_WORDS), ("FLOATS", FLOATS), ("OUTS", OUT_WORDS), ("INS", IN_WORDS),
            ("CALLERS", MOST_CALLERS))  # fmt: skip
RECORD = offsets(*_OF_EACH, *_OF_SOME)

# In a ring the fronts of all records come first, two cache lines each: most calls only touch theirs. What else a call
# has (STACK, FLOATS, OUTS, INS, CALLERS) is one behind the other in the words behind all fronts, from PLACE on, as many
# of each as FUNCTION says. These words are MORE_ROOM for each record, and used again from their begin on: no call has
# more, so of a record that is there it is there. The last one may reach past the end: whatever FUNCTION says, no more
# than PAST_ROOM. With HAS_OUT its OUTS are the front's.
FRONT = offsets(*_OF_EACH, ("OUTS", FRONT_OUT_WORDS))
MORE_ROOM, PAST_ROOM = 64, 192
RING_RECORD = FRONT["SIZE"] + MORE_ROOM  # words of a ring for a record

# FUNCTION of a front: the function's number, the sizes, HAS_OUT, PLACE. Each begins at that bit.
STACK_BIT, FLOATS_BIT, OUTS_BIT, INS_BIT, CALLERS_BIT, HAS_OUT_BIT, PLACE_BIT = 12, 16, 20, 26, 32, 37, 38

# The file of a traced process: this, at RING_HEADER words its entries. TICKS, MONOTONIC and REALTIME are one moment.
# MISSED: calls that found no ring, once the program has confined itself. WITHOUT_FILE: threads that have no file; only
# the first MOST_TOLD_THREADS have an entry, and none for which a full disk has no room.
PROCESS = offsets("MAGIC", "VERSION", "PID", "PARENT", "TICKS", "MONOTONIC", "REALTIME", "MISSED", "WITHOUT_FILE")
MOST_TOLD_THREADS = 64
MAGIC = int.from_bytes(b"gdbcuda\0", "little")
# What its rings refer to: a function by the number of its slot, whose ADDRESS is in the OBJECT (the number of another
# entry); an object that was loaded at ADDRESS, with its dynamic section at OBJECT (or 0); calls of the thread NUMBER
# that have no file; the folder that names of objects are relative to. TEXT ends with a zero.
ENTRY = offsets("KIND", "NUMBER", "ADDRESS", "OBJECT", ("TEXT", 60))
A_FUNCTION, AN_OBJECT, A_THREAD_WITHOUT_FILE, A_FOLDER, A_FILTER = 1, 2, 3, 4, 5  # (what asks before slot NUMBER)
PAST_LIBC = 6  # an OBJECT that may confine the process so: the recorder makes no system call
PAST_PLT = 7  # an OBJECT that calls through slots which could not be led to the recorder
A_RANK = 8  # TEXT: what the launcher has said of it, "RANK=3"
A_HOOK = 9  # an OBJECT that the user has called the hook library
# Of which calls may be missing, each TEXT a function's name: OBJECT has written its own function at ADDRESS into a slot
# that others call through; somebody has written over the first bytes of OBJECT's function; none was left for OBJECT's.
A_WRITTEN_SLOT, A_WRITTEN_ENTRY, NO_SLOT_LEFT = PASSED_BY = 10, 11, 12
MOST_ENTRIES = 8192

# At TRACE_SYMBOL: what the files of a process say, as its recorder knows it. FOLDER, PLACES: texts, "" where nothing
# goes into files. FILE: the number of the file of process PID, from 1. MAKING: the same process while it makes it, and
# then. SLOTS: how many stand for a function, or have.
TRACE_SYMBOL = "gdbcuda_trace_v1"
TRACE = offsets(("FOLDER", 512), ("PLACES", 128), "PID", "FILE", "MAKING", "SLOTS", ("NAMES", MOST_FUNCTIONS),
                ("FILTERED", MOST_FUNCTIONS), "FILTERS", "FILTERS_SIZE", "ENTRIES_COUNT",
                ("ENTRIES", MOST_ENTRIES * ENTRY["SIZE"]))  # fmt: skip

# At BESIDE_SYMBOL, with --gpu: code of the library that asks CUPTI, to be called before the program ends at once
# (ENDING) and when somebody else registers with CUPTI (TAKEN); 0 for none. WAS_TAKEN: that has happened.
BESIDE_SYMBOL = "gdbcuda_beside_v1"
BESIDE = offsets("ENDING", "TAKEN", "WAS_TAKEN")

# At LEFT_SYMBOL: the entries of functions that still jump to the recorder when gdb has let the process go. COUNT, and
# of each PATCH: the bytes at ADDRESS, what they are now and what they were; a word has more than a jump takes.
LEFT_SYMBOL = "gdbcuda_left_v1"
PATCH = offsets("ADDRESS", "JUMP", "OWN")
LEFT = offsets("COUNT", ("PATCHES", MOST_FUNCTIONS * PATCH["SIZE"]))

# Which calls are to be recorded (`gdbcuda trace --filter`): MAGIC, how many functions, of each this, then code. Others
# are not recorded. CODE and SIZE_OF_CODE are bytes of the file; that is 0 where every call is to be recorded.
# The code may be anywhere. It jumps to what its last two words say: to the slot, or to the function.
FILTER = offsets("CODE", "SIZE_OF_CODE", ("NAME", 14))

# The file of a thread's calls that are kept (`gdbcuda trace --all`): the header of its ring, with MAGIC for COPY, and
# of each call a word CALL_BEGINS | STACK | FLOATS << 8 | OUTS << 16 | INS << 24 | CALLERS << 32, then a record that has
# only so many words of those parts.
CALL_BEGINS = int.from_bytes(b"\0\0\0\0\0cal", "little")

# At PYTHON_SYMBOL: how a CPython in the process lays out its structs, as `cpython.layouts` names it. RUNTIME: its
# _PyRuntime, 0 where there is none. FRAME, THROUGH: from the thread state to its frame; INTERPRETERS, INTERPRETER_NEXT,
# THREADS, NEXT: from _PyRuntime to the first interpreter and on, from each to its thread states and on. NAMES: of
# functions whose calls get the Python that led to them. TOLD: where what belongs into PYTHON_STACKS is, in a process
# that has no folder, and how many bytes were asked for of it; MOST_TOLD at most are there.
PYTHON_SYMBOL, MOST_TOLD = "gdbcuda_python_v1", 16 << 20
PYTHON_FIELDS = ("FRAME", "THROUGH", "PTHREAD", "KEY", "FRAME_SIZE", "PREVIOUS", "CODE", "POSITION", "OWNER",
                 "CODE_MASK", "CODE_START", "CODE_FILE", "CODE_NAME", "CODE_FIRST_LINE", "CODE_LINES",
                 "CODE_OBJECT_SIZE", "BYTES_SIZE", "BYTES_DATA", "TEXT_LENGTH", "TEXT_STATE", "TEXT_ASCII",
                 "TEXT_COMPACT", "STATE_SHIFT", "INTERPRETERS", "INTERPRETER_NEXT", "THREADS", "NEXT", "COPY",
                 "COPIES")  # fmt: skip
PYTHON = offsets("RUNTIME", "VERSION", "SALT", "NAMES", "NAMES_SIZE", "TOLD", "TOLD_SIZE", *PYTHON_FIELDS)
IS_PYTHON, MOST_PYTHON, NOWHERE_KNOWN = 1 << 63, 128, 1 << 30

# The file of a trace folder with what these ids mean. A stack: MAGIC_STACK, its id, how many frames, and of each the
# id of its code and where it is in it, NOWHERE_KNOWN where that is not known. Code: this, then the file's and the
# function's name, characters of KIND bytes, and the table of its lines; sizes are bytes.
PYTHON_STACKS = "stacks.python"
TOLD = offsets("MAGIC", "ID", "VERSION", "LINE", "FILE_KIND", "FILE_SIZE", "NAME_KIND", "NAME_SIZE", "LINES_SIZE")
MAGIC_STACK, MAGIC_CODE = (int.from_bytes(one, "little") for one in (b"\0pystack", b"\0pycode\0"))

# The frame of a call that is being recorded, upwards: an odd number of words. SLOT: where that goes on, which calls the
# function. WORDS: where the function's are. What each call needs is side by side at the end, in few cache lines; then
# the stack pointer is at SLOT.
FRAME = offsets(
    ("FLOATS", FLOATS), ("REGISTERS", REGISTERS), "R10", "SLOT", "RDX", "R11", "RING", "RECORD", "POSITION", "RESULT",
    "WORDS",
)  # fmt: skip

# At MAP_SYMBOL: pages that a thread is sent for. BACK: where it goes on. Of each an address, which becomes that of the
# page or an error, and the bytes. PAGES: the same of those that are there and stay, PAGE_COUNT of them.
MOST_MAPS = 64
MAP_SYMBOL, GO_MAP_SYMBOL, MAPPED_SYMBOL = "gdbcuda_map_v1", "gdbcuda_go_map_v1", "gdbcuda_mapped_v1"
MAP = offsets("BACK", "COUNT", ("WANTED", 2 * MOST_MAPS), "PAGE_COUNT", ("PAGES", 2 * MOST_MAPS))

PARTS = {"STATE": STATE, "FUNCTION": FUNCTION, "RING": RING, "RECORD": RECORD, "FRONT": FRONT,
         "FRAME": FRAME, "PROCESS": PROCESS, "ENTRY": ENTRY, "MAP": MAP, "FILTER": FILTER, "TRACE": TRACE, "LEFT": LEFT,
         "BESIDE": BESIDE, "PYTHON": PYTHON, "TOLD": TOLD}  # fmt: skip
NUMBERS = ("VERSION", "FILE_VERSION", "FILE_HEADER", "REGISTERS", "STACK_WORDS", "FLOATS", "OUT_WORDS", "IN_WORDS",
           "MOST_CALLERS", "MOST_RINGS", "MOST_FUNCTIONS", "MOST_OUTS", "MOST_INS", "MOST_RECORDS", "IS_TEXT",
           "NO_TICKS", "FRONT_OUT_WORDS", "RING_RECORD", "MORE_ROOM", "PAST_ROOM", "STACK_BIT", "FLOATS_BIT",
           "OUTS_BIT", "INS_BIT", "CALLERS_BIT", "HAS_OUT_BIT", "PLACE_BIT", "SLOT_SIZE", "DOOR_SIZE", "RING_HEADER",
           "SEEN_AT", "SEEN", "NOT_READ", "MOST_MAPS", "MAGIC", "A_FUNCTION", "AN_OBJECT", "A_THREAD_WITHOUT_FILE",
           "A_FOLDER", "A_FILTER", "PAST_LIBC", "PAST_PLT", "A_RANK", "A_HOOK", "A_WRITTEN_SLOT",
           "A_WRITTEN_ENTRY", "NO_SLOT_LEFT", "MOST_TOLD_THREADS", "MOST_ENTRIES",
           "CALL_BEGINS", "IS_PYTHON", "MOST_PYTHON", "NOWHERE_KNOWN", "MOST_TOLD", "MAGIC_STACK",
           "MAGIC_CODE")  # fmt: skip


def header() -> str:
    numbers = [f"#define {name} {globals()[name]:#x}" for name in NUMBERS]
    numbers += [f'#define {name} "{globals()[name]}"' for name in ("BESIDE_SYMBOL", "PYTHON_STACKS")]
    return "\n".join([*numbers, *(f"#define {part}_{name} {at}" for part, found in PARTS.items()
                                  for name, at in found.items()), ""])  # fmt: skip


if __name__ == "__main__":
    print(header(), end="")
