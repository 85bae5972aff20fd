//! Machines in every standing, and what is advised for each.

use tompion_model::{
    Environment, Synchronisation, TimeKeeper, TimeKeeping, TimeReference, TimeSource,
};

use super::{WallClock, wall_clock};

fn keeper(name: &str, in_step: Option<bool>) -> TimeKeeper {
    TimeKeeper {
        name: name.to_owned(),
        running: true,
        keeps: true,
        tells_kernel: true,
        in_step,
        error_at_most_ns: (in_step == Some(true)).then_some(1_250_000),
        ..TimeKeeper::default()
    }
}

fn from(states: &[&str]) -> Vec<TimeSource> {
    let source = |state: &&str| TimeSource {
        name: "192.0.2.1".to_owned(),
        kind: "server".to_owned(),
        state: (*state).to_owned(),
    };
    states.iter().map(source).collect()
}

/// The kernel's word: synchronised or not, and how far off at most, in seconds.
fn machine(keepers: Vec<TimeKeeper>, kernel: Option<(bool, i64)>) -> Environment {
    Environment {
        time_keeping: Some(TimeKeeping {
            keepers,
            distribution: vec!["debian".to_owned()],
            ..TimeKeeping::default()
        }),
        synchronisation: kernel.map(|(synchronised, s)| Synchronisation {
            synchronised,
            maximum_error_ns: s * 1_000_000_000,
            ..Synchronisation::default()
        }),
        ..Environment::default()
    }
}

fn told(environment: &Environment) -> WallClock {
    wall_clock(environment).expect("it was looked at")
}

fn steps(environment: &Environment) -> Vec<String> {
    told(environment).remedy.expect("a remedy").steps
}

#[test]
fn each_standing_is_named_and_only_the_keepers_own_bound_is_one() {
    let mut unreachable = keeper("chrony", Some(false));
    unreachable.sources = from(&["unreachable"; 2]);
    let mut new = keeper("ntpsec", Some(false));
    new.sources = from(&["unreachable", "not usable"]);
    let mut alone = keeper("chrony", Some(true));
    alone.keeps = false;
    for (keepers, kernel, in_step, answer, bound_ns) in [
        (
            vec![keeper("chrony", Some(true))],
            Some((true, 0)),
            Some(true),
            "chrony keeps the wall clock in step",
            Some(1_250_000),
        ),
        // Without rtcsync the kernel is not told that it is, but how far off at most.
        (
            vec![keeper("chrony", Some(true))],
            Some((false, 0)),
            Some(true),
            "chrony keeps the wall clock in step",
            Some(1_250_000),
        ),
        (
            vec![keeper("chrony", Some(true))],
            Some((false, 16)),
            Some(false),
            "The wall clock was set by something else since chrony last corrected it",
            None,
        ),
        (
            vec![unreachable],
            Some((false, 16)),
            Some(false),
            "chrony runs and is not in step: none of its 2 sources answers",
            None,
        ),
        (
            vec![new],
            Some((false, 16)),
            Some(false),
            "ntpsec runs and is not in step: it has chosen none of its 2 sources yet",
            None,
        ),
        (
            vec![keeper("linuxptp", None)],
            Some((true, 0)),
            Some(true),
            "linuxptp keeps the wall clock in step, by the kernel's word",
            None,
        ),
        (
            vec![keeper("ntpd", None)],
            None,
            None,
            "ntpd runs, and nothing says whether it is in step",
            None,
        ),
        (
            vec![alone],
            Some((false, 16)),
            Some(false),
            "chrony runs and does not correct the wall clock",
            None,
        ),
        (
            vec![],
            Some((true, 0)),
            Some(true),
            "The kernel regards its clock as synchronised; what keeps it does not show from here",
            None,
        ),
        (
            vec![],
            Some((false, 16)),
            Some(false),
            "Nothing keeps the wall clock in step",
            None,
        ),
        (
            vec![],
            None,
            None,
            "Nothing is seen that keeps the wall clock in step, and the kernel does not say whether it is",
            None,
        ),
        (
            vec![
                keeper("chrony", Some(true)),
                keeper("systemd-timesyncd", Some(true)),
            ],
            Some((true, 0)),
            Some(true),
            "chrony keeps the wall clock in step; chrony and systemd-timesyncd correct it at once",
            Some(1_250_000),
        ),
    ] {
        let found = told(&machine(keepers, kernel));
        assert_eq!(found.answer, answer);
        assert_eq!(
            (found.in_step, found.error_at_most_ns),
            (in_step, bound_ns),
            "{answer}"
        );
    }
    assert_eq!(wall_clock(&Environment::default()), None);
}

#[test]
fn an_ntpd_that_does_not_tell_the_kernel_is_believed() {
    let mut ntpd = keeper("ntpd", Some(true));
    ntpd.tells_kernel = false;
    assert_eq!(
        told(&machine(vec![ntpd], Some((false, 16)))).in_step,
        Some(true)
    );
}

