use super::*;
use tompion_path::stamps::Stamp;

const MS: i64 = 1_000_000;

/// A hundred probes over a path of 4 ms out and 2 ms home, whose far end's clock is set before number 51.
fn packets(step_ns: i64) -> Packets {
    let mut packets = Packets::new();
    for probe in 0..100 {
        let row = packets.push(100).unwrap();
        let sent = 1_700_000_000_000_000_000 + 10 * MS * probe;
        // A probe in three waits.
        let wait = if probe % 3 == 0 { 200_000 } else { 0 };
        let ahead =
            3_000_000_000 + 20 * 10 * MS * probe / 1_000_000 + if probe < 50 { 0 } else { step_ns };
        let came = sent + 4 * MS + wait;
        for (stamp, at) in [
            (Stamp::Sent, sent),
            (Stamp::FarReceived, came + ahead),
            (Stamp::FarSent, came + 50_000 + ahead),
            (Stamp::Received, came + 50_000 + 2 * MS),
        ] {
            packets.set(row, stamp, at).unwrap();
        }
        packets.arrived(row).unwrap();
    }
    packets
}

#[test]
fn each_way_is_told_with_what_it_may_be_off_and_how_the_far_ends_clock_went() {
    let told = OneWay::of(&packets(0)).unwrap();
    let [clock] = &told.far_clock[..] else {
        panic!("{:?}", told.far_clock);
    };
    assert!((clock.rate_ppm - 20.0).abs() < 0.5, "{clock:?}");
    // Half of 6 ms each, which is off by 1 ms of the 3 that it may be.
    let [out, home] = [told.outward, told.homeward].map(Option::unwrap);
    assert!(
        (out.min_ns - 3 * MS).abs() < 5_000 && (home.max_ns - 3 * MS).abs() < 10_000,
        "{told:?}"
    );
    assert!(
        (3 * MS..3 * MS + 100_000).contains(&told.may_be_off_ns),
        "{told:?}"
    );
    assert!((told.outward_variation.unwrap().p99_ns - 200_000).abs() < 10_000);
    let text = told.text();
    assert!(
        text.contains("far end's clock: 3.00 s ahead, gains 20.0"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_clock_that_is_set_is_told_with_the_probe_before_which_it_was() {
    let told = OneWay::of(&packets(-5 * MS)).unwrap();
    let text = told.text();
    assert!(
        text.contains("set 5.00 ms back before probe 51: 3.00 s ahead"),
        "{text}"
    );
    assert_eq!(told.far_clock.len(), 2);
    let few = OneWay::of(&Packets::new()).unwrap_err().to_string();
    assert!(
        few.starts_with("0 replies have stamps of the far end"),
        "{few}"
    );
}

#[test]
fn at_rest_the_clock_is_told_by_least_squares_too_unless_it_was_set() {
    let told = OneWay::with_rests(&packets(0), &(20..80)).unwrap();
    let at_rest = told.at_rest.unwrap();
    assert_eq!(at_rest.probes, 40);
    assert!((at_rest.rate_ppm - 20.0).abs() < 2.0, "{at_rest:?}");
    let text = told.text();
    assert!(
        text.contains("  at rest, least squares of 40 probes: 3.00 s ahead, gains"),
        "{text}"
    );
    let at_rest = |step_ns, loaded| {
        OneWay::with_rests(&packets(step_ns), &loaded)
            .unwrap()
            .at_rest
    };
    // It was interrupted under load: the last ones were at no rest.
    assert_eq!(at_rest(0, 20..480).unwrap().probes, 20);
    assert!(at_rest(-5 * MS, 20..80).is_none());
    assert!(at_rest(0, 3..97).is_none());
    assert!(at_rest(0, 0..100).is_none());
}
