"""Eclipse Theia and VS Code with CDT Cloud's adapter: the debug types ``gdb`` and ``gdbtarget``.

(Attributes: cdt-gdb-vscode, package.json; cdt-gdb-adapter, session types. ``initCommands`` are given to gdb once it
has the program, and with ``gdbtarget`` once it is connected.)
"""

from __future__ import annotations

from gdbcuda.ide.files import launch_json
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide
from gdbcuda.ide.launch_json import Configuration
from gdbcuda.remote.remote_plan import has_main

FOLDER = "${workspaceFolder}"
DEBUGGER = "CDT"


@ide("cdt", "Eclipse Theia, VS Code with CDT's adapter")
def cdt(request: IdeRequest) -> IdePlan:
    steps = [
        *request.server_steps(),
        f'click beside a line of the hook library, choose "{request.name_for(DEBUGGER)}" in the debug view, F5',
        "at a stop, in the Debug Console:  > cuda-break cuMemAlloc",
    ]
    return IdePlan((launch_json(configuration(request)),), tuple(steps))


def configuration(request: IdeRequest) -> Configuration:
    found: Configuration = {
        "name": request.name_for(DEBUGGER),
        "type": "gdbtarget" if request.remote else "gdb",
        "request": "attach" if request.remote else "launch",
        "program": request.within(request.program, FOLDER),
        "gdb": request.gdb,
        "cwd": FOLDER,
        "initCommands": [*request.commands(FOLDER), *to_main(request)],
    }
    if request.remote:
        found["target"] = {"type": "remote", "host": request.host, "port": request.port}
    return found


def to_main(request: IdeRequest) -> list[str]:
    """The adapter makes no pending breakpoints: a line of the hook library is known once the library is mapped.

    Through Python, which waits for the stop, while the adapter's gdb otherwise runs programs behind its prompt."""
    go = "continue" if request.remote else "run"
    return [f"python gdb.execute('tbreak main'); gdb.execute('{go}')"] if has_main(request.program) else []
