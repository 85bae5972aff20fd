//! What keeps the wall clock in step: programs that run or are installed, hypervisors that set
//! it, and clocks that could be followed.
//!
//! Nothing is started, and nothing outside of this machine is asked: a daemon answers on the
//! loopback interface, or its files tell.

mod ask;
mod cmdmon;
mod keepers;
mod mode6;
mod processes;
mod references;
mod source;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use tompion_model::{Synchronisation, TimeKeeper, TimeKeeping};

pub use ask::{Ask, Loopback};
use processes::Processes;

use crate::root::{Root, field};

/// As much of a file as is read: none that is looked at here is longer.
const FILE_BYTES: u64 = 64 << 10;

/// An entry in the list of keepers.
struct Keeper {
    /// Names of its programs, as the kernel has them: at most 15 bytes.
    processes: &'static [&'static str],
    /// What is to be said of it here; nothing where it is not.
    found: fn(&Here<'_>) -> Option<TimeKeeper>,
}

/// What keepers are found by.
struct Here<'a> {
    root: &'a Root,
    processes: Processes,
    daemons: &'a dyn Ask,
    kernel: Option<&'a Synchronisation>,
    /// What an ntpd of whichever kind says: it is asked once.
    ntpd: OnceCell<Option<mode6::Tracking>>,
}

impl Here<'_> {
    /// A file's beginning.
    fn text(&self, path: &str) -> Option<String> {
        self.root.beginning(path, FILE_BYTES)
    }

    fn ntpd(&self) -> Option<mode6::Tracking> {
        let ask = || mode6::tracking(self.daemons);
        self.ntpd.get_or_init(ask).clone()
    }

    /// Whether one of these files is there.
    fn has(&self, paths: &[&str]) -> bool {
        paths.iter().any(|path| self.root.has(path))
    }
}

/// What keeps the wall clock of the machine whose files lie under `root`; `daemons` answer
/// where they run, and the kernel has said how well its clock is kept.
pub fn time_keeping(
    root: &Root,
    daemons: &dyn Ask,
    kernel: Option<&Synchronisation>,
) -> Option<TimeKeeping> {
    let names = keepers::ALL.iter().flat_map(|k| k.processes);
    let here = Here {
        root,
        processes: Processes::named(root, &names.copied().collect::<Vec<_>>()),
        daemons,
        kernel,
        ntpd: OnceCell::new(),
    };
    let mut keepers: Vec<TimeKeeper> = keepers::ALL
        .iter()
        .filter_map(|keeper| (keeper.found)(&here))
        .collect();
    keepers.sort_by_key(|k| (!k.running, !k.keeps));
    let found = TimeKeeping {
        keepers,
        references: references::references(root),
        distribution: distribution(&here),
        services: None,
    };
    let services = Some(services(root).to_owned());
    (found != TimeKeeping::default()).then_some(TimeKeeping { services, ..found })
}

/// What starts services, by the directories that it makes as it starts: sd_booted(3).
fn services(root: &Root) -> &'static str {
    let starters = [
        ("/run/systemd/system", "systemd"),
        ("/run/openrc", "openrc"),
    ];
    let found = starters.into_iter().find(|(path, _)| root.has(path));
    found.map_or("other", |(_, name)| name)
}

/// `ID` and `ID_LIKE` of os-release(5).
fn distribution(here: &Here<'_>) -> Vec<String> {
    const LONGEST: usize = 32;
    let text = here
        .text("/etc/os-release")
        .or_else(|| here.text("/usr/lib/os-release"))
        .unwrap_or_default()
        .replace('=', ":");
    let value = |key| field(&text, key).unwrap_or_default();
    let words = [value("ID"), value("ID_LIKE")].map(|v| v.trim_matches(['"', '\'']));
    let words = words.iter().flat_map(|v| v.split_whitespace());
    let is_id = |word: &&str| {
        word.len() <= LONGEST
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    words.filter(is_id).take(8).map(str::to_owned).collect()
}
