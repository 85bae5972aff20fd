//! Levels of factors: of what Tompion itself does not call so, the shape alone.

use tompion_model::factor;

use super::names::Names;

/// Factors whose levels are Tompion's own words.
const OWN: [&str; 11] = [
    factor::PROBE,
    factor::METHOD,
    factor::TARGET,
    factor::SLACK,
    factor::POLICY,
    factor::FORM,
    factor::CPU,
    factor::COMPANY,
    factor::OBSERVE,
    factor::GUEST,
    factor::SWITCH,
];

/// Words that platforms and placements are called by beside the kinds of platforms, whoever names
/// them.
const WORDS: [&str; 44] = [
    "alone",
    "alpine",
    "bare",
    "beside",
    "both",
    "cgroup",
    "cloud",
    "container",
    "cpus",
    "crun",
    "debian",
    "direct",
    "docker",
    "emulated",
    "fedora",
    "four",
    "guest",
    "guests",
    "gvisor",
    "hpet",
    "hypervisor",
    "icount",
    "kata",
    "kvm",
    "linux",
    "lxc",
    "many",
    "metal",
    "microvm",
    "native",
    "neighbour",
    "neighbours",
    "nested",
    "one",
    "pinned",
    "podman",
    "quota",
    "rootless",
    "runc",
    "runsc",
    "shared",
    "tcg",
    "three",
    "two",
];

/// Options of loads that name a machine or a file, even where that is a number.
const PLACES: [&str; 6] = ["dir", "file", "host", "key", "peer", "server"];

/// Units that numbers in options of loads have.
const UNITS: [&str; 20] = [
    "", "%", "b", "g", "gb", "gib", "h", "hz", "k", "kb", "khz", "kib", "m", "mb", "mib", "min",
    "ms", "ns", "s", "us",
];

/// Kernel threads, softirqs and interrupts that every kernel may have, up to the first `/`, digit
/// or `-`.
const KERNEL: [&str; 46] = [
    "BLOCK",
    "HI",
    "HRTIMER",
    "IRQ_POLL",
    "NET_RX",
    "NET_TX",
    "RCU",
    "SCHED",
    "TASKLET",
    "TIMER",
    "call_function",
    "call_function_single",
    "cpuhp",
    "deferred_error",
    "error_apic",
    "idle_inject",
    "irq_work",
    "kauditd",
    "kcompactd",
    "khugepaged",
    "khungtaskd",
    "kintegrityd",
    "ksmd",
    "ksoftirqd",
    "kswapd",
    "kthreadd",
    "kworker",
    "local_timer",
    "migration",
    "oom_reaper",
    "rcu_exp_gp_kthread_worker",
    "rcu_exp_par_gp_kthread_worker",
    "rcu_preempt",
    "rcu_sched",
    "rcu_tasks_kthread",
    "rcu_tasks_rude_kthread",
    "rcub",
    "rcuc",
    "rcuop",
    "reschedule",
    "spurious_apic",
    "swapper",
    "thermal_apic",
    "threshold_apic",
    "watchdogd",
    "x86_platform_ipi",
];

impl Names {
    /// A factor and its level.
    pub(super) fn factor(&mut self, name: &str, level: &str) -> (String, String) {
        match name {
            factor::LOAD => (name.to_owned(), self.load(level)),
            factor::PLATFORM | factor::PLACEMENT => (name.to_owned(), self.platform(level)),
            _ if OWN.contains(&name) => (name.to_owned(), self.clean(level)),
            // Of another version, or of somebody's own.
            _ => {
                let name = self.numbered("factor", name).replace(['(', ')'], "");
                (name.replace(' ', "-"), self.numbered("level", level))
            }
        }
    }

    /// A load: its name, its options, and of their values the numbers.
    pub(super) fn load(&mut self, text: &str) -> String {
        let parts = text.split('+').map(|part| {
            let Some((name, options)) = part.split_once(':') else {
                return self.load_name(part);
            };
            let name = self.load_name(name);
            // An address has colons, a list of CPUs has commas: what has no `=` belongs to the
            // option before it.
            let mut all: Vec<String> = Vec::new();
            for piece in options.split_inclusive([':', ',']) {
                match all.last_mut() {
                    Some(last) if !piece.contains('=') => last.push_str(piece),
                    _ => all.push(piece.to_owned()),
                }
            }
            let options = all.iter().map(|option| {
                let bare = option.trim_end_matches([':', ',']);
                format!("{}{}", self.load_option(bare), &option[bare.len()..])
            });
            let options: String = options.collect();
            format!("{name}:{options}")
        });
        let parts: Vec<String> = parts.collect();
        parts.join("+")
    }

    fn load_name(&mut self, name: &str) -> String {
        match self.vocabulary.loads.contains(&name) {
            true => name.to_owned(),
            false => self.numbered("load", name),
        }
    }

