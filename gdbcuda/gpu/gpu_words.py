"""What the numbers of CUPTI's enumerations are called here."""

from __future__ import annotations

COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORIES = {1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed", 6: "static",
            7: "managed static"}  # fmt: skip
WAITS = {1: "wait for event", 2: "stream waits for event", 3: "wait for stream", 4: "wait for context"}
POOLED = {1: "allocate from pool", 2: "free to pool"}
POOLS = {1: "pool created", 2: "pool destroyed", 3: "pool trimmed"}
UNIFIED = {1: "migrate HtoD", 2: "migrate DtoH", 3: "page faults of the CPU", 4: "page faults of the GPU",
           5: "thrashing", 6: "throttling", 7: "remote map", 8: "migrate DtoD"}  # fmt: skip
COPY, FILL, GRAPH = "copy", "fill", "graph"
