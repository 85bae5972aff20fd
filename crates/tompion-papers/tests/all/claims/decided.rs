//! The register is whole.

use std::collections::BTreeSet;
use std::path::Path;

use tompion_papers::claims::{Basis, Probe, Source, Standing, Status, coverage, register};

/// The directory of the register.
fn claims() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../claims"))
}

fn files(directory: &Path, extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.ends_with(extension)).collect()
}

#[test]
fn every_file_of_the_register_is_compiled_in_and_nothing_is_wrong_with_it() {
    let papers = register().papers.iter().map(|p| format!("{}.toml", p.id));
    assert_eq!(papers.collect::<BTreeSet<_>>(), files(claims(), ".toml"));
    let named = register().claims().filter_map(|c| c.evidence.clone());
    let kept = files(&claims().join("evidence"), "");
    assert_eq!(
        named.collect::<BTreeSet<_>>(),
        kept,
        "every file decides something"
    );
}

#[test]
fn published_figures_have_decided_whatever_rests_on_them() {
    for claim in register().claims() {
        let on_figures = claim.basis == Basis::PublishedTable;
        assert_eq!(on_figures, claim.decides.probe == Probe::PublishedTable);
        // A file of published figures decides claims of that basis and no others.
        if let Some(evidence) = register().evidence(claim) {
            let published = matches!(evidence.source, Source::Published { .. });
            assert_eq!(published, on_figures, "{}", claim.id);
        }
        if on_figures {
            assert!(register().finding(claim).is_some(), "{}", claim.id);
            assert_ne!(claim.status, Status::NotYetImplemented, "{}", claim.id);
        } else if claim.evidence.is_none() {
            let open = [Status::NotDecidableHere, Status::NotYetImplemented];
            assert!(open.contains(&claim.status), "{}: never guessed", claim.id);
        }
    }
}

#[test]
fn only_measurements_reproduce() {
    for claim in register().claims() {
        let reproduced = claim.standing() == Standing::Reproduced;
        let measured = claim.basis == Basis::Measurement && claim.status == Status::Supported;
        assert_eq!(reproduced, measured, "{}", claim.id);
        let says_so = claim.standing().to_string().contains("reproduced");
        assert_eq!(says_so, measured, "{}", claim.id);
    }
}

#[test]
fn sections_that_must_make_claims_do() {
    for paper in &register().papers {
        for covered in coverage(paper) {
            let name = covered.section.to_lowercase();
            // "4. Results" only heads subsections in Whiteaker's paper.
            let must = ["abstract", "discussion", "conclusion"];
            let must = must.iter().any(|m| name.contains(m));
            assert!(!must || !covered.claims.is_empty(), "{}: {name}", paper.id);
        }
        // Every claim stands somewhere, and repeats do not count twice.
        let all = coverage(paper);
        let covered = all.iter().flat_map(|c| &c.claims).map(|c| &c.id);
        let covered: BTreeSet<_> = covered.collect();
        assert_eq!(covered.len(), paper.claims.len(), "{}", paper.id);
    }
}

#[test]
fn the_named_claims_are_there() {
    for id in [
        "kirova-2019/hybrid-takes-1-5-percent-cpu",
        "kirova-2019/capacity-120-gbps",
        "kirova-2019/reads-per-packet",
        "korniichuk-2017/reads-per-packet",
        "korniichuk-2017/granularity-1-4-ns",
        "korniichuk-2017/granularity-0-29-ns-virtualbox",
        "perneel-2015/hyperv-quantum",
        "perneel-2015/xen-quantum-30-ms",
        "perneel-2015/esxi-quantum-little-effect",
        "perneel-2015/ranking-xen-first",
        "perneel-2015/ranking-esxi-last",
        "perneel-2015/overhead-is-max-less-bare",
        "adamczyk-2015/number-of-guests-does-not-matter",
        "adamczyk-2015/two-orders-of-magnitude",
        "whiteaker-2011/most-delay-when-sending",
    ] {
        assert!(register().claim(id).is_some(), "{id}");
    }
    // Kirova's nine conclusions, by their numerals.
    let of = register().paper("kirova-2019").unwrap();
    for numeral in ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"] {
        let start = format!("({numeral}) ");
        let mut found = of.claims.iter().filter(|c| c.claim.starts_with(&start));
        assert!(
            found.any(|c| c.places.iter().any(|p| p == "4. Discussion")),
            "{start}"
        );
    }
}

#[test]
fn the_schema_is_the_one_checked_in() {
    let checked_in = include_str!("../../../../../schema/claim-evidence.schema.json");
    assert_eq!(
        tompion_papers::claims::json_schema(),
        checked_in,
        "the types have changed: run `cargo run -p tompion-claims --example \
         claim_evidence_schema > schema/claim-evidence.schema.json`"
    );
}
