//! Command lines and configurations, and programs that stand in for the real ones.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::{Files, Monitor, cloud_hypervisor, firecracker, qemu};
use crate::frame::{self, Report};
use crate::tests::{fake_kit, guest};
use crate::{Accel, Disk, Guest, GuestError, Vmm};

fn qemu_line(guest: &Guest) -> String {
    let files = Files::make(guest, b"initramfs").unwrap();
    let inherited = qemu::Inherited {
        tap: Some(7),
        monitor: Some(8),
    };
    let arguments = qemu::arguments(guest, &files, &inherited);
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    words.join(" ").replace(&files.result.path(), "RESULT")
}

#[test]
fn qemu_is_told_all_that_is_wished() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let usual = qemu_line(&guest(&kit));
    for part in [
        "-accel tcg,thread=multi -machine pc -cpu max -smp 1 -m 512",
        "kernel/cloud/vmlinuz",
        "-append console=ttyS0 quiet panic=-1 ",
        "file=RESULT,format=raw,cache=unsafe -device virtio-blk-pci,drive=result",
        "-netdev tap,id=lab,fd=7 -device virtio-net-pci,netdev=lab,romfile=",
        "-chardev socket,id=qmp,fd=8 -mon chardev=qmp,mode=control -S",
    ] {
        assert!(usual.contains(part), "{part}: {usual}");
    }
    let other = qemu_line(
        &guest(&kit)
            .machine("q35")
            .accel(Accel::Kvm)
            .cpu_model("host,kvmclock=off")
            .cpus(2)
            .disk(Disk::Ahci)
            .scratch(dir.path(), 8),
    );
    for part in [
        "-accel kvm -machine q35 -cpu host,kvmclock=off -smp 2",
        "-device ahci,id=ahci",
        "-device ide-hd,drive=result,bus=ahci.0",
        "-device ide-hd,drive=scratch,bus=ahci.1",
    ] {
        assert!(other.contains(part), "{part}: {other}");
    }
    let virtual_time = qemu_line(&guest(&kit).icount(3).disk(Disk::Ide));
    for part in [
        "tcg,thread=single",
        "-icount shift=3,sleep=off",
        "bus=ide.0",
    ] {
        assert!(virtual_time.contains(part), "{part}: {virtual_time}");
    }
    let micro = qemu_line(&guest(&kit).machine("microvm,pit=on"));
    for part in ["kernel/cloud/vmlinux ", "virtio-blk-device,drive=result"] {
        assert!(micro.contains(part), "{part}: {micro}");
    }
    // The disk has no name, and is there as long as it is held.
    assert!(fs::read_dir(dir.path()).unwrap().count() == 2);
}

#[test]
fn microvms_are_told_all_that_is_wished() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let guest = guest(&kit)
        .vmm(Vmm::Firecracker)
        .cpus(2)
        .memory_mb(256)
        .kernel_args(["clocksource=tsc"]);
    let files = Files::make(&guest, b"initramfs").unwrap();
    let kernel = dir.path().join("kernel/cloud/vmlinux");
    let want = json!({
        "boot-source": {
            "kernel_image_path": kernel,
            "initrd_path": files.initrd.path(),
            "boot_args": "console=ttyS0 quiet reboot=k panic=-1 pci=off clocksource=tsc",
        },
        "drives": [{
            "drive_id": "result",
            "path_on_host": files.result.path(),
            "is_root_device": false,
            "is_read_only": false,
            "cache_type": "Unsafe",
        }],
        "machine-config": {"vcpu_count": 2, "mem_size_mib": 256},
    });
    assert_eq!(firecracker::config(&guest, &files), want);
    let arguments = firecracker::arguments(&files);
    assert_eq!(arguments[..2], ["--no-api", "--config-file"]);
    let written = fs::read(&arguments[2]).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), want);

    let guest = guest.vmm(Vmm::CloudHypervisor);
    let files = Files::make(&guest, b"initramfs").unwrap();
    let arguments = cloud_hypervisor::arguments(&guest, &files);
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let want = format!(
        "--kernel {} --initramfs {} --cmdline console=ttyS0 quiet panic=0 clocksource=tsc \
         --cpus boot=2 --memory size=256M --disk path={} --serial tty --console off",
        kernel.display(),
        files.initrd.path(),
        files.result.path()
    );
    assert_eq!(words.join(" "), want);
}

/// Makes `at` a program that runs `script` with the shell.
fn program(at: &Path, script: &str) {
    // Written by another process: open for writing here, it might be inherited by a
    // child of another test, and could not be started.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\"; chmod +x \"$0\"";
    let shell = std::process::Command::new("sh")
        .args(["-c", write])
        .arg(at)
        .arg(script)
        .status();
    assert!(shell.unwrap().success());
}

