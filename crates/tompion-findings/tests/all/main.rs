//! The checked-in evidence that rests on published figures is what these figures give today.

use std::path::Path;

use tompion_papers::claims::Evidence;

/// The directory of the register.
fn claims() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../claims"))
}

/// Values with six digits, on machines whose mathematics differ in the last bit.
fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= 2e-5 * a.abs().max(b.abs())
}

#[test]
fn the_checked_in_evidence_is_what_the_published_figures_give() {
    let write = "write it again: cargo run -p tompion-findings -- --write";
    for computed in tompion_findings::all() {
        let path = claims().join(format!("evidence/{}.json", computed.paper));
        let text = std::fs::read_to_string(&path).unwrap();
        let kept: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(kept.schema_version, computed.schema_version);
        assert_eq!(kept.command, computed.command);
        assert_eq!(kept.source, computed.source);
        assert_eq!(kept.findings.len(), computed.findings.len(), "{write}");
        for (k, c) in kept.findings.iter().zip(&computed.findings) {
            assert_eq!(
                (&k.claim, k.outcome, &k.because, k.effects.len()),
                (&c.claim, c.outcome, &c.because, c.effects.len()),
                "{write}"
            );
            for (k, c) in k.effects.iter().zip(&c.effects) {
                let what = &c.what;
                assert_eq!((&k.what, &k.unit, &k.method), (what, &c.unit, &c.method));
                assert!(agree(k.value, c.value), "{what}: {} {}", k.value, c.value);
                assert_eq!(k.p.is_some(), c.p.is_some(), "{what}");
                let (kept, now) = (k.p.unwrap_or(0.0), c.p.unwrap_or(0.0));
                assert!(agree(kept, now), "{what}: p {kept} {now}");
            }
        }
    }
}

#[test]
fn a_changed_figure_would_be_noticed() {
    assert!(agree(0.123456, 0.123457) && agree(0.0, 0.0));
    assert!(!agree(0.1234, 0.1235) && !agree(0.0, 1e-9) && !agree(1.0, -1.0));
}
