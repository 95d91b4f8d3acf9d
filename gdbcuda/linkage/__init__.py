"""How the objects of a process are linked: what each defines, refers to, and where its references lead.

All from memory, in blocks, so that a remote process and a core file serve as well as a local one.
"""

from gdbcuda.linkage.dynamic_symbols import Definition
from gdbcuda.linkage.objects import Found, Linkages
from gdbcuda.linkage.slots import Linkage, Slot

__all__ = ["Definition", "Found", "Linkage", "Linkages", "Slot"]
