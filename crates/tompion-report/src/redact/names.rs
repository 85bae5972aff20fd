//! Words that name somebody or some place, and what stands for them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use serde_json::Value;
use tompion_model::{OwnProfile, RunRecord, factor};

use super::words::{self, Left, is_among};

/// Parts of the file system that are alike on all machines of a kind.
const COMMON: [&str; 10] = [
    "/sys", "/proc", "/dev", "/usr", "/lib", "/lib64", "/etc", "/boot", "/bin", "/sbin",
];

/// A name is looked for in harmless texts from this length on.
const SHORTEST: usize = 2;

/// Parts of a name that is looked for in longer words: with each more a long word of a stranger takes longer to be looked at.
const MOST_PARTS: usize = 8;

/// Words that are nobody's name, whoever is called so.
const EVERYBODYS: &str = "guest linux localhost root server test tompion user vm";

/// Names that the program knows: what is called so stays.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Probes.
    pub probes: Vec<&'static str>,
    /// Loads.
    pub loads: Vec<&'static str>,
    /// Keys of their options.
    pub load_options: Vec<&'static str>,
    /// What can be watched beside a measurement.
    pub observations: Vec<&'static str>,
    /// Kinds of platforms.
    pub platforms: Vec<&'static str>,
    /// Names and titles of the uses that come with the program.
    pub uses: Vec<&'static str>,
}

/// No word that anybody writes is longer, in bytes; what one is made of takes the square of its length to be looked at.
const LONGEST_WORD: usize = 250;
/// What stands between brackets is looked at for itself.
const MOST_BRACKETS: usize = 8;

/// Texts of a kind that have numbers of their own, which are kept; honest runs have some hundreds. Names and levels of factors, which
/// must not become one, are fewer in any run.
const MOST_NUMBERED: usize = 20_000;
/// In so many colons an address ends at most, and a full stop behind it is none of it.
const COLONS: usize = 2;

impl Vocabulary {
    /// Whether a word, or one of several between hyphens, is one of these names.
    pub(super) fn has(&self, word: &str) -> bool {
        let mut all = self.loads.iter().chain(&self.platforms);
        all.any(|name| name.split('-').any(|part| part == word))
    }
}

/// What the run holds of names, and what is left out so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) vocabulary: Vocabulary,
    /// Hosts, users and other names, in lower case.
    private: BTreeSet<String>,
    /// Those of several parts, with hyphens between these, and the most that one has.
    joined: HashSet<String>,
    most_parts: usize,
    /// Kind and text of everything left out so far.
    seen: HashMap<&'static str, HashMap<String, usize>>,
    /// Names of one's own uses by their titles: both get one number.
    pub(super) uses: HashMap<String, String>,
}

