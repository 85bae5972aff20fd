//! The whole register: papers, claims and evidence.

use crate::claims::{Claim, Evidence, Finding, Paper};

/// Papers with their claims, and what decided some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The papers, the oldest first.
    pub papers: Vec<Paper>,
    /// Evidence by file name.
    pub(crate) evidence: Vec<(String, Evidence)>,
}

impl Register {
    /// The paper of that name.
    pub fn paper(&self, id: &str) -> Option<&Paper> {
        self.papers.iter().find(|p| p.id == id)
    }

    /// All claims, paper by paper.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.papers.iter().flat_map(|p| &p.claims)
    }

    /// The claim of that name.
    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims().find(|c| c.id == id)
    }

    /// The evidence file that a claim names.
    pub fn evidence(&self, claim: &Claim) -> Option<&Evidence> {
        let file = claim.evidence.as_deref()?;
        let found = self.evidence.iter().find(|(name, _)| name == file);
        found.map(|(_, evidence)| evidence)
    }

    /// What that file says of the claim.
    pub fn finding(&self, claim: &Claim) -> Option<&Finding> {
        let findings = &self.evidence(claim)?.findings;
        findings.iter().find(|f| f.claim == claim.id)
    }
}
