//! Profiles of the user's own: `--profiles FILE`.

use std::fmt;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use tompion_assess::verdict::{
    Limit, LoadVerdict, Outcome, Profile, ProfileVerdict, own, profiles as built_in, quantile_name,
};
use tompion_model::{format_ns, nearest, unknown_name};
use tompion_platforms::keys::{Source, Table, lines, text};
use tompion_probe::wake_up;
use tompion_run::probes::PROBES;

use super::given_file::text_of;
use crate::exit;

/// More than anybody writes.
const MOST_BYTES: u64 = 1 << 18;

/// The profiles in a file. `None` where it has mistakes, each of which has been printed with its place.
///
/// # Errors
/// A file that cannot be read, or is no text of a bearable length.
pub fn profiles_in(file: &Path) -> anyhow::Result<Option<Vec<Profile>>> {
    let at = file.display();
    let content = text_of(file, MOST_BYTES, "a file of profiles")?;
    match parse(&content) {
        Ok(profiles) => Ok(Some(profiles)),
        Err(mistakes) => {
            for line in mistakes {
                exit::complain(&format!("{at}:{line}"));
            }
            Ok(None)
        }
    }
}

/// What `--require` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Required<'a> {
    /// The name of the profile.
    pub profile: &'a str,
    /// Whether it may pass with a remedy: `NAME:remedy`.
    pub with_remedy: bool,
}

impl fmt::Display for Required<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = if self.with_remedy { ":remedy" } else { "" };
        write!(f, "{}{remedy}", self.profile)
    }
}

impl<'a> Required<'a> {
    /// By the value of the option.
    pub fn of(text: &'a str) -> Self {
        let without = text.strip_suffix(":remedy");
        Self {
            profile: without.unwrap_or(text),
            with_remedy: without.is_some(),
        }
    }

    /// How it stands by a verdict.
    pub fn outcome(self, verdict: &ProfileVerdict) -> Outcome {
        match (self.with_remedy, verdict.outcome) {
            (false, _) => verdict.as_it_is,
            // It has failed only where the remedy has, too.
            (true, Outcome::Fail)
                if verdict
                    .by_load
                    .iter()
                    .all(|l| self.under(l) != Outcome::Fail) =>
            {
                Outcome::Inconclusive
            }
            (true, outcome) => outcome,
        }
    }

    /// The same under one load.
    fn under(self, load: &LoadVerdict) -> Outcome {
        let remedy = load.remedy.as_ref().map(|remedy| remedy.outcome);
        let is_open = matches!(remedy, Some(Outcome::Inconclusive | Outcome::NearLimit));
        match (self.with_remedy, load.outcome) {
            (false, _) => load.as_it_is,
            (true, Outcome::Fail) if is_open => Outcome::Inconclusive,
            (true, outcome) => outcome,
        }
    }

