//! `tompion claims --decide RUN`: what a recorded run says of claims.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use sha2::{Digest, Sha256};
use tompion_model::RunRecord;
use tompion_papers::claims::{Evidence, Finding, Outcome, SCHEMA_VERSION, decidable, plan, source};
use tompion_report::findings_text;
use tompion_store::{Directory, Run};

use crate::cli::ClaimsOptions;
use crate::commands::report::terminal_width;
use crate::exit;
use crate::output::{print, print_json};

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
            let _ = write!(finding.because, " Beside it: {beside}.");
        }
    }
    let all = evidence(directory, run.record(), &findings)?;
    if let Some(to) = &options.write {
        let to = Directory::make(to).map_err(|e| anyhow::anyhow!("--write: {e}"))?;
        for of_paper in &all {
            let text = serde_json::to_string_pretty(of_paper)? + "\n";
            to.put(&format!("{}-lab.json", of_paper.paper), text.as_bytes())?;
        }
    }
    if options.json {
        print_json(&all)?;
    } else {
        print(&findings_text(&findings, terminal_width()))?;
    }
    Ok(0)
}

/// What was decided, paper by paper; what was not is told and no evidence.
fn evidence(
    directory: &Path,
    record: &RunRecord,
    findings: &[Finding],
) -> anyhow::Result<Vec<Evidence>> {
    let file = directory.join("run.json");
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let sha256 = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
    let decided: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.outcome != Outcome::NotDecidable)
        .collect();
    let paper = |f: &Finding| f.claim.split('/').next().unwrap_or_default().to_owned();
    let of_paper = |some: &[&Finding]| Evidence {
        schema_version: SCHEMA_VERSION,
        paper: paper(some[0]),
        tompion_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: format!(
            "tompion lab run {} --out RUN && tompion claims --decide RUN",
            plan(&paper(some[0]))
        ),
        source: source(record, &sha256),
        findings: some.iter().map(|f| (*f).clone()).collect(),
    };
    Ok(decided
        .chunk_by(|a, b| paper(a) == paper(b))
        .map(of_paper)
        .collect())
}