impl Names {
    /// Nobody's so far.
    pub(super) fn knowing(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            ..Self::default()
        }
    }

    pub(super) fn of(record: &RunRecord, vocabulary: Vocabulary) -> Self {
        let mut names = Self::knowing(vocabulary);
        let platforms = record.platforms.iter();
        let environments = platforms.filter_map(|p| p.environment.as_ref());
        for environment in environments.chain([&record.header.environment]) {
            names.host(&environment.hostname);
        }
        let levels = record
            .trials
            .iter()
            .filter_map(|t| t.factors.get(factor::PLATFORM));
        for level in levels.chain(record.platforms.iter().map(|p| p.level.as_str())) {
            if let Some(host) = level.strip_prefix("ssh:") {
                host.split('@').for_each(|part| names.host(part));
            }
        }
        // Trial by trial: all of them as a tree of values would take many times their memory.
        let trials = record.trials.iter().map(serde_json::to_value);
        let header = [
            serde_json::to_value(&record.header),
            serde_json::to_value(&record.notes),
            serde_json::to_value(&record.platforms),
            serde_json::to_value(&record.cpu_use_before),
            serde_json::to_value(&record.holds),
            serde_json::to_value(&record.clock_readings),
            serde_json::to_value(&record.files),
        ];
        for value in header.into_iter().chain(trials).flatten() {
            names.collect(&value);
        }
        names.know_uses(&record.header.profiles);
        names
    }

    /// That these are names and titles of uses.
    pub(super) fn know_uses(&mut self, uses: &[OwnProfile]) {
        for named in uses {
            // What is another one's name is no title.
            if !uses.iter().any(|other| other.name == named.title) {
                let name = named.name.clone();
                self.uses.entry(named.title.clone()).or_insert(name);
            }
        }
    }

    /// A host's name, and what stands before its first point.
    fn host(&mut self, name: &str) {
        self.add(name);
        // The first number of an address is nobody's name.
        if name.parse::<IpAddr>().is_err() {
            self.add(name.split('.').next().unwrap_or_default());
        }
    }

    fn add(&mut self, name: &str) {
        let name = name.to_lowercase();
        let is_own = is_among(EVERYBODYS, &name) || self.vocabulary.has(&name);
        if name.chars().count() >= SHORTEST && !is_own {
            let parts = parts(&name);
            if (2..=MOST_PARTS).contains(&parts.len()) {
                self.most_parts = self.most_parts.max(parts.len());
                self.joined.insert(parts.join("-"));
            }
            self.private.insert(name);
        }
    }

    /// Owners of home directories, and users and hosts of `user@host`, that any text names.
    fn collect(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for home in ["/home/", "/Users/"] {
                    for rest in text.split(home).skip(1) {
                        let end = rest.find(|c: char| c == '/' || is_border(c));
                        self.add(&rest[..end.unwrap_or(rest.len())]);
                    }
                }
                for word in text.split(is_border) {
                    if let Some((user, host)) = word.split_once('@') {
                        self.add(user);
                        self.host(host.split(':').next().unwrap_or_default());
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|v| self.collect(v)),
            Value::Object(all) => all.values().for_each(|v| self.collect(v)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether a word, or a part of it between hyphens and the like, is somebody's name.
    pub(super) fn is_private(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let parts = parts(&word);
        self.private.contains(&word)
            || parts.iter().any(|part| self.private.contains(*part))
            || self.holds_joined(&parts)
    }

    /// Whether parts one after another are those of a name, whatever stands between them.
    fn holds_joined(&self, parts: &[&str]) -> bool {
        (0..parts.len()).any(|at| {
            let longest = self.most_parts.min(parts.len() - at);
            let mut joined = parts[at].to_owned();
            (1..longest).any(|more| {
                joined.push('-');
                joined.push_str(parts[at + more]);
                self.joined.contains(&joined)
            })
        })
    }

    /// What stands for a text that is left out: the same for the same.
    pub(super) fn numbered(&mut self, kind: &'static str, text: &str) -> String {
        let seen = self.seen.entry(kind).or_default();
        let next = seen.len() + 1;
        let number = match seen.get(text) {
            Some(known) => *known,
            None if next > MOST_NUMBERED => return format!("({kind})"),
            None => *seen.entry(text.to_owned()).or_insert(next),
        };
        format!("({kind} {number})")
    }

    /// A harmless text without the words that name somebody after all.
    pub(super) fn clean(&mut self, text: &str) -> String {
        // Before shorter ones are looked for, which would be found in it.
        self.without_addresses(text, words::whole_addresses(text), |names, between| {
            let addresses = words::addresses_in_parts(between);
            names.without_addresses(between, addresses, Self::clean_words)
        })
    }

    /// A text in which a number stands for each of these addresses, and what lies between them is cleaned by `clean`.
    fn without_addresses(
        &mut self,
        text: &str,
        addresses: Vec<Range<usize>>,
        clean: impl Fn(&mut Self, &str) -> String,
    ) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for address in addresses {
            out.push_str(&clean(self, &text[at..address.start]));
            out.push_str(&self.numbered("address", &text[address.clone()]));
            at = address.end;
        }
        out + &clean(self, &text[at..])
    }

    fn clean_words(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(is_border).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            out.push_str(&self.clean_word(word));
            let border = after.chars().next().map_or(0, char::len_utf8);
            out.push_str(&after[..border]);
            rest = &after[border..];
        }
        out
    }

    fn clean_word(&mut self, word: &str) -> String {
        if word.len() > LONGEST_WORD || word.matches(['[', ']']).count() > MOST_BRACKETS {
            return self.numbered("word", word);
        }
        let least = word.trim_end_matches(['.', ':', '!', '?']).len();
        // An address may end in colons, as `2001:db8::` does.
        let longest = word.len().min(least + COLONS);
        let mut ends = (least..=longest).rev().map(|end| &word[..end]);
        let bare = ends.find(|bare| is_address(bare)).unwrap_or(&word[..least]);
        let tail = &word[bare.len()..];
        let kind = if bare.is_empty() {
            return word.to_owned();
        } else if is_address(bare) {
            "address"
        } else if let Some((before, after)) = bare.split_once(['[', ']']) {
            // No address with a port: what stands in brackets is a word of its own.
            let bracket = &bare[before.len()..=before.len()];
            let [before, after] = [before, after].map(|part| self.clean_word(part));
            return format!("{before}{bracket}{after}{tail}");
        } else if is_identifier(bare) {
            "id"
        } else if is_private_path(bare) {
            "path"
        } else if holds_address(bare) || is_short_network(bare) || is_encoded_address(bare) {
            "address"
        } else if (bare.contains('@') && bare.len() > 2 && !bare.starts_with('@'))
            || self.is_private(bare)
        {
            "name"
        } else {
            return self.known(bare) + tail;
        };
        format!("{}{tail}", self.numbered(kind, bare))
    }

    /// A word without what nobody knows to be harmless.
    fn known(&mut self, word: &str) -> String {
        match words::left(word) {
            Left::All => word.to_owned(),
            Left::Nothing => self.numbered("word", word),
            Left::Parts(parts) => {
                let kept = parts.into_iter().map(|(part, stays)| match stays {
                    true => part.to_owned(),
                    false => self.numbered("word", part),
                });
                kept.collect()
            }
        }
    }
}

