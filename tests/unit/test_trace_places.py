"""gdbcuda trace: where the calls are kept, how much room they get there, and who may read them."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC, clean_environment
from traced_programs import Trace, needs_recorder, trace, traced

from gdbcuda.rings.ring_layout import MOST_RECORDS

__all__ = ["trace", "traced"]  # the fixtures
pytestmark = needs_recorder


def test_where_there_is_no_room_the_program_goes_on(trace: Trace, traced: Path) -> None:
    found = trace(traced, "exit", "7", limits={resource.RLIMIT_FSIZE: 15_000}, options=("--last", "1000"))
    assert (found.done.returncode, found.done.stderr) == (7, "")
    assert re.search(r"thread \d+ of process \d+: no room for its calls", found.log("show").stderr)


def test_in_a_small_address_space_rings_are_small(trace: Trace, traced: Path) -> None:
    limits = {resource.RLIMIT_AS: 110 << 20}
    found = trace(traced, "exit", "7", limits=limits, options=("--last", str(MOST_RECORDS)))
    (ring,) = found.folder.glob("*.ring")
    assert (found.done.returncode, found.done.stderr) == (7, "") and ring.stat().st_size < 1 << 19
    assert found.counts()["cuDeviceGet"] > 0


def test_a_folder_that_has_gone(shim: Path, traced: Path, tmp_path: Path) -> None:
    library = shim / "libgdbcuda-trace.so"
    variables = {"LD_AUDIT": str(library), "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": str(shim / "standin")}
    for folder in (tmp_path / "none", Path("x" * 5000), Path("/proc")):
        environment = {**clean_environment(), **variables, "GDBCUDA_TRACE": str(folder)}
        done = subprocess.run([str(traced), "exit", "9"], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (9, "", "")


def test_what_is_recorded_is_for_its_owner_alone(trace: Trace, traced: Path) -> None:
    found = trace(traced, "exit", "0")
    assert found.folder.stat().st_mode & 0o777 == 0o700
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in found.folder.iterdir()}
    assert modes == {".process": 0o600, ".ring": 0o600, "": 0o600}


@pytest.mark.parametrize("what, said", [("link", "is a symbolic link"), ("nowhere", "is a symbolic link"),
                                        ("open", "others may enter"), ("own", "")])  # fmt: skip
def test_a_folder_that_is_there_is_ones_own(trace: Trace, traced: Path, tmp_path: Path, what: str, said: str) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    if said == "is a symbolic link":
        (tmp_path / "calls").symlink_to("elsewhere" if what == "link" else what)
    else:
        (tmp_path / "calls").mkdir()
        (tmp_path / "calls").chmod(0o755 if what == "open" else 0o700)
    done = trace(traced, "exit", "3").done
    assert (done.returncode == 2 and said in done.stderr) if said else (done.returncode, done.stderr) == (3, "")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl-gcc here")
def test_a_program_of_musls_runs_as_it_is(trace: Trace, tmp_path: Path) -> None:
    """Its loader preloads the recorder, and tells its constructor nothing."""
    program = tmp_path / "program"
    source = "int main(void) { return 3; }"
    subprocess.run(["musl-gcc", "-o", program, "-x", "c", "-"], input=source, text=True, check=True)
    done = trace(program).done
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


THREADS = """
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
int cuDeviceGetCount(int *);
static void *call(void *late)
{
    int count;
    if (late)
        usleep(300000);
    for (int i = 0; i < 10; i++)
        cuDeviceGetCount(&count);
    return NULL;
}
static void cut_all(const char *folder)
{
    DIR *all = opendir(folder);
    for (struct dirent *one; (one = readdir(all));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        if (strstr(path, ".process") && truncate(path, 0))
            perror(path);
    }
    closedir(all);
}
int main(int count, char **words)
{
    struct rlimit none = {3, 3};
    pthread_t first, second;
    pthread_create(&first, NULL, call, NULL);
    if (count > 1) {
        pthread_join(first, NULL);
        cut_all(words[1]);
        setrlimit(RLIMIT_NOFILE, &none);
    }
    pthread_create(&second, NULL, call, words);
    if (count == 1)
        pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 5;
}
"""


@pytest.fixture(scope="module")
def threads(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "threads.c").write_text(THREADS)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", folder / "threads", folder / "threads.c",
                    f"-L{shim}/standin", "-lcuda", *OLDER_LIBC], check=True)  # fmt: skip
    return folder / "threads"


def test_a_cut_file_of_the_process_ends_no_program(trace: Trace, threads: Path, tmp_path: Path) -> None:
    """What it says of a thread without a file has no place any more."""
    done = trace(threads, str(tmp_path / "calls")).done
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the disk slow")
def test_a_thread_that_has_waited_too_long_for_the_file_is_told(trace: Trace, threads: Path) -> None:
    """By the clock: where the machine is busy its naps of a millisecond take several."""
    found = trace(str(shutil.which("strace")), "-f", "-qq", "-o", "/dev/null", "-e", "trace=fallocate,nanosleep", "-e",
                  "inject=fallocate:delay_enter=5000000:when=1", "-e", "inject=nanosleep:delay_exit=9000",
                  str(threads))  # fmt: skip
    assert (found.done.returncode, found.counts()["cuDeviceGetCount"]) == (5, 10)
    assert "1 thread of process" in found.log("show").stderr
