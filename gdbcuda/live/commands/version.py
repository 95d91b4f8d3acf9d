"""``cuda-version``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gdbcuda import __version__, packages
from gdbcuda.command_line.options import Options, flag
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.layers import table_version
from gdbcuda.live.prompt import settings
from gdbcuda.live.prompt.command import command
from gdbcuda.text import render
from gdbcuda.text.json_text import json_text
from gdbcuda.text.printable import visible

SHOWN_LAYERS = ("hook", "runtime", "driver")


class VersionOptions(Options):
    json: bool = flag("as a JSON document")


@command("cuda-version", VersionOptions, purpose="help")
def cuda_version(wanted: VersionOptions) -> str:
    """Print the versions of everything that takes part, for a bug report.

    It names gdbcuda, gdb, its Python with the packages, this machine and the API table in use. Of the process
    it names the hook library, the driver and the runtime, with their build-ids. The setting 'set
    cuda-version' is another thing: it says which API table is used.

    Examples:
      cuda-version
      cuda-version --json"""
    found = everything()
    return json_text(found, indent=2) if wanted.json else text(found)


def everything() -> dict[str, Any]:
    import platform  # 3 ms of gdb's start

    table = table_version.table()
    return {
        "gdbcuda": __version__,
        "gdb": gdb_cli.execute("show version").splitlines()[0],
        "python": platform.python_version(),
        "packages": {name: package(module, name) for module, name in packages.NEEDED.items()},
        "machine": platform.platform(),
        "table": {"cuda": table.cuda, "nvml": table.nvml},
        "target": process.connection() if process.is_alive() else "",
        "program": process.strip_prefix(process.program()),
        "loaded": objects(),
        "settings": {name: settings.value(name) for name in settings.SETTINGS},
    }


def package(module: str, name: str) -> str:
    """What pip has noted of it; where it was copied without that, what it says of itself."""
    from importlib import import_module, metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        with suppress(ImportError):
            return str(getattr(import_module(module), "__version__", "of an unknown version"))
        return "missing"


def objects() -> list[dict[str, str]]:
    found = []
    for image in process.images() if process.is_alive() else ():
        layer = layers.layer_of_object(image.name)
        if layer in SHOWN_LAYERS:
            found.append({"layer": layer, "file": image.name, "build_id": image.build_id or ""})
    return found


def text(found: dict[str, Any]) -> str:
    """One line each; the settings that are not as they come."""
    changed = [f"{name} {value}" for name, value in found["settings"].items()
               if value != settings.SETTINGS[name].initial]  # fmt: skip
    rows = [
        *((name, found[name]) for name in ("gdbcuda", "gdb", "python")),
        ("packages", ", ".join(f"{name} {version}" for name, version in found["packages"].items())),
        ("machine", found["machine"]),
        ("API table", f"CUDA {found['table']['cuda']}, NVML {found['table']['nvml']}"),
        ("target", found["target"] or "no process"),
        ("program", found["program"] or "none"),
        *((one["layer"], f"{one['file']}  build-id {one['build_id'] or 'none'}") for one in found["loaded"]),
        ("settings", ", ".join(changed) or "as they come"),
    ]
    return render.rows_of_cells([(name, visible(value)) for name, value in rows])
