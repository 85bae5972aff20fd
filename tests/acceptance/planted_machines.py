"""Five machines in virtual time, each with one thing wrong or none. For a reader who is to name it:

    make planted; python tests/acceptance/planted_machines.py DIR

writes a screen and a page of each to DIR.
"""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A guest that is well kept.
WELL = {
    "machine": {"cpu_model": "AMD EPYC", "cpus_online": 2, "memory_bytes": 8 << 30},
    "kernel": {"release": "6.12.0", "preemption": "full", "tick_rate_hz": 1000, "timing_options": []},
    "virtualization": {"hypervisor": "KVM", "machine_monitor": None, "emulated": None, "steal_ms": 120},
    "container": {"kind": None},
    "clock": {"clocksource": "tsc", "clocksources_available": ["tsc"], "tsc_rejected": False, "timer_slack_ns": 1000},
    "synchronisation": {
        "synchronised": True, "offset_ns": 900, "frequency_ppm": -3.1, "estimated_error_ns": 20_000,
        "maximum_error_ns": 400_000, "status": ["PLL"], "leap_second": "none", "tai_offset_s": 37, "tick_us": 10_000,
    },
    "time_keeping": {
        "keepers": [{
            "name": "chrony", "running": True, "keeps": True, "tells_kernel": True, "in_step": True,
            "error_at_most_ns": 250_000, "offset_ns": 900, "stratum": 3,
            "sources": [{"name": "192.0.2.1", "kind": "server", "state": "selected"}],
        }],
        "references": [],
        "distribution": ["debian"],
    },
    "scheduling": {"policy": "other"},
    "cgroup": {"quota_us": None, "period_us": None, "quota_cpus": None},
}


def with_(**parts):
    """The well kept guest but for these parts."""
    environment = copy.deepcopy(WELL)
    for part, keys in parts.items():
        environment[part] |= keys
    return environment


NO_KEEPER = {
    "time_keeping": {"keepers": []},
    "synchronisation": {"synchronised": False, "status": ["UNSYNC"], "maximum_error_ns": 16_000_000_000,
                        "estimated_error_ns": 16_000_000_000, "offset_ns": 0},
}
SLEEP = {"PLANTED_SLEEP_NS": "4000", "PLANTED_SAMPLES": "20000"}
# What is planted, by the part that is to name it: environment variables, and the machine.
MACHINES = {
    "nothing": (None, SLEEP, WELL),
    "clock": ("Clock", SLEEP, with_(**NO_KEEPER)),
    "host": ("Host", SLEEP | {"PLANTED_PAUSE_MS": "400"}, WELL),
    "slack": ("Kernel", SLEEP | {"PLANTED_SLACK_NS": "250000"}, with_(clock={"timer_slack_ns": 250_000})),
    "neighbour": ("Here", SLEEP | {"PLANTED_OTHER": "transcode"}, WELL),
}


def check(program, name, directory, more={}):
    """`tompion check` of one of them, with more that is planted; what it printed."""
    _, plants, environment = MACHINES[name]
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "environment.json"
    file.write_text(json.dumps(environment))
    command = [program, "check", "--seed", "1", "--out", directory / "run"]
    done = subprocess.run(
        command, env=os.environ | plants | more | {"PLANTED_ENVIRONMENT": str(file)}, capture_output=True, text=True,
        timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    for each in MACHINES:
        place = Path(sys.argv[1]) / each
        (place / "screen.txt").write_text(check(ROOT / "dist/planted_time", each, place))
