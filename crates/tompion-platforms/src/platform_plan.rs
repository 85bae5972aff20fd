//! Where is measured: the platforms of a plan.

use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tompion_model::nearest;

use toml::de::DeTable;

use crate::keys::{Source, Table};
use crate::network::Network;
use crate::platform::{KINDS, Platform, PlatformKind, Setup};

/// One platform of a plan: what it is called and how it is set up.
#[derive(Clone, Debug)]
pub struct PlatformPlan {
    /// Its name, by which results tell it from others.
    pub name: String,
    /// What its start may take at most beside the measuring, in nanoseconds; as its kind
    /// usually does where absent.
    pub start_within_ns: Option<u64>,
    /// What it is.
    pub kind: &'static PlatformKind,
    /// How it is set up.
    pub setup: Arc<dyn Setup>,
    /// Where a plan says how it is joined to a network, or the platform.
    pub network_at: Range<usize>,
}

impl PlatformPlan {
    /// What imitates its processor, where that is no real one.
    pub fn emulated(&self) -> Option<&'static str> {
        self.setup.emulated()
    }

    /// The level of the factor `platform`. Emulated ones carry that with them
    /// wherever they are named.
    pub fn level(&self) -> String {
        match self.setup.mark() {
            Some(mark) => format!("{} ({mark})", self.name),
            None => self.name.clone(),
        }
    }

    /// The machine that it is or runs on, where that is another than this one.
    pub fn machine(&self) -> Option<&str> {
        self.setup.machine()
    }

    /// How its instances are joined to the network of a testbed.
    pub fn network(&self) -> Network {
        self.setup.network()
    }

    /// Settings that are not left as they are, for people to read.
    pub fn settings(&self) -> Vec<String> {
        self.setup.settings()
    }

    /// The platform itself.
    pub fn platform(&self) -> Box<dyn Platform> {
        self.setup.platform(&self.name)
    }

    /// Reads `[[platforms]]`.
    fn read(table: Table<'_, '_>) -> Option<Self> {
        let kind = table.text("kind");
        let name = table.read("name", |value| {
            let wanted = "a name of letters, digits, `-`, `_` and `.` is wanted".to_owned();
            match value.as_str() {
                Some(name) if is_name(name) => Ok(name.to_owned()),
                _ => Err(wanted),
            }
        });
        let start_within_ns = table.time_ns("start_within");
        let kinds: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
        let Some(kind) = kind else {
            let known = kinds.join("\", \"");
            table.wrong(table.at(), format!("a platform needs a kind: \"{known}\""));
            return None;
        };
        let Some(kind) = KINDS.iter().find(|k| k.name == kind) else {
            let text = match nearest(&kind, kinds.iter().copied()) {
                Some(better) => {
                    format!("no kind of platform is called `{kind}`; did you mean `{better}`?")
                }
                None => format!(
                    "no kind of platform is called `{kind}`; there are {} (a runtime such as runc is kind = \"oci\")",
                    kinds.join(", ")
                ),
            };
            table.wrong(table.at_key("kind"), text);
            return None;
        };
        let (usual, setup) = (kind.read)(&table)?;
        let Some(name) = name.or(usual) else {
            let text = format!("a platform that is {} needs a name", kind.name);
            table.wrong(table.at(), text);
            return None;
        };
        let network_at = table.at_key("network");
        table.finish();
        Some(Self {
            network_at,
            name,
            start_within_ns,
            kind,
            setup,
        })
    }
}

/// Reads all `[[platforms]]` of a plan; what is wrong is said to `top`.
pub fn read_platforms(top: &Table<'_, '_>) -> Vec<PlatformPlan> {
    let tables = top.tables("platforms", "platform");
    let mut platforms: Vec<PlatformPlan> = Vec::new();
    for table in tables {
        let at = table.at();
        let Some(platform) = PlatformPlan::read(table) else {
            continue;
        };
        if platforms.iter().any(|other| other.name == platform.name) {
            let name = &platform.name;
            top.wrong(
                at,
                format!("a second platform called `{name}`; give it another name = \"...\""),
            );
        }
        platforms.push(platform);
    }
    platforms
}

/// Platforms for a first look, as `tompion lab platforms` lists them.
pub fn usual() -> Vec<PlatformPlan> {
    let tables = KINDS.iter().flat_map(|kind| {
        let table = |keys: &&str| format!("[[platforms]]\nkind = \"{}\"\n{keys}\n", kind.name);
        kind.usual.iter().map(table)
    });
    parse(&tables.collect::<String>())
}

/// The platforms of a text that names nothing else, as far as there is nothing wrong.
fn parse(text: &str) -> Vec<PlatformPlan> {
    let source = Source::new(text);
    let tables = DeTable::parse(text);
    let read = |tables: &DeTable<'_>| read_platforms(&Table::new(&source, tables, 0..0, "plan"));
    tables
        .map(|tables| read(tables.get_ref()))
        .unwrap_or_default()
}

/// What tells two platforms apart: name, kind and settings.
impl Serialize for PlatformPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = Map::new();
        all.insert("name".to_owned(), self.name.as_str().into());
        if let Some(ns) = self.start_within_ns {
            all.insert("start_within_ns".to_owned(), ns.into());
        }
        all.insert("kind".to_owned(), self.kind.name.into());
        if let Value::Object(settings) = self.setup.as_json() {
            all.extend(settings);
        }
        all.serialize(serializer)
    }
}

impl PartialEq for PlatformPlan {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.start_within_ns, self.kind.name)
            == (&other.name, other.start_within_ns, other.kind.name)
            && self.setup.as_json() == other.setup.as_json()
    }
}

impl Eq for PlatformPlan {}

/// Whether a platform may be called so.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.len() <= 60 && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::platform::Presence;

    #[test]
    fn a_runtime_that_is_not_there_is_absent_in_one_line() {
        let text = "[[platforms]]\nkind = \"oci\"\nruntime = \"no-such-runtime\"\n";
        let plan = parse(text);
        let presence = plan[0].platform().presence(Path::new("/proc/self/exe"));
        let want = "there is no program no-such-runtime";
        assert_eq!(presence, Presence::Absent(want.to_owned()));
    }

    #[test]
    fn microvms_that_are_not_there_are_absent_in_one_line() {
        for kind in ["firecracker", "cloud-hypervisor"] {
            let text = format!(
                "[[platforms]]\nkind = \"{kind}\"\nprogram = \"/no/such\"\n\
                 [[platforms]]\nname = \"b\"\nkind = \"{kind}\"\nprogram = \"/bin/false\"\n"
            );
            let plan = parse(&text);
            for (platform, want) in [
                (0, "there is no program /no/such (a release of "),
                (1, "/bin/false --version fails (exit status: 1)"),
            ] {
                let presence = plan[platform].platform().presence(Path::new("/bin/true"));
                let Presence::Absent(why) = presence else {
                    panic!()
                };
                assert!(why.starts_with(want) && !why.contains('\n'), "{why}");
            }
        }
    }

    #[test]
    fn the_usual_platforms_are_a_plan_of_their_own() {
        let levels: Vec<_> = usual().iter().map(PlatformPlan::level).collect();
        assert_eq!(levels.first().map(String::as_str), Some("host"));
        assert!(levels.contains(&"qemu-tcg (emulated)".to_owned()));
        let of_kinds: usize = KINDS.iter().map(|kind| kind.usual.len()).sum();
        assert_eq!(levels.len(), of_kinds);
    }
}
