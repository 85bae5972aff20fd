use super::*;
use crate::compare::comparison::tests::side;
use tompion_stats::GrowthVerdict;

/// Ten replicates whose disturbances are shared: their heights in ns.
fn replicates(base: f64, step: f64) -> Vec<f64> {
    // No two in order, so that nothing rests on it.
    (0..10)
        .map(|i| base + step * f64::from(i * 7 % 10))
        .collect()
}

fn summary(sides: &[Side], reference: Option<&str>, ratios: &[RatioWish]) -> PlatformSummary {
    summary_of(sides, &[], reference, ratios, 0.05).unwrap()
}

fn of<'a>(group: &'a PlatformGroup, name: &str) -> &'a PlatformMaxima {
    group.platforms.iter().find(|p| p.platform == name).unwrap()
}

#[test]
fn the_bare_machines_maximum_is_taken_off_and_ranks_follow_the_tests() {
    // runc and crun differ by chance alone; qemu lies far above.
    let mut crun = replicates(60_000.0, 1000.0);
    crun.reverse();
    let sides = [
        side("qemu (emulated)", &replicates(900_000.0, 1000.0)),
        side("host", &replicates(10_000.0, 100.0)),
        side("runc", &replicates(60_000.0, 1000.0)),
        side("crun", &crun),
    ];
    let found = summary(&sides, None, &[]);
    assert_eq!(found.reference.as_deref(), Some("host"));
    let [group] = &found.groups[..] else {
        panic!("{found:?}");
    };
    let names: Vec<&str> = group.platforms.iter().map(|p| &*p.platform).collect();
    assert_eq!((names[0], names[3]), ("host", "qemu (emulated)"));
    let ranks = |name| {
        let r = of(group, name).rank;
        (r.best, r.worst)
    };
    assert_eq!((ranks("host"), ranks("qemu (emulated)")), ((1, 1), (4, 4)));
    // Not told apart: both may be second or third.
    assert_eq!((ranks("runc"), ranks("crun")), ((2, 3), (2, 3)));
    assert!(of(group, "qemu (emulated)").emulated && !of(group, "runc").emulated);
    assert_eq!(of(group, "host").added, None);
    let added = of(group, "runc").added.unwrap();
    assert!((added.greatest - (69_000.0 - 10_900.0)).abs() < 1e-6);
    let (shift, interval, p) = added.shift.unwrap();
    assert!(interval.contains(shift) && (shift - 54_000.0).abs() < 1_000.0);
    // Six pairs of ten replicates.
    assert!((p - 6.0 * 2.0 / 1024.0).abs() < 1e-12, "{p}");
    let maxima = of(group, "runc").maxima;
    assert_eq!((maxima.least, maxima.greatest), (60_000.0, 69_000.0));
    assert_eq!(maxima.growth.verdict, GrowthVerdict::LevelsOff);
}

#[test]
fn the_reference_may_be_above_and_first_or_last() {
    let low = side("a", &replicates(1_000.0, 10.0));
    let high = side("host", &replicates(5_000.0, 10.0));
    for sides in [[low.clone(), high.clone()], [high, low]] {
        let found = summary(&sides, None, &[]);
        let added = of(&found.groups[0], "a").added.unwrap();
        let (shift, interval, _) = added.shift.unwrap();
        assert!((added.greatest + 4_000.0).abs() < 1e-6);
        assert!(
            (shift + 4_000.0).abs() < 50.0 && interval.high < 0.0,
            "{shift}"
        );
        let best = &found.groups[0].platforms[0];
        assert_eq!((&*best.platform, best.rank.worst), ("a", 1));
    }
}

#[test]
fn too_few_replicates_tell_nobody_apart() {
    let sides = [
        side("host", &[10.0, 11.0, 12.0]),
        side("runc", &[9e6, 8e6, 7e6]),
    ];
    let found = summary(&sides, None, &[]);
    for platform in &found.groups[0].platforms {
        assert_eq!((platform.rank.best, platform.rank.worst), (1, 2));
        assert_eq!(platform.maxima.growth.verdict, GrowthVerdict::TooFew);
    }
    let added = of(&found.groups[0], "runc").added.unwrap();
    assert!(added.shift.is_none() && added.greatest > 8.9e6);
}

