"""What a file is: header, sections, symbols with versions, needed libraries, debug info.

``open(path)`` gives an Elf. Nothing here prints, follows a count of the file without a limit, or raises
anything but UserError for what is wrong with the file.
"""

from gdbcuda.elf.elf_file import Elf
from gdbcuda.elf.elf_file import open_elf as open
from gdbcuda.elf.library_search import Libraries, Root, debug_files
from gdbcuda.elf.symbols import Symbol

__all__ = ["Elf", "Libraries", "Root", "Symbol", "debug_files", "open"]
