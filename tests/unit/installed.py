"""Which commands a Debian with certain packages has: a PATH of those alone, made of what is installed here."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")


def query(fields: str) -> Iterator[list[str]]:
    if not shutil.which("dpkg-query"):
        return iter(())
    asked = ["dpkg-query", "--show", f"--showformat={fields}\\n"]
    return (line.split("\t") for line in subprocess.run(asked, capture_output=True, text=True).stdout.splitlines())


@functools.cache
def needed() -> dict[str, set[str]]:
    """What each installed package depends on, by every name that it goes by; not what it recommends."""
    found: dict[str, set[str]] = {}
    for package, provides, depends in query("${Package}\t${Provides}\t${Depends}, ${Pre-Depends}"):
        for name in {package, *names(provides)}:
            found.setdefault(name, set()).update({package, *names(depends)})
    return found


def names(field: str) -> set[str]:
    return set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", field))


def essential() -> set[str]:
    return {package for package, mark in query("${Package}\t${Essential}") if mark == "yes"}


def with_dependencies(packages: Iterable[str]) -> set[str]:
    found, new = set[str](), set(packages)
    while new:
        found |= new
        new = {name for package in new for name in needed().get(package, ())} - found
    return found & {package for package, _ in query("${Package}\t${Status}")}


def link_commands(packages: Iterable[str], folder: Path) -> None:
    """Fills ``folder`` with the commands of these packages and of what they depend on."""
    listed = subprocess.run(["dpkg", "--listfiles", *with_dependencies(packages)], capture_output=True, text=True)
    files = {os.path.realpath(line) for line in listed.stdout.splitlines()}
    folder.mkdir(exist_ok=True)
    for command in (Path(directory, name) for directory in FOLDERS for name in os.listdir(directory)):
        link = folder / command.name
        if os.path.realpath(command) in files and not link.exists():
            link.symlink_to(command)
