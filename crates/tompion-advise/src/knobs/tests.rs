//! Every remedy against machines made of files.

mod switched;

use std::fs;

use tompion_host::Root;
use tompion_model::{Environment, Synchronisation, TimeKeeper, TimeKeeping};
use tompion_probe::Policy;

use super::all;
use crate::{Change, Ready, State, Surroundings, UndoStep};

struct Tree {
    _directory: tempfile::TempDir,
    here: Surroundings,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        for (path, text) in files {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self {
            here: Surroundings {
                root,
                cpus: vec![0, 1],
                slack_ns: Some(50_000),
                policy: Policy::Other,
                environment: Environment::default(),
                program: Err("no library".to_owned()),
            },
            _directory: directory,
        }
    }

    fn state(&self, name: &str) -> State {
        let knobs = all(&self.here);
        let knob = knobs.iter().find(|k| k.name() == name);
        let knob = knob.unwrap_or_else(|| panic!("no {name}"));
        assert!(!knob.title().is_empty() && !knob.price().is_empty() && !knob.source().is_empty());
        knob.state(&self.here)
    }

    fn ready(&self, name: &str) -> Ready {
        match self.state(name) {
            State::Ready(ready) => *ready,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn absent(&self, name: &str) -> String {
        match self.state(name) {
            State::Absent(why) => why,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn already(&self, name: &str) -> String {
        match self.state(name) {
            State::Already(how) => how,
            other => panic!("{name}: {other:?}"),
        }
    }
}

fn change(path: &str, old: &str, new: &str) -> Change {
    Change::new(path, old, new)
}

#[test]
fn a_bare_machine_lacks_what_belongs_to_the_system_and_says_why() {
    let tree = Tree::new(&[]);
    for (name, why) in [
        ("preload", "no library"),
        ("leave-cgroup", "no CPU quota"),
        ("interrupts", "no interrupts"),
        ("clocksource", "no clocksource"),
        ("cpu-dma-latency", "/dev/cpu_dma_latency"),
        ("governor", "frequencies"),
        ("idle-states", "no idle states"),
        ("halt-poll", "haltpoll"),
    ] {
        let told = tree.absent(name);
        assert!(told.contains(why), "{name}: {told}");
    }
}

#[test]
fn names_are_unique_and_every_ready_remedy_says_how_to_apply_it() {
    let mut tree = Tree::new(&[]);
    tree.here.program = Ok("perl".to_owned());
    let mut names: Vec<String> = all(&tree.here).iter().map(|k| k.name()).collect();
    names.sort();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
    for name in [
        "timer-slack",
        "sched-fifo",
        "pinning",
        "mlock",
        "hybrid-sleep",
        "preload",
    ] {
        let ready = tree.ready(name);
        assert!(!ready.apply.is_empty() && ready.on != ready.off, "{name}");
        assert!(!ready.touches_files(), "{name} is of this process alone");
    }
}

#[test]
fn a_process_that_has_it_already_is_told_so() {
    let mut tree = Tree::new(&[]);
    tree.here.slack_ns = Some(1);
    tree.here.cpus = vec![3];
    assert!(tree.already("timer-slack").contains("1.00 ns"));
    assert!(tree.already("pinning").contains("CPU 3"));
    tree.here.policy = Policy::Fifo(7);
    assert!(tree.already("sched-fifo").contains("real-time"));
    assert!(tree.already("timer-slack").contains("no timer slack"));
    let plain = tree.ready("mlock").off;
    assert_eq!(
        (plain.thread.policy, plain.thread.slack_ns),
        (Policy::Fifo(7), None)
    );
}

#[test]
fn every_other_clocksource_is_a_remedy_of_its_own() {
    const DIR: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = format!("{DIR}/current_clocksource");
    let available = format!("{DIR}/available_clocksource");
    let tree = Tree::new(&[
        (&current, "kvm-clock\n"),
        (&available, "kvm-clock tsc hpet \n"),
    ]);
    let ready = tree.ready("clocksource=tsc");
    assert_eq!(ready.files, [change(&current, "kvm-clock", "tsc")]);
    assert_eq!(tree.ready("clocksource=hpet").to, "hpet");
    let tree = Tree::new(&[(&current, "tsc\n"), (&available, "tsc\n")]);
    assert!(tree.absent("clocksource").contains("tsc alone"));
}

#[test]
fn governors_change_where_they_are_not_yet_so() {
    let policy = |n: u32, file: &str| format!("/sys/devices/system/cpu/cpufreq/policy{n}/{file}");
    let (a, b) = (policy(0, "scaling_governor"), policy(4, "scaling_governor"));
    let offers = [
        policy(0, "scaling_available_governors"),
        policy(4, "scaling_available_governors"),
    ];
    let both = |first: &'static str, second: &'static str| {
        Tree::new(&[
            (&a, first),
            (&b, second),
            (&offers[0], "performance powersave\n"),
            (&offers[1], "performance powersave\n"),
        ])
    };
    let ready = both("powersave\n", "performance\n").ready("governor");
    assert_eq!(ready.files, [change(&a, "powersave", "performance")]);
    let told = both("performance\n", "performance\n").already("governor");
    assert!(told.contains("performance"));
    let tree = Tree::new(&[(&a, "userspace\n"), (&offers[0], "userspace\n")]);
    assert!(tree.absent("governor").contains("no governor"));
}

#[test]
fn slow_idle_states_are_switched_off_on_every_cpu() {
    let state = |cpu: u32, n: u32, file: &str| {
        format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{n}/{file}")
    };
    let mut files = Vec::new();
    for cpu in 0..2 {
        for (n, name, latency) in [(0, "POLL", "0"), (1, "C1", "2"), (2, "C6", "133")] {
            files.push((state(cpu, n, "name"), name));
            files.push((state(cpu, n, "latency"), latency));
            // The driver has switched off C6 of CPU 1.
            files.push((
                state(cpu, n, "disable"),
                if (cpu, n) == (1, 2) { "2" } else { "0" },
            ));
        }
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    let tree = Tree::new(&files);
    let ready = tree.ready("idle-states");
    assert_eq!(ready.files, [change(&state(0, 2, "disable"), "0", "1")]);
    assert!(ready.from.contains("C6, 133 µs"), "{}", ready.from);
    let tree = Tree::new(&files[..6]);
    assert!(tree.already("idle-states").contains("none takes more"));
}

#[test]
fn guests_poll_where_they_do_not_yet() {
    const TIME: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
    const GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";
    let tree = Tree::new(&[(TIME, "0\n"), (GOVERNOR, "haltpoll\n")]);
    assert_eq!(tree.ready("halt-poll").files, [change(TIME, "0", "200000")]);
    let tree = Tree::new(&[(TIME, "200000\n"), (GOVERNOR, "haltpoll\n")]);
    assert!(tree.already("halt-poll").contains("200 µs"));
    let tree = Tree::new(&[(TIME, "0\n"), (GOVERNOR, "menu\n")]);
    assert!(tree.absent("halt-poll").contains("menu"));
}

#[test]
fn the_latency_device_is_held_unless_another_holds_it() {
    const DEVICE: &str = "/dev/cpu_dma_latency";
    let tree = Tree::new(&[(DEVICE, "")]);
    let ready = tree.ready("cpu-dma-latency");
    assert_eq!(ready.held, Some((DEVICE.into(), vec![0; 4])));
    fs::write(tree.here.root.path(DEVICE), 2_000_000_000i32.to_ne_bytes()).unwrap();
    assert_eq!(tree.ready("cpu-dma-latency").from, "no limit");
    fs::write(tree.here.root.path(DEVICE), 0i32.to_ne_bytes()).unwrap();
    assert!(tree.already("cpu-dma-latency").contains("0 µs"));
}

#[test]
fn interrupts_leave_the_cpu_that_takes_most_of_them() {
    let files = [
        (
            "/proc/interrupts",
            "      CPU0   CPU1\n 36:  10  5000  PCI virtio1-req.0\n 37:  0  700  PCI virtio2-input\n \
             38:  3  0  PCI virtio3-rx\n 39:  0  0  PCI virtio4-config\n 40: 0 9 PCI nvme0q1\n",
        ),
        ("/sys/devices/system/cpu/online", "0-1\n"),
        ("/proc/irq/36/smp_affinity_list", "0-1\n"),
        ("/proc/irq/36/effective_affinity_list", "1\n"),
        ("/proc/irq/37/smp_affinity_list", "1\n"),
        ("/proc/irq/38/smp_affinity_list", "0-1\n"),
        ("/proc/irq/38/effective_affinity_list", "0\n"),
        ("/proc/irq/39/smp_affinity_list", "0-1\n"),
        ("/proc/irq/40/smp_affinity_list", "0-1\n"),
        ("/proc/irq/40/effective_affinity_list", "0\n"),
    ];
    let tree = Tree::new(&files);
    let ready = tree.ready("interrupts");
    let moved = [
        "/proc/irq/36/smp_affinity_list",
        "/proc/irq/37/smp_affinity_list",
    ];
    // Where the kernel tells at which CPU it arrives, it has to be led back there.
    let back = UndoStep {
        value: "1".to_owned(),
        seen_in: "/proc/irq/36/effective_affinity_list".into(),
        begun: false,
    };
    let first = Change {
        back: Some(back),
        ..change(moved[0], "0-1", "0")
    };
    assert_eq!(ready.files, [first, change(moved[1], "1", "0")]);
    assert_eq!(
        (ready.on.thread.cpu, ready.off.thread.cpu),
        (Some(1), Some(1))
    );
    let command = "for i in 36 37; do echo 0 > /proc/irq/$i/smp_affinity_list; done";
    assert_eq!(ready.apply[0], command);
    // The quiet CPU is where a thread is pinned to.
    assert_eq!(tree.ready("pinning").on.thread.cpu, Some(0));
    let mut alone = files;
    alone[1].1 = "0\n";
    assert!(
        Tree::new(&alone)
            .absent("interrupts")
            .contains("no other CPU")
    );
}

#[test]
fn a_quota_is_left_by_joining_the_top_of_its_hierarchy() {
    let member = ("/proc/self/cgroup", "3:cpu,cpuacct:/box/inner\n0::/\n");
    let mounts = (
        "/proc/self/mountinfo",
        "30 25 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
    );
    let group = |group: &str, quota: &'static str| {
        [
            (format!("/cg/cpu{group}/cpu.cfs_quota_us"), quota),
            (format!("/cg/cpu{group}/cpu.cfs_period_us"), "100000"),
        ]
    };
    let tree = |top: &'static str| {
        let groups = [
            group("", top),
            group("/box", "20000"),
            group("/box/inner", "-1"),
        ]
        .concat();
        let mut files = vec![member, mounts];
        files.extend(groups.iter().map(|(path, text)| (path.as_str(), *text)));
        Tree::new(&files)
    };
    let ready = tree("-1").ready("leave-cgroup");
    let joined = (
        "/cg/cpu/cgroup.procs".into(),
        "/cg/cpu/box/inner/cgroup.procs".into(),
    );
    assert_eq!(ready.joined, Some(joined));
    assert_eq!(ready.from, "0.2 CPUs");
    assert!(
        tree("50000")
            .absent("leave-cgroup")
            .contains("above this container")
    );
}

#[test]
fn a_quota_of_version_2_is_left_in_the_same_way() {
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/box\n"),
        (
            "/proc/self/mountinfo",
            "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
        ),
        ("/cg/box/cpu.max", "150000 100000\n"),
    ]);
    let ready = tree.ready("leave-cgroup");
    assert_eq!(
        ready.joined,
        Some(("/cg/cgroup.procs".into(), "/cg/box/cgroup.procs".into()))
    );
    assert_eq!(ready.from, "1.5 CPUs");
}

#[test]
fn a_clock_that_nothing_keeps_is_told_what_would_keep_it() {
    let mut tree = Tree::new(&[]);
    assert!(tree.absent("time-keeper").contains("nothing here tells"));
    let environment = &mut tree.here.environment;
    environment.synchronisation = Some(Synchronisation::default());
    environment.time_keeping = Some(TimeKeeping {
        distribution: vec!["alpine".to_owned()],
        ..TimeKeeping::default()
    });
    let State::Advised(advised) = tree.state("time-keeper") else {
        panic!("{:?}", tree.state("time-keeper"));
    };
    assert_eq!(advised.from, "Nothing keeps the wall clock in step");
    assert_eq!(advised.apply[0], "apk add chrony");

    let keeping = tree.here.environment.time_keeping.as_mut().unwrap();
    keeping.keepers = vec![TimeKeeper {
        name: "chrony".to_owned(),
        running: true,
        keeps: true,
        in_step: Some(true),
        ..TimeKeeper::default()
    }];
    assert_eq!(
        tree.already("time-keeper"),
        "chrony keeps the wall clock in step"
    );
}
