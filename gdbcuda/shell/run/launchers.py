"""Is the program one that starts several ranks? Their output is told apart."""

from __future__ import annotations

import os
from collections.abc import Sequence

PROGRAMS = ("torchrun", "accelerate", "deepspeed", "horovodrun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun")
MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
MOST_WORDS = 8  # of a command, in front of the launcher's own


def is_one(words: Sequence[str]) -> bool:
    """ "torchrun …", "conda run -n x torchrun …", "python3 -m torch.distributed.run …"."""
    looked_at = words[:MOST_WORDS]
    names = [os.path.basename(one) for one in looked_at]
    return any(one in PROGRAMS for one in names) or any(one in MODULES for one in looked_at)