    /// The same in a line: the load that decides, its figure and the reason; of what was not measured, under which of
    /// these loads, and what measures it. The reasons are left out where there are too many lines.
    pub fn in_a_line(
        self,
        verdict: &ProfileVerdict,
        profile: &Profile,
        loads: &[&str],
        with_reasons: bool,
    ) -> String {
        let outcome = self.outcome(verdict);
        // Of several loads the one under which it is latest: the others are no reason for hope.
        let deciding = verdict.by_load.iter().filter(|l| self.under(l) == outcome);
        let deciding = deciding.max_by(|a, b| a.estimate_ns.total_cmp(&b.estimate_ns));
        let remedy = if self.with_remedy { ":remedy" } else { "" };
        let what = format!("{}{remedy}{}", verdict.name, verdict.place());
        let Some(load) = deciding else {
            let without = loads.iter().filter(|load| verdict.under(load).is_none());
            let without: Vec<&str> = without.copied().collect();
            let under = match without.is_empty() {
                true => String::new(),
                false => format!(" under {}", without.join(", ")),
            };
            return format!(
                "{what}: {}: no sleep of about {}{under}; a check that judges it, and runs to its end, measures it",
                outcome.in_words(),
                format_ns(profile.period_ns)
            );
        };
        let told = |estimate_ns: f64, reason: &Option<String>| {
            let why = reason.as_ref().filter(|_| with_reasons);
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            (format_ns(estimate_ns), why)
        };
        let mut as_it_is = told(load.estimate_ns, &load.reason);
        // Nor for a quantile that the samples do not support.
        if load.supported_estimate_ns().is_none() {
            as_it_is.0 = match load.as_it_is {
                Outcome::Fail => format!("above {}", format_ns(load.limit_ns)),
                _ => "not known".to_owned(),
            };
        }
        // No number stands for blocks that disagree.
        if let Some((low, high)) = load.blocks_low_ns.zip(load.blocks_high_ns) {
            as_it_is.0 = format!("{} to {}", format_ns(low), format_ns(high));
        }
        let remedied = load.remedy.as_ref().filter(|_| self.with_remedy);
        let remedied = remedied.map(|r| (r, told(r.estimate_ns, &r.reason)));
        let passes = remedied.as_ref().filter(|_| outcome == Outcome::WithRemedy);
        let (late, why, with) = match passes {
            Some((remedy, (late, why))) => (late, why, format!(" with {}", remedy.name)),
            None => (&as_it_is.0, &as_it_is.1, String::new()),
        };
        let mut line = format!(
            "{what}: {}: {} {late} under {}{with}, limit {}{why}",
            outcome.in_words(),
            quantile_name(load.quantile),
            load.load,
            format_ns(load.limit_ns),
        );
        // What was tried and does not pass has a verdict and a reason of its own.
        if let (None, Some((remedy, (late, why)))) = (passes, &remedied) {
            let found = remedy.outcome.in_words();
            line.push_str(&format!("; with {} {found}: {late}{why}", remedy.name));
        }
        line
    }
}

/// Refuses names that none of the profiles has.
///
/// # Errors
/// The name, and the one that was meant.
pub fn require_known(profiles: &[Profile], names: &[String]) -> anyhow::Result<()> {
    let known = || profiles.iter().map(|profile| profile.name.as_str());
    let unknown = names
        .iter()
        .map(|name| Required::of(name).profile)
        .find(|name| known().all(|known| known != *name));
    match unknown {
        Some(name) if name.contains(',') => {
            anyhow::bail!("--require {name}: one profile each; write --require again for another")
        }
        Some("") => {
            anyhow::bail!("--require: a profile is missing, such as voip or voip:remedy")
        }
        Some(name) if name.contains(':') => anyhow::bail!(
            "--require {name}: after the colon stands `remedy` or nothing, as in voip:remedy"
        ),
        Some(name) => {
            let small = name.to_lowercase();
            anyhow::bail!(
                "--require: {}",
                match known().find(|known| *known == small) {
                    Some(meant) => format!("unknown profile `{name}`; did you mean `{meant}`?"),
                    None => unknown_name("profile", name, known().collect::<Vec<_>>()),
                }
            )
        }
        None => Ok(()),
    }
}

/// What a use says of itself.
const KEYS: [&str; 6] = ["name", "title", "quantile", "period", "limit", "probe"];

/// Or a line for each of the first mistakes, with its place.
fn parse(content: &str) -> Result<Vec<Profile>, Vec<String>> {
    let source = Source::new(content);
    let mut read: Vec<Profile> = Vec::new();
    match DeTable::parse(content) {
        Err(error) => source.wrong(error.span().unwrap_or(0..0), error.message()),
        Ok(table) => {
            let top = Table::new(&source, table.get_ref(), 0..0, "file of profiles");
            if let Some(key) = KEYS.into_iter().find(|key| top.has(key)) {
                // Whatever else is wrong follows from it.
                source.wrong(
                    top.at_key(key),
                    format!("{key}: stands outside of a use; write [[profile]] above it"),
                );
                let (mistakes, more) = source.mistakes();
                return Err(lines(&mistakes, more));
            }
            let tables = top.tables("profile", "use");
            if tables.len() > own::MOST {
                source.wrong(
                    top.at_key("profile"),
                    format!(
                        "profile: {} of them; {} are the most",
                        tables.len(),
                        own::MOST
                    ),
                );
                let (mistakes, more) = source.mistakes();
                return Err(lines(&mistakes, more));
            }
            if tables.is_empty() && top.has("profile") && source.count() == 0 {
                source.wrong(
                    top.at_key("profile"),
                    "profile: empty; write [[profile]] for each use",
                );
            }
            for table in tables {
                let at = table.at_key("name");
                let found = profile(&table);
                table.finish();
                match found {
                    Some(again) if read.iter().any(|other| other.name == again.name) => {
                        source.wrong(at, format!("name: `{}` is there twice", again.name));
                    }
                    found => read.extend(found),
                }
            }
            top.finish();
        }
    }
    let (mistakes, more) = source.mistakes();
    match mistakes.is_empty() {
        true => Ok(read),
        false => Err(lines(&mistakes, more)),
    }
}

