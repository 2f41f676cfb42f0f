"""Runs a program in a terminal: `terminal.py COLS ROWS COMMAND...`. A line `COLS ROWS` on descriptor 3 resizes it."""
import fcntl, os, pty, select, struct, sys, termios

def resize(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(cols), 0, 0))

cols, rows, command = sys.argv[1], sys.argv[2], sys.argv[3:]
# The child waits until its terminal has a size.
ready, go = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.close(go)
    os.read(ready, 1)
    os.close(3)
    os.execvp(command[0], command)
resize(terminal, cols, rows)
os.close(ready)
os.close(go)
sources = [terminal, 0, 3]
while True:
    for fd in select.select(sources, [], [])[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            data = b""
        if fd == terminal and not data:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if not data:
            sources.remove(fd)
        elif fd == terminal:
            os.write(1, data)
        elif fd == 0:
            os.write(terminal, data)
        else:
            for line in data.decode().splitlines():
                resize(terminal, *line.split())
