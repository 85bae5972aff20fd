//! The guest's bad cases that need no boot: other programs stand in for QEMU.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Accel, Disk, FrameError, Guest, GuestError, Kit, Vmm, initramfs};

/// A kit whose parts are there but empty of meaning.
pub(crate) fn fake_kit(dir: &Path) -> Kit {
    fs::create_dir_all(dir.join("kernel/cloud/modules")).unwrap();
    fs::create_dir_all(dir.join("bin")).unwrap();
    for (name, content) in [
        ("kernel/cloud/vmlinuz", "kernel"),
        ("kernel/cloud/package", "linux-image-x 6.1.0-1\nsums"),
        ("kernel/cloud/vmlinux", "elf"),
        (
            "kernel/cloud/modules/needs",
            "virtio_pci: second first\nvirtio_mmio: second\nvirtio_blk: second third\n",
        ),
        ("kernel/cloud/modules/first.ko", "1"),
        ("kernel/cloud/modules/second.ko", "2"),
        ("kernel/cloud/modules/third.ko", "3"),
        ("bin/tompion-guest-init", "init"),
        ("bin/payload", "program"),
    ] {
        fs::write(dir.join(name), content).unwrap();
    }
    Kit::open(dir).unwrap()
}

/// A guest that could run, but for its QEMU.
pub(crate) fn guest(kit: &Kit) -> Guest {
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
        "kernel/cloud/modules/needs",
        "bin/tompion-guest-init",
        "kernel/cloud/vmlinuz",
        "kernel/cloud/package",
    ] {
        let path = dir.path().join(part);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let error = Kit::open(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.contains("make lab-guest"),
            "{error}"
        );
        fs::write(&path, content).unwrap();
    }
    let error = kit.with_kernel("rt").unwrap_err().to_string();
    assert!(
        error.contains("no kernel rt") && error.contains("GUEST_KERNELS"),
        "{error}"
    );
    let error = kit.program("absent").unwrap_err().to_string();
    assert!(error.contains("bin/absent"), "{error}");
}

#[test]
fn missing_qemu_says_how_to_install_it() {
    let dir = tempfile::tempdir().unwrap();
    let error = guest(&fake_kit(dir.path()))
        .vmm_program("no-such-qemu")
        .run()
        .unwrap_err();
    assert!(matches!(error, GuestError::VmmMissing { .. }));
    let text = error.to_string();
    assert!(text.contains("no-such-qemu") && text.contains("apt-get install"));
}

#[test]
fn qemu_that_fails_or_gives_nothing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    // Each takes any arguments: `cat` complains about them on standard error.
    let run = |program: &str| guest(&kit).vmm_program(program).run().unwrap_err();
    let GuestError::VmmFailed {
        status, message, ..
    } = run("cat")
    else {
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
        .vmm_program(endless)
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
        (
            guest(&kit).cpus(3).pin(vec![vec![0]; 2]),
            "each of 3 virtual",
        ),
        (
            guest(&kit).cpus(2).icount(1).pin(vec![vec![0]; 2]),
            "one thread",
        ),
        (
            guest(&kit).accel(Accel::Kvm).icount(1),
            "virtual time is a matter of tcg",
        ),
        (
            guest(&kit).machine("q35").disk(Disk::Ide),
            "need the machine pc, not q35",
        ),
        (
            guest(&kit).machine("microvm,pit=on").disk(Disk::Ahci),
            "virtio disks alone",
        ),
        (
            guest(&kit).vmm(Vmm::Firecracker).pin(vec![vec![0]]),
            "Firecracker guests are neither pinned",
        ),
        (
            guest(&kit).vmm(Vmm::CloudHypervisor).scratch("/tmp", 64),
            "no scratch disk",
        ),
        (guest(&kit).disk(Disk::Ahci), "has no module ahci"),
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
        let error = guest.vmm_program("true").run().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

struct Entry {
    name: String,
    mode: u32,
    content: Vec<u8>,
}

fn entries(archive: &[u8]) -> Vec<Entry> {
    let mut rest = archive;
    let mut entries = Vec::new();
    loop {
        let mut reader = cpio::NewcReader::new(rest).unwrap();
        if reader.entry().is_trailer() {
            return entries;
        }
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut content).unwrap();
        let entry = reader.entry();
        entries.push(Entry {
            name: entry.name().to_owned(),
            mode: entry.mode(),
            content,
        });
        rest = reader.finish().unwrap();
    }
}

