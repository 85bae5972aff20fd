//! Machines made of files, and daemons whose answers were recorded.
//!
//! Recorded from chrony 4.3 and ntpsec 1.2.2 of Debian 12, each in a network namespace with a
//! chronyd that serves 192.0.2.1 and nobody at 192.0.2.9. No Hyper-V, VMware, Xen, VMClock or
//! KVM's PTP device was at hand, nor linuxptp: their files are made up after the sources of the
//! drivers and programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tompion_model::{Synchronisation, TimeKeeper, TimeKeeping};

use super::{Ask, time_keeping};
use crate::root::Root;

const CHRONY: u16 = 323;
const NTP: u16 = 123;

/// What chronyd said when it was in step.
const TRACKING: &str = "\
    06020000002100050000000000000000746f6d700000000000000000c0000201c000020100000000000000000000\
    00000001000000020000000000006b05dd1a03b24216df4db23fd0a193bfd8d4219cf518e107ecaf1b60fabe75c1\
    e29b4e83dc8623f002818c79";
/// And before it was.
const TRACKING_EARLY: &str = "\
    06020000002100050000000000000000746f6d700000000000000000000000000000000000000000000000000000\
    00000000000000000003000000000000000000000000000000000000000000000000000000000000000000000000\
    048000000480000000000000";
const N_SOURCES: &str = "06020000000e00020000000000000000746f6d70000000000000000000000002";
const SELECTED: &str = "\
    06020000000f00030000000000000000746f6d700000000000000000c00002010000000000000000000000000001\
    0000ffff000100000000000000ff00000000d8ad68c8d8a34f8fe0a4c859";
const UNREACHABLE: &str = "\
    06020000000f00030000000000000000746f6d700000000000000000c00002090000000000000000000000000001\
    0000000600000001000000000000ffffffff000000000000000000000000";

/// What ntpsec's ntpd said when it was in step: the list of sources, its variables, and those of
/// both sources.
const NTP_STATUS: &str = "1681746f0014000000000008456880114567b61a";
const NTP_SYSTEM: &str = "\
    1682746f00140000000000ad6c6561703d302c207374726174756d3d322c20726f6f7464656c61793d302e303338\
    2c20726f6f74646973703d312e3031352c2072656669643d3139322e302e322e312c0d0a72656674696d653d3078\
    65656230356339632e36613737363334372c206f66667365743d302e3031333132312c20636c6f636b3d30786565\
    6230356339642e39376132643037632c0d0a76657273696f6e3d226e747064206e74707365632d312e322e32220d\
    0a000000";
const NTP_UNREACHABLE: &str = "\
    1682746f801145680000003a7372636164723d3139322e302e322e392c207374726174756d3d31362c2072656163\
    683d3078302c206f66667365743d302e3030303030300d0a3139";
const NTP_SELECTED: &str = "\
    1682746fb61a4567000000397372636164723d3139322e302e322e312c207374726174756d3d312c207265616368\
    3d3078372c206f66667365743d302e3031323733390d0a0a3139";

/// Answers by port and by what is asked: command and argument, or operation and association.
#[derive(Default)]
struct Recorded(BTreeMap<(u16, [u8; 4]), Vec<u8>>);

impl Recorded {
    fn with(mut self, port: u16, asked: [u16; 2], answer: &str) -> Self {
        let digits: Vec<char> = answer.chars().filter(|c| !c.is_whitespace()).collect();
        let bytes = digits.chunks(2).map(|pair| {
            let pair: String = pair.iter().collect();
            u8::from_str_radix(&pair, 16).expect("digits")
        });
        self.0.insert((port, key(asked)), bytes.collect());
        self
    }

    fn chrony(tracking: &str) -> Self {
        Self::default()
            .with(CHRONY, [33, 0], tracking)
            .with(CHRONY, [14, 0], N_SOURCES)
            .with(CHRONY, [15, 0], SELECTED)
            .with(CHRONY, [15, 1], UNREACHABLE)
    }

    fn ntpsec() -> Self {
        Self::default()
            .with(NTP, [1, 0], NTP_STATUS)
            .with(NTP, [2, 0], NTP_SYSTEM)
            .with(NTP, [2, 0x4568], NTP_UNREACHABLE)
            .with(NTP, [2, 0x4567], NTP_SELECTED)
    }
}

