use tompion_net::sender::Tally;
use tompion_net::{BufferSize, Capability, ReceiveStamps, TransmitStamps};
use tompion_path::stamps::Outcome;

use super::*;
use crate::account::{Errors, Oddities};

/// Of a kernel that has everything.
pub(crate) const CAPABILITY: Capability = Capability {
    transmit: TransmitStamps::Kernel,
    receive: ReceiveStamps::Nanoseconds,
    receive_buffer: BufferSize {
        asked: 1,
        granted: 1,
        is_forced: true,
    },
    ttl: true,
    tos: true,
    destination: true,
    drops: true,
    icmp_errors: true,
    busy_poll: false,
};

/// Probes 1 ms apart that spend so much in each place, in microseconds.
fn measured() -> Measured {
    let mut packets = Packets::new();
    for probe in 0..4 {
        let row = packets.push(112).unwrap();
        let begin = probe * 1_000_000;
        if probe == 3 {
            packets.set(row, Stamp::UserSent, begin).unwrap();
            packets.set_outcome(row, Outcome::Lost).unwrap();
            continue;
        }
        let stamps = [
            (Stamp::Due, 0),
            (Stamp::UserSent, 2),
            (Stamp::Scheduled, 12),
            (Stamp::Sent, 42),
            (Stamp::FarReceived, 9_000_142),
            // Of the ten microseconds by which each round trip is longer the far end has nine.
            (Stamp::FarSent, 9_000_242 + 9 * probe),
            (Stamp::Received, 342 + 10 * probe),
            (Stamp::UserReceived, 392 + 10 * probe),
        ];
        for (place, us) in stamps {
            packets.set(row, place, begin + us * 1_000).unwrap();
        }
        packets.arrived(row).unwrap();
    }
    Measured {
        packets,
        tally: Tally {
            due: 4,
            sent: 4,
            ..Tally::default()
        },
        capability: CAPABILITY,
        far: FarEnd::default(),
        far_marks: Vec::new(),
        odd: Oddities::default(),
        errors: Errors::default(),
        late: 0,
        first_refusal: None,
        is_too_long: false,
        refused: 0,
        observed: None,
        standstills: None,
    }
}

#[test]
fn a_far_end_fell_silent_where_as_many_and_more_came_behind_the_last_reply() {
    // A letter a probe: answered, lost, or not sent.
    let of = |probes: &str| {
        let mut packets = Packets::new();
        for probe in probes.chars() {
            let row = packets.push(112).unwrap();
            match probe {
                'a' => drop(packets.arrived(row).unwrap()),
                'n' => packets.set_outcome(row, Outcome::NotSent).unwrap(),
                _ => packets.set_outcome(row, Outcome::Lost).unwrap(),
            }
        }
        silent_after(&packets)
    };
    assert_eq!(of("aaallll"), Some(3));
    assert_eq!(of("alalll"), Some(3));
    assert_eq!(of("aaalll"), Some(3));
    assert_eq!(of("aaall"), None);
    // What was not sent cannot be answered, and who never answered did not fall silent.
    assert_eq!(of("aaannnnn"), None);
    assert_eq!(of("llll"), None);
    assert_eq!(of(""), None);
}

#[test]
fn a_round_trip_is_split_by_where_the_time_goes() {
    let summary = Summary::of(&measured());
    let us = |q: Option<Quantiles>| q.map(|q| q.median_ns / 1_000);
    let seen: Vec<_> = summary
        .round_trips
        .iter()
        .map(|r| (r.vantage.as_str(), r.quantiles.median_ns / 1_000))
        .collect();
    assert_eq!(seen, [("user", 400), ("qdisc", 340), ("kernel", 310)]);
    let added: Vec<_> = summary
        .added
        .iter()
        .map(|a| {
            (
                a.upper.as_str(),
                a.lower.as_str(),
                a.quantiles.median_ns / 1_000,
                us(a.outward),
                us(a.homeward),
            )
        })
        .collect();
    assert_eq!(
        added,
        [
            ("user", "qdisc", 60, Some(10), Some(50)),
            ("qdisc", "kernel", 30, Some(30), Some(0)),
        ]
    );
    // Of a clock that is nine seconds ahead.
    assert_eq!(us(summary.far_stay), Some(109));
    assert_eq!(us(summary.path), Some(201));
    assert_eq!(us(summary.lateness), Some(2));
    // The far end's stay is not in it.
    assert_eq!(
        variation(&summary),
        [("PDV", true, 0, 2), ("IPDV", true, 1, 1)]
    );
    assert_eq!((summary.answered, summary.lost), (3, 1));
    assert_eq!(summary.loss, Some(0.25));
}

/// Names, whether of the path, least and most in microseconds.
fn variation(summary: &Summary) -> Vec<(&'static str, bool, i64, i64)> {
    let figures = |v: &Variation| {
        let Quantiles { min_ns, max_ns, .. } = v.quantiles;
        (v.name, v.is_of_path, min_ns / 1_000, max_ns / 1_000)
    };
    summary.variation.iter().map(figures).collect()
}

#[test]
fn a_far_end_that_gives_no_stay_leaves_it_in_and_that_is_said() {
    let none = |packets: &mut Packets, row| {
        for place in [Stamp::FarReceived, Stamp::FarSent] {
            packets.set_missing(row, place, Missing::NotGiven).unwrap();
        }
    };
    let one = |packets: &mut Packets, row| {
        let at = packets.get(row, Stamp::FarReceived).unwrap();
        packets.set(row, Stamp::FarSent, at).unwrap();
    };
    for spoil in [none as fn(&mut Packets, usize), one] {
        let mut measured = measured();
        for row in 0..3 {
            spoil(&mut measured.packets, row);
        }
        let summary = Summary::of(&measured);
        assert!(summary.far_stay.is_none() && summary.path.is_none());
        assert_eq!(
            variation(&summary),
            [("PDV", false, 0, 20), ("IPDV", false, 10, 10)]
        );
        let text = summary.text();
        assert!(text.contains("PDV with far end's stay"), "{text}");
        assert!(
            text.contains("does not say how long it kept probes"),
            "{text}"
        );
    }
}

#[test]
fn the_table_has_eighty_columns_that_align() {
    let text = Summary::of(&measured()).text();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let rows: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let figures = |line: &&&str| line.ends_with('s') || line.ends_with("max");
    assert!(
        rows.iter()
            .filter(figures)
            .all(|line| line.chars().count() == 78),
        "{text}"
    );
    assert!(
        text.contains("4 probes sent, 3 answered, 1 lost (25.00 %)"),
        "{text}"
    );
    // The lost probe was never stamped by the kernel: that is said.
    assert!(
        text.contains("stamps missing: scheduled, of 1 probes"),
        "{text}"
    );
}
