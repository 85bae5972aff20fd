//! What programs need, and the preload library itself.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Bench, READS_CLOCK, find, run};
use tompion_launch::{Library, imports};

#[test]
fn sanitizers_are_recognised() {
    let bench = Bench::new();
    bench.cc(
        "libasan.so.8",
        "int asan;",
        &["-shared", "-Wl,-soname,libasan.so.8"],
    );
    bench.cc(
        "libubsan.so.1",
        "int ubsan;",
        &["-shared", "-Wl,-soname,libubsan.so.1"],
    );
    let source = "extern int asan, ubsan; int main(void) { return asan + ubsan; }";
    let [asan, ubsan] = ["libasan.so.8", "libubsan.so.1"].map(|n| bench.at(n));
    let both = [asan.to_str().unwrap(), ubsan.to_str().unwrap()];
    let program = find(&bench.cc("checked", source, &both)).unwrap();
    let sanitizers: Vec<_> = program.sanitizers().collect();
    assert_eq!(sanitizers, [OsStr::new("libasan.so.8")]);
}

#[test]
fn libraries_are_found_where_the_loader_would_find_them() {
    let bench = Bench::new();
    for directory in ["a", "b"] {
        fs::create_dir(bench.at(directory)).unwrap();
    }
    // The program needs a/one by $ORIGIN, which needs b/two by its own list.
    let sleeps = "#include <unistd.h>\nint two(void) { return usleep(1); }";
    bench.cc("b/libtwo.so", sleeps, &["-shared", "-fPIC"]);
    let reads = "#include <sys/time.h>\nint two(void); int one(void) { return two() + gettimeofday(0, 0); }";
    let (a, b) = (bench.at("a"), bench.at("b"));
    let from_b = format!("-L{}", b.display());
    let origin = "-Wl,-rpath,$ORIGIN/../b";
    bench.cc(
        "a/libone.so",
        reads,
        &["-shared", "-fPIC", &from_b, "-ltwo", origin],
    );
    let from_a = format!("-L{}", a.display());
    let later = format!("-Wl,-rpath-link,{}", b.display());
    for tags in ["--enable-new-dtags", "--disable-new-dtags"] {
        let options = [
            &from_a,
            "-lone",
            &later,
            "-Wl,-rpath,$ORIGIN/a",
            &format!("-Wl,{tags}"),
        ];
        let file = bench.cc(
            "program",
            "int one(void); int main(void) { return one(); }",
            &options,
        );
        run(Command::new("ldd").arg(&file));
        let found = imports(&find(&file).unwrap());
        let names = |function| -> Vec<_> {
            found
                .importers(function)
                .filter_map(Path::file_name)
                .collect()
        };
        assert_eq!(names("gettimeofday"), ["libone.so"], "{found:?}");
        assert_eq!(names("usleep"), ["libtwo.so"], "{found:?}");
        assert!(found.unknown.is_empty(), "{found:?}");
    }
    fs::remove_file(bench.at("b/libtwo.so")).unwrap();
    let found = imports(&find(&bench.at("program")).unwrap());
    assert_eq!(found.unknown, [OsStr::new("libtwo.so")]);
}

#[test]
fn a_library_is_checked_before_it_is_used() {
    let bench = Bench::new();
    let options = ["-shared", "-fPIC", "-Wl,-soname,libtompion_preload.so"];
    let library = bench.cc("lib.so", "int x;", &options);
    assert_eq!(Library::at(&library).unwrap().file(), library);
    for (name, separator) in [
        ("a b", "a space"),
        ("a:b", "a colon"),
        ("a$b", "a dollar sign"),
    ] {
        let file = bench.at(name);
        fs::copy(&library, &file).unwrap();
        let message = Library::at(&file).unwrap_err().to_string();
        assert!(message.contains(separator), "{message}");
    }
    let program = bench.cc("program", READS_CLOCK, &[]);
    for (file, want) in [
        (program, "a program, not a shared library"),
        (
            bench.changed("wide", &library, |b| b[4] = 1),
            "built for 32-bit",
        ),
        (bench.at("absent.so"), "No such file"),
        (bench.script("empty.so", b""), "not a shared library"),
    ] {
        let message = Library::at(&file).unwrap_err().to_string();
        assert!(message.contains(want), "{message}");
    }
}
