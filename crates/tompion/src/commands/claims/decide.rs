//! `tompion claims --decide RUN`: what a recorded run says of claims.

use std::fmt::Write;
use std::path::Path;

use tompion_papers::claims::{Evidence, Finding, Outcome, SCHEMA_VERSION, decidable, plan, source};
use tompion_report::findings_text;
use tompion_store::{Directory, Run};

use crate::cli::ClaimsOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width};

/// Carries out the command.
pub fn decide(directory: &Path, options: &ClaimsOptions) -> exit::Result {
    let run = Run::open_tidied(directory)?;
    let mut findings = tompion_papers::claims::decide(run.record());
    if findings.is_empty() {
        let claims: Vec<&str> = decidable().collect();
        anyhow::bail!(
            "{}: nothing in it decides a claim; runs can decide {}",
            directory.display(),
            claims.join(", ")
        );
    }
    if let Some(beside) = &options.beside {
        for finding in &mut findings {
            let beside = beside.trim_end_matches('.');
            let _ = write!(finding.because, " Beside it: {beside}.");
        }
    }
    let all = evidence(&run, &findings);
    if let Some(to) = &options.write {
        let to = Directory::make(to).map_err(|e| anyhow::anyhow!("--write: {e}"))?;
        for of_paper in &all {
            let text = serde_json::to_string_pretty(of_paper)? + "\n";
            let what = if is_lab(&run) { "lab" } else { "run" };
            let name = format!("{}-{what}.json", of_paper.paper);
            to.put(&name, text.as_bytes())?;
        }
    }
    if options.json {
        print_json(&all)?;
    } else {
        print(&findings_text(&findings, terminal_width()))?;
    }
    Ok(0)
}

/// Whether a plan of the lab was carried out.
fn is_lab(run: &Run) -> bool {
    let words = &run.record().header.command_line;
    words.get(1).is_some_and(|word| word == "lab")
}

/// The command that finds the same again about claims of a paper. Where the run was is its own
/// matter.
fn command(run: &Run, paper: &str) -> String {
    let measure = if is_lab(run) {
        format!("tompion lab run {} --out RUN", plan(paper))
    } else {
        let mut words = run.record().header.command_line.iter().skip(1);
        let mut measure = "tompion".to_owned();
        while let Some(word) = words.next() {
            if word == "--out" {
                words.next();
            } else if !word.starts_with("--out=") {
                measure = format!("{measure} {}", quoted(word));
            }
        }
        measure + " --out RUN"
    };
    format!("{measure} && tompion claims --decide RUN")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What was found, paper by paper: what is decided, and what is not though something was seen. All else
/// is told and no evidence.
fn evidence(run: &Run, findings: &[Finding]) -> Vec<Evidence> {
    let seen: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.outcome != Outcome::NotDecidable || !f.effects.is_empty())
        .collect();
    let paper = |f: &Finding| f.claim.split('/').next().unwrap_or_default().to_owned();
    let of_paper = |some: &[&Finding]| Evidence {
        schema_version: SCHEMA_VERSION,
        paper: paper(some[0]),
        tompion_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(run, &paper(some[0])),
        // Of the bytes that the record was made of: by now something else may lie there.
        source: source(run.record(), run.sha256()),
        findings: some.iter().map(|f| (*f).clone()).collect(),
    };
    let by_paper = seen.chunk_by(|a, b| paper(a) == paper(b));
    by_paper.map(of_paper).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sha2::{Digest, Sha256};
    use tompion_model::{Design, RunHeader, Status};
    use tompion_store::RunWriter;

    use super::*;

    fn of_command(place: &Path, words: &[&str]) -> Run {
        let path = place.join("run");
        let header = RunHeader {
            command_line: words.iter().map(|word| (*word).to_owned()).collect(),
            tool: "test".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            design: Design {
                order: String::new(),
                seed: 1,
                blocks: 1,
                cells: 1,
            },
            environment: Default::default(),
            guards: Vec::new(),
            profiles: Vec::new(),
        };
        let mut writer = RunWriter::create(&path, header).unwrap();
        writer.finish(Status::Complete).unwrap();
        Run::open(&path).unwrap()
    }

    /// Something that was seen and decides nothing.
    fn seen(claim: &str) -> Finding {
        Finding {
            claim: claim.to_owned(),
            outcome: Outcome::NotDecidable,
            because: "b".to_owned(),
            effects: vec![tompion_papers::claims::Effect {
                what: "w".to_owned(),
                value: 1.0,
                unit: "1".to_owned(),
                interval: None,
                p: None,
                method: None,
            }],
        }
    }

    #[test]
    fn the_command_is_that_of_the_run_and_what_was_seen_is_kept() {
        let findings = [
            seen("whiteaker-2011/no-stamp-of-the-card"),
            Finding {
                effects: Vec::new(),
                ..seen("whiteaker-2011/no-stamp-of-the-card")
            },
        ];
        for (words, told) in [
            (
                &[
                    "/opt/tompion",
                    "measure",
                    "packet-delay",
                    "--to",
                    "a b's",
                    "--out",
                    "/home/me/run",
                    "--quiet",
                ][..],
                "tompion measure packet-delay --to 'a b'\\''s' --quiet --out RUN && tompion claims --decide RUN",
            ),
            (
                &["tompion", "lab", "run", "mine.toml", "--out=x"],
                "tompion lab run plans/perneel-2015.toml --out RUN && tompion claims --decide RUN",
            ),
        ] {
            let place = tempfile::tempdir().unwrap();
            let run = of_command(place.path(), words);
            let [found] = &evidence(&run, &findings)[..] else {
                panic!("one paper");
            };
            assert_eq!(found.command, told);
            assert_eq!(found.findings, findings[..1]);
        }
    }

    #[test]
    fn the_checksum_is_of_the_file_that_was_read_and_of_no_other() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("run/run.json");
        let run = of_command(place.path(), &[]);
        let read = fs::read(&file).unwrap();
        let sum = Sha256::digest(&read);
        let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        // Without another inode, or a time by which it would be seen.
        fs::write(&file, [&read[..read.len() - 2], b" }\n"].concat()).unwrap();
        let found = evidence(&run, &[seen("whiteaker-2011/no-stamp-of-the-card")]);
        let source = serde_json::to_string(&found[0].source).unwrap();
        assert!(source.contains(&sum), "{source}");
    }
}
