"""Write what the recorder has to know of each API function, of each version of the API (`rings.prepared_words`).

Usage: recorded_words.py > recorded-words.json
"""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda import api
from gdbcuda.rings import prepared_words, ring_functions


def tables() -> Iterator[api.Table]:
    yield api.load_all()
    yield from (api.load(cuda=cuda) for cuda in api.CUDA_VERSIONS)
    yield from (api.load(nvml=nvml) for nvml in api.NVML_VERSIONS)


def functions() -> Iterator[api.Function]:
    for table in tables():
        yield from (one for name in ring_functions.recorded_symbols(table) if (one := table.function(name)))


print(prepared_words.text((one, ring_functions.found_out(one)) for one in functions()))
