"""The kernel of a Python context: one process that runs cells by IPython and keeps their state.

The agent puts wire.py, results.py, charts.py, figures.py and this file together into one program (programs.ts).
"""

import builtins
import os
import signal
import subprocess
import sys
import threading
import traceback

from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

TRACEBACK_CHARACTERS = 32 * 1024
FLUSH_SECONDS = 0.05


class Shell(InteractiveShell):
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    results = None
    interrupts = None
    fault = None

    def init_display_formatter(self):
        self.display_formatter = Formatter(parent=self)
        self.configurables.append(self.display_formatter)

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        """The cell has ended: what is repeated of its interrupt must not break off the telling of it."""
        was_open, self.interrupts.is_open = self.interrupts.is_open, False
        try:
            kind, value, where = exc_tuple or sys.exc_info()
            if kind is KeyboardInterrupt:
                self._showtraceback(kind, value, interrupted_lines(where))
            else:
                super().showtraceback(exc_tuple, *args, **kwargs)
        finally:
            self.interrupts.is_open = was_open

    def _showtraceback(self, kind, value, lines):
        self.fault = (kind, value, lines)

    def system(self, command):
        """`!command`, in a shell, with the outputs of the cell and no terminal."""
        flush()
        self.user_ns["_exit_code"] = subprocess.call(self.var_expand(command, depth=1), shell=True, executable="/bin/bash")

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return gui, "agg"


def interrupted_lines(where):
    """A traceback that takes no time, unlike IPython's first one: a cell that ends late is ended with its kernel."""
    own = ("IPython/core", "<svc kernel>")
    frames = [frame for frame in traceback.extract_tb(where) if not any(name in frame.filename for name in own)]
    return ["Traceback (most recent call last):", *(line.rstrip() for line in traceback.format_list(frames)), "KeyboardInterrupt"]


def refuse_input(*_prompt, **_more):
    raise RuntimeError("input() is not available: nobody can answer it here. Put the value into a variable of the code.")


def flush():
    for stream in {id(one): one for one in (sys.stdout, sys.stderr, *own_streams)}.values():
        try:
            stream.flush()
        except Exception:
            pass


own_streams = []


def mend_streams():
    """Gives cells back what an earlier one has closed or taken away."""
    if not own_streams or any(stream.closed for stream in own_streams):
        own_streams[:] = [
            open(fd, "w", buffering=buffering, encoding="utf-8", errors="backslashreplace", closefd=False)
            for fd, buffering in ((1, 8192), (2, 1))
        ]
    for name, own in zip(("stdout", "stderr"), own_streams):
        stream = getattr(sys, name, None)
        if not hasattr(stream, "write") or getattr(stream, "closed", False) or stream is getattr(sys, f"__{name}__", None):
            setattr(sys, name, own)
        setattr(sys, f"__{name}__", own)


class Flusher(threading.Thread):
    """Lets output be seen while a cell runs, without a system call for each line."""

    def __init__(self):
        super().__init__(name="svc-flush", daemon=True)
        self.works = threading.Event()

    def run(self):
        pause = threading.Event()
        while True:
            self.works.wait()
            pause.wait(FLUSH_SECONDS)
            flush()


def error_of(fault):
    kind, value, lines = fault
    try:
        text = str(value)
    except BaseException:
        text = "the error cannot be printed: its __str__ raises"
    told = "\n".join(map(str, lines))
    if len(told) > TRACEBACK_CHARACTERS:
        half = TRACEBACK_CHARACTERS // 2
        told = told[:half] + "\n…\n" + told[-half:]
    return {"name": str(getattr(kind, "__name__", kind))[:200], "value": text[:TRACEBACK_CHARACTERS], "traceback": told}


def plain_fault(error):
    """An error that IPython has not told: of the frames of this file nothing is said."""
    return (type(error), error, [f"{type(error).__name__}: {error}"])


def warm():
    """Loads and does once what cells usually begin with: all of it is in memory when the machine is frozen and cloned."""
    try:
        import matplotlib.pyplot
        import numpy  # noqa: F401
        import pandas

        figure = matplotlib.pyplot.figure()
        figure.add_subplot().plot([1, 2], label="a")
        shell.display_formatter.format(figure)
        matplotlib.pyplot.close("all")
        shell.display_formatter.format(pandas.DataFrame({"a": [1, 2]}))
    except ImportError:
        pass
    shell.run_cell("1 + 1; None", silent=True)
    # The first traceback takes seconds in an emulated machine.
    shell.run_cell("1 / 0", silent=True)
    shell.fault = None


def freshen():
    """This process was copied with its machine: the copies must not draw the same numbers, nor keep another clock's zone."""
    import random
    import time

    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    time.tzset()


def run_cell(message):
    shell.fault = None
    if "cwd" in message:
        os.chdir(message["cwd"])
    os.environ.update(message.get("env", {}))
    if message.get("isFresh"):
        freshen()
    result = shell.run_cell(message["code"], store_history=True)
    fault = result.error_before_exec or result.error_in_exec
    if fault is not None and (shell.fault is None or shell.fault[1] is not fault):
        shell.fault = plain_fault(fault) if shell.fault is None else shell.fault
    show_figures()


def answer(message, interrupts, flusher, wire):
    shell.results.begin(message["run"], message["results"])
    count = shell.execution_count
    wire.mend()
    mend_streams()
    builtins.input = refuse_input
    interrupts.install()
    flusher.works.set()
    interrupts.is_open = True
    try:
        try:
            run_cell(message)
        finally:
            interrupts.is_open = False
    except BaseException as error:
        interrupts.is_open = False
        shell.fault = plain_fault(error)
    flusher.works.clear()
    flush()
    # IPython counts no cell that is interrupted before its first line, and one that it cannot read twice.
    shell.execution_count = count + 1
    done = {"kind": "done", "run": message["run"], "executionCount": count}
    if shell.fault is not None:
        done["error"] = error_of(shell.fault)
    wire.send(encode(done))


def make_shell(wire, interrupts):
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.cache_size = 1000
    made = Shell.instance(config=config)
    made.results = Results(wire)
    made.interrupts = interrupts
    made.user_ns["exit"] = made.user_ns["quit"] = sys.exit
    made.set_hook("show_in_pager", lambda _shell, data, *_rest, **_more: print(data if isinstance(data, str) else data.get("text/plain", "")))
    return made


def main():
    global shell
    interrupts = Interrupts()
    interrupts.install()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    wire = Wire(interrupts)
    mend_streams()
    shell = make_shell(wire, interrupts)
    sys.meta_path.insert(0, PyplotFinder())
    import warnings

    warnings.filterwarnings("ignore", message="To exit: use")
    flusher = Flusher()
    flusher.start()
    wire.send(encode({"kind": "ready"}))
    while True:
        message = wire.receive()
        if message is None:
            os._exit(0)
        if message["kind"] == "warm":
            warm()
            wire.send(encode({"kind": "warmed", "path": [path for path in sys.path if path.startswith("/")][:100]}))
            continue
        answer(message, interrupts, flusher, wire)
        # A cell has forked, and its child has come to the end of the cell as well.
        if wire.is_left:
            flush()
            os._exit(0)


main()
