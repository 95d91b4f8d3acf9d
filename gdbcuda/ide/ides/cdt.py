"""Eclipse Theia and VS Code with CDT Cloud's adapter: the debug types ``gdb`` and ``gdbtarget``.

(Attributes: cdt-gdb-vscode, package.json; cdt-gdb-adapter, session types. ``initCommands`` are given to gdb once it
has the program, and with ``gdbtarget`` once it is connected.)
"""

from __future__ import annotations

from gdbcuda.ide.files import launch_json
from gdbcuda.ide.launch_json import Configuration
from gdbcuda.ide.plan import Plan, Request, ide

FOLDER = "${workspaceFolder}"


@ide("cdt", "Eclipse Theia, VS Code with CDT's adapter")
def cdt(request: Request) -> Plan:
    steps = [
        *request.server_steps(),
        f'in the debug view choose "{request.name}", F5',
        "at a stop, in the Debug Console:  > cuda-break cuMemAlloc",
    ]
    return Plan((launch_json(configuration(request)),), tuple(steps))


def configuration(request: Request) -> Configuration:
    found: Configuration = {
        "name": request.name,
        "type": "gdbtarget" if request.remote else "gdb",
        "request": "attach" if request.remote else "launch",
        "program": request.within(request.program, FOLDER),
        "gdb": request.gdb,
        "cwd": FOLDER,
        "initCommands": request.commands(FOLDER),
    }
    if request.remote:
        found["target"] = {"type": "remote", "host": request.host, "port": request.port}
    return found
