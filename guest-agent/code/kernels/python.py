"""The kernel of a Python context: one process that runs cells by IPython and keeps their state.

The agent writes requests to fd 0 and reads messages from fd 3, both `u32be length | JSON`. What cells print goes to fds 1 and 2
and nowhere else, so no output can be taken for a message.
"""

import base64
import builtins
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/latex": "latex",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/json": "json",
    "svc/table": "table",
    "svc/chart": "chart",
}
TRACEBACK_CHARACTERS = 32 * 1024
# Of one text: a longer one is cut. Everything else of a result is whole or left out.
TEXT_CHARACTERS = 256 * 1024
TABLE_ROWS = 1_000
FLUSH_SECONDS = 0.05
# Cells that close what they find open begin at 3.
OWN_FDS_FROM = 900


def note(text):
    print("svc: " + text, file=sys.stderr)


class Interrupts:
    """SIGINT interrupts a cell and nothing else; never the middle of a message."""

    def __init__(self):
        self.is_open = False
        self.held = 0
        self.is_waiting = False

    def install(self):
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, _signal, _frame):
        if self.held:
            self.is_waiting = True
        elif self.is_open:
            raise KeyboardInterrupt

    def __enter__(self):
        self.held += 1

    def __exit__(self, *_error):
        self.held -= 1
        if self.held == 0 and self.is_waiting:
            self.is_waiting = False
            if self.is_open:
                raise KeyboardInterrupt


class Wire:
    """The two pipes of the agent. They are closed in programs that a cell starts, and in forks of this process."""

    def __init__(self, interrupts):
        self.interrupts = interrupts
        self.lock = threading.Lock()
        self.input = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, OWN_FDS_FROM)
        self.output = fcntl.fcntl(3, fcntl.F_DUPFD_CLOEXEC, OWN_FDS_FROM)
        self.outputs = [(fd, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OWN_FDS_FROM)) for fd in (1, 2)]
        os.close(3)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.register_at_fork(after_in_child=self.leave)

    def leave(self):
        self.lock = threading.Lock()
        for fd in (self.input, self.output):
            os.close(fd)
        self.input = self.output = None

    @property
    def is_left(self):
        return self.output is None

    def mend(self):
        """Opens 1 and 2 again where a cell has closed them."""
        for fd, own in self.outputs:
            try:
                os.fstat(fd)
            except OSError:
                os.dup2(own, fd)

    def receive(self):
        head = self.take(4)
        body = head and self.take(int.from_bytes(head, "big"))
        return None if body is None else json.loads(body)

    def take(self, count):
        taken = bytearray()
        while len(taken) < count:
            part = os.read(self.input, min(count - len(taken), 1 << 20))
            if not part:
                return None
            taken += part
        return bytes(taken)

    def send(self, body):
        with self.interrupts, self.lock:
            if self.is_left:
                return
            view = memoryview(len(body).to_bytes(4, "big") + body)
            while view:
                view = view[os.write(self.output, view) :]