#[test]
fn microvms_that_answer_fail_or_are_absent_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let kit = fake_kit(dir.path());
    let report = Report::Ran {
        wait_status: 3 << 8,
        stdout: b"from a guest".to_vec(),
        stderr: Vec::new(),
    };
    let answer = dir.path().join("answer");
    fs::write(&answer, frame::encode(&report)).unwrap();
    let at = dir.path().join("vmm");
    // Finds the result's disk as the real ones do, and writes what a guest's init does.
    let copy = format!(
        "dd if={} of=\"$disk\" bs=4096 seek=1 conv=notrunc status=none",
        answer.display()
    );
    let run = |vmm: Vmm, script: &str| {
        program(&at, script);
        // Where there is no KVM, the program is not even tried.
        let guest = guest(&kit).vmm(vmm).accel(Accel::Tcg).vmm_program(&at);
        guest.run()
    };
    let firecracker = format!(
        "[ \"$1\" = --no-api ] || exit 9\n\
         disk=$(sed 's/.*\"path_on_host\":\"\\([^\"]*\\).*/\\1/' \"$3\")\n{copy}"
    );
    let cloud_hypervisor = format!(
        "while [ \"$1\" != --disk ]; do shift; done\ndisk=${{2#path=}}\necho booting\n{copy}"
    );
    for (vmm, script) in [
        (Vmm::Firecracker, firecracker),
        (Vmm::CloudHypervisor, cloud_hypervisor),
    ] {
        let outcome = run(vmm, &script).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.status.code(), Some(3));
        assert_eq!(outcome.stdout_text(), "from a guest");
        let error = run(vmm, "echo no good >&2; exit 148").unwrap_err();
        let told = format!("{vmm} failed (exit status: 148): no good");
        assert!(error.to_string().ends_with(&told), "{error}");
        let absent = guest(&kit).vmm(vmm).accel(Accel::Tcg);
        let error = absent.vmm_program("no-such-vmm").run().unwrap_err();
        assert!(matches!(error, GuestError::VmmMissing { .. }), "{error}");
        assert!(error.to_string().contains("a release of"), "{error}");
    }
}

/// A monitor that gives these answers, and what it was told.
fn monitor(answers: &'static [&'static str]) -> (Monitor, thread::JoinHandle<Vec<String>>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let qemu = thread::spawn(move || {
        let mut told = Vec::new();
        let mut lines = BufReader::new(theirs.try_clone().unwrap()).lines();
        for (number, answer) in answers.iter().enumerate() {
            if number > 0 {
                told.extend(lines.next().map(Result::unwrap));
            }
            writeln!(&theirs, "{answer}").unwrap();
        }
        told
    });
    (Monitor::new(ours).unwrap(), qemu)
}

const GREETING: &str = r#"{"QMP": {"version": {}, "capabilities": []}}"#;

#[test]
fn qemu_s_monitor_is_understood() {
    let (mut good, qemu) = monitor(&[
        GREETING,
        r#"{"return": {}}"#,
        // An event may come at any time.
        "{\"event\": \"RESUME\"}\n{\"return\": []}",
        r#"{"return": {}}"#,
    ]);
    good.pin_and_continue(&[vec![0]]).unwrap();
    let told = qemu.join().unwrap();
    let commands = ["qmp_capabilities", "query-cpus-fast", "cont"];
    assert_eq!(told, commands.map(|c| format!("{{\"execute\":\"{c}\"}}")));

    for (answers, want) in [
        (&[r#"{"hello": 1}"#][..], "it says {\"hello\":1}"),
        (&[GREETING, "no JSON"], "expected ident"),
        (
            &[GREETING, r#"{"error": {"class": "CommandNotFound"}}"#],
            "qmp_capabilities: {\"class\":\"CommandNotFound\"}",
        ),
        (
            &[
                GREETING,
                r#"{"return": {}}"#,
                r#"{"return": [{"cpu-index": 0}]}"#,
            ],
            "it says {\"cpu-index\":0}",
        ),
        // Gone before or after it was told something.
        (&[GREETING], ""),
    ] {
        let (mut bad, qemu) = monitor(answers);
        let error = bad.pin_and_continue(&[vec![0]]).unwrap_err().to_string();
        assert!(
            error.contains("QEMU's monitor") && error.contains(want),
            "{error}"
        );
        drop(qemu);
    }
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    // This thread stands for that of a virtual CPU.
    let thread = nix::unistd::gettid().as_raw();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut monitor = Monitor::new(ours).unwrap();
    let cpus = json!({"return": [{"cpu-index": 0, "thread-id": thread}]});
    write!(&theirs, "{GREETING}\n{{\"return\": {{}}}}\n{cpus}\n").unwrap();
    let error = monitor.pin_and_continue(&[vec![1023]]).unwrap_err();
    assert!(
        error.to_string().contains("pin virtual CPU 0 to [1023]"),
        "{error}"
    );
}
