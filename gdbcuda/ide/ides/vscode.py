"""Visual Studio Code with Microsoft's C/C++ extension: the debug type ``cppdbg``.

(Attributes: vscode-cpptools, Extension/tools/OptionsSchema.json. Order of the commands: MIEngine, which gives those of
``setupCommands`` to gdb before it names the program or connects.)
"""

from __future__ import annotations

from gdbcuda.ide.files import launch_json
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide
from gdbcuda.ide.launch_json import Configuration

FOLDER = "${workspaceFolder}"
PRETTY_PRINTING = "-enable-pretty-printing"  # std::vector is shown by its elements, as on the command line


@ide("vscode", "Visual Studio Code, C/C++ extension")
def vscode(request: IdeRequest) -> IdePlan:
    return IdePlan((launch_json(configuration(request)),), tuple(steps(request)))


def configuration(request: IdeRequest) -> Configuration:
    found: Configuration = {
        "name": request.name,
        "type": "cppdbg",
        "request": "launch",
        "program": request.within(request.program, FOLDER),
        "args": [],
        "cwd": FOLDER,
        "MIMode": "gdb",
        "miDebuggerPath": request.gdb,
        "setupCommands": [{"text": command} for command in (PRETTY_PRINTING, *request.commands(FOLDER))],
        # else a stop at one of cuda-break's is shown as an exception
        "unknownBreakpointHandling": "stop",
    }
    if request.remote:
        found["miDebuggerServerAddress"] = request.remote
    found["stopAtConnect" if request.remote else "stopAtEntry"] = True  # for cuda-break: gdb listens while it stands
    if request.maps:
        found["sourceFileMap"] = dict(request.maps)
    return found


def steps(request: IdeRequest) -> list[str]:
    return [
        *request.server_steps(),
        f'Run and Debug (Ctrl+Shift+D), choose "{request.name}", F5',
        "it stops at once; in the Debug Console:  -exec cuda-break cuMemAlloc  then continue (F5)",
    ]
