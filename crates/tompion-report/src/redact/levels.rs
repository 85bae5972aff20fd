//! Levels of factors: of what Tompion itself does not call so, the shape alone.

use tompion_model::{MethodRow, factor, parse_duration_ns};
use tompion_path::stamps::{Vantage, recorded};
use tompion_probe::timer_events::Form;
use tompion_probe::{Policy, method, stalls};

use super::names::Names;
use super::words::{MOST_DIGITS, is_among};

/// Words that platforms and placements are called by beside the kinds of platforms, whoever names
/// them.
const WORDS: &str = "\
    alone alpine bare beside both cgroup cloud container cpus crun debian direct docker \
    emulated fedora four guest guests gvisor hpet hypervisor icount kata kvm linux lxc many \
    metal microvm native neighbour neighbours nested one pinned podman quota rootless runc \
    runsc shared tcg three two";

/// Options of loads that name a machine or a file, even where that is a number.
const PLACES: [&str; 6] = ["dir", "file", "host", "key", "peer", "server"];

/// Words that an option of a load may have in place of a number.
const KINDS: [&str; 3] = ["bursts", "even", "poisson"];

/// Units that numbers in options of loads have.
const UNITS: [&str; 20] = [
    "", "%", "b", "g", "gb", "gib", "h", "hz", "k", "kb", "khz", "kib", "m", "mb", "mib", "min",
    "ms", "ns", "s", "us",
];

impl Names {
    /// A factor and its level.
    pub(super) fn factor(&mut self, name: &str, level: &str) -> (String, String) {
        match name {
            factor::LOAD => (name.to_owned(), self.load(level)),
            factor::PLATFORM | factor::PLACEMENT => (name.to_owned(), self.platform(level)),
            factor::PROBE => self.own("probe", name, level, self.is_probe(level)),
            factor::METHOD => self.own("method", name, level, is_method(level)),
            factor::TARGET => self.own("target", name, level, is_duration(level)),
            factor::SLACK => {
                let is_known = level == "default" || is_duration(level);
                self.own("slack", name, level, is_known)
            }
            factor::POLICY => {
                let is_known = level
                    .parse::<Policy>()
                    .is_ok_and(|p| p.to_string() == level);
                self.own("policy", name, level, is_known)
            }
            factor::VANTAGE => {
                let own = [
                    Vantage::User,
                    Vantage::Qdisc,
                    Vantage::Kernel,
                    Vantage::Hardware,
                ];
                let is_known = own.iter().any(|v| v.to_string() == level);
                self.own("vantage", name, level, is_known || level == recorded::PATH)
            }
            factor::FORM => {
                let is_known = Form::ALL.iter().any(|form| form.name() == level);
                self.own("form", name, level, is_known)
            }
            factor::CPU | factor::GUEST | factor::COMPANY => {
                self.own("number", name, level, is_count(level))
            }
            factor::SWITCH => self.own("switch", name, level, ["a", "b"].contains(&level)),
            factor::OBSERVE => self.own("observe", name, level, self.is_observation(level)),
            // Of another version, or of somebody's own.
            _ => {
                let name = self.hyphenated("factor", name);
                (name, self.numbered("level", level))
            }
        }
    }

    /// A factor of Tompion's own with its level, or what stands for that.
    fn own(
        &mut self,
        kind: &'static str,
        name: &str,
        level: &str,
        is_known: bool,
    ) -> (String, String) {
        let level = match is_known {
            true => level.to_owned(),
            false => self.hyphenated(kind, level),
        };
        (name.to_owned(), level)
    }

    /// What stands for a text where a bracket or a space would be in the way.
    fn hyphenated(&mut self, kind: &'static str, text: &str) -> String {
        let numbered = self.numbered(kind, text);
        numbered.replace(['(', ')'], "").replace(' ', "-")
    }

    /// The name or the title of a use.
    pub(super) fn of_use(&mut self, text: &str) -> String {
        if self.vocabulary.uses.contains(&text) {
            return text.to_owned();
        }
        let name = self.uses.get(text).cloned();
        self.hyphenated("use", name.as_deref().unwrap_or(text))
    }

    fn is_probe(&self, level: &str) -> bool {
        self.vocabulary.probes.contains(&level)
    }