def encode(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


class Results:
    """What a cell shows, as the agent is told of it."""

    def __init__(self, wire):
        self.wire = wire
        self.run = None
        self.max_bytes = 0

    def publish(self, data):
        result = {}
        for mime, field in FIELDS.items():
            value = data.get(mime)
            if value is None:
                continue
            if isinstance(value, (bytes, bytearray)):
                value = base64.b64encode(value).decode("ascii")
            if isinstance(value, str) and field in ("text", "html", "markdown", "latex"):
                value = self.cut(result, field, value)
            result[field] = value
        body = self.fit(result)
        if body:
            flush()
            self.wire.send(body)

    def cut(self, result, field, value):
        if len(value) <= TEXT_CHARACTERS or field != "text":
            return value
        result["truncated"] = True
        return value[:TEXT_CHARACTERS] + "…"

    def fit(self, result):
        """The message with everything that can be told; what is too large is left out, and a line of stderr says so."""
        sizes = {}
        for field, value in list(result.items()):
            try:
                sizes[field] = len(encode(value))
            except (TypeError, ValueError, RecursionError) as error:
                del result[field]
                note(f"the {field} of this result is no JSON and is left out: {error}")
        while sizes and sum(sizes.values()) > self.max_bytes:
            field = max(sizes, key=sizes.get)
            size = sizes.pop(field)
            del result[field]
            result["truncated"] = True
            note(
                f"the {field} of this result has {size} bytes and is left out: {self.max_bytes} is the most. "
                "Save it to a file and read the file."
            )
        return encode({"kind": "result", "run": self.run, "result": result}) if result else None


def table_of(value):
    """The first rows of a DataFrame."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, getattr(pandas, "DataFrame", ())):
        return None
    try:
        shown = json.loads(value.head(TABLE_ROWS).to_json(orient="split", date_format="iso", default_handler=str))
    except Exception:
        return None
    names = [str(name) if not isinstance(name, list) else "/".join(map(str, name)) for name in shown["columns"]]
    return {"columns": names, "index": shown["index"], "rows": shown["data"], "totalRows": len(value)}


class Formatter(DisplayFormatter):
    def format(self, value, include=None, exclude=None):
        data, metadata = super().format(value, include=include, exclude=exclude)
        table = table_of(value)
        if table is not None:
            data["svc/table"] = table
        if is_figure(value):
            # After its picture: what is drawn has its ticks.
            data.update(chart_part(value))
            forget_figure(value)
        return data, metadata


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, data, _metadata=None):
        self.shell.results.publish(data)

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    def publish(self, data, *_rest, **_more):
        self.shell.results.publish(data)

    def clear_output(self, wait=False):
        pass


class Shell(InteractiveShell):
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    results = None
    fault = None

    def init_display_formatter(self):
        self.display_formatter = Formatter(parent=self)
        self.configurables.append(self.display_formatter)

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


def figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return [] if pyplot is None or helpers is None else [one.canvas.figure for one in helpers.Gcf.get_all_fig_managers()]


def is_figure(value):
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return figure is not None and isinstance(value, figure)


def forget_figure(figure):
    """A figure that was shown is not shown once more at the end of its cell."""
    if figure in figures():
        sys.modules["matplotlib.pyplot"].close(figure)


def chart_part(figure):
    try:
        chart = chart_of(figure)  # noqa: F821 (charts.py)
    except Exception:
        # It may be anything: the picture is there.
        return {}
    return {} if chart is None else {"svc/chart": chart}


def show_figures(*_figures, **_more):
    for figure in figures():
        data, _metadata = shell.display_formatter.format(figure)
        if "image/png" in data:
            shell.results.publish(data)


class PyplotFinder:
    """Adopts pyplot when it is first imported, by whomever."""

    def find_spec(self, name, _path=None, _target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def adopting(module):
            execute(module)
            adopt_pyplot(module)

        spec.loader.exec_module = adopting
        return spec


def adopt_pyplot(pyplot):
    """Figures are results: `show` shows them, and so does the end of a cell."""
    from IPython.core.pylabtools import select_figure_formats

    select_figure_formats(shell, {"png"}, bbox_inches=None)
    pyplot.show = show_figures
    pyplot.switch_backend("agg")
    remember_boxes(pyplot.Axes)  # noqa: F821 (charts.py)
    pyplot.Figure.show = lambda figure, warn=True: show_figures()


def error_of(fault):
    kind, value, lines = fault
    try:
        text = str(value)
    except BaseException:
        text = "the error cannot be printed: its __str__ raises"
    traceback = "\n".join(map(str, lines))
    if len(traceback) > TRACEBACK_CHARACTERS:
        half = TRACEBACK_CHARACTERS // 2
        traceback = traceback[:half] + "\n…\n" + traceback[-half:]
    return {"name": str(getattr(kind, "__name__", kind))[:200], "value": text[:TRACEBACK_CHARACTERS], "traceback": traceback}


def plain_fault(error):
    """An error that IPython has not told: of the frames of this file nothing is said."""
    return (type(error), error, [f"{type(error).__name__}: {error}"])


def run_cell(message):
    shell.fault = None
    if "cwd" in message:
        os.chdir(message["cwd"])
    os.environ.update(message.get("env", {}))
    result = shell.run_cell(message["code"], store_history=True)
    fault = result.error_before_exec or result.error_in_exec
    if fault is not None and (shell.fault is None or shell.fault[1] is not fault):
        shell.fault = plain_fault(fault) if shell.fault is None else shell.fault
    show_figures()


def answer(message, interrupts, flusher, wire):
    shell.results.run, shell.results.max_bytes = message["run"], message["maxResultBytes"]
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
    done = {"kind": "done", "run": message["run"], "executionCount": shell.execution_count - 1}
    if shell.fault is not None:
        done["error"] = error_of(shell.fault)
    wire.send(encode(done))


def make_shell(wire):
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.cache_size = 1000
    made = Shell.instance(config=config)
    made.results = Results(wire)
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
    shell = make_shell(wire)
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
        answer(message, interrupts, flusher, wire)
        # A cell has forked, and its child has come to the end of the cell as well.
        if wire.is_left:
            flush()
            os._exit(0)


main()