fn key(asked: [u16; 2]) -> [u8; 4] {
    let [[a, b], [c, d]] = asked.map(u16::to_be_bytes);
    [a, b, c, d]
}

impl Ask for Recorded {
    fn ask(&self, port: u16, request: &[u8]) -> Option<Vec<u8>> {
        let asked = match port {
            CHRONY => [request[4], request[5], request[22], request[23]],
            _ => [0, request[1], request[6], request[7]],
        };
        self.0.get(&(port, asked)).cloned()
    }
}

struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
        self
    }

    fn process(self, id: u32, name: &str, arguments: &str) -> Self {
        self.file(&format!("proc/{id}/comm"), &format!("{name}\n"))
            .file(&format!("proc/{id}/cmdline"), &arguments.replace(' ', "\0"))
    }

    fn link(self, path: &str, target: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(Path::new(target), path).expect("a link");
        self
    }

    fn found(&self, daemons: &Recorded, kernel: Option<&Synchronisation>) -> TimeKeeping {
        let root = Root::at(self.0.path());
        time_keeping(&root, daemons, kernel).unwrap_or_default()
    }

    /// What keeps the clock, where nothing answers.
    fn silent(&self) -> Vec<TimeKeeper> {
        self.found(&Recorded::default(), None).keepers
    }
}

fn only(keepers: &[TimeKeeper]) -> &TimeKeeper {
    let [keeper] = keepers else {
        panic!("one was expected: {keepers:?}");
    };
    keeper
}

fn states(keeper: &TimeKeeper) -> Vec<(&str, &str)> {
    let sources = keeper.sources.iter();
    sources
        .map(|s| (s.name.as_str(), s.state.as_str()))
        .collect()
}

fn synchronised(maximum_error_ns: i64) -> Synchronisation {
    Synchronisation {
        synchronised: true,
        maximum_error_ns,
        ..Synchronisation::default()
    }
}

#[test]
fn where_nothing_keeps_the_clock_nothing_is_found() {
    let tree = Tree::new().process(1, "init", "/sbin/init");
    assert_eq!(
        time_keeping(&Root::at(tree.0.path()), &Recorded::default(), None),
        None
    );
}

#[test]
fn chrony_in_step_tells_its_sources_and_a_bound() {
    let tree = Tree::new().process(412, "chronyd", "/usr/sbin/chronyd -F 1");
    let found = tree.found(&Recorded::chrony(TRACKING), None);
    let chrony = only(&found.keepers);
    assert_eq!(
        (chrony.name.as_str(), chrony.running, chrony.keeps),
        ("chrony", true, true)
    );
    assert_eq!((chrony.in_step, chrony.stratum), (Some(true), Some(2)));
    // 2.657 us ahead, 0.999 us of dispersion, half of 9.257 us of delay.
    assert_eq!(chrony.error_at_most_ns, Some(8_285));
    assert_eq!(chrony.offset_ns, Some(2_657));
    assert_eq!(
        states(chrony),
        [("192.0.2.1", "selected"), ("192.0.2.9", "unreachable")]
    );
    assert_eq!(chrony.note, None);
}

#[test]
fn chrony_that_is_not_in_step_gives_no_bound() {
    let tree = Tree::new().process(412, "chronyd", "/usr/sbin/chronyd");
    let found = tree.found(&Recorded::chrony(TRACKING_EARLY), None);
    let chrony = only(&found.keepers);
    assert_eq!(
        (chrony.in_step, chrony.error_at_most_ns),
        (Some(false), None)
    );
    assert_eq!(chrony.sources.len(), 2);
}

#[test]
fn chrony_that_does_not_answer_or_does_not_correct_is_told_so() {
    let silent = Tree::new()
        .process(412, "chronyd", "/usr/sbin/chronyd")
        .silent();
    let chrony = only(&silent);
    assert_eq!(
        (chrony.running, chrony.keeps, chrony.in_step),
        (true, true, None)
    );
    assert!(
        chrony
            .note
            .as_deref()
            .is_some_and(|n| n.contains("does not answer"))
    );

    let tree = Tree::new().process(9, "chronyd", "/usr/sbin/chronyd -x -d");
    let found = tree.found(&Recorded::chrony(TRACKING), None);
    assert!(!only(&found.keepers).keeps);

    let installed = Tree::new().file("usr/sbin/chronyd", "").silent();
    let chrony = only(&installed);
    assert_eq!(
        (chrony.running, chrony.keeps, chrony.in_step),
        (false, false, None)
    );
}