#[test]
fn initramfs_holds_everything_once_and_parents_first() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let guest = guest(&kit).file("/bin/more", dir.path().join("kernel/cloud/package"));
    let archive = initramfs::build(&guest).unwrap();
    let seen: Vec<_> = entries(&archive)
        .into_iter()
        .map(|entry| {
            let content = match entry.name.as_str() {
                "tompion/seed" => format!("{} bytes", entry.content.len()),
                _ => String::from_utf8(entry.content).unwrap(),
            };
            (entry.name, entry.mode >> 12, content)
        })
        .collect();
    let (directory, file, device) = (0o04, 0o10, 0o02);
    let expected = [
        ("dev", directory, ""),
        ("dev/console", device, ""),
        ("dev/null", device, ""),
        ("proc", directory, ""),
        ("sys", directory, ""),
        ("tmp", directory, ""),
        ("scratch", directory, ""),
        ("init", file, "init"),
        ("tompion", directory, ""),
        ("tompion/modules", directory, ""),
        ("tompion/modules/00-second.ko", file, "2"),
        ("tompion/modules/01-first.ko", file, "1"),
        ("tompion/modules/02-third.ko", file, "3"),
        ("tompion/command", file, "/bin/payload\0one\0two"),
        ("tompion/setup", file, ""),
        ("tompion/seed", file, "32 bytes"),
        ("bin", directory, ""),
        ("bin/more", file, "linux-image-x 6.1.0-1\nsums"),
        ("bin/payload", file, "program"),
    ];
    let expected =
        expected.map(|(name, kind, content)| (name.to_owned(), kind, content.to_owned()));
    assert_eq!(seen, expected);
}

#[test]
fn dynamic_programs_bring_their_libraries_and_modes_can_be_set() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let own = std::env::current_exe().unwrap();
    let libraries = super::libraries::of(&own).unwrap();
    let replaced = &libraries[0];
    let guest = guest(&kit)
        .dynamic("/bin/own", &own)
        .file_with_mode("/bin/secret", dir.path().join("bin/payload"), 0o4711)
        .file(replaced, dir.path().join("kernel/cloud/vmlinuz"));
    let entries = entries(&initramfs::build(&guest).unwrap());
    let entry = |at: &Path| {
        let name = at.strip_prefix("/").unwrap().to_str().unwrap();
        let mut found = entries.iter().filter(|entry| entry.name == name);
        let entry = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "{name} twice");
        entry
    };
    assert_eq!(entry(Path::new("/bin/secret")).mode, 0o104_711);
    assert!(entry(Path::new("/bin/own")).content == fs::read(&own).unwrap());
    for library in &libraries[1..] {
        let expected = fs::read(library).unwrap();
        assert!(entry(library).content == expected, "{library:?}");
    }
    // What the caller puts there goes before what the loader found.
    assert_eq!(entry(replaced).content, b"kernel");

    let error = guest.dynamic("/bin/text", dir.path().join("kernel/cloud/package"));
    let error = error.vmm_program("true").run().unwrap_err().to_string();
    assert!(
        error.contains("kernel/cloud/package: no dynamic program"),
        "{error}"
    );
}

#[test]
fn init_refuses_to_run_on_a_host() {
    // In a child process, because it would end this one.
    let own = std::env::current_exe().unwrap();
    let name = "tests::as_init_on_the_host";
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
