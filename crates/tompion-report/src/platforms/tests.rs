use super::*;
use tompion_assess::compare::{Added, RatioWish};
use tompion_model::Factors;
use tompion_stats::Maxima;

fn summary() -> PlatformSummary {
    let platform = |name: &str, scale: f64, rank| PlatformMaxima {
        platform: name.to_owned(),
        emulated: name.ends_with("(emulated)"),
        maxima: Maxima::of(
            &[1.0, 1.01, 1.02, 1.03, 1.04, 1.05].map(|x| x * scale),
            0.95,
        )
        .unwrap(),
        added: (name != "host").then_some(Added {
            greatest: 1.05 * scale - 10_500.0,
            shift: None,
        }),
        rank,
    };
    let rank = |best, worst| Ranks { best, worst };
    PlatformSummary {
        reference: Some("host".to_owned()),
        level: 0.05,
        absent: vec![("kvm".to_owned(), "there is no /dev/kvm".to_owned())],
        cautions: Vec::new(),
        groups: vec![PlatformGroup {
            cell: Factors::new()
                .with(factor::PROBE, "stalls")
                .with(factor::METHOD, "busy-loop")
                .with("placement", "alone")
                .with(factor::LOAD, "idle"),
            platforms: vec![
                platform("host", 10_000.0, rank(1, 1)),
                platform("runc", 90_000.0, rank(2, 3)),
                platform("qemu (emulated)", 95_000.0, rank(2, 3)),
            ],
        }],
        ratios: Vec::new(),
    }
}

#[test]
fn the_table_tells_ranks_maxima_and_what_they_add() {
    let text = crate::platforms_text(&summary(), 100, false);
    for part in [
        "absent: kvm: there is no /dev/kvm",
        "Stalls: busy-loop, placement alone, idle",
        "2\u{2013}3",
        "10.5 µs of 6",
        "+84.0 µs",
        "as far as seen",
        "1 in 7",
        "no evidence about hardware",
    ] {
        assert!(
            text.contains(part) || text.replace("\n  ", " ").contains(part),
            "{part}: {text}"
        );
    }
    for width in [40, 60, 100] {
        let text = crate::platforms_text(&summary(), width, false);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn machines_get_the_same() {
    let json = crate::platforms_json(&summary());
    let runc = &json["cells"][0]["platforms"][1];
    assert_eq!(runc["rank_worst"], 3);
    assert_eq!(runc["bounded"], "as-far-as-seen");
    assert_eq!(runc["added_greatest_ns"], 84_000.0);
    assert!(runc["added_shift_ns"].is_null());
    assert_eq!(json["absent"][0]["platform"], "kvm");
}

#[test]
fn ratios_are_told_cell_by_cell_with_their_mean() {
    let mut summary = summary();
    for of_added in [0.5, 0.7] {
        summary.ratios.push(tompion_assess::compare::PairRatio {
            wish: RatioWish {
                over: "para".to_owned(),
                under: "full".to_owned(),
            },
            cell: summary.groups[0].cell.clone(),
            of_added: Some(of_added),
            of_maxima: None,
        });
    }
    let text = crate::platforms_text(&summary, 100, false);
    assert!(
        text.contains("para over full") && text.contains("mean of 2"),
        "{text}"
    );
    assert!(text.contains("0.60×"), "{text}");
}
