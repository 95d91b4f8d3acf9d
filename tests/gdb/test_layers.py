"""Who is who in the process, and the same for scripts."""

from __future__ import annotations

import json
import re

from idle_gdb import IdleGdb
from scenario import Scenario

SCRIPT = """python
import json
from gdbcuda.live import api
print("whole:" + json.dumps({"call": api.call(), "layers": api.layers(), "log": api.log(),
                             "routes": api.routes("cuMemAlloc_v2"), "here": api.layer_of(gdb.selected_frame().pc())}))
gdb.execute("up")
print("layer:", api.layer_of(gdb.selected_frame().pc()))
try: api.routes("cuMemAlok")
except api.UserError as problem: print("mistake:", problem)
"""


LAYERS = ("app", "hook", "runtime", "driver", "system")


def rows(text: str) -> dict[str, list[str]]:
    """By object: layer, exports, known by, search order."""
    found = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    return {row[1]: [row[0], *row[2:]] for row in found if len(row) >= 4 and row[0] in LAYERS}


def test_the_objects_and_why_they_are_that(scenario: Scenario) -> None:
    text = scenario.run("runtime_alloc", "break main", "RUN", "cuda-layers")
    found = rows(text)
    assert found["runtime_alloc"] == ["app", "the program", "1"]
    hook = found[scenario.hook.name]
    assert hook[0] == "hook" and hook[2:] == ["cuda-load", "2"]
    assert re.match(r"\d{3} driver, \d{3} NVML, \d{3} runtime, dlsym, dlvsym$", hook[1])
    assert found["libcudart.so.13"][0] == "runtime" and found["libcudart.so.13"][2] == "its name"
    assert re.search(r"^\d+ more objects? of the system and the program: cuda-layers --all$", text, re.MULTILINE)


def test_what_dlopen_brought_has_no_place_in_the_order(local: Scenario) -> None:
    text = local.run("runtime_alloc", "cuda-break cuMemAlloc", "run", "cuda-layers --json", "cuda-layers --all")
    document = json.loads(text[text.index('{"objects"') :].splitlines()[0])
    objects = {one["file"].rsplit("/", 1)[-1]: one for one in document["objects"]}
    assert objects["libcuda.so.1"]["layer"] == "driver" and objects["libcuda.so.1"]["order"] is None
    assert objects["libc.so.6"]["layer"] == "system" and objects["libc.so.6"]["order"] > 1
    assert re.search(r"^system +libc\.so\.6 .* its name ", text, re.MULTILINE)


def test_without_a_process(idle: IdleGdb) -> None:
    text = idle.run("cuda-layers")
    assert "cuda-layers: no process: run the program first, or open a core file" in text


def test_scripts_get_it_as_data(scenario: Scenario) -> None:
    words = ("cuda-log start cudaMalloc", "cuda-break cuMemAlloc --from any", "RUN", "continue", SCRIPT)
    text = scenario.run("runtime_alloc", *words)
    whole = json.loads(re.search(r"^whole:(.*)$", text, re.MULTILINE)[1])
    assert whole["call"]["function"] == "cuMemAlloc_v2" and whole["call"]["arguments"]["bytesize"] > 0
    assert whole["here"] == whole["call"]["layer"] == "hook" and "layer: runtime" in text
    assert [one["file"] for one in whole["layers"] if one["layer"] == "hook"] == [str(scenario.hook)]
    assert (whole["log"][0]["name"], whole["log"][0]["status"]) == ("cudaMalloc", 0)
    assert {"hooked", "real"} >= {one["verdict"] for one in whole["routes"]} and whole["routes"]
    assert re.search(r"^mistake: .*cuMemAlok.* did you mean cuMemAlloc", text, re.MULTILINE), text


def test_what_the_last_process_had(local: Scenario, compile_c) -> None:
    """gdb keeps its files: who took part is known after the end too, also what nobody has named."""
    text = local.run("test_alloc", "cuda-layers", "RUN", "cuda-layers", "cuda-layers --json")
    before, after = text.split("Inferior 1", 1)
    assert "cuda-layers: no process: run the program first, or open a core file" in before
    assert "There is no process now. The last one had these:\nlayer " in after and "search order" not in after
    rows = re.findall(r"^(app|hook|driver) +(\S+) .* (the program|cuda-load|its name)$", after, re.MULTILINE)
    assert rows == [("app", "test_alloc", "the program"), ("hook", "libgdbcuda-hook.so", "cuda-load"),
                    ("driver", "libcuda.so.1", "its name")]  # fmt: skip
    assert '"ended": true' in after
    hook = compile_c("libother.so", "int cuMemAlloc_v2(void) { return 2; }", "-shared")
    local.variables = (f"LD_PRELOAD={hook}",)
    assert re.search(r"^hook +libother.so +1 driver +what it exports$", local.run("test_alloc", "RUN", "cuda-layers",
                                                                                 hook=None), re.MULTILINE)  # fmt: skip
