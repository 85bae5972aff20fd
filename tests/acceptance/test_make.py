"""What `make run` says and leaves."""

import subprocess

from conftest import ROOT, TOMPION


def output(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_run_says_first_what_takes_how_long():
    said = output("make", "--no-print-directory", "run-said", "ARGS=--quick")
    assert "'tompion check --quick' measures this machine: 75 seconds by default, 20 with" in said
    assert "Building" not in said, "it is built"
    steps = output("make", "--no-print-directory", "-n", "run")
    assert steps.index("75 seconds") < steps.index("cargo") < steps.index("target/release/tompion check")


def test_the_program_is_stripped_and_its_symbols_lie_beside_it():
    def sections(file):
        return output("readelf", "--wide", "--sections", file)

    assert ".symtab" not in sections(TOMPION) and ".gnu_debuglink" in sections(TOMPION)
    apart = TOMPION.with_suffix(".debug")
    assert ".symtab" in sections(apart)
    assert "tompion_report" in output("nm", apart), "names of functions"
    build_ids = {output("readelf", "--notes", file).split("Build ID: ")[-1].split()[0] for file in (TOMPION, apart)}
    assert len(build_ids) == 1
