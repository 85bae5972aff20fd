//! The guest's bad cases that need no boot: other programs stand in for QEMU.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{FrameError, Guest, GuestError, Kit, initramfs};

/// A kit whose parts are there but empty of meaning.
fn fake_kit(dir: &Path) -> Kit {
    fs::create_dir_all(dir.join("kernel/modules")).unwrap();
    fs::create_dir_all(dir.join("bin")).unwrap();
    for (name, content) in [
        ("kernel/vmlinuz", "kernel"),
        ("kernel/package", "linux-image-x 6.1.0-1\nsums"),
        ("kernel/modules/order", "second\nfirst\n"),
        ("kernel/modules/first.ko", "1"),
        ("kernel/modules/second.ko", "2"),
        ("bin/tompion-guest-init", "init"),
        ("bin/payload", "program"),
    ] {
        fs::write(dir.join(name), content).unwrap();
    }
    Kit::open(dir).unwrap()
}

/// A guest that could run, but for its QEMU.
fn guest(kit: &Kit) -> Guest {
    Guest::new(kit)
        .payload(kit.program("payload").unwrap(), ["one", "two"])
        .timeout(Duration::from_secs(20))
}

#[test]
fn kit_names_what_is_missing_and_how_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    assert_eq!(kit.kernel_name(), "linux-image-x 6.1.0-1");
    for part in [
        "kernel/modules/first.ko",
        "kernel/vmlinuz",
        "kernel/package",
    ] {
        let path = dir.path().join(part);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let error = Kit::open(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.contains("make guest"),
            "{error}"
        );
        fs::write(&path, content).unwrap();
    }
    let error = kit.program("absent").unwrap_err().to_string();
    assert!(error.contains("bin/absent"), "{error}");
}

#[test]
fn missing_qemu_says_how_to_install_it() {
    let dir = tempfile::tempdir().unwrap();
    let error = guest(&fake_kit(dir.path()))
        .qemu("no-such-qemu")
        .run()
        .unwrap_err();
    assert!(matches!(error, GuestError::QemuMissing { .. }));
    let text = error.to_string();
    assert!(text.contains("no-such-qemu") && text.contains("apt-get install"));
}

#[test]
fn qemu_that_fails_or_gives_nothing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    // Each takes any arguments: `cat` complains about them on standard error.
    let run = |program: &str| guest(&kit).qemu(program).run().unwrap_err();
    let GuestError::QemuFailed { status, message } = run("cat") else {
        panic!("cat is no QEMU");
    };
    assert_eq!(status.code(), Some(1));
    assert!(message.contains("cat:"), "{message}");
    assert!(matches!(
        run("true"),
        GuestError::NoResult {
            problem: FrameError::Missing,
            ..
        }
    ));
    // Repeats its arguments, as a console would, and ends well.
    let text = run("echo").to_string();
    assert!(
        text.contains("without writing a result; the end of its console"),
        "{text}"
    );
    assert!(text.contains("  | ") && text.contains("console=ttyS0 quiet panic=-1"));
}

#[test]
fn qemu_that_never_ends_is_killed_at_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let endless = dir.path().join("endless");
    // Written by another process: were it open for writing here, a child forked
    // meanwhile by another test would hold it open, and it could not be started.
    let script = r#"printf '#!/bin/sh\nwhile :; do echo "$@"; done\n' >"$0"; chmod +x "$0""#;
    let mut shell = Command::new("sh");
    assert!(
        shell
            .args(["-c", script])
            .arg(&endless)
            .status()
            .unwrap()
            .success()
    );
    let start = Instant::now();
    // It prints all the time: a flood of the console is survived, too.
    let error = guest(&fake_kit(dir.path()))
        .qemu(endless)
        .timeout(Duration::from_secs(1))
        .run()
        .unwrap_err();
    assert!(start.elapsed() >= Duration::from_secs(1));
    let GuestError::Timeout { console, .. } = &error else {
        panic!("{error}");
    };
    assert!(console.contains("-no-reboot"));
    assert!(console.len() <= 1 << 20);
    assert!(error.to_string().lines().count() <= 16);
}

#[test]
fn impossible_guests_are_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let payload = dir.path().join("bin/payload");
    let cases = [
        (guest(&kit).cpus(0), "0 CPUs"),
        (guest(&kit).memory_mb(64), "at least 128"),
        (guest(&kit).result_mb(0), "result_mb"),
        (Guest::new(&kit), "no command"),
        (
            guest(&kit).command(["/bin/sh"]),
            "/bin/sh is not one of its files",
        ),
        (guest(&kit).file("relative", &payload), "absolute"),
        (
            guest(&kit).file("/a/../b", &payload),
            "not a path of a file",
        ),
        (guest(&kit).file("/init", &payload), "taken"),
        (guest(&kit).file("/tompion/command", &payload), "taken"),
        (guest(&kit).file("/proc/x", &payload), "mounted over it"),
        (
            guest(&kit).file("/x", "/no/such/file"),
            "read /no/such/file",
        ),
        (guest(&kit).command(["/bin/payload", "a\0b"]), "NUL"),
    ];
    for (guest, expected) in cases {
        let error = guest.qemu("true").run().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn initramfs_holds_everything_once_and_parents_first() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let guest = guest(&kit).file("/bin/more", dir.path().join("kernel/package"));
    let archive = initramfs::build(&guest).unwrap();
    let mut rest = archive.as_slice();
    let mut seen = Vec::new();
    loop {
        let mut reader = cpio::NewcReader::new(rest).unwrap();
        if reader.entry().is_trailer() {
            break;
        }
        let mut content = String::new();
        std::io::Read::read_to_string(&mut reader, &mut content).unwrap();
        let entry = reader.entry();
        seen.push((entry.name().to_owned(), entry.mode() >> 12, content));
        rest = reader.finish().unwrap();
    }
    let (directory, file, device) = (0o04, 0o10, 0o02);
    let expected = [
        ("dev", directory, ""),
        ("dev/console", device, ""),
        ("dev/null", device, ""),
        ("proc", directory, ""),
        ("sys", directory, ""),
        ("tmp", directory, ""),
        ("init", file, "init"),
        ("tompion", directory, ""),
        ("tompion/modules", directory, ""),
        ("tompion/modules/00-second.ko", file, "2"),
        ("tompion/modules/01-first.ko", file, "1"),
        ("tompion/command", file, "/bin/payload\0one\0two"),
        ("bin", directory, ""),
        ("bin/more", file, "linux-image-x 6.1.0-1\nsums"),
        ("bin/payload", file, "program"),
    ];
    let expected =
        expected.map(|(name, kind, content)| (name.to_owned(), kind, content.to_owned()));
    assert_eq!(seen, expected);
}

#[test]
fn init_refuses_to_run_on_a_host() {
    // In a child process, because it would end this one.
    let own = std::env::current_exe().unwrap();
    let name = "guest::tests::as_init_on_the_host";
    let output = Command::new(own)
        .args(["--exact", "--ignored", "--nocapture", name])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("only for the first process"));
}

#[test]
#[ignore = "ends its process: started by init_refuses_to_run_on_a_host"]
fn as_init_on_the_host() {
    super::run_as_init()
}