/// One profile; what it does not say is as in the built-in one of that name.
fn profile(table: &Table<'_, '_>) -> Option<Profile> {
    if !table.has("name") {
        table.wrong(table.at(), "a use needs a name, such as \"drum-machine\"");
    }
    let name = table.read("name", name);
    let title = table.read("title", line);
    let quantile = table.read("quantile", quantile);
    let period = table.read("period", time_ns);
    let limit = table.read("limit", time_ns);
    let probe = table.read("probe", probe);
    let name = name?;
    let known = built_in().iter().find(|profile| profile.name == name);
    let mut profile = match known {
        Some(known) => known.clone(),
        None => {
            let missing = ["quantile", "period", "limit"];
            // One that is misspelt is told as that.
            let misspelt = |key: &str| {
                let mut unknown = table.names().filter(|name| !KEYS.contains(name));
                unknown.any(|name| nearest(name, KEYS) == Some(key))
            };
            let is_missing = |key: &&'static str| !table.has(key) && !misspelt(key);
            let missing: Vec<&str> = missing.into_iter().filter(is_missing).collect();
            if !missing.is_empty() {
                let meant = nearest(&name, built_in().iter().map(|p| p.name.as_str()));
                let meant = meant.map_or_else(String::new, |m| format!(" (did you mean `{m}`?)"));
                let text = format!(
                    "`{name}` is no built-in use{meant}, and needs {}",
                    missing.join(", ")
                );
                table.wrong(table.at(), text);
            }
            Profile {
                name: name.clone(),
                title: name,
                group: None,
                rate: None,
                probe: wake_up::NAME.to_owned(),
                quantile: quantile?,
                period_ns: period?,
                limit: Limit::Time { ns: limit? },
                source: own::SOURCE.to_owned(),
                why: own::SOURCE.to_owned(),
            }
        }
    };
    if let Some(ns) = limit {
        profile.limit = Limit::Time { ns };
        profile.source = own::SOURCE.to_owned();
    }
    // What was changed no longer is what its group's others are.
    if known.is_some() && (limit.is_some() || title.is_some()) {
        (profile.group, profile.rate) = (None, None);
    }
    profile.title = title.unwrap_or(profile.title);
    profile.quantile = quantile.unwrap_or(profile.quantile);
    profile.period_ns = period.unwrap_or(profile.period_ns);
    profile.probe = probe.unwrap_or(profile.probe);
    Some(profile)
}

fn name(value: &DeValue<'_>) -> Result<String, String> {
    let given = text(value).map_err(|e| e.to_string())?;
    match own::is_name(given) {
        true => Ok(given.to_owned()),
        false => Err(format!(
            "up to {} small letters, digits and hyphens are wanted, such as \"drum-machine\"",
            own::LONGEST
        )),
    }
}

fn line(value: &DeValue<'_>) -> Result<String, String> {
    let given = text(value).map_err(|e| e.to_string())?;
    match own::is_title(given) {
        true => Ok(given.trim().to_owned()),
        false => Err(format!(
            "one line of up to {} characters is wanted",
            own::LONGEST
        )),
    }
}

