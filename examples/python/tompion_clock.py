#!/usr/bin/env python3
"""Tompion from Python, through ctypes: the report, the clock, a sleep, a ticker.

Python's own call takes longer than the clock's read saves; what pays here are the sleeps.

    python3 tompion_clock.py [libtompion.so.0]
"""

import ctypes
import os
import sys
import time

HYBRID, BUDGET = 1, 0.1  # TOMPION_SLEEP_POLICY_HYBRID, TOMPION_BUDGET_DEFAULT


class Slept(ctypes.Structure):
    """struct tompion_slept"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("spun_ns", "late_ns", "margin_ns", "limited")]


class Tick(ctypes.Structure):
    """struct tompion_tick"""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("number", "scheduled_ns", "late_ns", "missed", "spun_ns", "limited")
    ]


def load(path="libtompion.so.0"):
    """The library, with the types of what this program calls."""
    # use_errno: constructors tell their errors by it.
    try:
        library = ctypes.CDLL(path, use_errno=True)
    except OSError as error:
        sys.exit(f"{error}: make lib builds it; LD_LIBRARY_PATH or an argument finds it")
    u64, number, share, handle = ctypes.c_uint64, ctypes.c_int, ctypes.c_double, ctypes.c_void_p
    size = ctypes.c_size_t
    for name, result, *arguments in [
        ("tompion_clock_init", number, number),
        ("tompion_clock_report_text", number, ctypes.c_char_p, size),
        ("tompion_now_ns", u64),
        ("tompion_sleeper_new", handle, number, share),
        ("tompion_sleeper_sleep_ns", number, handle, u64, ctypes.POINTER(Slept), size),
        ("tompion_sleeper_free", None, handle),
        ("tompion_ticker_new", handle, u64, number, share),
        ("tompion_ticker_tick", number, handle, ctypes.POINTER(Tick), size),
        ("tompion_ticker_free", None, handle),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
        if result is number:
            function.errcheck = checked
        elif result is handle:
            function.errcheck = made
    return library


def checked(answer, function, _arguments):
    """Negative answers are error numbers."""
    if answer < 0:
        raise OSError(-answer, f"{function.__name__}: {os.strerror(-answer)}")
    return answer


def made(handle, function, _arguments):
    """NULL is an error, and errno tells which."""
    if handle is None:
        error = ctypes.get_errno()
        raise OSError(error, f"{function.__name__}: {os.strerror(error)}")
    return handle


def main():
    tompion = load(*sys.argv[1:2])
    tompion.tompion_clock_init(0)
    text = ctypes.create_string_buffer(2048)
    tompion.tompion_clock_report_text(text, len(text))
    print(text.value.decode())

    # One scale: CLOCK_MONOTONIC, as time.monotonic_ns().
    before, now, after = time.monotonic_ns(), tompion.tompion_now_ns(), time.monotonic_ns()
    print(f"{before} <= {now} <= {after}, give or take the error told above")

    sleeper = tompion.tompion_sleeper_new(HYBRID, BUDGET)
    slept = Slept()
    late = []
    for _ in range(101):
        # Other threads run meanwhile: ctypes releases the interpreter's lock.
        tompion.tompion_sleeper_sleep_ns(sleeper, 1_000_000, slept, ctypes.sizeof(slept))
        late.append(slept.late_ns / 1e3)
    tompion.tompion_sleeper_free(sleeper)
    print(f"sleeps of 1 ms: {sorted(late)[50]:.1f} us late (median)")

    ticker = tompion.tompion_ticker_new(2_000_000, HYBRID, BUDGET)
    tick = Tick()
    missed = 0
    for _ in range(50):
        tompion.tompion_ticker_tick(ticker, tick, ctypes.sizeof(tick))
        missed += tick.missed
    tompion.tompion_ticker_free(ticker)
    print(f"50 ticks of 2 ms: {missed} periods missed")


if __name__ == "__main__":
    main()
