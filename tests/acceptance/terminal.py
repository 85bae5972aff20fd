"""A program on a terminal of its own, and what its screen shows.

As a program: draws a screen of `tompion watch` as SVG, for the documentation:
terminal.py OUT.svg SECONDS KEYS COMMAND...
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from xml.sax.saxutils import escape

import pyte

from conftest import TOMPION


def in_terminal(columns, *arguments, rows=24, term="xterm", status=0):
    """What the program writes to a terminal of this kind and size."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execve(TOMPION, ["tompion", *map(str, arguments)], os.environ | {"TERM": term})
    written = b""
    while True:
        try:
            some = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not some:
            break
        written += some
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status, written.decode()
    return written.decode()


class Terminal:
    """Runs a command on a pseudo-terminal; `screen` is what a user would see."""

    def __init__(self, command, columns=80, rows=24, environment=None, cwd=None):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.master, self.slave = pty.openpty()
        self.set_size(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.raw = b""
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=cwd,
            env={k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            | {"TERM": "xterm-256color"}
            | (environment or {}),
            start_new_session=True,
            # Its controlling terminal, so that it is hung up on as by ssh.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def set_size(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        """As a user does with a window: the program is told by a signal."""
        self.screen.resize(rows, columns)
        self.screen.reset()
        self.set_size(columns, rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in (self.master, self.slave):
            if end is not None:
                os.close(end)

    def read(self, seconds=0.1):
        """Takes what is written within that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.raw += data
            self.stream.feed(data)

    def text(self):
        return "\n".join(self.screen.display)

    def until(self, wanted, seconds=60):
        """Waits until the screen satisfies `wanted`, a text or a function of it."""
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        end = time.monotonic() + seconds
        while not is_there(self.text()):
            assert time.monotonic() < end, f"never shown: {wanted}\n{self.text()}"
            assert self.process.poll() is None, f"ended: {wanted}\n{self.text()}"
            self.read()
        return self.text()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, seconds=60):
        """Waits for the end; returns the exit status."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"does not end\n{self.text()}"
            self.read()
        self.read(0.3)
        return self.process.returncode

    def is_restored(self):
        """Whether line editing and echo are as before, the first screen is shown, and
        the cursor is visible."""
        same = termios.tcgetattr(self.slave) == self.before
        left = self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h")
        shown = self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")
        return same and left and shown


COLORS = {
    "default": "#d8dee9", "cyan": "#56c7d8", "brown": "#e5c07b", "yellow": "#e5c07b",
    "red": "#ff6b6b", "brightred": "#ff6b6b", "brightblack": "#7a8494", "black": "#7a8494",
}  # fmt: skip


def svg(screen):
    """The screen as it stands, a cell of 9 by 18."""
    width, height = 9 * screen.columns + 20, 18 * screen.lines + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="DejaVu Sans Mono, Menlo, Consolas, '
        'monospace" font-size="15">',
        f'<rect width="{width}" height="{height}" rx="6" fill="#20242c"/>',
    ]
    for y in range(screen.lines):
        row = screen.buffer[y]
        x = 0
        while x < screen.columns:
            cell = row[x]
            run = x + 1
            same = lambda c: (c.fg, c.bold) == (cell.fg, cell.bold)  # noqa: E731
            while run < screen.columns and same(row[run]):
                run += 1
            text = "".join(row[i].data for i in range(x, run))
            if text.strip():
                color = COLORS.get(cell.fg, f"#{cell.fg}")
                weight = ' font-weight="bold"' if cell.bold else ""
                out.append(
                    f'<text x="{10 + 9 * x}" y="{24 + 18 * y}" fill="{color}"{weight} '
                    f'textLength="{9 * (run - x)}" xml:space="preserve">{escape(text)}</text>'
                )
            x = run
    return "\n".join([*out, "</svg>\n"])


if __name__ == "__main__":
    out, seconds, keys, *command = sys.argv[1:]
    with Terminal(command, columns=100, rows=32) as shown:
        shown.read(float(seconds) / 2)
        for key in keys:
            shown.press(key)
            shown.read(1)
        shown.read(float(seconds) / 2)
        with open(out, "w") as file:
            file.write(svg(shown.screen))
        shown.signal(signal.SIGTERM)
        shown.end()
