"""gdbcuda trace: children that a program executes with another environment than its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from shim_support import OLDER_LIBC, clean_environment
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
PROGRAM = r"""
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int cuInit(unsigned);
extern char **environ;
#ifdef PAST_LIBC
__asm__(".globl confines; confines: mov $317, %eax; syscall; ret");
#endif
static char standin[4096], *own, *words[] = {"program", "child", NULL}, *alone[] = {standin, NULL};
static void execute(const char *way)
{
    int is = !strcmp(way, "execve") ? execve(own, words, alone)
        : !strcmp(way, "execvpe") ? execvpe(own, words, alone)
        : !strcmp(way, "fexecve") ? fexecve(open(own, O_RDONLY), words, alone)
        : !strcmp(way, "execveat") ? execveat(AT_FDCWD, own, words, alone, 0)
        : !strcmp(way, "execle") ? execle(own, "program", "child", NULL, alone)
        : !strcmp(way, "syscall") ? (int)syscall(SYS_execve, own, words, alone) : 0;
    environ = alone;
    is = !strcmp(way, "execv") ? execv(own, words)
        : !strcmp(way, "execvp") ? execvp(own, words)
        : !strcmp(way, "execl") ? execl(own, "program", "child", NULL)
        : !strcmp(way, "execlp") ? execlp(own, "program", "child", NULL) : is;
    _exit(is);
}
static int started(const char *way)
{
    pid_t child = 0;
    if (!strcmp(way, "posix_spawn"))
        return posix_spawn(&child, own, NULL, NULL, words, alone) ? 0 : child;
    if (!strcmp(way, "posix_spawnp"))
        return posix_spawnp(&child, own, NULL, NULL, words, alone) ? 0 : child;
    child = fork();
    if (!child)
        execute(way);
    return child;
}
static char *many[1601], little[12 << 10];
static int executes_with_many(void *path)
{
    _exit(execve(path, alone, many));
}
static int status_of_many(void)
{
    int status;
    for (int i = 0; i < 1600; i++)
        many[i] = "A=1";
    pid_t child = clone(executes_with_many, little + sizeof little, CLONE_VM | CLONE_VFORK | SIGCHLD, "/bin/true");
    return waitpid(child, &status, 0) == child ? status : -1;
}
int main(int count, char **ways)
{
    if (count == 2 && !strcmp(ways[1], "unreadable"))
        return execve("/bin/true", alone, (char **)8) != -1 || errno != EFAULT;
    if (count == 2 && !strcmp(ways[1], "many"))
        return status_of_many();
    own = realpath("/proc/self/exe", NULL);
    snprintf(standin, sizeof standin, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
    if (count == 2 && !strcmp(ways[1], "child"))
        return cuInit(0);
    for (int i = 1, status; i < count; i++)
        if (waitpid(started(ways[i]), &status, 0) < 0 || status)
            return i;
    return 0;
}
"""
WAYS = ("execve", "execvpe", "fexecve", "execveat", "execle", "syscall", "execv", "execvp", "execl", "execlp",
        "posix_spawn", "posix_spawnp")  # fmt: skip


@pytest.fixture(scope="module", params=["-pie", "-no-pie", "-DPAST_LIBC"])
def program(request: pytest.FixtureRequest, shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that lies at one address has the variable `environ` itself; another has code that might confine it."""
    made = tmp_path_factory.mktemp("executed") / "program"
    subprocess.run(["gcc", "-Wall", "-D_GNU_SOURCE", request.param, "-o", made, "-x", "c", "-", "-x", "none",
                    f"-L{shim}/standin", "-lcuda", *OLDER_LIBC], input=PROGRAM, text=True, check=True)  # fmt: skip
    return made


def test_children_with_an_environment_of_their_own(trace: Trace, program: Path) -> None:
    found = trace(program, *WAYS)
    assert (found.done.returncode, found.done.stdout, found.done.stderr) == (0, "", "")
    assert found.counts() == {"cuInit": len(WAYS)}


@pytest.mark.parametrize("environment", ["unreadable", "many"])
def test_an_environment_that_is_nobodys_to_read_or_copy(trace: Trace, program: Path, environment: str) -> None:
    """The kernel's answer is the program's own; and the stack of who executes may hold no copy."""
    found = trace(program, environment)
    assert (found.done.returncode, found.done.stderr) == (0, "")


def test_who_takes_the_recorder_out_is_left_alone(trace: Trace, program: Path) -> None:
    found = trace(shutil.which("env") or "env", "-u", "LD_AUDIT", "-u", "LD_PRELOAD", str(program), "child")
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert not list(found.folder.glob("*.process"))


def test_who_cannot_reach_the_recorder_is_not_told(shim: Path, tmp_path: Path) -> None:
    """As behind chroot: its loader would say twice that there is no such file. What others have preloaded stays."""
    ours = shutil.copy(shim / "libgdbcuda-trace.so", tmp_path)
    variables = {"LD_AUDIT": ours, "LD_PRELOAD": f"{ours}:libm.so.6", "GDBCUDA_TRACE": str(tmp_path)}
    line = ["/bin/sh", "-c", f"rm {ours}; exec env"]
    done = subprocess.run(line, env={**clean_environment(), **variables}, capture_output=True, text=True, timeout=60)
    names = dict(one.split("=", 1) for one in done.stdout.splitlines() if one.startswith("LD_"))
    assert (done.returncode, done.stderr, names) == (0, "", {"LD_PRELOAD": "libm.so.6"})
