//! Which programs a preload library reaches.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::common::{Bench, READS_CLOCK, find, run};
use tompion_launch::{Error, Unreachable, imports};

fn why(file: &Path) -> Unreachable {
    match find(file) {
        Err(Error::Unreachable { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let at = bytes.windows(old.len()).position(|w| w == old).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new);
}

#[test]
fn dynamic_programs_are_reached() {
    let bench = Bench::new();
    for (name, options) in [("pie", &["-pie"][..]), ("fixed", &["-no-pie"])] {
        let file = bench.cc(name, READS_CLOCK, options);
        let program = find(&file).unwrap();
        assert_eq!(program.file(), file);
        assert!(program.steps().is_empty());
        assert_eq!(program.sanitizers().count(), 0);
        let found = imports(&program);
        let importers: Vec<_> = found.importers("clock_gettime").collect();
        assert_eq!(importers, [fs::canonicalize(&file).unwrap()]);
        assert_eq!(found.importers("nanosleep").count(), 0);
        assert!(found.unknown.is_empty(), "{found:?}");
        assert!(
            found.loaded.iter().any(|i| i.file.ends_with("libc.so.6")),
            "{found:?}"
        );
    }
}

#[test]
fn a_program_without_sections_is_reached_all_the_same() {
    let bench = Bench::new();
    let file = bench.cc("whole", READS_CLOCK, &[]);
    // No section header table: e_shoff, e_shnum, e_shstrndx.
    let bare = bench.changed("bare", &file, |b| {
        b[40..48].fill(0);
        b[60..64].fill(0);
    });
    let found = imports(&find(&bare).unwrap());
    let bare = fs::canonicalize(bare).unwrap();
    assert_eq!(found.unknown, [bare.as_os_str()]);
    assert!(
        found.loaded.iter().any(|i| i.file.ends_with("libc.so.6")),
        "{found:?}"
    );
}

#[test]
fn static_programs_are_not_reached() {
    let bench = Bench::new();
    for (name, option) in [("static", "-static"), ("static-pie", "-static-pie")] {
        let file = bench.cc(name, READS_CLOCK, &[option]);
        assert_eq!(why(&file), Unreachable::Static);
        let message = find(&file).unwrap_err().to_string();
        assert!(
            message.contains("statically linked: it asks the kernel itself"),
            "{message}"
        );
        assert!(message.starts_with(file.to_str().unwrap()), "{message}");
    }
}

#[test]
fn programs_for_other_machines_are_not_reached() {
    let bench = Bench::new();
    let file = bench.cc("native", READS_CLOCK, &[]);
    let built_for = |change: fn(&mut Vec<u8>)| match why(&bench.changed("other", &file, change)) {
        Unreachable::Architecture { built_for, .. } => built_for,
        other => panic!("{other:?}"),
    };
    assert!(built_for(|b| b[4] = 1).starts_with("32-bit "));
    assert_eq!(
        built_for(|b| b[18..20].copy_from_slice(&[243, 0])),
        "64-bit RISC-V"
    );
    assert_eq!(
        built_for(|b| b[18..20].copy_from_slice(&[3, 0])),
        "64-bit x86"
    );
    assert!(built_for(|b| b[18..20].copy_from_slice(&[0xfe, 0xca])).contains("51966"));
}

#[test]
fn go_programs_are_not_reached() {
    let bench = Bench::new();
    let file = bench.cc("plain", READS_CLOCK, &[]);
    let text = bench.at("note");
    fs::write(&text, "some bytes").unwrap();
    for section in [".note.go.buildid", ".go.buildinfo"] {
        let out = bench.at("go");
        let add = format!("{section}={}", text.display());
        run(Command::new("objcopy")
            .args(["--add-section", &add])
            .args([&file, &out]));
        assert_eq!(why(&out), Unreachable::Go);
    }
    // The note alone, as in a file that lost its sections.
    let noted = bench.changed("noted", &file, |b| {
        replace(b, b"GNU\0", b"Go\0\0");
        // The name's length, with its end.
        let at = b.windows(4).position(|w| w == b"Go\0\0").unwrap();
        b[at - 12] = 3;
        b[40..48].fill(0);
        b[60..64].fill(0);
    });
    assert_eq!(why(&noted), Unreachable::Go);
}

#[test]
fn programs_of_another_c_library_are_not_reached() {
    let bench = Bench::new();
    let loader = "/lib/ld-musl-x86_64.so.1";
    let link = format!("-Wl,--dynamic-linker={loader}");
    let file = bench.cc("musl", READS_CLOCK, &[&link]);
    assert_eq!(why(&file), Unreachable::OtherLoader(loader.into()));
}

#[test]
fn the_loader_itself_is_told_apart_from_static_programs() {
    let bench = Bench::new();
    let file = bench.cc("plain", READS_CLOCK, &[]);
    let bytes = fs::read(&file).unwrap();
    let start = bytes
        .windows(4)
        .position(|w| w == b"/lib" || w == b"/ld-")
        .unwrap();
    let end = bytes[start..].iter().position(|b| *b == 0).unwrap();
    let loader = std::str::from_utf8(&bytes[start..start + end]).unwrap();
    assert_eq!(why(Path::new(loader)), Unreachable::Loader);
}

#[test]
fn what_is_no_program_is_told() {
    let bench = Bench::new();
    let junk = bench.script("junk", b"\x01\x02\0\x03");
    assert_eq!(why(&junk), Unreachable::NotAProgram);
    let cut = bench.script("cut", b"\x7fELF");
    assert_eq!(why(&cut), Unreachable::NotAProgram);
    let file = bench.cc("whole", READS_CLOCK, &[]);
    // Nothing of any length or damage may do worse than an error.
    let whole = fs::read(&file).unwrap();
    for length in (0..whole.len()).step_by(97) {
        let _ = find(&bench.script("part", &whole[..length]));
    }
    for at in 0..1000.min(whole.len()) {
        let _ = find(&bench.changed("damaged", &file, |b| b[at] = !b[at])).map(|p| imports(&p));
    }
}

#[test]
fn scripts_lead_to_their_interpreters() {
    let bench = Bench::new();
    let target = bench.cc("target", READS_CLOCK, &[]);
    let fixed = bench.cc("fixed", READS_CLOCK, &["-static"]);
    let line = |text: String| bench.script("script", format!("{text}\nexit\n").as_bytes());
    let shown = |p: &Path| p.display().to_string();

    let script = line(format!("#! {} -x  y", shown(&target)));
    let program = find(&script).unwrap();
    assert_eq!((program.command(), program.file()), (&*script, &*target));
    assert_eq!(program.steps()[0].line, format!("{} -x  y", shown(&target)));

    let env = format!("#!/usr/bin/env -S A=1 {} -u", shown(&target));
    assert_eq!(find(&line(env)).unwrap().file(), target);
    let sh = find(&line("#!/usr/bin/env sh".into())).unwrap();
    assert!(sh.file().ends_with("sh"), "{sh:?}");
    // execvp gives a text without such a line to the shell.
    assert_eq!(
        find(&line("true".into())).unwrap().file(),
        Path::new("/bin/sh")
    );

    let outer = bench.script("outer", format!("#!{}\n", shown(&script)).as_bytes());
    line(format!("#!{}", shown(&target)));
    let program = find(&outer).unwrap();
    assert_eq!((program.file(), program.steps().len()), (&*target, 2));

    match find(&line(format!("#!{}", shown(&fixed)))).unwrap_err() {
        Error::Unreachable { via, why, .. } => {
            assert_eq!((via, why), (Some(fixed), Unreachable::Static));
        }
        other => panic!("{other:?}"),
    }
    let itself = shown(&bench.at("script"));
    for (text, want) in [
        (format!("#!{itself}"), "without end"),
        ("#!".into(), "names no interpreter"),
        ("#!/bin/sh\r".into(), "carriage return"),
        (format!("#!/{}", "x".repeat(300)), "longer than"),
        ("#!/usr/bin/env".into(), "no program"),
        ("#!/usr/bin/env -S -i sh".into(), "clear the environment"),
        ("#!/nonexistent/sh".into(), "no such file"),
        (
            "#!/usr/bin/env no-such-interpreter".into(),
            "not found in PATH",
        ),
        ("#!/tmp".into(), "is a directory"),
    ] {
        let message = find(&line(text.clone())).unwrap_err().to_string();
        assert!(message.contains(want), "{text}: {message}");
    }
}

/// As root alone a test may give files away.
#[test]
fn programs_that_get_other_rights_are_not_reached() {
    let bench = Bench::new();
    let file = bench.cc("plain", READS_CLOCK, &[]);
    let mode = |bits: u32| fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
    // One's own set-user-ID program gains nothing.
    mode(0o6755);
    find(&file).unwrap();
    if chown(&file, Some(65534), Some(65534)).is_err() {
        eprintln!("the rest is skipped: not root");
        return;
    }
    mode(0o4755);
    assert_eq!(why(&file), Unreachable::Secure("set-user-ID"));
    mode(0o2755);
    assert_eq!(why(&file), Unreachable::Secure("set-group-ID"));
    // Not executable by the group: this bit means locking.
    mode(0o2745);
    find(&file).unwrap();
}
