//! One claim with all that is known of it.

use std::fmt::Write;

use tompion_papers::claims::{Claim, Effect, Evidence, Register, Source};

use super::wrap;
use crate::figures::{capital, real};

/// A claim, what would decide it, and the evidence, for a terminal of `width` columns.
pub fn claim_text(register: &Register, claim: &Claim, width: usize) -> String {
    let width = width.max(60);
    let mut out = format!("{}\n", claim.id);
    out.push_str(&wrap(&claim.claim, width, "  ", "  "));
    out.push('\n');
    let decides = format!("{}: {}", claim.decides.probe, claim.decides.plan);
    let standing = capital(&claim.standing().to_string());
    let mut fields = vec![
        ("Kind", claim.kind.to_string()),
        ("Places", claim.places.join("; ")),
        ("Would decide it", claim.decided_by.clone()),
        ("Decides it here", decides),
        ("Basis", claim.basis.to_string()),
        ("Standing", standing),
    ];
    if let Some(why) = &claim.why {
        fields.push(("Why", why.clone()));
    }
    for (name, text) in fields {
        field(&mut out, name, &text, width);
    }
    if let (Some(evidence), Some(finding)) = (register.evidence(claim), register.finding(claim)) {
        field(&mut out, "Found", &finding.because, width);
        field(&mut out, "Found in", &source(evidence), width);
        field(&mut out, "Found by", &evidence.command, width);
        for effect in &finding.effects {
            out.push_str(&wrap(&figure(effect), width, "    ", "      "));
        }
    }
    out
}

fn field(out: &mut String, name: &str, text: &str, width: usize) {
    const NAME: usize = 16;
    let head = format!("{name:<NAME$}  ");
    out.push_str(&wrap(text, width, &head, &" ".repeat(head.len())));
}

fn source(evidence: &Evidence) -> String {
    match &evidence.source {
        Source::Published { tables } => tables.join("; "),
        Source::Runs {
            machine,
            emulated,
            runs,
        } => {
            let kind = if *emulated { "emulated " } else { "" };
            // The beginning tells runs apart; the JSON has the whole.
            let start = |hash: &str| hash.chars().take(12).collect::<String>() + "…";
            let hashes: Vec<String> = runs.iter().map(|r| start(&r.run_json_sha256)).collect();
            format!(
                "{} of {kind}{}, {}, Linux {}, clocksource {}: SHA-256 of run.json {}",
                if runs.len() == 1 { "a run" } else { "runs" },
                machine.cpu,
                machine.virtualization,
                machine.kernel,
                machine.clocksource,
                hashes.join(", ")
            )
        }
    }
}

/// `what: 1.25 (p 0.03, sign test)`.
pub(super) fn figure(effect: &Effect) -> String {
    let unit = if effect.unit == "1" {
        String::new()
    } else {
        format!(" {}", effect.unit)
    };
    let mut text = format!("{}: {}{unit}", effect.what, number(effect.value));
    let mut tests = Vec::new();
    if let Some(i) = effect.interval {
        tests.push(format!(
            "{:.0} % interval {} to {}",
            100.0 * i.confidence,
            number(i.low),
            number(i.high)
        ));
    }
    if let Some(p) = effect.p {
        tests.push(match p {
            p if p < 0.001 => "p < 0.001".to_owned(),
            p => format!("p {p:.3}"),
        });
    }
    tests.extend(effect.method.clone());
    if !tests.is_empty() {
        let _ = write!(text, " ({})", tests.join(", "));
    }
    text
}

/// Whole numbers as such, others with three significant digits.
fn number(x: f64) -> String {
    if x == x.round() && x.abs() < 1e6 {
        format!("{x}")
    } else {
        real(x)
    }
}