    fn load_option(&mut self, option: &str) -> String {
        match option.split_once('=') {
            Some((key, value)) if key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') => {
                match is_quantity(value) && !PLACES.contains(&key) {
                    true => option.to_owned(),
                    false => format!("{key}={}", self.numbered("value", value)),
                }
            }
            _ if is_quantity(option) => option.to_owned(),
            _ => self.numbered("value", option),
        }
    }

    /// A platform, its kind, or a placement.
    pub(super) fn platform(&mut self, text: &str) -> String {
        let vocabulary = &self.vocabulary;
        let is_known = |word: &str| {
            let number = word.len() <= 4 && word.bytes().all(|b| b.is_ascii_digit());
            let word = word.to_lowercase();
            number || WORDS.contains(&word.as_str()) || vocabulary.has(&word)
        };
        let words = |text: &str| {
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            // An address is made of numbers, too.
            let numbers = text.split(|c: char| !c.is_ascii_digit());
            let few = numbers.filter(|n| !n.is_empty()).count() <= 3;
            let short = text.bytes().filter(u8::is_ascii_digit).count() <= 8;
            words.all(is_known) && few && short
        };
        // What stands behind a colon is a host.
        if !text.contains(':') && words(text) {
            return text.to_owned();
        }
        let end = if text.ends_with("(emulated)") {
            " (emulated)"
        } else {
            ""
        };
        let kind = text.split_once(':').map_or("", |(kind, _)| kind);
        match !kind.is_empty() && words(kind) {
            true => format!("{kind}:{}{end}", self.numbered("platform", text)),
            false => format!("{}{end}", self.numbered("platform", text)),
        }
    }

    /// What held a thread up: a thread of the kernel, an interrupt, or somebody's process, with
    /// its number.
    pub(super) fn process(&mut self, text: &str) -> String {
        let (name, id) = match text.strip_suffix(']').and_then(|t| t.rsplit_once('[')) {
            Some((name, id)) if id.bytes().all(|b| b.is_ascii_digit()) => (name, format!("[{id}]")),
            _ => (text, String::new()),
        };
        let stem = name.find(|c: char| c == '/' || c == '-' || c.is_ascii_digit());
        let stem = &name[..stem.unwrap_or(name.len())];
        // A step of the clock has a time for its author.
        let is_time = name
            .strip_suffix(" s")
            .is_some_and(|n| n.parse::<f64>().is_ok());
        match is_time || (KERNEL.contains(&stem) && !self.is_private(name)) {
            true => format!("{}{id}", self.clean(name)),
            false => format!("{}{id}", self.numbered("process", name)),
        }
    }
}

/// A number with a unit, or a list or range of numbers.
fn is_quantity(text: &str) -> bool {
    let end = text.find(|c: char| c.is_ascii_alphabetic() || c == '%');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_lowercase();
    let is_number = number.parse::<f64>().is_ok_and(f64::is_finite) && number.len() <= 12;
    let is_list = !number.is_empty()
        && number
            .split(['-', ','])
            .all(|n| (1..=5).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()));
    (is_number && UNITS.contains(&unit.as_str())) || (is_list && unit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vocabulary;

    fn vocabulary() -> Vocabulary {
        Vocabulary {
            loads: "idle cpu network io stress-ng udp".split(' ').collect(),
            platforms: "host qemu ssh".split(' ').collect(),
        }
    }

    #[test]
    fn loads_keep_their_names_and_numbers() {
        let mut names = Names::knowing(vocabulary());
        for (level, left) in [
            ("idle", "idle"),
            ("cpu:threads=100", "cpu:threads=100"),
            (
                "cpu:level=50%:cpus=0-1,3+network",
                "cpu:level=50%:cpus=0-1,3+network",
            ),
            (
                "network:peer=db.example.org:9000,streams=2",
                "network:peer=(value 1),streams=2",
            ),
            (
                "io:dir=/home/mira/x,size=64MiB",
                "io:dir=(value 2),size=64MiB",
            ),
            ("network:peer=10.0.0.1:9000", "network:peer=(value 3)"),
            ("io:dir=/home/mira/x", "io:dir=(value 2)"),
            ("Corp Load", "(load 1)"),
            ("stress-ng:mira", "stress-ng:(value 4)"),
            ("udp:peer=3232235777", "udp:peer=(value 5)"),
            (
                "udp:rate=200M:peer=192.0.2.7:5210:cpus=1",
                "udp:rate=200M:peer=(value 6):cpus=1",
            ),
        ] {
            assert_eq!(names.load(level), left);
        }
    }

    #[test]
    fn platforms_keep_their_kind() {
        let mut names = Names::knowing(vocabulary());
        for (level, left) in [
            ("host", "host"),
            ("qemu-kvm (emulated)", "qemu-kvm (emulated)"),
            ("runc 2 cpus", "runc 2 cpus"),
            ("ssh:root@db1.corp", "ssh:(platform 1)"),
            ("atlas (emulated)", "(platform 2) (emulated)"),
            ("atlas", "(platform 3)"),
            ("ssh:root@db1.corp", "ssh:(platform 1)"),
            ("ssh:10.2.1.6", "ssh:(platform 4)"),
            ("ssh:10.1", "ssh:(platform 5)"),
            ("10.2.1.6", "(platform 6)"),
            ("qemu-10.2.1.6", "(platform 7)"),
            ("guest 5254.0012.3456", "(platform 8)"),
            ("52:54:00:12:34:56", "52:(platform 9)"),
            ("debian-12.5-qemu-9", "debian-12.5-qemu-9"),
        ] {
            assert_eq!(names.platform(level), left);
        }
    }

    #[test]
    fn processes_are_numbered_but_those_that_every_kernel_has() {
        let mut names = Names::knowing(vocabulary());
        for (by, left) in [
            ("kworker/u8:1[13311]", "kworker/u8:1[13311]"),
            ("rcu_preempt[15]", "rcu_preempt[15]"),
            ("NET_RX", "NET_RX"),
            ("local_timer", "local_timer"),
            ("+0.500000 s", "+0.500000 s"),
            ("payroll[77]", "(process 1)[77]"),
            ("irq/27-enx525400123456", "(process 2)"),
            ("payroll[78]", "(process 1)[78]"),
        ] {
            assert_eq!(names.process(by), left);
        }
    }

    #[test]
    fn factors_that_are_nobody_s_but_one_s_own_are_numbered() {
        let mut names = Names::knowing(vocabulary());
        let (name, level) = names.factor("customer", "ACME");
        assert_eq!((name.as_str(), level.as_str()), ("factor-1", "(level 1)"));
        assert_eq!(names.factor("target", "100us").1, "100us");
    }
}