/// What stands between characters that are neither letters nor digits.
fn parts(word: &str) -> Vec<&str> {
    let parts = word.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).collect()
}

fn is_border(c: char) -> bool {
    c.is_whitespace() || ",;=()<>{}\"'`|".contains(c)
}

/// An address with or without a port, a network, a range of addresses, or the address of a
/// network card; not one that means this machine itself.
fn is_address(word: &str) -> bool {
    is_one_address(word)
        || word.split_once('-').is_some_and(|(from, to)| {
            is_one_address(from) && (is_one_address(to) || to.bytes().all(|b| b.is_ascii_digit()))
        })
        || is_card(word)
        // As the kernel's `ip=` has them, one after another.
        || (word.contains('.') && word.split(':').any(|part| {
            part.contains('.') && is_one_address(part)
        }))
}

fn is_one_address(word: &str) -> bool {
    let network = word.split('/').next().unwrap_or(word);
    // `fe80::1%eth0` is no address to the library.
    let bare = match network.split_once('%') {
        Some((address, zone)) => {
            let port = zone.split_once(']').map_or("", |(_, port)| port);
            format!(
                "{address}{}{port}",
                if network.starts_with('[') { "]" } else { "" }
            )
        }
        None => network.to_owned(),
    };
    let plain = bare.trim_start_matches('[').trim_end_matches(']');
    let ip = plain.parse::<IpAddr>().ok();
    let ip = ip.or_else(|| bare.parse::<SocketAddr>().ok().map(|a| a.ip()));
    ip.is_some_and(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

/// Whether an address stands anywhere in a word, whatever is written before and behind it, as in
/// `eth0/52:54:00:12:34:56`, `10.1.2.3#dns`, `\u{201c}10.1.2.3\u{201d}` and `ip-10-1-2-3.internal`.
fn holds_address(word: &str) -> bool {
    let runs = |is_part: fn(char) -> bool| word.split(move |c: char| !is_part(c));
    let is_octet =
        |part: &&str| (1..=3).contains(&part.len()) && part.parse::<u16>().is_ok_and(|n| n <= 255);
    // With leading zeros, too.
    let has_ip = |run: &str, separator: char| {
        let parts: Vec<&str> = run.split(separator).filter(|p| !p.is_empty()).collect();
        let plain = |p: &&str| {
            p.parse::<u8>()
                .map_or_else(|_| (*p).to_owned(), |n| n.to_string())
        };
        // Behind it may stand a port, as tcpdump has it.
        let is_port = |part: &&str| part.parse::<u16>().is_ok();
        let (octets, port) = parts.split_at(parts.len().min(4));
        octets.len() == 4
            && port.len() <= 1
            && port.iter().all(is_port)
            && octets.iter().all(is_octet)
            && is_one_address(&octets.iter().map(plain).collect::<Vec<_>>().join("."))
    };
    let of_dashes = word.match_indices("ip-").any(|(at, _)| {
        let run = &word[at + 3..];
        let end = run.find(|c: char| !c.is_ascii_digit() && c != '-');
        has_ip(&run[..end.unwrap_or(run.len())], '-')
    });
    of_dashes
        || runs(|c| c.is_ascii_digit() || c == '.').any(|run| has_ip(run, '.'))
        || runs(|c| c.is_ascii_alphanumeric() || ":%".contains(c)).any(|run| {
            run.contains(':') && (is_one_address(run.trim_end_matches(':')) || is_one_address(run))
        })
        || runs(|c| c.is_ascii_alphanumeric() || c == ':').any(holds_card)
        || runs(|c| c.is_ascii_alphanumeric() || c == '-').any(holds_card)
        || runs(|c| c.is_ascii_alphanumeric()).any(|run| {
            // As names of network cards have it.
            let card = run.strip_prefix("enx").unwrap_or_default();
            card.len() == 12 && card.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

/// A network by its first numbers, such as `10.99.2/24`, `10.99/16`, `10.99.2.*`, `192.168.x.x` and
/// `2001:db8:1/48`; an interface of a switch by one, as `10.99.2/3`.
fn is_short_network(word: &str) -> bool {
    let (numbers, length) = match word.split_once('/') {
        Some((numbers, length)) => (numbers, Some(length)),
        None => (word, None),
    };
    let is_number = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let is_octet = |part: &&str| is_number(part, 3) && part.parse::<u16>().is_ok_and(|n| n <= 255);
    let is_any = |part: &&str| ["*", "x", "X", "xx", "xxx", "XXX", "n"].contains(part);
    let is_length = length.is_some_and(|n| n.split(['/', '.', '-']).all(|n| is_number(n, 3)));
    let parts: Vec<&str> = numbers.trim_end_matches('.').split('.').collect();
    let octets = parts.iter().take_while(|p| is_octet(p)).count();
    let others = &parts[octets..];
    let is_network = match (octets, others.len()) {
        (2..=3, 0) => is_length,
        (1..=3, 1..) if parts.len() == 4 => others.iter().all(is_any),
        (2..=3, 1) => others == ["*"],
        _ => false,
    };
    // Groups of IPv6, of which the first of a PCI device is none.
    let groups: Vec<&str> = numbers.trim_end_matches(':').split(':').collect();
    let is_group =
        |g: &&str| (1..=4).contains(&g.len()) && g.bytes().all(|b| b.is_ascii_hexdigit());
    let has_letter = |g: &&str| g.bytes().any(|b| b.is_ascii_alphabetic());
    let is_prefix = groups.len() >= 2
        && groups.iter().all(is_group)
        && (groups.iter().any(has_letter) || groups.len() > 3)
        && groups[0].len() >= 3
        && groups[0] != "0000"
        && length.is_none_or(|_| is_length);
    is_network || is_prefix
}

/// An address in which what separates its parts is written as in a URL: `10%2E99%2E2%2E3`.
fn is_encoded_address(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let plain = [
        ("%2e", "."),
        ("%3a", ":"),
        ("%2f", "/"),
        ("%5b", "["),
        ("%5d", "]"),
    ];
    let plain = plain
        .iter()
        .fold(lower.clone(), |text, (code, c)| text.replace(code, c));
    plain != lower && (is_address(&plain) || holds_address(&plain) || is_short_network(&plain))
}

/// Whether six octets of a network card stand in a row, the first perhaps behind a word.
fn holds_card(run: &str) -> bool {
    // Some write no zero before a digit; six numbers with no letter among them are something else.
    let is_short = |octet: &&str| {
        (1..=2).contains(&octet.len()) && octet.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let octets: Vec<&str> = run.split(':').collect();
    let has_letter = octets
        .iter()
        .any(|o| o.bytes().any(|b| b.is_ascii_alphabetic()));
    if octets.len() == 6 && has_letter && octets.iter().all(is_short) {
        return true;
    }
    let parts: Vec<&str> = run.split([':', '-']).collect();
    parts.windows(6).any(|six| {
        let is_hex = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let split = six[0].len().checked_sub(2).map(|at| six[0].split_at(at));
        // Behind a digit it is rather a year.
        let is_first = |(before, octet): (&str, &str)| {
            is_hex(octet) && !before.ends_with(|c: char| c.is_ascii_digit())
        };
        split.is_some_and(is_first) && six[1..].iter().all(|part| is_hex(part))
    })
}

/// `52:54:00:12:34:56`, as `BOOTIF` has it with a type before, or as Cisco writes it.
fn is_card(word: &str) -> bool {
    let all_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let octets: Vec<&str> = word.split([':', '-']).collect();
    let words: Vec<&str> = word.split('.').collect();
    ((octets.len() == 6 || octets.len() == 7) && octets.iter().all(|o| all_hex(o, 2)))
        || (words.len() == 3 && words.iter().all(|w| all_hex(w, 4)))
}

/// A UUID, or a long number in hexadecimal digits such as that of a container or a disk.
fn is_identifier(word: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = word.split('-').collect();
    let is_uuid = |parts: &[&str]| {
        let mut pairs = parts.iter().zip(lengths);
        pairs.all(|(part, length)| part.len() == length && is_hex(part))
    };
    let is_number = |part: &str| {
        let has = |test: fn(&u8) -> bool| part.as_bytes().iter().any(test);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        part.len() >= 12 && is_hex(part) && is_mixed
    };
    let parts_of_paths: Vec<&str> = word.split(|c: char| !c.is_alphanumeric()).collect();
    parts.windows(lengths.len()).any(is_uuid)
        || parts_of_paths.windows(lengths.len()).any(is_uuid)
        || word.split(|c: char| !c.is_alphanumeric()).any(is_number)
}

/// A path that is not the same on every machine.
fn is_private_path(word: &str) -> bool {
    let Some(at) = word.find('/') else {
        return false;
    };
    if word.starts_with('~') {
        return true;
    }
    // `dir:/home/x` as well as `/home/x`; a fraction such as `operations/s` is none.
    let path = &word[at..];
    let leads = at == 0 || word[..at].ends_with([':', '[', '~', '@']);
    leads
        && path.len() > 1
        && !COMMON
            .iter()
            .any(|c| path == *c || path.starts_with(&format!("{c}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let mut names = Names::default();
        names.host("atlas.example.org");
        names.add("mira");
        names.clean(text)
    }

    #[test]
    fn a_name_of_known_words_is_found_in_longer_words() {
        let mut names = Names::default();
        for host in ["intel-server", "m3", "debian-vm"] {
            names.host(host);
        }
        names.add("martin.baker");
        for text in [
            "intel-server:6443",
            "intel-server.local",
            "intel-server-2",
            "Intel_Server",
            "6.1.0-intel-server.1",
            "6.1.55-debian-vm",
            "m3:m4",
            "martin.baker:x",
        ] {
            let left = names.clean(text);
            assert!(left.starts_with("(name "), "{text}: {left}");
        }
        for text in ["intel", "a server of intel", "debian 12 in a vm", "m4"] {
            assert_eq!(names.clean(text), text);
        }
        // A word of very many parts is looked at in no time.
        let long = "a-".repeat(400);
        names.add(&long);
        assert!(!names.clean(&long).contains("a-a"));
    }

    #[test]
    fn the_first_number_of_an_address_is_no_name() {
        let mut names = Names::default();
        names.host("10.0.0.5");
        assert_eq!(
            names.clean("5.10.0-33-cloud-amd64, 10 threads"),
            "5.10.0-33-cloud-amd64, 10 threads"
        );
        assert_eq!(names.clean("on 10.0.0.5"), "on (address 1)");
    }

    #[test]
    fn words_that_nobody_writes_are_not_looked_at_and_numbers_come_to_an_end() {
        let long = format!("{}-intel", "intel-".repeat(LONGEST_WORD / 6));
        assert!(long.len() > LONGEST_WORD);
        assert_eq!(clean(&long), "(word 1)");
        let brackets = "[intel]".repeat(MOST_BRACKETS);
        assert_eq!(clean(&brackets), "(word 1)");
        assert_eq!(clean("[intel][intel]"), "[intel][intel]");
        let mut names = Names::default();
        let all = (0..MOST_NUMBERED + 5).map(|i| names.numbered("word", &i.to_string()));
        let all: Vec<String> = all.collect();
        assert_eq!(all[MOST_NUMBERED - 1], format!("(word {MOST_NUMBERED})"));
        assert_eq!(all[MOST_NUMBERED], "(word)");
        assert_eq!(
            names.numbered("word", "7"),
            "(word 8)",
            "known ones keep theirs"
        );
    }

    #[test]
    fn what_names_somebody_goes() {
        for pair in [
            "peer=10.1.2.3:9000 => peer=(address 1)",
            "to [fe80::1]:80, then 2001:db8::7. => to (address 1), then (address 2).",
            "fe80::1%eth0 and [fe80::1%eth0]:22 => (address 1) and (address 2)",
            "10.0.0.1-10.0.0.9 or 10.0.0.1-9 => (address 1) or (address 2)",
            "card 52:54:00:12:34:56 => card (address 1)",
            "BOOTIF=01-52-54-00-12-34-56 => BOOTIF=(address 1)",
            "5254.0012.3456 => (address 1)",
            "at 2001:db8::7::: or 2001:db8::. => at (address 1)::: or (address 2).",
            "eth0[52:54:00:12:34:56]. => eth0[(address 1)].",
            "[01234567-0123-0123-0123-012345678901] => [(id 1)]",
            "10.0.0.0/8 denied => (address 1) denied",
            "root=UUID=0f3a1f2e-1111-4222-8333-abcdefabcdef => root=UUID=(id 1)",
            "docker-4f1c2ab3de5f6789.scope => (id 1)",
            "{/home/mira/x} => {(path 1)}",
            "io:dir=/home/mira/x on atlas => io:dir=(path 1) on (name 1)",
            "Atlas.example.org: mira waits => (name 1): (name 2) waits",
            "kernel 6.1-mira => kernel (name 1)",
            "kernel 6.1-lyra => kernel 6.1-(word 1)",
            "at 0x0a630203 or 174261763 => at (word 1) or (word 2)",
            "10.99.2.3 is \u{ff11}\u{ff10}.\u{ff19}.2.3 => (address 1) is (word 1)",
            "card 52 54 00 aa bb cc => card (address 1)",
            "disk S3Z9NB0K123456, ghp_16C7e42F292c => disk (word 1), (id 1)",
            "to 10, 99, 2, 3 for lyra => to (address 1) for (word 1)",
            "/srv/a, /srv/b, /srv/a => (path 1), (path 2), (path 1)",
            "x@example.org => (name 1)",
            "ip=10.0.0.5::10.0.0.1:255.255.255.0 => ip=(address 1)",
            "~mira/x or ~/y => (path 1) or (path 2)",
            "\u{201c}10.1.2.3\u{201d} and 10.1.2.3#x => (address 1) and (address 2)",
            "x10.1.2.3 +10.1.2.3 10.1.2.3\u{2026} => (address 1) (address 2) (address 3)",
            "010.001.002.003 or *10.1.2.3* => (address 1) or (address 2)",
            "\\\\10.1.2.3\\share => (address 1)",
            "10.1.2.3\u{2192}10.1.2.4 => (address 1)",
            "ip-10-1-2-3.ec2.internal => ip-(address 1).ec2.internal",
            "2001:db8::7#x \u{ab}2001:db8::7\u{bb} => (address 1) (address 2)",
            "eth0/52:54:00:12:34:56 mac52:54:00:12:34:56 => eth0/(address 1) mac52:(address 2)",
            "enx525400123456 => (address 1)",
            "at 0:1b:21:34:9:5f, 10.99.2.3.862 => at (address 1), (address 2)",
            "10.99.2/3, 10.99/16, 10.99.2/24 => (address 1), (address 2), (address 3)",
            "10.99.2.* or 192.168.x.x or 10.99.* => (address 1) or (address 2) or (address 3)",
            "2001:db8:1/48 and 2001:db8: there => (address 1) and (address 2): there",
            "10%2E99%2E2%2E3 or fe80%3A%3A1 => (address 1) or (address 2)",
            "10 dot 99 dot 2 dot 3 => (address 1)",
            "root=/dev/disk/by-uuid/12345678-1234-1234-1234-123456789012 => root=(id 1)",
        ] {
            let (text, left) = pair.split_once(" => ").unwrap();
            assert_eq!(clean(text), left);
        }
    }

    #[test]
    fn what_is_the_same_everywhere_stays() {
        for text in [
            "operations/s and MB/s",
            "/sys/devices/system/clocksource is not readable",
            "127.0.0.1:80 and [::1]:80",
            "6.1.0-25-cloud-amd64",
            "#1 SMP PREEMPT_DYNAMIC @0",
            "/proc/self/timerslack_ns; Core(TM) i7-8650U",
            "12:30:45",
            "AMD EPYC 7763 64-Core",
            "CPUID 0x40000000: KVMKVMKVM",
            "mitigations=auto,no_guest_host",
            "std::time::Instant or 0-1-2-3 at 0000:00:1f.2",
            "6.1.x, 5.14/x and 3/4 of 0000:00:1f at 100us/idle",
            "x127.0.0.1# is here, 2026-11-24 10:12:33 was then",
        ] {
            assert_eq!(clean(text), text);
        }
    }
}
