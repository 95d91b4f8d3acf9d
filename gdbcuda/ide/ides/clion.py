"""CLion: a run configuration of type ``CLion_Remote``, which connects to a gdbserver, here or on another machine.

A gdbserver of this machine too, because CLion starts a program in its own way, past gdb's exec-wrapper. The hook
library is named by the project's .gdbinit; without it the extension notices the library when it is loaded.
"""

from __future__ import annotations

import os
import re
from html import escape  # xml.sax.saxutils loads ssl

from gdbcuda.data_classes import replace
from gdbcuda.ide.files import gdbinit, run_configuration
from gdbcuda.ide.ide_plan import IdePlan, IdeRequest, ide

FOLDER = "$PROJECT_DIR$"


@ide("clion", "CLion")
def clion(request: IdeRequest) -> IdePlan:
    asked = request if request.remote else replace(
        request, remote="localhost:1234", hook_there=request.hook, program_there=request.program
    )  # fmt: skip
    steps = [
        f"Settings, Build, Toolchains, Debugger: Custom GDB executable  {asked.wrapper}",
        asked.allowing(),
        *asked.server_steps(),
        f'choose "{asked.name}", Debug; in the GDB tab:  cuda-break cuMemAlloc',
    ]
    init = gdbinit(asked.commands(), asked.init_file)
    return IdePlan((run_configuration(path_of(asked), xml(asked), asked.name), init), tuple(steps))


def path_of(request: IdeRequest) -> str:
    """Where CLion shares run configurations: with a project of its own format, else in .run."""
    name = re.sub(r"\W+", "_", request.name)
    is_project = os.path.isdir(os.path.join(request.folder, ".idea"))
    return f".idea/runConfigurations/{name}.xml" if is_project else f".run/{name}.run.xml"


def xml(request: IdeRequest) -> str:
    maps = [f"    <pathMapping remote={attribute(far)} local={attribute(request.within(here, FOLDER))} />\n"
            for far, here in request.maps]  # fmt: skip
    return f"""\
<component name="ProjectRunConfigurationManager">
  <configuration default="false" name={attribute(request.name)} type="CLion_Remote" version="1" \
remoteCommand={attribute(request.remote)} symbolFile={attribute(request.within(request.program, FOLDER))} sysroot="">
    <debugger kind="GDB" isBundled="false">{escape(request.wrapper)}</debugger>
{"".join(maps)}    <method v="2" />
  </configuration>
</component>
"""


def attribute(value: str) -> str:
    """In its quotes. (XML 1.0, 2.3 and 3.3.3: ends of lines would become blanks.)"""
    return '"' + escape(value).replace("\n", "&#10;") + '"'
