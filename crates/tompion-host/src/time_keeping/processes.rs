//! Programs that run, by name.

use std::fs;

use crate::root::Root;

/// Some of the processes of this machine.
#[derive(Default)]
pub struct Processes(Vec<Process>);

/// One of them.
struct Process {
    name: String,
    arguments: Vec<String>,
}

/// As many are looked at: the kernel's own limit by default on large machines.
const MOST: usize = 1 << 17;
/// The kernel's names have 15 bytes.
const NAME_BYTES: u64 = 64;
const ARGUMENT_BYTES: u64 = 4096;

impl Processes {
    /// Those with one of these names, as /proc/PID/comm has them.
    pub fn named(root: &Root, names: &[&str]) -> Self {
        let Ok(entries) = fs::read_dir(root.path("/proc")) else {
            return Self::default();
        };
        let process = |id: String| {
            let name = root.beginning(format!("/proc/{id}/comm"), NAME_BYTES)?;
            names.contains(&name.as_str()).then(|| {
                let text = root.beginning(format!("/proc/{id}/cmdline"), ARGUMENT_BYTES);
                let arguments = text.unwrap_or_default();
                let arguments = arguments.split('\0').map(str::to_owned).collect();
                Process { name, arguments }
            })
        };
        let ids = entries.take(MOST).filter_map(|entry| {
            let id = entry.ok()?.file_name().into_string().ok()?;
            id.bytes().all(|b| b.is_ascii_digit()).then_some(id)
        });
        Self(ids.filter_map(process).collect())
    }

    /// Whether one of that name runs.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|process| process.name == name)
    }

    /// The arguments of those of that name.
    pub fn arguments<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [String]> {
        let of_name = self.0.iter().filter(move |process| process.name == name);
        of_name.map(|process| process.arguments.as_slice())
    }

    /// Whether one of that name was started with this option of one letter, alone or among
    /// others as in `-gx`.
    pub fn has_option(&self, name: &str, letter: char) -> bool {
        self.arguments(name).flatten().any(|argument| {
            // A value may stand behind its letter, as in `-c/etc/ntp.conf`.
            let is_letters = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
            let letters = argument.strip_prefix('-').filter(|text| is_letters(text));
            letters.is_some_and(|letters| letters.contains(letter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_letter_and_not_one_of_a_path() {
        let has = |argument: &str| {
            let process = Process {
                name: "ntpd".to_owned(),
                arguments: vec!["/usr/sbin/ntpd".to_owned(), argument.to_owned()],
            };
            Processes(vec![process]).has_option("ntpd", 'x')
        };
        assert!(has("-x") && has("-gx"));
        assert!(!has("-c/etc/x.conf") && !has("--panicgate-x") && !has("x") && !has("-g"));
    }
}
