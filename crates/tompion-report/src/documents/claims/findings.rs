//! What a run says of claims.

use tompion_papers::claims::{Finding, Outcome, register};

use super::detail::figure;
use super::wrap;

/// Findings about claims, decided ones and others, for a terminal of `width` columns.
pub fn findings_text(findings: &[Finding], width: usize) -> String {
    let width = width.max(60);
    let mut out = String::new();
    for finding in findings {
        let word = match finding.outcome {
            Outcome::Supported => "supported",
            Outcome::Contradicted => "contradicted",
            Outcome::NotDecidable => "not decided by this run",
        };
        out.push_str(&format!("{}: {word}\n", finding.claim));
        if let Some(claim) = register().claim(&finding.claim) {
            out.push_str(&wrap(&claim.claim, width, "  ", "  "));
        }
        out.push_str(&wrap(&finding.because, width, "  Found: ", "    "));
        for effect in &finding.effects {
            out.push_str(&wrap(&figure(effect), width, "    ", "      "));
        }
        out.push('\n');
    }
    out
}
