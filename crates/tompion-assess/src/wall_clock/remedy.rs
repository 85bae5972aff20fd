//! What would bring the wall clock in step, with the commands of the distribution.

use serde::Serialize;
use tompion_model::{Environment, TimeKeeper, TimeKeeping, TimeReference};

use super::Standing;

/// What would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// In a few words.
    pub what: String,
    /// Commands to type, or what to do, in this order.
    pub steps: Vec<String>,
}

/// How programs are installed and started.
struct Family {
    /// Names of it in os-release(5).
    ids: &'static [&'static str],
    /// What starts services there.
    services: &'static str,
    /// Installs chrony.
    install: &'static str,
    /// Starts it, now and with the machine.
    start: &'static [&'static str],
    /// Has it read its configuration again.
    restart: &'static str,
    /// Both where what usually starts services does not run.
    by_hand: [&'static str; 2],
    /// A file of its configuration that a line can be added to.
    configuration: &'static str,
    /// A file that names a module to load with the machine.
    modules: &'static str,
}

/// Without anything that starts services.
const CHRONYD_AGAIN: &str = "chronyc shutdown; chronyd";

const FAMILIES: [Family; 3] = [
    Family {
        ids: &["debian", "ubuntu"],
        services: "systemd",
        install: "apt install chrony",
        start: &["systemctl enable --now chrony"],
        restart: "systemctl restart chrony",
        by_hand: ["service chrony start", "service chrony restart"],
        configuration: "/etc/chrony/chrony.conf",
        modules: "/etc/modules-load.d/ptp_kvm.conf",
    },
    Family {
        ids: &["fedora", "rhel", "centos", "amzn"],
        services: "systemd",
        install: "dnf install chrony",
        start: &["systemctl enable --now chronyd"],
        restart: "systemctl restart chronyd",
        by_hand: ["chronyd", CHRONYD_AGAIN],
        configuration: "/etc/chrony.conf",
        modules: "/etc/modules-load.d/ptp_kvm.conf",
    },
    Family {
        ids: &["alpine"],
        services: "openrc",
        install: "apk add chrony",
        start: &["rc-update add chronyd default", "rc-service chronyd start"],
        restart: "rc-service chronyd restart",
        by_hand: ["chronyd", CHRONYD_AGAIN],
        configuration: "/etc/chrony/chrony.conf",
        modules: "/etc/modules",
    },
];

/// A distribution that we do not know.
const OTHER: Family = Family {
    ids: &[],
    services: "",
    install: "install chrony with the distribution's package manager",
    start: &["start the service chronyd, now and with the machine"],
    restart: "restart the service chronyd",
    by_hand: ["chronyd", CHRONYD_AGAIN],
    configuration: "chrony's configuration",
    modules: "the list of modules to load",
};

impl Family {
    /// Whether what its commands talk to does not run here.
    fn is_by_hand(&self, keeping: &TimeKeeping) -> bool {
        let runs = keeping.services.as_deref();
        runs.is_some_and(|runs| runs != self.services && !self.services.is_empty())
    }

    /// Starts chrony, and has it read its configuration again.
    fn started(&self, keeping: &TimeKeeping) -> Vec<String> {
        match self.is_by_hand(keeping) {
            true => vec![self.by_hand[0].to_owned()],
            false => self.start.iter().map(|step| (*step).to_owned()).collect(),
        }
    }

    fn restarted(&self, keeping: &TimeKeeping) -> String {
        match self.is_by_hand(keeping) {
            true => self.by_hand[1].to_owned(),
            false => self.restart.to_owned(),
        }
    }
}

fn family(keeping: &TimeKeeping) -> &'static Family {
    // Its own name before what it is like.
    let mut ids = keeping.distribution.iter().map(String::as_str);
    ids.find_map(|id| FAMILIES.iter().find(|family| family.ids.contains(&id)))
        .unwrap_or(&OTHER)
}

pub(super) fn remedy(
    environment: &Environment,
    standing: &Standing<'_>,
    keeps: &[&TimeKeeper],
) -> Option<Remedy> {
    let keeping = environment.time_keeping.as_ref()?;
    let family = family(keeping);
    if standing.in_step() != Some(true) && environment.container.kind.is_some() {
        return Some(Remedy {
            what: "a program that keeps time, on the machine outside of this container".to_owned(),
            steps: vec!["a container has the clock of its machine: look there".to_owned()],
        });
    }
    match standing {
        Standing::InStep(_) | Standing::ByTheKernel(_) | Standing::Unseen => several(keeps),
        Standing::Untold(_) | Standing::Unknown => None,
        Standing::SetMeanwhile(keeper) => Some(set_meanwhile(keeper)),
        Standing::NotYet(keeper) => Some(sources(keeper, environment, keeping, family)),
        Standing::LeavesAlone(keeper) => Some(Remedy {
            what: format!("{} that corrects the clock", keeper.name),
            steps: vec![match keeper.note.as_deref() {
                Some(note) if keeper.name == "linuxptp" => {
                    format!("start phc2sys -a -r beside it ({note})")
                }
                _ => "start it without -x".to_owned(),
            }],
        }),
        Standing::Unkept => Some(unkept(environment, keeping, family)),
    }
}

