"""A script with gradients as PyTorch makes them: in a thread that Python knows, and that runs none of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ENGINE = """
#include <pthread.h>
#include <stddef.h>
int PyGILState_Ensure(void); /* so that it needs no headers of Python, and serves every version */
void PyGILState_Release(int), *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
int cuMemAlloc_v2(unsigned long long *pointer, size_t size);
static void *worker(void *size)
{
    int state = PyGILState_Ensure();
    void *thread = PyEval_SaveThread();
    unsigned long long pointer;
    cuMemAlloc_v2(&pointer, (size_t)size);
    PyEval_RestoreThread(thread);
    PyGILState_Release(state);
    return NULL;
}
void gradients(size_t size)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, (void *)size);
    pthread_join(thread, NULL);
}
"""
GRAPH = "def _engine_run_backward(engine, *words):\n    return engine(*words)\n"
SCRIPT = """
import ctypes, os, sys, threading, time
sys.path.insert(0, os.path.join(sys.path[0], "site-packages"))
from torch.autograd import graph
ctypes.CDLL("libcuda.so.1").cuInit(0)
engine = ctypes.CDLL({engine!r})

def step(size):
    graph._engine_run_backward(engine.gradients, ctypes.c_size_t(size))

step(4096)
other = threading.Thread(target=graph._engine_run_backward, args=(time.sleep, 3))
other.start()
time.sleep(0.2)
step(8192)  # for one of two that wait
other.join()
engine.gradients(ctypes.c_size_t(12288))  # for nobody who waits for gradients
"""
WAITS = SCRIPT[: SCRIPT.index("    graph._engine")].count("\n") + 1  # the line of the script that waits


def script(folder: Path, standin: Path) -> Path:
    """The script, and beside it what it imports."""
    source, engine = folder / "engine.c", folder / "engine.so"
    source.write_text(ENGINE)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(engine), str(source),
                    f"-L{standin}", "-lcuda", "-pthread"], check=True)  # fmt: skip
    package = folder / "site-packages" / "torch" / "autograd"
    package.mkdir(parents=True)
    (package / "graph.py").write_text(GRAPH)
    path = folder / "steps.py"
    path.write_text(SCRIPT.format(engine=str(engine)))
    return path
