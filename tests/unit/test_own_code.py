"""Which frames of Python a word means, as one types it behind `caller in` and `--from`."""

from __future__ import annotations

import pytest

from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame

OWN = "/home/me/project/models/llama.py"
INSTALLED = "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py"


@pytest.mark.parametrize(
    ("word", "file", "is_meant"),
    [
        ("models.llama", OWN, True),
        ("project.models", OWN, True),
        ("models.llama", "/home/me/archive.zip/models/llama.py", True),
        ("models", OWN, False),  # that may be any folder
        ("models.ll", OWN, False),
        ("odels.llama", OWN, False),
        ("llama", OWN, True),
        ("llama.py:41", OWN, True),
        ("torch.nn", INSTALLED, True),
        ("nn.modules", INSTALLED, False),
        ("Llama.load", OWN, True),
        ("load", OWN, True),
    ],
)
def test_what_a_word_means(word: str, file: str, is_meant: bool) -> None:
    assert own_code.is_meant(PythonFrame(file, 41, "Llama.load"), word) is is_meant
