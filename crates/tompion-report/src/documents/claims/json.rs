//! The register for machines.

use serde::Serialize;
use tompion_papers::claims::{Claim, Finding, Paper, Register, Source, Standing, coverage};

/// Version of what `claims_json` and `claim_json` give.
pub const CLAIMS_JSON_VERSION: u64 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u64,
    papers: Vec<OnePaper<'a>>,
}

#[derive(Serialize)]
struct OnePaper<'a> {
    id: &'a str,
    citation: String,
    sections: Vec<Section<'a>>,
    claims: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Section<'a> {
    name: &'a str,
    /// Ids; empty for a section without claims.
    claims: Vec<&'a str>,
}

#[derive(Serialize)]
struct Entry<'a> {
    paper: &'a str,
    #[serde(flatten)]
    claim: &'a Claim,
    standing: Standing,
    /// The standing in words, as the terminal has it.
    stands: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    tompion_version: &'a str,
    command: &'a str,
    source: &'a Source,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// Papers with sections, claims and what decided them; serialises.
pub fn claims_json<'a>(register: &'a Register, papers: &[&'a Paper]) -> impl Serialize + 'a {
    let of_paper = |paper: &&'a Paper| OnePaper {
        id: &paper.id,
        citation: paper.cited().citation(),
        sections: coverage(paper)
            .into_iter()
            .map(|c| Section {
                name: c.section,
                claims: c.claims.iter().map(|claim| &*claim.id).collect(),
            })
            .collect(),
        claims: paper.claims.iter().map(|c| entry(register, c)).collect(),
    };
    Document {
        schema_version: CLAIMS_JSON_VERSION,
        papers: papers.iter().map(of_paper).collect(),
    }
}

/// One claim and what decided it; serialises.
pub fn claim_json<'a>(register: &'a Register, claim: &'a Claim) -> impl Serialize + 'a {
    #[derive(Serialize)]
    struct One<'a> {
        schema_version: u64,
        claim: Entry<'a>,
    }
    One {
        schema_version: CLAIMS_JSON_VERSION,
        claim: entry(register, claim),
    }
}

fn entry<'a>(register: &'a Register, claim: &'a Claim) -> Entry<'a> {
    let found = register.evidence(claim).zip(register.finding(claim));
    Entry {
        paper: claim.paper(),
        claim,
        standing: claim.standing(),
        stands: claim.standing().to_string(),
        found: found.map(|(evidence, finding)| Found {
            tompion_version: &evidence.tompion_version,
            command: &evidence.command,
            source: &evidence.source,
            finding,
        }),
    }
}
