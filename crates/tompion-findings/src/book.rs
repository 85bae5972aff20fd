//! Findings as they are put together.

use tompion_papers::claims::{Effect, Evidence, Finding, Outcome, SCHEMA_VERSION, Source, rounded};

/// The findings about one paper's claims.
pub struct Book {
    paper: &'static str,
    sources: Vec<String>,
    findings: Vec<Finding>,
}

impl Book {
    /// An empty book about a paper; `sources` are tables and places that it rests on.
    pub fn new(paper: &'static str, sources: &[&str]) -> Self {
        Self {
            paper,
            sources: sources.iter().map(|s| (*s).to_owned()).collect(),
            findings: Vec::new(),
        }
    }

    /// The claim `name` holds or does not.
    pub fn holds(&mut self, name: &str, holds: bool, because: String, effects: Vec<Effect>) {
        let outcome = if holds {
            Outcome::Supported
        } else {
            Outcome::Contradicted
        };
        self.add(name, outcome, because, effects);
    }

    /// The claim `name` cannot be decided by what is printed.
    pub fn open(&mut self, name: &str, because: String, effects: Vec<Effect>) {
        self.add(name, Outcome::NotDecidable, because, effects);
    }

    /// A finding.
    pub fn add(&mut self, name: &str, outcome: Outcome, because: String, effects: Vec<Effect>) {
        self.findings.push(Finding {
            claim: format!("{}/{name}", self.paper),
            outcome,
            because,
            effects,
        });
    }

    /// The finished file.
    pub fn evidence(self) -> Evidence {
        Evidence {
            schema_version: SCHEMA_VERSION,
            paper: self.paper.to_owned(),
            tompion_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "cargo run -p tompion-findings -- --write".to_owned(),
            source: Source::Published {
                tables: self.sources,
            },
            findings: self.findings,
        }
    }
}

/// A figure without a test.
pub fn effect(what: impl Into<String>, value: f64, unit: &str) -> Effect {
    Effect {
        what: what.into(),
        value: rounded(value),
        unit: unit.to_owned(),
        interval: None,
        p: None,
        method: None,
    }
}

/// A figure with the p of a test.
pub fn tested(what: impl Into<String>, value: f64, p: f64, method: &str) -> Effect {
    Effect {
        p: Some(rounded(p)),
        method: Some(method.to_owned()),
        ..effect(what, value, "1")
    }
}

/// Three significant digits, for sentences.
pub fn sig(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let places = (2 - x.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{x:.places$}");
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

/// The largest.
pub fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::MIN, f64::max)
}

/// The smallest.
pub fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::MAX, f64::min)
}

/// The share of times that chance alone splits `n` pairs at least as one-sidedly as
/// `wins` to the rest, either way: the exact sign test (Dixon and Mood 1946).
pub fn sign_test(wins: usize, n: usize) -> f64 {
    let extreme = wins.max(n - wins);
    let mut ways = 1.0; // of choosing k out of n, from k = n downwards
    let mut tail = 0.0;
    for k in (extreme..=n).rev() {
        tail += ways;
        ways *= k as f64 / (n - k + 1) as f64;
    }
    (2.0 * tail / 2f64.powi(n as i32)).min(1.0)
}