fn quantile(value: &DeValue<'_>) -> Result<f64, String> {
    let given = value
        .as_float()
        .and_then(|f| f.as_str().parse::<f64>().ok());
    given.filter(|q| own::QUANTILES.contains(q)).ok_or_else(|| {
        let (least, most) = (own::QUANTILES.start(), own::QUANTILES.end());
        format!("a number from {least} to {most} is wanted, such as 0.999")
    })
}

fn time_ns(value: &DeValue<'_>) -> Result<f64, String> {
    let given = text(value).map_err(|e| e.to_string())?;
    match tompion_model::parse_duration_ns(given) {
        Ok(0) => Err("a time above zero is wanted, such as \"250us\"".to_owned()),
        Ok(ns) => Ok(ns as f64),
        Err(why) => Err(why.to_string()),
    }
}

fn probe(value: &DeValue<'_>) -> Result<String, String> {
    let given = text(value).map_err(|e| e.to_string())?;
    match PROBES.iter().any(|probe| probe.name == given) {
        true if given == wake_up::NAME => Ok(given.to_owned()),
        true => Err(format!(
            "uses are judged by wake-up latency alone; write `{}`, or leave the line out",
            wake_up::NAME
        )),
        false => Err(unknown_name("probe", given, [wake_up::NAME])),
    }
}

#[cfg(test)]
mod tests {
    use tompion_assess::verdict::Remedied;

    use super::*;

    fn mistakes(content: &str) -> String {
        parse(content).unwrap_err().join("\n")
    }

    #[test]
    fn what_fails_as_it_is_is_open_with_a_remedy_that_is() {
        let under = |load: &str, remedied: Outcome| LoadVerdict {
            load: load.to_owned(),
            outcome: Outcome::Fail,
            as_it_is: Outcome::Fail,
            limit_ns: 667e3,
            quantile: 0.999,
            estimate_ns: 8.68e6,
            remedy: Some(Remedied {
                name: "slack 1 ns".to_owned(),
                outcome: remedied,
                estimate_ns: 7e6,
                ..Remedied::default()
            }),
            ..LoadVerdict::default()
        };
        let verdict = |by_load: Vec<LoadVerdict>| ProfileVerdict {
            name: "audio-48k-64".to_owned(),
            outcome: Outcome::Fail,
            as_it_is: Outcome::Fail,
            by_load,
            ..ProfileVerdict::default()
        };
        let (plain, remedied) = (
            Required::of("audio-48k-64"),
            Required::of("audio-48k-64:remedy"),
        );
        let audio = built_in()
            .iter()
            .find(|p| p.name == "audio-48k-64")
            .unwrap();
        let open = verdict(vec![under("idle", Outcome::Inconclusive)]);
        assert_eq!(plain.outcome(&open), Outcome::Fail);
        assert_eq!(remedied.outcome(&open), Outcome::Inconclusive);
        let line = remedied.in_a_line(&open, audio, &["idle"], true);
        assert!(
            line.contains(": inconclusive: ") && line.contains("; with slack 1 ns inconclusive"),
            "{line}"
        );
        // Where the remedy fails under one load it has failed, and that load is the one that is named.
        let failed = verdict(vec![
            under("idle", Outcome::Inconclusive),
            under("network", Outcome::Fail),
        ]);
        assert_eq!(remedied.outcome(&failed), Outcome::Fail);
        let line = remedied.in_a_line(&failed, audio, &["idle", "network"], true);
        assert!(
            line.contains("FAIL") && line.contains("under network"),
            "{line}"
        );
    }

    #[test]
    fn of_too_few_samples_no_figure_is_told() {
        let voip = built_in().iter().find(|p| p.name == "voip").unwrap();
        let line = |as_it_is: Outcome, samples: u64| {
            let judged = LoadVerdict {
                load: "idle".to_owned(),
                outcome: as_it_is,
                as_it_is,
                limit_ns: 5e6,
                quantile: 0.999,
                estimate_ns: 8.68e6,
                samples,
                ..LoadVerdict::default()
            };
            let verdict = ProfileVerdict {
                name: "voip".to_owned(),
                outcome: as_it_is,
                as_it_is,
                by_load: vec![judged],
                ..ProfileVerdict::default()
            };
            Required::of("voip").in_a_line(&verdict, voip, &["idle"], false)
        };
        let failed = line(Outcome::Fail, 40);
        assert!(
            failed.contains("p99.9 above 5.00 ms under idle"),
            "{failed}"
        );
        let open = line(Outcome::Inconclusive, 40);
        assert!(open.contains("p99.9 not known under idle"), "{open}");
        let enough = line(Outcome::Fail, 4_000);
        assert!(enough.contains("p99.9 8.68 ms under idle"), "{enough}");
    }