    /// What was watched; once more, where it was watched twice.
    fn is_observation(&self, level: &str) -> bool {
        let (name, again) = level.split_once(" again").unwrap_or((level, ""));
        let is_number = again.strip_prefix(' ').is_some_and(is_count);
        self.vocabulary.observations.contains(&name) && (again.is_empty() || is_number)
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
            Some((key, value)) if self.vocabulary.load_options.contains(&key) => {
                let of_kind = value
                    .split_once(':')
                    .filter(|(kind, _)| KINDS.contains(kind));
                let number = of_kind.map_or(value, |(_, number)| number);
                let is_known = is_quantity(number) || KINDS.contains(&value);
                match is_known && !PLACES.contains(&key) {
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
            number || is_among(WORDS, &word) || vocabulary.has(&word)
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
        if !text.contains(':') && words(text) && !self.is_private(text) {
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
}

/// A method of any probe, by its name on any architecture.
fn is_method(level: &str) -> bool {
    let is_row = |row: &MethodRow| row.name == level || row.elsewhere == Some(level);
    let is_protocol = recorded::METHODS.contains(&level);
    level == stalls::METHOD || is_protocol || method::rows().any(is_row)
}

/// A duration of few digits.
fn is_duration(level: &str) -> bool {
    let is_plain = level
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'.');
    is_plain && has_few_digits(level) && parse_duration_ns(level).is_ok()
}

/// A whole number as a count has it.
fn is_count(level: &str) -> bool {
    level.len() <= 4 && level.parse::<u32>().is_ok_and(|n| n.to_string() == level)
}

fn has_few_digits(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() <= MOST_DIGITS
}

/// A number with a unit, or a list or range of numbers that go up.
fn is_quantity(text: &str) -> bool {
    let end = text.find(|c: char| c.is_ascii_alphabetic() || c == '%');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_lowercase();
    let is_number = number.parse::<f64>().is_ok_and(f64::is_finite) && has_few_digits(number);
    let all = number.split(['-', ',']).map(|n| n.parse::<u16>().ok());
    let all: Option<Vec<u16>> = all.collect();
    let is_list = all.is_some_and(|all| all.is_sorted_by(|a, b| a < b));
    (is_number && UNITS.contains(&unit.as_str())) || (is_list && unit.is_empty())
}

#[cfg(test)]
mod tests {
    use tompion_model::OwnProfile;

    use super::*;
    use crate::Vocabulary;

    fn vocabulary() -> Vocabulary {
        Vocabulary {
            probes: vec!["wake-up"],
            load_options: "cpus dir file gaps level peer rate size streams threads"
                .split(' ')
                .collect(),
            observations: vec!["auto", "off"],
            loads: "idle cpu network io stress-ng udp".split(' ').collect(),
            platforms: "host qemu ssh".split(' ').collect(),
            uses: vec!["voip", "VoIP"],
        }
    }

    #[test]
    fn uses_of_one_s_own_are_numbered() {
        let mut names = Names::knowing(vocabulary());
        let named = |name: &str, title: &str| OwnProfile {
            name: name.to_owned(),
            title: title.to_owned(),
            quantile: 0.99,
            period_ns: 1e6,
            limit_ns: 1e5,
        };
        names.know_uses(&[
            named("acme-robot", "robot of ACME"),
            named("acme-arm", "acme-robot"),
            named("acme-saw", "VoIP"),
        ]);
        for (text, left) in [
            ("voip", "voip"),
            ("VoIP", "VoIP"),
            ("acme-robot", "use-1"),
            ("robot of ACME", "use-1"),
            ("acme-arm", "use-2"),
            ("another", "use-3"),
            ("acme-saw", "use-4"),
        ] {
            assert_eq!(names.of_use(text), left);
        }
    }

    #[test]
    fn loads_keep_their_names_and_numbers() {
        let mut names = Names::knowing(vocabulary());
        for pair in [
            "idle => idle",
            "udp:rate=100M:gaps=bursts:10 => udp:rate=100M:gaps=bursts:10",
            "cpu:threads=100 => cpu:threads=100",
            "cpu:level=50%:cpus=0-1,3+network => cpu:level=50%:cpus=0-1,3+network",
            "network:peer=db.example.org:9000,streams=2 => network:peer=(value 1),streams=2",
            "io:dir=/home/mira/x,size=64MiB => io:dir=(value 2),size=64MiB",
            "network:peer=10.0.0.1:9000 => network:peer=(value 3)",
            "io:dir=/home/mira/x => io:dir=(value 2)",
            "Corp Load => (load 1)",
            "stress-ng:mira => stress-ng:(value 4)",
            "udp:peer=3232235777 => udp:peer=(value 5)",
            "udp:rate=3232235777 => udp:rate=(value 5)",
            "cpu:cpus=10,99,2,3 => cpu:cpus=(value 6)",
            "cpu:mira=3 => cpu:(value 7)",
            "udp:rate=200M:peer=192.0.2.7:5210:cpus=1 => udp:rate=200M:peer=(value 8):cpus=1",
        ] {
            let (level, left) = pair.split_once(" => ").unwrap();
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
    fn factors_that_are_nobody_s_but_one_s_own_are_numbered() {
        let mut names = Names::knowing(vocabulary());
        let (name, level) = names.factor("customer", "ACME");
        assert_eq!((name.as_str(), level.as_str()), ("factor-1", "(level 1)"));
    }

    #[test]
    fn levels_of_tompion_s_own_factors_are_known_or_numbered() {
        let mut names = Names::knowing(vocabulary());
        for (factor, level, left) in [
            ("probe", "wake-up", "wake-up"),
            ("probe", "payroll", "probe-1"),
            ("method", "usleep", "usleep"),
            ("method", "busy-loop", "busy-loop"),
            ("method", "payroll", "method-1"),
            ("method", "ledger", "method-2"),
            ("method", "payroll", "method-1"),
            ("target", "100us", "100us"),
            ("target", "2.5s", "2.5s"),
            ("target", "174261763ns", "target-1"),
            ("target", "10.99.2.3", "target-2"),
            ("timer-slack", "default", "default"),
            ("timer-slack", "50us", "50us"),
            ("timer-slack", "mira", "slack-1"),
            ("policy", "fifo:50", "fifo:50"),
            ("policy", "fifo:050", "policy-1"),
            ("form", "grid", "grid"),
            ("method", "stamp", "stamp"),
            ("vantage", "kernel", "kernel"),
            ("vantage", "path", "path"),
            ("vantage", "tap at mira", "vantage-1"),
            ("form", "mira", "form-1"),
            ("cpu", "3", "3"),
            ("cpu", "03", "number-1"),
            ("guest", "174261763", "number-2"),
            ("observe", "off again 2", "off again 2"),
            ("observe", "off again mira", "observe-1"),
        ] {
            assert_eq!(
                names.factor(factor, level),
                (factor.to_owned(), left.to_owned())
            );
        }
    }
}
