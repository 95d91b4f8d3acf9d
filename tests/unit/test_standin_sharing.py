"""Memory of the stand-in that two processes share: the same bytes, and the owner alone is charged for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shim_support import clean_environment

BEGIN = """
import ctypes as c, os, sys
driver = c.CDLL("libcuda.so.1")
def status(name, *arguments): return getattr(driver, name)(*arguments)
def made(name, *arguments): assert status(name, *arguments) == 0, name
def begin():
    made("cuInit", 0)
    made("cuDevicePrimaryCtxRetain", c.byref(c.c_void_p()), 0)
    context = c.c_void_p()
    made("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    made("cuCtxSetCurrent", context)
def free():
    there, all_of_it = c.c_size_t(), c.c_size_t()
    made("cuMemGetInfo_v2", c.byref(there), c.byref(all_of_it))
    return all_of_it.value - there.value
class Ticket(c.Structure):
    _fields_ = [("bytes", c.c_char * 64)]
def word(at):
    found = (c.c_ubyte * 1)()
    made("cuMemcpyDtoH_v2", found, c.c_ulonglong(at.value), c.c_size_t(1))
    return found[0]
go, going = os.pipe()
done, ending = os.pipe()
SIZE = c.c_size_t(int(sys.argv[1]))
"""
BY_HANDLE = f"""{BEGIN}
block, ticket = c.c_ulonglong(), Ticket()
if os.fork() == 0:
    begin()
    c.memmove(c.byref(ticket), os.read(go, 64), 64)
    opened, again = c.c_ulonglong(), c.c_ulonglong()
    made("cuIpcOpenMemHandle_v2", c.byref(opened), ticket, 1)
    made("cuIpcOpenMemHandle_v2", c.byref(again), ticket, 1)
    print(word(opened), opened.value == again.value, free())
    made("cuMemsetD8_v2", opened, 9, SIZE)
    print(status("cuMemFree_v2", opened), *(status("cuIpcCloseMemHandle", opened) for _ in range(3)), flush=True)
    os.write(ending, b"x")
    os._exit(0)
begin()
made("cuMemAlloc_v2", c.byref(block), SIZE)
made("cuMemsetD8_v2", block, 7, SIZE)
made("cuIpcGetMemHandle", c.byref(ticket), block)
print(status("cuIpcOpenMemHandle_v2", c.byref(c.c_ulonglong()), ticket, 1), flush=True)
os.write(going, bytes(ticket))
os.read(done, 1)
print(word(block), free() >= SIZE.value)
made("cuMemFree_v2", block)
made("cuMemAlloc_v2", c.byref(block), SIZE)
print(free() >= SIZE.value)
"""


@pytest.mark.parametrize("size", [100, 1 << 20, 3 << 20])
def test_by_handle(shim: Path, size: int) -> None:
    """A small block has its pages together with others. In the process that has made it a handle cannot be opened, and
    what was opened is not freed but closed, as often as it was opened."""
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(shim / "standin")}
    done = subprocess.run([sys.executable, "-c", BY_HANDLE, str(size)], env=environment, capture_output=True, text=True,
                          timeout=60)  # fmt: skip
    assert (done.stdout.splitlines(), done.stderr) == (["201", "7 True 0", "1 0 0 1", "9 True", "True"], "")