    #[test]
    fn own_uses_and_built_in_ones_stand_in_one_file() {
        let own = "[[profile]]\nname = \"drum\"\ntitle = \"our drum\"\nquantile = 0.999\n\
                   period = \"2ms\"\nlimit = \"250us\"\n[[profile]]\nname = \"voip\"\n\
                   [[profile]]\nname = \"pacing-1g\"\nlimit = \"20us\"\n";
        let read = parse(own).unwrap();
        let [drum, voip, pacing] = read.as_slice() else {
            panic!("{read:?}");
        };
        assert_eq!(
            (drum.period_ns, drum.limit_ns(), drum.quantile),
            (2e6, 250e3, 0.999)
        );
        assert_eq!(
            drum.requirement(),
            "p99.9 of wake-up latency at most 250 µs"
        );
        let known = |name: &str| built_in().iter().find(|p| p.name == name).unwrap();
        assert_eq!(voip, known("voip"));
        assert_eq!(
            (pacing.limit_ns(), pacing.period_ns),
            (20e3, known("pacing-1g").period_ns)
        );
        assert!(pacing.group.is_none() && pacing.source == own::SOURCE);
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (content, wanted) in [
            (
                "[[profile]]\nname = \"Drum\"\n[[profile]]\nquantil = 2\n",
                "2:8: name: up to 60 small letters, digits and hyphens are wanted, such as \"drum-machine\"\n\
                 3:1: a use needs a name, such as \"drum-machine\"\n\
                 4:1: a use has no `quantil`; did you mean `quantile`?",
            ),
            (
                "[[profile]]\nname = \"a\"\nquantile = 2\nlimit = \"0s\"\n",
                "1:1: `a` is no built-in use, and needs period\n\
                 3:12: quantile: a number from 0.5 to 0.99999 is wanted, such as 0.999\n\
                 4:9: limit: `0s` is out of range; use 1ns up to 100000d",
            ),
            (
                "[[profile]]\nname = \"voip\"\nprobe = \"wakeup\"\n[[profile]]\nname = \"voip\"\n",
                "3:9: probe: unknown probe `wakeup`; did you mean `wake-up`?\n\
                 5:8: name: `voip` is there twice",
            ),
            (
                "[[profile]]\nname = \"voip\"\nprobe = \"stalls\"\n",
                "3:9: probe: uses are judged by wake-up latency alone; write `wake-up`, or leave the line out",
            ),
            (
                "[[profile]]\nname = \"drum\"\nquantil = 0.99\nperiod = \"1ms\"\nlimit = \"1ms\"\n",
                "3:1: a use has no `quantil`; did you mean `quantile`?",
            ),
            (
                "[[profile]]\nname = \"viop\"\nlimit = \"1ms\"\n",
                "1:1: `viop` is no built-in use (did you mean `voip`?), and needs quantile, period",
            ),
            (
                "[[profiles]]\nname = \"voip\"\n",
                "1:3: a file of profiles has no `profiles`; did you mean `profile`?",
            ),
            (
                "profiles = 1\n",
                "1:1: a file of profiles has no `profiles`; did you mean `profile`?",
            ),
            (
                "name = \"voip\"\nlimit = \"1ms\"\n[[profile]]\n",
                "1:8: name: stands outside of a use; write [[profile]] above it",
            ),
            ("", "1:1: a file of profiles needs at least one [[profile]]"),
        ] {
            assert_eq!(mistakes(content), wanted);
        }
        assert!(mistakes("[[profile]\n").starts_with("1:"));
    }
}