#[test]
fn answers_cut_short_or_of_others_are_none() {
    let tree = Tree::new()
        .process(412, "chronyd", "chronyd")
        .process(413, "ntpd", "ntpd");
    for length in (0..2 * 100).step_by(2) {
        let recorded = Recorded::default()
            .with(CHRONY, [33, 0], &TRACKING.replace(' ', "")[..length])
            .with(NTP, [2, 0], &NTP_SYSTEM.replace(' ', "")[..length]);
        for keeper in tree.found(&recorded, None).keepers {
            assert_eq!(keeper.in_step, None, "{length}: {keeper:?}");
        }
    }
    // Another sequence number, another command, an error.
    for (right, wrong) in [
        ("746f6d70", "746f6d71"),
        ("00210005", "000e0005"),
        ("00050000", "00050001"),
    ] {
        let recorded = Recorded::chrony(&TRACKING.replacen(right, wrong, 1));
        let chrony = &tree.found(&recorded, None).keepers[0];
        assert_eq!((chrony.name.as_str(), chrony.in_step), ("chrony", None));
    }
}

/// Else a daemon could spoil every run: none holds a larger number.
#[test]
fn whatever_a_daemon_says_fits_into_a_run() {
    const MOST: u64 = 1 << 62;
    // Chrony's largest numbers, of both signs, in place of its correction.
    for float in ["7effffff", "7f000000"] {
        let tracking = TRACKING.replace("df4db23f", float);
        assert_ne!(tracking, TRACKING);
        let found = Tree::new().found(&Recorded::chrony(&tracking), None);
        let chrony = only(&found.keepers);
        assert_eq!(chrony.error_at_most_ns, Some(MOST), "{float}");
        assert_eq!(chrony.offset_ns.map(i64::unsigned_abs), Some(MOST));
    }
    // `offset=0.013121` of ntpsec's, as long.
    let large = NTP_SYSTEM.replace("302e303133313231", "2d31653330372020");
    assert_ne!(large, NTP_SYSTEM);
    let recorded = Recorded::default().with(NTP, [2, 0], &large);
    let found = Tree::new().found(&recorded, None);
    let ntpd = only(&found.keepers);
    assert_eq!(ntpd.error_at_most_ns, Some(MOST));
    assert_eq!(ntpd.offset_ns.map(i64::unsigned_abs), Some(MOST));
    let tree = Tree::new()
        .process(301, "systemd-timesyn", "/lib/systemd/systemd-timesyncd")
        .file("run/systemd/timesync/synchronized", "")
        .file(
            "etc/systemd/timesyncd.conf",
            "[Time]\nRootDistanceMaxSec=inf\n",
        );
    let found = tree.found(&Recorded::default(), Some(&synchronised(i64::MAX)));
    assert_eq!(only(&found.keepers).error_at_most_ns, Some(MOST));
}

#[test]
fn ntpsec_in_step_tells_its_sources_and_a_bound() {
    let tree = Tree::new().process(
        77,
        "ntpd",
        "/usr/sbin/ntpd -p /run/ntpd.pid -c /etc/ntpsec/ntp.conf -g -N -u ntpsec:ntpsec",
    );
    let found = tree.found(&Recorded::ntpsec(), None);
    let ntpsec = only(&found.keepers);
    assert_eq!(
        (ntpsec.name.as_str(), ntpsec.in_step),
        ("ntpsec", Some(true))
    );
    // 0.013121 ms of offset, 1.015 ms of dispersion, grown for 1.18 s, half of 0.038 ms.
    let bound_ns = ntpsec.error_at_most_ns.unwrap();
    assert!(
        (1_047_138..1_047_142 + 18_000).contains(&bound_ns),
        "{bound_ns}"
    );
    assert_eq!(ntpsec.offset_ns, Some(-13_121));
    assert_eq!(
        states(ntpsec),
        [("192.0.2.9", "unreachable"), ("192.0.2.1", "selected")]
    );
}

