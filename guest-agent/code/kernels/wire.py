"""How a Python kernel speaks with the agent: requests come from fd 0, messages go to fd 3, both `u32be length | JSON`.

What cells print goes to fds 1 and 2 and nowhere else, so no output can be taken for a message.
"""

import fcntl
import json
import os
import signal
import threading

# Cells that close what they find open begin at 3.
OWN_FDS_FROM = 900


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
