"""The C library: what it exports, programs built on it in every way, known truths."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import ROOT, TOMPION

DIST = ROOT / "dist"
LIB = DIST / "lib"
HEADER = DIST / "include/tompion.h"
EXAMPLES = ROOT / "examples/c"
PROGRAMS = ROOT / "crates/tompion-c/tests/c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C = ["cc", "-std=gnu11", "-O2", "-g", *WARNINGS]
CXX = ["c++", "-std=c++17", "-O2", "-g", *WARNINGS, "-Wold-style-cast"]
ENVIRONMENT = os.environ | {
    "PKG_CONFIG_PATH": str(LIB / "pkgconfig"),
    "LD_LIBRARY_PATH": str(LIB),
}

# Ways to link, each with what it adds to what pkg-config says.
WAYS = {
    "shared": (["--libs"], []),
    "static library": (["--libs"], ["-Wl,-Bstatic"]),
    "static program": (["--static", "--libs"], ["-static"]),
    "sections": (["--libs"], ["-Wl,-Bstatic,--gc-sections", "-ffunction-sections"]),
    "sanitized": (["--libs"], ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
}


def run(*command, check=True, **options):
    options = {"env": ENVIRONMENT, "timeout": 120, "capture_output": True, "text": True} | options
    done = subprocess.run([str(part) for part in command], **options)
    if check:
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def pkg_config(*arguments):
    return run("pkg-config", *arguments, "tompion").stdout.split()


def build(source, to, way="shared", compiler=None, extra=()):
    """Builds one source file with the flags of pkg-config; the program."""
    asked, added = WAYS[way]
    libraries = pkg_config(*asked)
    before = [flag for flag in added if "Bstatic" in flag]
    after = ["-Wl,-Bdynamic"] if before else []
    run(
        *(compiler or (CXX if source.suffix == ".cpp" else C)),
        *(flag for flag in added if flag not in before),
        *("-o", to, source, *pkg_config("--cflags"), *extra),
        *(*before, *libraries, *after, "-pthread"),
    )
    return to


def functions():
    """Those that the header declares."""
    code = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    return set(re.findall(r"\b(tompion_\w+)\(", code))


def test_the_shared_library_exports_the_header_and_nothing_else():
    exported = {}
    for line in run("readelf", "-W", "--dyn-syms", LIB / "libtompion.so").stdout.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] != "UND":
            name, _, version = fields[7].partition("@@")
            exported[name] = version
    # The version itself is a symbol too.
    assert exported.pop("TOMPION_0.1") == ""
    assert exported == dict.fromkeys(functions(), "TOMPION_0.1")
    assert len(exported) > 20


def test_the_shared_library_is_named_hardened_and_needs_the_c_library_alone():
    told = run("readelf", "-Wdl", LIB / "libtompion.so").stdout
    assert "soname: [libtompion.so.0]" in told
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", told)
    assert all(re.match(r"libc\.so|ld-linux", name) for name in needed), needed
    assert "GNU_RELRO" in told and "BIND_NOW" in told and "TEXTREL" not in told
    assert not re.search(r"GNU_STACK.*E ", told)
    version = run(TOMPION, "--version").stdout.split()[1]
    links = {p.name: p.readlink().name for p in LIB.glob("libtompion.so*") if p.is_symlink()}
    shared = f"libtompion.so.{version}"
    assert links == {"libtompion.so": "libtompion.so.0", "libtompion.so.0": shared}
    assert pkg_config("--modversion") == [version]


def test_the_static_library_exports_the_header_and_nothing_else():
    told = run("nm", "-g", "--defined-only", LIB / "libtompion.a").stdout
    assert set(re.findall(r" [A-Z] (\S+)", told)) == functions()


@pytest.mark.parametrize(
    "compiler",
    [
        ["cc", "-std=c99", "-Wstrict-prototypes"],
        ["cc", "-std=c2x", "-Wstrict-prototypes"],
        ["c++", "-std=c++17", "-Wold-style-cast"],
        ["c++", "-std=c++20", "-Wold-style-cast"],
    ],
    ids=lambda c: c[1],
)
def test_the_headers_stand_alone_and_warn_of_nothing(compiler, tmp_path):
    is_cxx = compiler[0] == "c++"
    source = tmp_path / ("alone.cpp" if is_cxx else "alone.c")
    source.write_text("#include <tompion.h>\n" + "#include <tompion.hpp>\n" * is_cxx)
    strict = [*compiler, *WARNINGS, "-Wconversion"]
    run(*strict, "-c", "-o", "/dev/null", source, *pkg_config("--cflags"))


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return request.param


def test_the_examples_run(way, tmp_path):
    for example in ("clock.c", "late.cpp"):
        done = run(build(EXAMPLES / example, tmp_path / "example", way))
        assert done.stdout.startswith("clock: ") and done.stderr == ""
        assert "us late" in done.stdout
    pace = build(EXAMPLES / "pace.c", tmp_path / "pace", way)
    data = os.urandom(200_000)
    start = time.monotonic()
    done = run(pace, "1e6", input=data, text=False)
    took_ms = (time.monotonic() - start) * 1e3
    assert done.stdout == data
    told = re.match(rb"200000 bytes in (\d+) periods of 1 ms, (\d+) missed, ", done.stderr)
    periods, missed = map(int, told.groups())
    # 1 MB/s; the last period may have come late.
    assert missed < periods and 200 <= periods <= took_ms, (done.stderr, took_ms)
    refused = run(pace, "fast", check=False)
    assert (refused.returncode, refused.stderr[:6]) == (1, "usage:")


def test_the_library_agrees_with_the_kernel(way, tmp_path):
    tries = []
    program = build(PROGRAMS / "truth.c", tmp_path / "truth", way)
    # A shared machine may disturb one try: the budget's and the busy caller's parts
    # need the CPU. What is wrong is wrong each time.
    for _ in range(3):
        tries.append(run(program, check=False))
        if tries[-1].returncode == 0:
            assert tries[-1].stdout.count("missed") == 8
            return
    pytest.fail("\n".join(t.stdout + t.stderr for t in tries))


@pytest.mark.parametrize("program", ["errors", "life"])
def test_arguments_signals_threads_and_children(program, way, tmp_path):
    run(build(PROGRAMS / f"{program}.c", tmp_path / program, way))


def test_a_stopped_process_knows_what_it_missed(tmp_path):
    period_ns, pause = 20_000_000, 0.5
    program = build(PROGRAMS / "ticks.c", tmp_path / "ticks")
    tries = []
    for _ in range(4):
        with subprocess.Popen(
            [program, str(period_ns), "20"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        ) as child:
            lines = [child.stdout.readline() for _ in range(5)]
            child.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            stopped = time.monotonic_ns()
            time.sleep(pause)
            going = time.monotonic_ns()
            child.send_signal(signal.SIGCONT)
            lines += child.stdout.readlines()
            assert child.wait(timeout=30) == 0
        ticks = [tuple(map(int, line.split())) for line in lines]
        assert len(ticks) == 20
        start = ticks[0][1]
        for (number, due, late, missed), after in zip(ticks, [*ticks[1:], None]):
            assert due == start + number * period_ns, "the grid moved"
            assert missed == late // period_ns
            assert after is None or after[0] == number + missed + 1, "a period is not accounted for"
        # The points of the grid within the pause: the first is the tick that comes late,
        # the others are missed.
        within = (going - start) // period_ns - (stopped - start) // period_ns
        missed = sum(tick[3] for tick in ticks)
        tries.append(f"{missed} missed, {within} points within the pause")
        assert missed >= within - 1, tries
        if missed == within - 1 and within >= 24:
            return
    pytest.fail(f"more was missed than the pause, each time: {tries}")


def test_it_links_beside_another_library_of_rust(tmp_path):
    """One with a standard library of its own, which unwinds and allocates too."""
    (tmp_path / "other.rs").write_text(
        "#[unsafe(no_mangle)] pub extern \"C\" fn other(n: u32) -> u32 {\n"
        "    std::panic::set_hook(Box::new(|_| {}));\n"
        "    std::panic::catch_unwind(|| {\n"
        "        let text = std::thread::spawn(move || format!(\"{n}\")).join().unwrap();\n"
        "        if n > 1 { panic!(\"{text}\") } else { 1 }\n"
        "    }).unwrap_or(42)\n}\n"
    )
    other = tmp_path / "libother.a"
    run(
        *("rustc", "--edition=2024", "--crate-type=staticlib", "-O"),
        *("-o", other, tmp_path / "other.rs"),
    )
    (tmp_path / "both.c").write_text(
        "#include <tompion.h>\n#include <stdio.h>\nunsigned other(unsigned);\n"
        "int main(void) { tompion_clock_init(0); tompion_sleep_ns(1000);\n"
        '  printf("%u %u %d\\n", other(1), other(2), tompion_now_ns() > 0); return 0; }\n'
    )
    for way in ("static library", "static program"):
        both = build(tmp_path / "both.c", tmp_path / "both", way, extra=[other])
        assert run(both).stdout == "1 42 1\n"


def test_the_clock_is_one_of_the_standard_library(tmp_path):
    (tmp_path / "trivial.cpp").write_text(
        "#include <tompion.hpp>\n#include <type_traits>\n"
        "static_assert(std::chrono::is_clock_v<tompion::clock>);\n"
        "static_assert(noexcept(tompion::clock::now()));\n"
        "static_assert(!std::is_copy_constructible_v<tompion::sleeper>);\n"
        "static_assert(std::is_nothrow_move_constructible_v<tompion::ticker>);\n"
        "int main() {\n"
        "  const auto before = std::chrono::steady_clock::now().time_since_epoch();\n"
        "  const auto now = tompion::clock::now_ordered().time_since_epoch();\n"
        "  const auto after = std::chrono::steady_clock::now().time_since_epoch();\n"
        "  const std::chrono::microseconds bound(20);\n"
        "  try { tompion::ticker never(std::chrono::nanoseconds(-1)); return 1; }\n"
        "  catch (const std::system_error &e) {\n"
        "    if (e.code() != std::errc::invalid_argument) return 2;\n  }\n"
        "  return now + bound < before || now > after + bound ? 3 : 0;\n}\n"
    )
    compiler = ["c++", "-std=c++20", "-O2", *WARNINGS]
    run(build(tmp_path / "trivial.cpp", tmp_path / "trivial", compiler=compiler))


def test_the_python_example_runs():
    done = run(sys.executable, ROOT / "examples/python/tompion_clock.py")
    before, now, after = map(int, re.search(r"(\d+) <= (\d+) <= (\d+)", done.stdout).groups())
    bound_ns = float(re.search(r"at most (\d+\.\d+) us", done.stdout)[1]) * 1e3
    assert before - bound_ns <= now <= after + bound_ns
    assert re.search(r"50 ticks of 2 ms: \d+ periods missed", done.stdout)
    missing = run(sys.executable, ROOT / "examples/python/tompion_clock.py", "no.so", check=False)
    assert missing.returncode == 1


def test_the_examples_build_with_cmake(tmp_path):
    run("cmake", "-S", EXAMPLES, "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "clock").stdout.startswith("clock: ")


def test_an_installed_library_serves_without_the_source_tree(tmp_path):
    stage, prefix = tmp_path / "stage", "/opt/tompion"
    done = run("make", "install", f"PREFIX={prefix}", f"DESTDIR={stage}", cwd=ROOT)
    assert "cargo" not in done.stdout, "installing builds nothing"
    installed = stage / prefix[1:]
    assert run(installed / "bin/tompion", "--version").stdout.startswith("tompion ")
    assert f"prefix={prefix}\n" in (installed / "lib/pkgconfig/tompion.pc").read_text()
    # As installed there for real: pkg-config puts the stage before every folder.
    environment = ENVIRONMENT | {
        "PKG_CONFIG_PATH": str(installed / "lib/pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
        "LD_LIBRARY_PATH": str(installed / "lib"),
    }
    flags = run("pkg-config", "--cflags", "--libs", "tompion", env=environment).stdout.split()
    assert f"-I{stage}{prefix}/include" in flags
    program = tmp_path / "clock"
    run(*C, "-o", program, EXAMPLES / "clock.c", *flags, env=environment)
    assert run(program, env=environment).stdout.startswith("clock: ")
    assert str(stage) in run("ldd", program, env=environment).stdout
    preload = ROOT / "target/release/libtompion_preload.so"
    assert (installed / "lib/libtompion_preload.so").exists() == preload.exists()


def test_installing_before_building_says_what_to_do(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "0.1.0"\n')
    done = run("make", "install", f"DESTDIR={tmp_path}/stage", cwd=tmp_path, check=False)
    assert done.returncode != 0 and "run make build lib first" in done.stdout
    assert not (tmp_path / "stage").exists()
