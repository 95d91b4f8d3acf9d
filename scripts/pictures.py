"""The pictures of README: a session in gdb as SVG, the report of a call log as PNG. Both show what really came.

Each picture holds what it shows as text: tests/gdb/test_pictures.py plays session and log again and compares.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "gdbcuda" / "manual" / "pictures"
STANDIN = {"LD_LIBRARY_PATH": "shim/build/standin"}
COLUMNS = 118

PROGRAM = "shim/build/sample/runtime_alloc"
OPENED = f"LD_LIBRARY_PATH=shim/build/standin GDBCUDA_MEMORY_LIMIT=2g gdbcuda gdb -q {PROGRAM}"
TYPED = """cuda-load shim/build/libgdbcuda-hook.so
cuda-break cuMemAlloc --once if bytesize > 1G
run
bt
cuda-break cuMemAlloc --on error
continue
cuda-call
"""
LOGGED = ("cuda-load shim/build/sample/forgetful_hook.so", "cuda-log start --to {log}", "run")
LOGGED_PROGRAM = ("shim/build/sample/threads", "3", "12")
SCREEN = "1200,785"  # pixels: down to the errors
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def gdb(*words: str) -> list[str]:
    return ["gdb", "-nx", "-q", "-batch", "-ex", "set style enabled on", "-x", str(ROOT / "gdbcuda.py"), *words]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "GDBCUDA_", "NO_COLOR"))}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), **STANDIN, **more}


# -- the session -----------------------------------------------------------------------------------------------


def played() -> str:
    """What a terminal gets of the session, its colours as escapes."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write(TYPED)
        file.flush()
        play = f"python from gdbcuda.live.prompt.script import play; play({file.name!r})"
        line = gdb("-ex", play, PROGRAM)
        return f"$ {OPENED}\n{at_terminal(line, environment(GDBCUDA_MEMORY_LIMIT='2g'))}"


def at_terminal(line: list[str], variables: dict[str, str]) -> str:
    """What the command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(line, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while read := os.read(ours, 65536):
            said += read
    except OSError:  # its last writer has gone
        pass
    finally:
        process.wait()
        os.close(ours)
    return said.decode().replace("\r\n", "\n")


def svg(session: str) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(session))
    picture = console.export_svg(title="gdb", unique_id="session")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # its fonts are on the net


def words_of_svg(picture: str) -> str:
    """The text of the terminal, without where its lines end."""
    lines: dict[str, list[str]] = {}
    for text in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        lines.setdefault(text.get("clip-path", ""), []).append(text.text or "")
    lines.pop("", None)  # the window's title
    return " ".join(" ".join("".join(parts) for parts in lines.values()).replace("\xa0", " ").split())


# -- the report ------------------------------------------------------------------------------------------------


def reported() -> str:
    """The page about a log that is recorded now."""
    with tempfile.TemporaryDirectory() as folder:
        log, page = f"{folder}/log.jsonl", Path(folder, "report.html")
        lines = [word for line in LOGGED for word in ("-ex", line.format(log=log))]
        for line in (gdb(*lines, "--args", *LOGGED_PROGRAM),
                     [sys.executable, "-m", "gdbcuda.shell.cli", "log", "report", log, "-o", str(page)]):  # fmt: skip
            subprocess.run(line, cwd=ROOT, env=environment(), check=True, stdin=subprocess.DEVNULL, capture_output=True)
        return page.read_text()


def facts(page: str) -> dict[str, Any]:
    """What is the same in each run, and what draws it."""
    start, end = '<script type="application/json" id="data">', "</script>"
    before, _, rest = page.partition(start)
    text, _, behind = rest.partition(end)
    data = json.loads(text)
    return {
        "program": data["program"],
        "threads": data["threads"],
        "functions": sorted(row[:4] for row in data["functions"]),
        "errors": sorted(row[2:] for row in data["errors"]),
        "leaks": sorted(row[:1] + row[2:] for row in data["leaks"]),
        "figures": [figure[0] for figure in data["figures"]],
        "page": hashlib.sha256(f"{before}{behind}".encode()).hexdigest(),
    }


def png(page: str) -> bytes:
    """As chromium shows it, with the facts in a text of the file's own."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        sys.exit(f"the report's picture needs a browser: one of {', '.join(CHROMIUM)}")
    with tempfile.TemporaryDirectory() as folder:
        html, picture = Path(folder, "report.html"), Path(folder, "report.png")
        html.write_text(page)
        line = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SCREEN}",
                f"--user-data-dir={folder}/profile", f"--screenshot={picture}", html.as_uri()]  # fmt: skip
        subprocess.run(line, check=True, capture_output=True)
        return with_text(picture.read_bytes(), json.dumps(facts(page)))


def with_text(picture: bytes, text: str) -> bytes:
    """In a zTXt chunk before the last. (PNG Specification, 11.3.4.)"""
    content = b"zTXt" + b"facts\0\0" + zlib.compress(text.encode())
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    end = picture.rindex(b"IEND") - 4
    return picture[:end] + chunk + picture[end:]


def text_of(picture: bytes) -> str:
    at = picture.rindex(b"zTXtfacts\0\0")
    size = struct.unpack(">I", picture[at - 4 : at])[0]
    return zlib.decompress(picture[at + 11 : at + 4 + size]).decode()


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    if "report" not in sys.argv[1:]:
        (PICTURES / "session.svg").write_text(svg(played()))
    if "session" not in sys.argv[1:]:
        (PICTURES / "report.png").write_bytes(png(reported()))


if __name__ == "__main__":
    main()
