def _gdbcuda_needs_a_gdb_with_python(problem):
    """What you source in gdb:  (gdb) source gdbcuda.py

    Finds the package beside this file, and its dependencies where gdb's Python has them or in the .venv next to it;
    appends the one directory of the package to sys.path, installs nothing, loads once. It runs in gdb's own namespace,
    which is the user's: so all is inside of functions, and those go again. A gdb without Python takes line one for a
    command that is ambiguous, and shows it."""
    import importlib
    import os
    import sys

    try:
        import gdb
    except ImportError:
        if "_gdb" in sys.builtin_module_names:  # gdb without its data directory: it has said so, and goes on
            return print("gdbcuda is not loaded: gdb has no Python module 'gdb' here", file=sys.stderr)
        sys.exit("gdbcuda.py is for gdb:  gdb -x gdbcuda.py PROGRAM   (a shell has the command 'gdbcuda')")

    try:
        if "gdbcuda.live" in sys.modules:
            return sys.modules["gdbcuda.live"].sourced_again()
        why = problem()
        if not why:
            importlib.import_module("gdbcuda.live").start()
    except (Exception, KeyboardInterrupt) as fault:  # gdb would show its traceback in the place of one line
        if os.environ.get("GDBCUDA_DEBUG", "0") not in ("", "0"):
            raise
        said = "gdbcuda is not loaded: %s: %s (GDBCUDA_DEBUG=1 gdb ... shows where)" % (type(fault).__name__, fault)
        why = " ".join(said.split())
    gdb.write(why + "\n" if why else "", gdb.STDERR)


def _gdbcuda_problem():
    """Why the package cannot be loaded, in one line; "" if it can."""
    import glob
    import importlib
    import os
    import sys

    if sys.version_info < (3, 9):
        return "gdbcuda needs a gdb with Python 3.9 or newer; this one has %d.%d" % sys.version_info[:2]
    if sys.flags.optimize > 1:  # docstrings are the help
        return "gdbcuda: PYTHONOPTIMIZE=2 takes all help away: env -u PYTHONOPTIMIZE gdb ..., or gdbcuda gdb ..."
    file = sys._getframe().f_code.co_filename  # __file__ is another script's where that one sources us
    here = os.path.dirname(os.path.realpath(file))
    both = here, os.path.dirname(here)  # where this file is; the one above it in an installed wheel
    root = next((one for one in both if os.path.isdir(os.path.join(one, "gdbcuda", "live"))), None)
    if not root:
        return "gdbcuda: the package is not beside %s; source the file in the clone" % file
    if root not in sys.path:
        sys.path.append(root)
    venv = sorted(glob.glob(os.path.join(root, ".venv", "lib", "python3*", "site-packages")))
    lacking = " ".join(importlib.import_module("gdbcuda.packages").lacking(venv[-1:]))
    mend = "gdbcuda: missing %s: python3 -m venv %s/.venv && %s/.venv/bin/pip install %s"
    return mend % (lacking, root, root, lacking) if lacking else ""


try:
    _gdbcuda_needs_a_gdb_with_python(_gdbcuda_problem)
finally:
    del _gdbcuda_needs_a_gdb_with_python, _gdbcuda_problem
