"""Python's clocks, sleeps and asyncio, beside the kernel's clock by a system call."""

import asyncio
import ctypes
import datetime
import os
import platform
import select
import signal
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_CLOCK_GETTIME = {"x86_64": 228, "aarch64": 113}[platform.machine()]
# By how much a reading may differ from the kernel's.
BOUND_NS = 10_000


class Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


def kernel_ns(clock):
    t = Timespec()
    assert LIBC.syscall(SYS_CLOCK_GETTIME, clock, ctypes.byref(t)) == 0
    return t.tv_sec * 1_000_000_000 + t.tv_nsec


def check_clock(clock, read_ns, seconds, slop_ns=0):
    """`read_ns` lies between two readings of the kernel, whenever it is called."""
    end = time.monotonic() + seconds
    last = 0
    while time.monotonic() < end:
        before = kernel_ns(clock)
        now = read_ns()
        after = kernel_ns(clock)
        room = BOUND_NS + slop_ns
        assert before - room <= now <= after + room, (before, now, after)
        if clock == time.CLOCK_MONOTONIC:
            assert now >= last
        last = now


def clocks():
    check_clock(time.CLOCK_MONOTONIC, time.monotonic_ns, 0.03)
    check_clock(time.CLOCK_MONOTONIC, time.perf_counter_ns, 0.01)
    check_clock(time.CLOCK_REALTIME, time.time_ns, 0.02)
    # A double holds this year to a quarter of a microsecond.
    check_clock(time.CLOCK_REALTIME, lambda: int(time.time() * 1e9), 0.01, 1000)
    utc = datetime.timezone.utc
    check_clock(
        time.CLOCK_REALTIME,
        lambda: int(datetime.datetime.now(utc).timestamp() * 1e9),
        0.01,
        2000,
    )
    since_boot = float(open("/proc/uptime").read().split()[0])
    suspended = (kernel_ns(time.CLOCK_BOOTTIME) - kernel_ns(time.CLOCK_MONOTONIC)) / 1e9
    assert abs(time.monotonic() + suspended - since_boot) < 5


def slept(least_s, sleep):
    before = kernel_ns(time.CLOCK_MONOTONIC)
    sleep()
    took = kernel_ns(time.CLOCK_MONOTONIC) - before
    assert least_s * 1e9 - 2 * BOUND_NS <= took < 20e9, (least_s, took)


def sleeps():
    for length in [0.0001, 0.001, 0.003]:
        for _ in range(3):
            slept(length, lambda: time.sleep(length))
    slept(0.002, lambda: select.select([], [], [], 0.002))
    slept(0.003, lambda: threading.Event().wait(0.003))
    lock = threading.Lock()
    lock.acquire()
    slept(0.002, lambda: lock.acquire(timeout=0.002))
    time.sleep(0)
    for wrong in [-1, float("nan")]:
        try:
            time.sleep(wrong)
            raise AssertionError("no error")
        except ValueError:
            pass


def signals():
    """A handler runs during the sleep, which goes on afterwards (PEP 475). While the machine stands still, all that
    come are one: then it sleeps again."""
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    for _ in range(10):
        del seen[:]
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        slept(0.03, lambda: time.sleep(0.03))
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert seen == sorted(seen), seen
        if len(seen) >= 2:
            return
    raise AssertionError(seen)


def forks():
    threads = [threading.Thread(target=time.sleep, args=(0.02,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                check_clock(time.CLOCK_MONOTONIC, time.monotonic_ns, 0.001)
                slept(0.001, lambda: time.sleep(0.001))
                os._exit(0)
            except BaseException as problem:
                print("in a child:", repr(problem), file=sys.stderr, flush=True)
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    for thread in threads:
        thread.join()


async def event_loop():
    loop = asyncio.get_running_loop()
    order = []
    begun = loop.time()
    delays = [0.009, 0.001, 0.005, 0.003, 0.007, 0.001]
    # Each is due from the moment it is asked for, and a pause between two of these calls may
    # bring a shorter delay behind a longer one: the loop's own due times say the order.
    due = [
        loop.call_later(delay, lambda w=which: order.append((w, loop.time() - begun))).when()
        for which, delay in enumerate(delays)
    ]
    before = kernel_ns(time.CLOCK_MONOTONIC)
    await asyncio.gather(*(asyncio.sleep(d) for d in delays))
    assert kernel_ns(time.CLOCK_MONOTONIC) - before >= max(delays) * 1e9 - 2 * BOUND_NS
    await asyncio.sleep(0.002)
    assert [w for w, _ in order] == sorted(range(len(delays)), key=lambda w: due[w])
    for delay, at in zip(delays, due):
        assert delay <= at - begun
    for which, at in order:
        assert at >= delays[which] - 2 * BOUND_NS / 1e9, (delays[which], at)
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.003)
        raise AssertionError("no timeout")
    except asyncio.TimeoutError:
        pass


clocks()
sleeps()
signals()
forks()
asyncio.run(event_loop())
print("all checks passed")
