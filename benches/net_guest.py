"""Round trips of a guest in `benches/net.py`: the guest's stamps against those of a tap on its host's side, where its
packets are on the wire. What lies between is the hypervisor's, and no stamp of the guest's tells it."""

import contextlib
import os
import subprocess
import time

import net_peers
import net_tap
from net_peers import ROOT, TOMPION

GUEST_ROUND_TRIPS = ROOT / "target/release/examples/guest_round_trips"
KIT = ROOT / ".cache/guest"
DEVICE = "tap0"
OURS = next(peer for peer in net_peers.PEERS if peer.name == "tompion")
BOOT_S, LONGEST_S = 60, 600


def is_up(namespace):
    """Whether QEMU holds the device's other end."""
    command = ["nsenter", f"--net={namespace}", "ip", "-o", "link", "show", "dev", DEVICE]
    return "LOWER_UP" in subprocess.run(command, capture_output=True, text=True).stdout


def until_up(namespace, guest):
    began = time.monotonic()
    while not is_up(namespace):
        if guest.poll() is not None or time.monotonic() - began > BOOT_S:
            return
        time.sleep(0.1)


def figures(text, frames, count):
    """How the guest was run, and a row for each figure."""
    how, _, rows = text.partition("\n")
    found = []
    for name, errors, left_out in OURS.errors(rows, "", frames):
        if len(errors) < count / 2:
            raise RuntimeError(f"{name}: {len(errors)} of {count} probes were seen by the tap, too")
        found.append({"condition": f"guest, {how}", "figure": name, "left_out": left_out} | net_peers.error(errors))
    return found


def errors(count):
    """The errors of a guest's stamps, or why there are none."""
    port, interval_us = net_peers.PORTS["tompion"], 1000 * net_peers.INTERVAL_MS
    command = [GUEST_ROUND_TRIPS, net_peers.ROUND_TRIPS, TOMPION, port, interval_us, count]
    environment = os.environ | {"TOMPION_GUEST": str(KIT)}
    try:
        guest = subprocess.Popen(
            list(map(str, command)), env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return [], str(error)
    try:
        namespace = guest.stdout.readline().strip()
        until_up(namespace, guest)
        with net_tap.Tap(DEVICE, namespace) if namespace else contextlib.nullcontext() as tap:
            text, told = guest.communicate(timeout=LONGEST_S)
        if guest.returncode != 0:
            return [], (told.strip().splitlines() or ["no reason was told"])[-1]
        return figures(text, tap.frames, count), None
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return [], str(error)
    finally:
        guest.kill()
        guest.wait()
