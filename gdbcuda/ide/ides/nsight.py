"""Nsight Visual Studio Code Edition: the debug types ``cuda-gdb`` and ``cuda-gdbserver``.

(Attributes: NVIDIA/nsight-vscode-edition, package.json.)
"""

from __future__ import annotations

from gdbcuda.data_classes import replace
from gdbcuda.ide.files import launch_json
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide
from gdbcuda.ide.launch_json import Configuration

FOLDER = "${workspaceFolder}"
DEBUGGER = "cuda-gdb"
SERVER = "cuda-gdbserver"


@ide("nsight", "Visual Studio Code, NVIDIA's Nsight extension (cuda-gdb)")
def nsight(request: IdeRequest) -> IdePlan:
    steps = [
        *replace(request, gdbserver=SERVER).server_steps(),
        'cuda-gdb is looked for in PATH; where it is elsewhere, add "debuggerPath"',
        f'Run and Debug (Ctrl+Shift+D), choose "{request.name_for(DEBUGGER)}", F5',
        "it stops at once; in the Debug Console:  -exec cuda-break cuMemAlloc  then continue (F5)",
    ]
    return IdePlan((launch_json(configuration(request)),), tuple(steps))


def configuration(request: IdeRequest) -> Configuration:
    found: Configuration = {
        "name": request.name_for(DEBUGGER),
        "type": "cuda-gdbserver" if request.remote else "cuda-gdb",
        "request": "launch",
        "program": request.within(request.program, FOLDER),
        "args": "",
        "cwd": FOLDER,
        "initCommands": request.commands(FOLDER),
        "stopAtEntry": True,
    }
    if request.remote:
        found["server"] = SERVER
        found["target"] = {"host": request.host, "port": request.port}
    return found
