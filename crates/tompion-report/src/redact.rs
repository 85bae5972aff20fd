//! A run without what a stranger need not know: host name, user names, addresses,
//! the command line, and paths that may name somebody. Serial numbers are never
//! recorded.
//!
//! The record is changed before anything is derived from it, so that every form of
//! the report lacks them alike. What is left out twice is numbered, since two loads
//! with different peers must not become one.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;
use tompion_model::RunRecord;

/// Parts of the file system that are alike on all machines of a kind.
const COMMON: [&str; 10] = [
    "/sys", "/proc", "/dev", "/usr", "/lib", "/lib64", "/etc", "/boot", "/bin", "/sbin",
];

/// Keys whose texts are Tompion's own, and must stay for the run to be read.
const OWN: [&str; 7] = [
    "file",
    "crc32",
    "run_id",
    "started_at",
    "finished_at",
    "tool",
    "order",
];

/// Options of loads that name a machine.
const PEERS: [&str; 3] = ["peer=", "host=", "server="];

/// Takes out of `record` what tells who and where it was.
pub fn redact(record: &mut RunRecord) {
    let environment = &record.header.environment;
    let mut names = Names {
        hosts: Vec::new(),
        users: Vec::new(),
        seen: Vec::new(),
    };
    let host = environment.hostname.clone();
    if !host.is_empty() {
        names
            .hosts
            .extend(host.split('.').next().map(str::to_owned));
        names.hosts.push(host);
    }
    if let Ok(value) = serde_json::to_value(&*record) {
        names.collect_users(&value);
    }
    record.header.environment.hostname = String::new();
    let platforms = record.platforms.iter_mut();
    platforms
        .filter_map(|p| p.environment.as_mut())
        .chain([&mut record.header.environment])
        .for_each(|e| e.machine.id = None);
    record.header.command_line = vec!["(left out)".to_owned()];
    let Ok(mut value) = serde_json::to_value(&*record) else {
        return;
    };
    names.clean(&mut value);
    // The same types: only texts have changed.
    if let Ok(clean) = serde_json::from_value(value) {
        *record = clean;
    }
}

/// What is left out, and what stands for it.
struct Names {
    hosts: Vec<String>,
    users: Vec<String>,
    /// Kind and text of everything left out so far.
    seen: Vec<(&'static str, String)>,
}

impl Names {
    /// Owners of home directories that any text names.
    fn collect_users(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for home in ["/home/", "/Users/"] {
                    for rest in text.split(home).skip(1) {
                        let end = rest.find(|c: char| c == '/' || is_border(c));
                        let user = &rest[..end.unwrap_or(rest.len())];
                        if !user.is_empty() && !self.users.iter().any(|u| u == user) {
                            self.users.push(user.to_owned());
                        }
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|v| self.collect_users(v)),
            Value::Object(all) => all.values().for_each(|v| self.collect_users(v)),
            _ => {}
        }
    }

    fn clean(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean_text(text),
            Value::Array(all) => all.iter_mut().for_each(|v| self.clean(v)),
            Value::Object(all) => {
                for (key, v) in all.iter_mut() {
                    if !OWN.contains(&key.as_str()) {
                        self.clean(v);
                    }
                }
            }
            _ => {}
        }
    }

    /// Word by word.
    fn clean_text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(is_border).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let is_peer = PEERS.iter().any(|p| out.ends_with(p));
            out.push_str(&self.clean_word(word, is_peer));
            let border = after.chars().next().map_or(0, char::len_utf8);
            out.push_str(&after[..border]);
            rest = &after[border..];
        }
        out
    }

    fn clean_word(&mut self, word: &str, is_peer: bool) -> String {
        let bare = word.trim_end_matches(['.', ':', '!', '?']);
        let tail = &word[bare.len()..];
        if bare.is_empty() {
            return word.to_owned();
        }
        let kind = if is_peer || is_address(bare) {
            "address"
        } else if is_private_path(bare) {
            "path"
        } else if bare.contains('@') && bare.len() > 2 {
            "user"
        } else if self.hosts.iter().any(|h| h.eq_ignore_ascii_case(bare)) {
            "host"
        } else if self.users.iter().any(|u| u == bare) {
            "user"
        } else {
            return word.to_owned();
        };
        let same = |s: &&(&'static str, String)| s.0 == kind;
        let known = self.seen.iter().filter(same).position(|s| s.1 == bare);
        let number = known.unwrap_or_else(|| {
            self.seen.push((kind, bare.to_owned()));
            self.seen.iter().filter(same).count() - 1
        });
        format!("({kind} {}){tail}", number + 1)
    }
}

fn is_border(c: char) -> bool {
    c.is_whitespace() || ",;=()<>\"'`|".contains(c)
}

/// An address with or without a port, or that of a network card; not one that means
/// this machine itself.
fn is_address(word: &str) -> bool {
    let network = word.split('/').next().unwrap_or(word);
    let bare = network.trim_start_matches('[').trim_end_matches(']');
    let ip = bare.parse::<IpAddr>().ok();
    let ip = ip.or_else(|| network.parse::<SocketAddr>().ok().map(|a| a.ip()));
    if let Some(ip) = ip {
        return !ip.is_loopback() && !ip.is_unspecified();
    }
    let octets: Vec<&str> = word.split([':', '-']).collect();
    octets.len() == 6
        && octets
            .iter()
            .all(|o| o.len() == 2 && o.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A path that is not the same on every machine.
fn is_private_path(word: &str) -> bool {
    let Some(at) = word.find('/') else {
        return word.starts_with("~/");
    };
    // `dir:/home/x` as well as `/home/x`; a fraction such as `operations/s` is none.
    let path = &word[at..];
    let leads = at == 0 || word[..at].ends_with([':', '[', '~']);
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
        let mut names = Names {
            hosts: vec!["atlas".into(), "atlas.example.org".into()],
            users: vec!["mira".into()],
            seen: Vec::new(),
        };
        names.clean_text(text)
    }

    #[test]
    fn what_names_somebody_goes() {
        for (text, left) in [
            ("peer=10.1.2.3:9000", "peer=(address 1)"),
            (
                "network:peer=db.example.org:9000,streams=2",
                "network:peer=(address 1),streams=2",
            ),
            (
                "to [fe80::1]:80, then 2001:db8::7.",
                "to (address 1), then (address 2).",
            ),
            ("card 52:54:00:12:34:56", "card (address 1)"),
            (
                "io:dir=/home/mira/x on atlas",
                "io:dir=(path 1) on (host 1)",
            ),
            ("Atlas.example.org: mira waits", "(host 1): (user 1) waits"),
            ("/srv/a, /srv/b, /srv/a", "(path 1), (path 2), (path 1)"),
            ("mira@example.org", "(user 1)"),
            ("10.0.0.0/8 denied", "(address 1) denied"),
        ] {
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
            "/proc/self/timerslack_ns; atlases",
            "12:30:45",
        ] {
            assert_eq!(clean(text), text);
        }
    }
}