#[test]
fn only_replicates_that_both_have_are_held_against_each_other() {
    let mut long = replicates(1_000.0, 1.0);
    long.push(90_000.0);
    let sides = [side("host", &long), side("runc", &replicates(5_000.0, 1.0))];
    let found = summary(&sides, None, &[]);
    let added = of(&found.groups[0], "runc").added.unwrap();
    assert!((added.greatest - 4_000.0).abs() < 1e-6, "{added:?}");
    assert_eq!(of(&found.groups[0], "host").maxima.greatest, 90_000.0);
}

#[test]
fn one_platform_over_another_either_way() {
    let sides = [
        side("host", &replicates(1_000.0, 1.0)),
        side("full", &replicates(41_000.0, 1.0)),
        side("para", &replicates(21_000.0, 1.0)),
    ];
    let wish = |text: &str| text.parse::<RatioWish>().unwrap();
    let found = summary(&sides, None, &[wish("para/full"), wish("full/para")]);
    let [a, b] = &found.ratios[..] else {
        panic!("{found:?}");
    };
    // 20 us added over 40 us added; 21 over 41 in all.
    assert!((a.of_added.unwrap() - 0.5).abs() < 1e-9);
    assert!((b.of_added.unwrap() - 2.0).abs() < 1e-9);
    let (ratio, interval) = a.of_maxima.unwrap();
    assert!((ratio - 21.0 / 41.0).abs() < 1e-3 && interval.contains(ratio));
    let (ratio, interval) = b.of_maxima.unwrap();
    assert!((ratio - 41.0 / 21.0).abs() < 4e-3 && interval.contains(ratio));
}

#[test]
fn wrong_names_are_told_with_the_right_ones() {
    let sides = [side("host", &[1.0; 6]), side("qemu (emulated)", &[2.0; 6])];
    let error = |reference, ratio: Option<&str>| {
        let ratios: Vec<RatioWish> = ratio.iter().map(|r| r.parse().unwrap()).collect();
        let found = summary_of(&sides, &[], reference, &ratios, 0.05);
        found.unwrap_err().to_string()
    };
    assert!(error(Some("xen"), None).ends_with("there are host, qemu (emulated)"));
    assert!(error(None, Some("kvm/host")).contains("no platform `kvm`"));
    assert!(error(None, Some("host/host")).contains("twice"));
    // An emulated platform answers to its short name.
    assert!(summary_of(&sides, &[], Some("qemu"), &[], 0.05).is_ok());
    assert!(summary_of(&[], &[], None, &[], 0.05).is_err());
    assert!("para".parse::<RatioWish>().is_err() && "/x".parse::<RatioWish>().is_err());
}

#[test]
fn an_emulated_platform_has_its_short_name_in_virtual_time_too() {
    let sides = [
        side("host", &replicates(10_000.0, 100.0)),
        side(
            "vt (emulated, virtual time)",
            &replicates(900_000.0, 1000.0),
        ),
        side("qemu (emulated)", &replicates(500_000.0, 1000.0)),
    ];
    assert_eq!(named(&sides, "vt").unwrap(), 1);
    assert_eq!(named(&sides, "qemu").unwrap(), 2);
    assert!(named(&sides, "v").is_err());
}

#[test]
fn another_machine_is_no_platform_of_this_one() {
    let sides = [
        side("bare", &replicates(10_000.0, 100.0)),
        side("cloud", &replicates(900_000.0, 1000.0)),
    ];
    let record = |level: &str, kind: &str| PlatformRecord {
        level: level.to_owned(),
        kind: kind.to_owned(),
        settings: Vec::new(),
        versions: Vec::new(),
        emulated: None,
        absent: None,
        environment: None,
    };
    let records = [record("bare", "host"), record("cloud", "ssh")];
    let found = summary_of(&sides, &records, None, &[], 0.05).unwrap();
    // The bare machine by what it is, whatever its name.
    assert_eq!(found.reference.as_deref(), Some("bare"));
    let [caution] = &found.cautions[..] else {
        panic!("{:?}", found.cautions);
    };
    assert!(
        caution.starts_with("cloud: on another machine than bare"),
        "{caution}"
    );
}
