"""How much did the program get from the driver, and who asked for it? For gdb -x, with gdbcuda in it."""

import gdb

from gdbcuda.live import api

gdb.execute("cuda-log start cuMemAlloc --in driver")
gdb.execute("run")
for call in api.log():
    if call["base"] == "cuMemAlloc":  # what frees the blocks is recorded too
        print(call["arguments"]["bytesize"], call["result"], call["caller"]["source"])
