//! `tompion claims --decide RUN`: what a recorded run says of claims.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};
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
            let beside = beside.trim_end_matches('.');
            let _ = write!(finding.because, " Beside it: {beside}.");
        }
    }
    let all = evidence(&run, &findings)?;
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
fn evidence(run: &Run, findings: &[Finding]) -> anyhow::Result<Vec<Evidence>> {
    let sha256 = Sha256::digest(run.description()?)
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
        source: source(run.record(), &sha256),
        findings: some.iter().map(|f| (*f).clone()).collect(),
    };
    Ok(decided
        .chunk_by(|a, b| paper(a) == paper(b))
        .map(of_paper)
        .collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tompion_model::{Design, RunHeader, Status};
    use tompion_store::RunWriter;

    use super::*;

    #[test]
    fn the_checksum_is_of_the_file_that_was_read_and_of_no_other() {
        let place = tempfile::tempdir().unwrap();
        let (path, file) = (place.path().join("run"), place.path().join("run/run.json"));
        let header = RunHeader {
            command_line: Vec::new(),
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
        };
        let mut writer = RunWriter::create(&path, header).unwrap();
        writer.finish(Status::Complete).unwrap();
        let run = Run::open(&path).unwrap();
        assert!(evidence(&run, &[]).is_ok());
        let other = place.path().join("other");
        fs::rename(&file, &other).unwrap();
        symlink(&other, &file).unwrap();
        let why = evidence(&run, &[]).unwrap_err().to_string();
        assert!(why.contains("a link, which is not followed"), "{why}");
        fs::remove_file(&file).unwrap();
        fs::copy(&other, &file).unwrap();
        let why = evidence(&run, &[]).unwrap_err().to_string();
        assert!(why.contains("while it was read"), "{why}");
    }
}