#[test]
fn an_ntpd_of_another_kind_is_not_called_ntpsec() {
    let version = "6e74707365632d312e322e32";
    let other = "6e7470642d342e322e387031";
    let recorded = Recorded::default().with(NTP, [2, 0], &NTP_SYSTEM.replace(version, other));
    let tree = Tree::new().process(77, "ntpd", "/usr/sbin/ntpd -x");
    let found = tree.found(&recorded, None);
    let ntpd = only(&found.keepers);
    assert_eq!(
        (ntpd.name.as_str(), ntpd.in_step, ntpd.tells_kernel),
        ("ntpd", Some(true), false)
    );
    // Nor is busybox's, which answers nobody.
    let silent = Tree::new()
        .process(5, "ntpd", "ntpd -p pool.ntp.org")
        .silent();
    assert_eq!(
        (only(&silent).name.as_str(), only(&silent).in_step),
        ("ntpd", None)
    );
}

#[test]
fn timesyncd_is_in_step_once_it_says_so_in_its_file() {
    let tree = Tree::new().process(301, "systemd-timesyn", "/lib/systemd/systemd-timesyncd");
    let kernel = synchronised(250_000_000);
    let before = tree.found(&Recorded::default(), Some(&kernel));
    assert_eq!(only(&before.keepers).in_step, Some(false));
    assert_eq!(only(&before.keepers).error_at_most_ns, None);

    let tree = tree.file("run/systemd/timesync/synchronized", "").file(
        "etc/systemd/timesyncd.conf",
        "[Time]\n#NTP=\nNTP=ntp.example 192.0.2.1\n",
    );
    let found = tree.found(&Recorded::default(), Some(&kernel));
    let timesyncd = only(&found.keepers);
    assert_eq!(timesyncd.in_step, Some(true));
    // The kernel's 250 ms, and 5 s that it allows a server.
    assert_eq!(timesyncd.error_at_most_ns, Some(5_250_000_000));
    assert_eq!(
        states(timesyncd),
        [("ntp.example", "configured"), ("192.0.2.1", "configured")]
    );

    for (setting, bound_ns) in [
        ("300ms", Some(550_000_000)),
        ("2s", Some(2_250_000_000)),
        ("1min", None),
    ] {
        let path = "etc/systemd/timesyncd.conf.d/50-distance.conf";
        let path = tree.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("[Time]\nRootDistanceMaxSec={setting}\n")).unwrap();
        let found = tree.found(&Recorded::default(), Some(&kernel));
        assert_eq!(only(&found.keepers).error_at_most_ns, bound_ns, "{setting}");
    }
}

#[test]
fn linuxptp_keeps_the_clock_by_phc2sys_alone() {
    let card = Tree::new().process(8, "ptp4l", "ptp4l -i eth0 -m");
    let ptp = &card.silent()[0];
    assert_eq!(
        (ptp.name.as_str(), ptp.running, ptp.keeps),
        ("linuxptp", true, false)
    );
    assert!(
        ptp.note
            .as_deref()
            .is_some_and(|n| n.contains("no phc2sys"))
    );

    let both = card.process(9, "phc2sys", "phc2sys -s /dev/ptp0 -O 0 -w");
    let found = both.found(&Recorded::default(), Some(&synchronised(0)));
    let ptp = only(&found.keepers);
    assert_eq!(
        (ptp.keeps, ptp.in_step, ptp.error_at_most_ns),
        (true, Some(true), None)
    );
    assert_eq!(states(ptp), [("/dev/ptp0", "configured")]);

    let by_software = Tree::new().process(8, "ptp4l", "ptp4l -i eth0 -S").silent();
    assert!(only(&by_software).keeps);
}

