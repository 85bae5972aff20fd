"""Clients that `tompion peer` does not know, as many as are wanted, in one thread: whoever is
turned away comes back at once.

    strangers.py silent|half-open|flooding PORT COUNT

`silent` connects and says nothing, `half-open` says half of a request, `flooding` sends without
end. Says how many are connected, once they all have been, and goes on until it is killed.
"""

import os
import resource
import selectors
import socket
import sys

kind, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
least = count + 64
resource.setrlimit(resource.RLIMIT_NOFILE, (least, max(least, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
garbage = os.urandom(1 << 16)
waiting = selectors.DefaultSelector()
came = 0


def come():
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    waiting.register(one, selectors.EVENT_WRITE, "connecting")


for _ in range(count):
    come()
while True:
    for key, _ in waiting.select():
        one = key.fileobj
        try:
            if key.data == "connecting":
                if error := one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise OSError(error, "connecting")
                came += 1
                if came == count:
                    print(f"{count} strangers", flush=True)
                if kind == "half-open":
                    one.send(b"tompion 2 downl")
                ask_for = selectors.EVENT_WRITE if kind == "flooding" else selectors.EVENT_READ
                waiting.modify(one, ask_for, "connected")
            elif kind == "flooding":
                one.send(garbage)
            elif not one.recv(4096):
                raise OSError("turned away")
        except BlockingIOError:
            pass
        except OSError:
            waiting.unregister(one)
            one.close()
            come()