#[test]
fn what_is_missing_is_advised_in_the_distributions_commands() {
    let mut environment = machine(vec![], Some((false, 16)));
    let mut of = |words: &[&str]| {
        let keeping = environment.time_keeping.as_mut().unwrap();
        keeping.distribution = words.iter().map(|w| (*w).to_owned()).collect();
        steps(&environment)
    };
    assert_eq!(
        of(&["debian"]),
        ["apt install chrony", "systemctl enable --now chrony"]
    );
    assert_eq!(
        of(&["linuxmint", "ubuntu", "debian"])[0],
        "apt install chrony"
    );
    assert_eq!(
        of(&["rocky", "rhel", "centos", "fedora"]),
        ["dnf install chrony", "systemctl enable --now chronyd"]
    );
    assert_eq!(
        of(&["alpine"]),
        [
            "apk add chrony",
            "rc-update add chronyd default",
            "rc-service chronyd start"
        ]
    );
    assert!(of(&["unheard-of"])[0].contains("package manager"));
    assert!(of(&[])[0].contains("package manager"));
}

#[test]
fn where_nothing_starts_services_the_commands_do_without() {
    let of = |distribution: &str, services: Option<&str>, installed: Option<&str>| {
        let installed = installed.map(|name| TimeKeeper {
            name: name.to_owned(),
            ..TimeKeeper::default()
        });
        let mut environment = machine(installed.into_iter().collect(), Some((false, 16)));
        let keeping = environment.time_keeping.as_mut().unwrap();
        keeping.distribution = vec![distribution.to_owned()];
        keeping.services = services.map(str::to_owned);
        steps(&environment)
    };
    let other = Some("other");
    let by_hand = ["apt install chrony", "service chrony start"];
    assert_eq!(of("debian", other, None), by_hand);
    let usual = ["apt install chrony", "systemctl enable --now chrony"];
    assert_eq!(of("debian", Some("systemd"), None), usual);
    assert_eq!(of("fedora", other, Some("chrony")), ["chronyd"]);
    // timedatectl talks to systemd.
    let timesyncd = Some("systemd-timesyncd");
    assert_eq!(of("debian", other, timesyncd), by_hand);
    let told = ["timedatectl set-ntp true"];
    assert_eq!(of("debian", Some("systemd"), timesyncd), told);
    assert_eq!(of("alpine", Some("openrc"), None).len(), 3);
    assert_eq!(of("alpine", other, None), ["apk add chrony", "chronyd"]);
}

#[test]
fn what_is_installed_is_started_and_not_installed_again() {
    let installed = |name: &str| TimeKeeper {
        name: name.to_owned(),
        ..TimeKeeper::default()
    };
    let of = |name: &str| steps(&machine(vec![installed(name)], Some((false, 16))));
    assert_eq!(of("chrony"), ["systemctl enable --now chrony"]);
    assert_eq!(of("systemd-timesyncd"), ["timedatectl set-ntp true"]);
    assert_eq!(
        of("ntpsec"),
        ["start the service ntpsec, now and with the machine"]
    );
}

#[test]
fn the_hosts_clock_is_followed_where_it_is_offered() {
    let mut environment = machine(vec![], Some((false, 16)));
    let keeping = environment.time_keeping.as_mut().unwrap();
    keeping.references = vec![
        TimeReference {
            device: "/dev/ptp0".to_owned(),
            name: "e1000e".to_owned(),
            of_host: false,
        },
        TimeReference {
            device: "/dev/ptp1".to_owned(),
            name: "KVM virtual PTP".to_owned(),
            of_host: true,
        },
    ];
    let found = steps(&environment);
    assert_eq!(
        found[2..],
        [
            "echo 'refclock PHC /dev/ptp1 poll 2' >> /etc/chrony/chrony.conf",
            "systemctl restart chrony"
        ]
    );
    // What follows it already is not told to.
    let mut chrony = keeper("chrony", Some(false));
    chrony.sources = from(&["not usable"]);
    chrony.sources[0].kind = "reference clock".to_owned();
    environment.time_keeping.as_mut().unwrap().keepers = vec![chrony];
    assert_eq!(steps(&environment).len(), 1);
}

#[test]
fn a_kvm_guest_without_that_device_loads_its_driver_but_no_emulated_one() {
    let mut environment = machine(vec![], Some((false, 16)));
    environment.virtualization.hypervisor = Some("KVM".to_owned());
    let found = steps(&environment);
    assert!(found[2].starts_with("modprobe ptp_kvm"), "{found:?}");
    assert!(
        found.iter().any(|s| s.contains("/etc/modules-load.d")),
        "{found:?}"
    );
    environment.virtualization.emulated = Some("QEMU TCG".to_owned());
    assert!(steps(&environment).iter().all(|s| !s.contains("ptp")));
}

#[test]
fn other_standings_have_their_own_advice() {
    let silent = {
        let mut chrony = keeper("chrony", Some(false));
        chrony.sources = from(&["unreachable"]);
        machine(vec![chrony], Some((false, 16)))
    };
    assert!(steps(&silent)[0].starts_with("chronyc sources -v: are its servers reachable"));
    let set = machine(vec![keeper("chrony", Some(true))], Some((false, 16)));
    assert_eq!(steps(&set)[0], "chronyc makestep");
    let both = vec![
        keeper("chrony", Some(true)),
        keeper("systemd-timesyncd", Some(true)),
    ];
    let both = machine(both, Some((true, 0)));
    assert_eq!(
        steps(&both),
        ["keep chrony; stop and disable systemd-timesyncd"]
    );
    let good = machine(vec![keeper("chrony", Some(true))], Some((true, 0)));
    assert_eq!(told(&good).remedy, None);
    let mut contained = machine(vec![], Some((false, 16)));
    contained.container.kind = Some("docker".to_owned());
    assert!(steps(&contained)[0].contains("clock of its machine"));
}