#[test]
fn hypervisors_that_set_the_clock_are_told_apart() {
    let device = "sys/bus/vmbus/devices/2dd1ce17-079e-403c-b352-a1921ee207ee";
    let hyper_v = Tree::new()
        .file(
            &format!("{device}/class_id"),
            "{9527e630-d0ae-497b-adce-e80ab0175caf}\n",
        )
        .link(
            &format!("{device}/driver"),
            "../../../../bus/vmbus/drivers/hv_utils",
        )
        .file("sys/class/ptp/ptp0/clock_name", "hyperv\n");
    let found = hyper_v.found(&Recorded::default(), None);
    let keeper = only(&found.keepers);
    assert_eq!(
        (keeper.name.as_str(), keeper.running, keeper.keeps),
        ("Hyper-V", true, false)
    );
    assert_eq!(found.references[0].device, "/dev/ptp0");
    assert!(found.references[0].of_host);

    let vmware = Tree::new()
        .process(5, "vmtoolsd", "/usr/bin/vmtoolsd")
        .file("sys/class/ptp/ptp0/clock_name", "ptp_vmw\n");
    let found = vmware.found(&Recorded::default(), None);
    assert_eq!(
        (
            only(&found.keepers).name.as_str(),
            only(&found.keepers).keeps
        ),
        ("VMware", false)
    );
    assert!(found.references[0].of_host);

    let virtualbox = |arguments: &str| {
        let tree = Tree::new().process(6, "VBoxService", arguments);
        let found = tree.silent();
        (only(&found).name.clone(), only(&found).keeps)
    };
    assert_eq!(
        [
            virtualbox("/usr/sbin/VBoxService\0--pidfile\0/run/vbox.pid"),
            virtualbox("/usr/sbin/VBoxService\0--disable-timesync"),
        ],
        [
            ("VirtualBox".to_owned(), true),
            ("VirtualBox".to_owned(), false)
        ]
    );

    let xen = Tree::new().file("sys/hypervisor/type", "xen\n");
    assert_eq!(
        (only(&xen.silent()).name.as_str(), only(&xen.silent()).keeps),
        ("Xen", false)
    );
    let old = xen.file("proc/sys/xen/independent_wallclock", "0\n");
    assert!(only(&old.silent()).keeps);
    let control = old.file("proc/xen/capabilities", "control_d\n");
    assert!(control.silent().is_empty());
}

#[test]
fn clocks_of_the_host_and_of_cards_are_told_apart() {
    let tree = Tree::new()
        .file("sys/class/ptp/ptp0/clock_name", "e1000e\n")
        .file("sys/class/ptp/ptp1/clock_name", "KVM virtual PTP\n")
        .file("sys/class/ptp/ptp10/clock_name", "vmclock0\n")
        .file("dev/vmclock0", "");
    let found = tree.found(&Recorded::default(), None).references;
    let told: Vec<_> = found
        .iter()
        .map(|r| (r.device.as_str(), r.of_host))
        .collect();
    assert_eq!(
        told,
        [
            ("/dev/ptp0", false),
            ("/dev/ptp1", true),
            ("/dev/ptp10", true)
        ]
    );
    let alone = Tree::new()
        .file("dev/vmclock0", "")
        .found(&Recorded::default(), None);
    assert_eq!(alone.references[0].device, "/dev/vmclock0");
}

#[test]
fn the_distribution_is_known_with_what_it_is_like() {
    for (text, words) in [
        ("NAME=\"Debian GNU/Linux\"\nID=debian\n", vec!["debian"]),
        (
            "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
            vec!["rocky", "rhel", "centos", "fedora"],
        ),
        ("ID=alpine\n", vec!["alpine"]),
        ("ID='a\u{1b}[31m' \n", vec!["a"]),
    ] {
        let tree = Tree::new().file("etc/os-release", text);
        assert_eq!(
            tree.found(&Recorded::default(), None).distribution,
            words,
            "{text}"
        );
    }
}

#[test]
fn files_without_end_and_pipes_are_not_waited_for() {
    let long = "x".repeat(1 << 20);
    let tree = Tree::new()
        .process(412, "chronyd", &format!("chronyd {long} -x"))
        .file("etc/os-release", &format!("#{long}\nID=debian\n"));
    let path = tree.0.path().join("proc/413");
    fs::create_dir_all(&path).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(path.join("comm"))
        .status();
    assert!(made.unwrap().success());
    let found = tree.found(&Recorded::default(), None);
    assert!(
        only(&found.keepers).keeps,
        "what comes after 4 KiB is not read"
    );
    assert!(found.distribution.is_empty());
}
