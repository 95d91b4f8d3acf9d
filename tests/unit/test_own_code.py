"""Which frames of Python a word means, behind `caller in` and `--from`, and which line a call is told with."""

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


VENV, LIB = "/venv/lib/python3.12/site-packages", "/usr/lib/python3.12"
TORCH, VLLM = f"{VENV}/torch/nn/modules/linear.py", f"{VENV}/vllm/worker.py"
STARTED = [f"{LIB}/multiprocessing/process.py", f"{LIB}/multiprocessing/spawn.py", "<string>"]


@pytest.mark.parametrize(
    ("files", "site"),
    [
        ([TORCH, "train.py", VLLM], "train.py"),
        ([TORCH, f"{VENV}/transformers/trainer.py", "train.py"], "train.py"),
        # a program that is installed: by its script, as a module, as a worker by spawn, in Ray
        ([TORCH, VLLM, TORCH, f"{VENV}/vllm/cli.py", "/venv/bin/vllm"], VLLM),
        ([TORCH, VLLM, f"{VENV}/vllm/cli.py", "/home/me/.local/bin/vllm"], VLLM),  # a link of pipx
        ([TORCH, VLLM, "<frozen importlib._bootstrap>", "/venv/bin/serve-it"], VLLM),
        ([TORCH, VLLM, f"{LIB}/runpy.py", "<frozen runpy>"], VLLM),
        ([TORCH, VLLM, *STARTED], VLLM),
        ([TORCH, VLLM, f"{VENV}/ray/worker.py"], VLLM),
        ([TORCH, f"{LIB}/threading.py"], TORCH),
        ([f"{VENV}/numba_cuda/numba/cuda/api.py", "/venv/bin/job"], "/venv/bin/job"),  # one of the user's own
        ([TORCH, VLLM, "/venv/bin/job.py"], "/venv/bin/job.py"),
        # what has no file
        ([TORCH, "<string>"], "<string>"),
        ([TORCH, "<stdin>"], "<stdin>"),
        ([TORCH, "<made 1>", "train.py"], "<made 1>"),
        (["<string>", VLLM, *STARTED], VLLM),  # a dataclass
        ([TORCH, "<eval_with_key>.3", TORCH, "train.py"], "train.py"),
        (["<string>", TORCH, "/tmp/torchinductor_me/4h/c4hx.py", TORCH, "train.py"], "train.py"),  # torch.compile
        ([TORCH, f"/home/me/.cache/vllm/rank_0_0/inductor_cache/4h/c4h{'x' * 49}.py", TORCH, VLLM], VLLM),
        ([TORCH, "<string>", f"{LIB}/code.py"], "<string>"),
        ([TORCH, "<ipython-input-1-abc>", f"{VENV}/IPython/core/interactiveshell.py", "/venv/bin/ipython"],
         "<ipython-input-1-abc>"),
        ([TORCH], TORCH),
    ],
)  # fmt: skip
def test_which_line_is_told(files: list[str], site: str) -> None:
    found = own_code.site([PythonFrame(file, 1, "<module>") for file in files])
    assert found is not None and found.file == site


def test_no_frame_is_no_line() -> None:
    assert own_code.site([]) is None
