"""The program under debug, wherever it runs: memory, registers, objects and their files.

The one place that knows whether the target is local; nothing else may open a file or a /proc entry of it.
(gdb manual: "Inferiors In Python", "Progspaces In Python", "Remote Debugging".)
"""

from gdbcuda.live.process import proc_files
from gdbcuda.live.process.auxiliary_vector import auxiliary
from gdbcuda.live.process.caching import forget, until_objects_change
from gdbcuda.live.process.memory import PATCHED, InferiorMemory, OriginalCode, bytes_of, in_pages, original_code
from gdbcuda.live.process.objects.beside_objects import text_beside
from gdbcuda.live.process.objects.code import (
    behind_prologue,
    block_of_function,
    decoded,
    function_start,
    inlined_at,
    inlined_block,
    is_second_line_within,
    may_be_in_prologue,
    symbol_of,
    whole,
)
from gdbcuda.live.process.objects.cold_parts import cold_name, has_cold_parts
from gdbcuda.live.process.objects.file_bytes import bytes_in_file, code_in_file, differs_from_file, function_sizes
from gdbcuda.live.process.objects.loaded_objects import (
    exports,
    images,
    images_elsewhere,
    in_own_code,
    in_program,
    is_indirect,
    is_load_beginning,
    lasting_images,
    object_of,
    objfile_of,
    on_stop,
    search_order,
    shared_objects,
)
from gdbcuda.live.process.raw import (
    FarMemory,
    RawMemory,
    WritableMemory,
    has_sharing_child,
    raw_memory,
    unfollowed_children,
    writable_memory,
)
from gdbcuda.live.process.remote_children import can_be_found, far_children, take_out_here, take_out_of
from gdbcuda.live.process.running import has_readable_stack, is_running, is_thread_running, pause, require_stopped
from gdbcuda.live.process.state import (
    REMOTE_PREFIX,
    connection,
    is_alive,
    is_remote,
    machine,
    program,
    program_space,
    register,
    set_register,
    signal_number,
    strip_prefix,
)
from gdbcuda.live.process.thread_status import catches, catches_sigtrap, is_there, of_thread, statuses
from gdbcuda.text.demangling import demangled

__all__ = [
    "PATCHED",
    "REMOTE_PREFIX",
    "FarMemory",
    "InferiorMemory",
    "OriginalCode",
    "RawMemory",
    "WritableMemory",
    "auxiliary",
    "behind_prologue",
    "block_of_function",
    "bytes_in_file",
    "bytes_of",
    "can_be_found",
    "catches",
    "catches_sigtrap",
    "code_in_file",
    "cold_name",
    "connection",
    "decoded",
    "demangled",
    "differs_from_file",
    "exports",
    "far_children",
    "forget",
    "function_sizes",
    "function_start",
    "has_cold_parts",
    "has_readable_stack",
    "has_sharing_child",
    "images",
    "images_elsewhere",
    "in_own_code",
    "in_pages",
    "in_program",
    "inlined_at",
    "inlined_block",
    "is_alive",
    "is_indirect",
    "is_load_beginning",
    "is_remote",
    "is_running",
    "is_second_line_within",
    "is_there",
    "is_thread_running",
    "lasting_images",
    "machine",
    "may_be_in_prologue",
    "object_of",
    "objfile_of",
    "of_thread",
    "on_stop",
    "original_code",
    "pause",
    "proc_files",
    "program",
    "program_space",
    "raw_memory",
    "register",
    "require_stopped",
    "search_order",
    "set_register",
    "shared_objects",
    "signal_number",
    "statuses",
    "strip_prefix",
    "symbol_of",
    "take_out_here",
    "take_out_of",
    "text_beside",
    "unfollowed_children",
    "until_objects_change",
    "whole",
    "writable_memory",
]
