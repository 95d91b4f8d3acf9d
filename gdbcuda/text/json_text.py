"""JSON, whose module is loaded when the first is written: sourcing the extension does not wait for it."""

from __future__ import annotations

from typing import Any


def json_text(data: Any, indent: int | None = None) -> str:
    import json

    return json.dumps(data, indent=indent)
