"""gdbserver before 14 has Intel's places of AVX-512's registers on AMD's processors too: a thread that it stops goes
on with ymm16 to ymm19 zeroed.

The C library copies memory through those registers: a memcpy that is stopped between its loads and its stores writes
zeros, without us as with us. (Intel's Software Developer's Manual, volume 1, 13.4.3: CPUID tells where a processor has
them in XSAVE's area; gdbserver's i387-fp.cc.)
"""

from __future__ import annotations

import re

from gdbcuda.text.patterns import pattern

WITHOUT_AVX512 = "glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-AVX512BW"
TUNABLES = "GLIBC_TUNABLES"
ADVICE = (
    "gdbcuda: this gdbserver, if it is older than 14, zeroes vector registers of threads that it stops: a memcpy that\n"
    "         is stopped writes zeros, without gdbcuda too. Take a newer one, or start the program with\n"
    f"         {TUNABLES}={WITHOUT_AVX512}  (cuda-help gdbs)\n"
)
LAID_OUT_BY_AMD = pattern(r"^vendor_id\s*:\s*(AuthenticAMD|HygonGenuine)$", re.MULTILINE)
HAS_AVX512 = pattern(r"^flags\s*:.*\bavx512vl\b", re.MULTILINE)


def are_lost_on(cpuinfo: str) -> bool:
    """``cpuinfo``: the beginning of /proc/cpuinfo there, the first processor's part. (proc(5).)"""
    return bool(LAID_OUT_BY_AMD.search(cpuinfo) and HAS_AVX512.search(cpuinfo))


def are_left_alone(tunables: str) -> bool:
    """By the C library at least, as the program was started. (glibc's manual: "Hardware Capability Tunables".)"""
    return all(word in tunables for word in WITHOUT_AVX512.partition("=")[2].split(","))