/// Programs that correct the clock against one another.
fn several(keeps: &[&TimeKeeper]) -> Option<Remedy> {
    let [first, others @ ..] = keeps else {
        return None;
    };
    let names: Vec<&str> = others.iter().map(|k| k.name.as_str()).collect();
    (!names.is_empty()).then(|| Remedy {
        what: "one program alone that corrects the clock".to_owned(),
        steps: vec![format!(
            "keep {}; stop and disable {}",
            first.name,
            names.join(", ")
        )],
    })
}

fn set_meanwhile(keeper: &TimeKeeper) -> Remedy {
    let at_once = match keeper.name.as_str() {
        "chrony" => "chronyc makestep".to_owned(),
        name => format!("restart {name}, which sets the clock as it starts"),
    };
    Remedy {
        what: "the clock set right, and left to one program".to_owned(),
        steps: vec![
            at_once,
            "find what else sets the clock: date, a hypervisor's tools, another program".to_owned(),
        ],
    }
}

/// It runs and follows nobody.
fn sources(
    keeper: &TimeKeeper,
    environment: &Environment,
    keeping: &TimeKeeping,
    family: &Family,
) -> Remedy {
    let show = match keeper.name.as_str() {
        "chrony" => "chronyc sources -v",
        "systemd-timesyncd" => "timedatectl timesync-status",
        "linuxptp" => "pmc -u -b 0 'GET TIME_STATUS_NP'",
        _ => "ntpq -p",
    };
    let mut steps = vec![format!(
        "{show}: are its servers reachable by UDP port 123?"
    )];
    if keeper.name == "chrony" {
        steps.extend(host_clock(environment, keeping, family));
    } else if keeper.name == "linuxptp" {
        steps = vec![format!(
            "{show}: is there a clock in the network to follow?"
        )];
    }
    Remedy {
        what: format!("a source that {} can follow", keeper.name),
        steps,
    }
}

/// Nothing runs that keeps time.
fn unkept(environment: &Environment, keeping: &TimeKeeping, family: &Family) -> Remedy {
    let installed = keeping.keepers.iter().find(|k| !k.running);
    let host = host_clock(environment, keeping, family);
    let mut steps = Vec::new();
    match installed.map(|k| k.name.as_str()) {
        // It follows no clock but those in the network.
        Some("systemd-timesyncd") if host.is_empty() && runs_systemd(keeping) => {
            steps.push("timedatectl set-ntp true".to_owned());
        }
        Some(name @ ("ntpd" | "ntpsec")) if host.is_empty() => {
            steps.push(format!(
                "start the service {name}, now and with the machine"
            ));
        }
        Some("chrony") => steps.extend(family.started(keeping)),
        _ => {
            steps.push(family.install.to_owned());
            steps.extend(family.started(keeping));
        }
    }
    let follows_host = !host.is_empty();
    steps.extend(host);
    Remedy {
        what: match follows_host {
            true => "a program that keeps time, by the host's clock too".to_owned(),
            false => "a program that keeps time".to_owned(),
        },
        steps,
    }
}

/// Whether systemd starts services here; so it is taken to be where a record does not say.
fn runs_systemd(keeping: &TimeKeeping) -> bool {
    let runs = keeping.services.as_deref();
    runs.is_none_or(|runs| runs == "systemd")
}

/// Has chrony follow the host's clock, where the host gives it out.
fn host_clock(environment: &Environment, keeping: &TimeKeeping, family: &Family) -> Vec<String> {
    let is_device = |r: &&TimeReference| r.of_host && r.device.starts_with("/dev/ptp");
    let offered = keeping.references.iter().find(is_device);
    let followed = |k: &TimeKeeper| k.sources.iter().any(|s| s.kind == "reference clock");
    if keeping.keepers.iter().any(followed) {
        return Vec::new();
    }
    let virtualization = &environment.virtualization;
    let (mut steps, device) = match offered {
        Some(reference) => (Vec::new(), reference.device.as_str()),
        None if virtualization.hypervisor.as_deref() == Some("KVM")
            && virtualization.emulated.is_none() =>
        {
            let load = "modprobe ptp_kvm (where it fails, the host does not offer its clock: \
                        leave out what follows)";
            let again = format!("echo ptp_kvm >> {}", family.modules);
            (vec![load.to_owned(), again], "/dev/ptp0")
        }
        None => return Vec::new(),
    };
    steps.push(format!(
        "echo 'refclock PHC {device} poll 2' >> {}",
        family.configuration
    ));
    steps.push(family.restarted(keeping));
    steps
}
