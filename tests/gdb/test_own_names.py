"""What we bring into the process has no name that a user's own break finds."""

from __future__ import annotations

import re

from scenario import Scenario

NAMES = ("begin", "go", "done", "back", "left", "written")
PROGRAM = "\n".join(f"void {name}(void) {{}}" for name in NAMES) + """
int cuInit(unsigned flags);
int main(void) { cuInit(0); """ + " ".join(f"{name}();" for name in NAMES) + """ return 0; }
"""


def test_a_break_of_the_user_s_stays_in_the_program(scenario: Scenario, compile_c) -> None:
    library = f"{scenario.shim}/standin"
    program = compile_c("program", PROGRAM, f"-L{library}", f"-Wl,-rpath,{library}", "-lcuda")
    text = scenario.run(program, "cuda-log start --fast", "tbreak main", "RUN", *(f"break {name}" for name in NAMES),
                        *["continue"] * (len(NAMES) + 1), hook=None)  # fmt: skip
    assert "locations)" not in text, text
    stops = r"^(?:Thread .* hit )?Breakpoint \d+, (?:0x\w+ in )?(\w+) \(\) at"
    assert re.findall(stops, text, re.MULTILINE) == [*NAMES]
