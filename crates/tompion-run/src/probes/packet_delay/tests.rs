//! Trials and table of stamps that are given, without any network.

use std::sync::atomic::AtomicBool;

use tompion_model::{RoundTrips, View};
use tompion_net::sender::Tally;
use tompion_net::{BufferSize, Capability, ReceiveStamps, TransmitStamps};
use tompion_packets::{Errors, FarEnd, Measured, Oddities};
use tompion_path::stamps::{Missing, Vantage};

use super::*;
use crate::probes::{Place, Selection};

/// When the measurement began, by both clocks: neither is zero.
const BEGAN: Began = Began {
    mono_ns: 5_000_000_000,
    utc_ns: 1_700_000_000_000_000_000,
};

fn selection(given: &[(&str, &str)]) -> Selection {
    let given = given
        .iter()
        .map(|(name, text)| (*name, vec![(*text).to_owned()]));
    let to = [("to", vec!["far.example".to_owned()])];
    Selection::new(&ENTRY, Place::CommandLine, to.into_iter().chain(given)).unwrap()
}

fn asked(given: &[(&str, &str)]) -> Asked {
    Asked::of(&selection(given).values, 20_000_000)
}

fn limits(samples: u64, time: Duration) -> Limits {
    Limits {
        samples,
        time_ns: time.as_nanos() as u64,
        least_samples: FEW,
        patience_ns: 0,
        rows: 1 << 20,
        granularity: false,
        stop: Arc::new(AtomicBool::new(false)),
    }
}

/// Six probes 20 ms apart: the first as it should be and answered twice, the second later than the
/// third, the fourth lost, the fifth not stamped by the kernel as it left, the sixth not sent.
fn measured(has_kernel: bool) -> Measured {
    let mut packets = Packets::new();
    let us = |probe: i64, us: i64| BEGAN.utc_ns + probe * 20_000_000 + us * 1_000;
    for probe in 0..6 {
        let row = packets.push(100).unwrap();
        packets.set(row, Stamp::Due, us(probe, 0)).unwrap();
        if probe == 5 {
            packets.set_outcome(row, Outcome::NotSent).unwrap();
            continue;
        }
        packets.set(row, Stamp::UserSent, us(probe, 2)).unwrap();
        if has_kernel {
            packets.set(row, Stamp::Scheduled, us(probe, 12)).unwrap();
            if probe != 4 {
                packets.set(row, Stamp::Sent, us(probe, 42)).unwrap();
            }
        }
    }
    // The third comes home first.
    for (probe, home_us) in [(0, 342), (2, 352), (1, 20_400), (4, 362)] {
        let row = probe as usize;
        packets.set(row, Stamp::FarReceived, 7 + probe).unwrap();
        packets.set(row, Stamp::FarSent, 100_007 + probe).unwrap();
        if has_kernel {
            packets
                .set(row, Stamp::Received, us(probe, home_us))
                .unwrap();
        }
        packets
            .set(row, Stamp::UserReceived, us(probe, home_us + 50))
            .unwrap();
        packets.arrived(row).unwrap();
    }
    packets.arrived(0).unwrap();
    packets.set_outcome(3, Outcome::Lost).unwrap();
    let (transmit, receive) = match has_kernel {
        true => (TransmitStamps::Kernel, ReceiveStamps::Nanoseconds),
        false => {
            for stamp in [Stamp::Scheduled, Stamp::Sent, Stamp::Received] {
                packets
                    .set_missing_otherwise(stamp, Missing::Refused)
                    .unwrap();
            }
            let errno = 92;
            (
                TransmitStamps::User { errno },
                ReceiveStamps::User { errno },
            )
        }
    };
    Measured {
        packets,
        tally: Tally {
            due: 6,
            sent: 5,
            not_sent: 1,
            ..Tally::default()
        },
        capability: Capability {
            transmit,
            receive,
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
        },
        far: FarEnd::default(),
        far_marks: Vec::new(),
        odd: Oddities::default(),
        errors: Errors::default(),
        late: 0,
        refused: 0,
        first_refusal: None,
        is_too_long: false,
        observed: None,
        standstills: None,
    }
}

fn split(has_kernel: bool) -> Vec<(Seen, Part)> {
    let asked = asked(&[]);
    let limits = limits(10, Duration::from_secs(1));
    let all = asked.seen();
    let made = parts(
        &measured(has_kernel),
        &asked,
        &all,
        &limits,
        BEGAN,
        None,
        &[],
    );
    all.into_iter().zip(made).collect()
}

fn told(part: &Part) -> &RoundTrips {
    part.findings.round_trips.as_ref().unwrap()
}

#[test]
fn one_measurement_is_a_trial_for_each_vantage_point() {
    let made = split(true);
    let seen: Vec<_> = made.iter().map(|m| m.0).collect();
    let from = [Vantage::User, Vantage::Qdisc, Vantage::Kernel].map(Seen::From);
    assert_eq!(seen, [&from[..], &[Seen::Path]].concat());
    assert_eq!(seen[3].to_string(), "path");
    let values = |at: usize| -> Vec<(u64, i64)> {
        let samples = &made[at].1.outcome.data.samples;
        samples
            .iter()
            .map(|s| (s.at_ns / 1_000, s.value_ps / 1_000_000))
            .collect()
    };
    // In the order of their ends, in microseconds; the lost one has no value, and the one without
    // a transmit stamp has none where that is needed.
    let user = [(392, 390), (40_402, 400), (40_450, 20_448), (80_412, 410)];
    assert_eq!(values(0), user);
    let qdisc = [(342, 330), (40_352, 340), (40_400, 20_388), (80_362, 350)];
    assert_eq!(values(1), qdisc);
    assert_eq!(values(2), [(342, 300), (40_352, 310), (40_400, 20_358)]);
    // Without the far end's stay of 100 us: the one that was received as another waited is no longer than usual here.
    assert_eq!(values(3), [(342, 200), (40_352, 210), (40_400, 20_258)]);
    for (seen, part) in &made {
        let outcome = &part.outcome;
        assert_eq!(outcome.began_ns, BEGAN.mono_ns);
        assert!(outcome.measurement.ended_by_time, "six of ten");
        assert_eq!(outcome.missed_periods, None);
        assert!(
            outcome
                .measurement
                .technique
                .contains(seen.vantage().outward().name())
        );
    }
}

#[test]
fn loss_and_missing_stamps_are_told_in_each_trial() {
    let made = split(true);
    for (_, part) in &made {
        let told = told(part);
        assert_eq!(
            (told.due, told.not_sent, told.answered, told.lost),
            (6, 1, 4, 1)
        );
        assert_eq!(
            (told.duplicates, told.reordered, told.late_replies),
            (1, 1, 0)
        );
        assert_eq!((told.bytes, told.interval_ns), (100, 20_000_000));
        assert_eq!(told.to, "far.example:862");
        // Every answered probe has a value or is counted as without one.
        let samples = part.outcome.data.samples.len() as u64;
        let left_out = told.left_out.unwrap_or(0);
        assert_eq!(samples + left_out + told.without_value, told.answered);
    }
    assert!(told(&made[0].1).missing.is_empty() && told(&made[1].1).missing.is_empty());
    let missing = &told(&made[2].1).missing;
    let missing: Vec<_> = missing
        .iter()
        .map(|m| (&*m.place, &*m.why, m.probes))
        .collect();
    assert_eq!(missing, [("sent", "unknown", 1)]);
}

#[test]
fn the_table_of_all_stamps_is_kept_once() {
    let made = split(true);
    let tables: Vec<usize> = made.iter().map(|m| m.1.outcome.data.tables.len()).collect();
    // With the keys by which taps know the packets again, and where packets were held up.
    assert_eq!(tables, [3, 0, 0, 0]);
    let table = &made[0].1.outcome.data.tables[recorded::TABLE];
    let packets = recorded::of_table(table).unwrap();
    assert_eq!(packets.len(), 6);
    assert_eq!(
        packets.get(1, Stamp::UserReceived),
        Some(BEGAN.utc_ns + 40_450_000)
    );
    assert_eq!(packets.probe(3).unwrap().outcome, Outcome::Lost);
}

#[test]
fn where_the_kernel_refuses_its_trials_are_there_and_empty() {
    let made = split(false);
    assert_eq!(made.len(), 4);
    assert_eq!(made[0].1.outcome.data.samples.len(), 4);
    for (_, part) in &made[1..] {
        let told = told(part);
        assert!(part.outcome.data.samples.is_empty());
        assert_eq!((told.answered, told.without_value), (4, 4));
        assert!(
            told.missing
                .iter()
                .all(|m| m.why == "refused" && m.probes == 4)
        );
        assert!(
            told.remarks[0].contains("gives no stamps"),
            "{:?}",
            told.remarks
        );
    }
}

#[test]
fn a_reply_that_came_too_late_is_no_value() {
    let mut late = measured(true);
    late.packets.set_outcome(1, Outcome::Lost).unwrap();
    late.late = 1;
    let asked = asked(&[]);
    let limits = limits(6, Duration::from_secs(1));
    let made = parts(&late, &asked, &asked.seen(), &limits, BEGAN, None, &[]);
    let longest = made[0].outcome.data.distribution(View::Measured).max();
    assert_eq!(longest, Some(410_000_000));
    assert_eq!((told(&made[0]).lost, told(&made[0]).late_replies), (2, 1));
    assert!(!made[0].outcome.measurement.ended_by_time);
}

#[test]
fn more_samples_than_there_is_room_for_become_bins() {
    let mut many = measured(true);
    many.packets = Packets::new();
    for probe in 0..500 {
        let row = many.packets.push(100).unwrap();
        let sent = BEGAN.utc_ns + probe * 1_000_000;
        many.packets.set(row, Stamp::UserSent, sent).unwrap();
        many.packets
            .set(row, Stamp::UserReceived, sent + 1_000 + probe)
            .unwrap();
        many.packets.arrived(row).unwrap();
    }
    let few = Limits {
        rows: 100,
        ..limits(500, Duration::from_secs(1))
    };
    let asked = asked(&[("user-stamps", "true")]);
    let made = parts(&many, &asked, &asked.seen(), &few, BEGAN, None, &[]);
    assert_eq!(made.len(), 1);
    let data = &made[0].outcome.data;
    assert!(data.bins.is_some() && data.samples.len() <= 100);
    assert_eq!(data.distribution(View::Measured).len(), 500);
    assert_eq!(told(&made[0]).without_value, 0);
}

#[test]
fn what_might_still_have_come_when_it_was_stopped_is_not_lost() {
    let mut packets = measured(true).packets;
    packets.set_outcome(4, Outcome::Lost).unwrap();
    let second = 1_000_000_000;
    unsettle(&mut packets, second, BEGAN.utc_ns + 500_000_000);
    let outcome = |row| packets.probe(row).unwrap().outcome;
    assert_eq!(outcome(3), Outcome::Pending);
    // It came, too late.
    assert_eq!(outcome(4), Outcome::Lost);
    let mut packets = measured(true).packets;
    unsettle(&mut packets, second, BEGAN.utc_ns + 2_000_000_000);
    assert_eq!(packets.probe(3).unwrap().outcome, Outcome::Lost);
}

#[test]
fn cells_are_made_for_each_interval_and_a_published_one_has_its_own() {
    let spec = "idle".parse().unwrap();
    let context = Context {
        load: 0,
        spec: &spec,
        policy: tompion_probe::Policy::Other,
        cpu: None,
        blocks: 5,
    };
    let keys = |given: &[(&str, &str)]| -> Vec<(String, u64, usize)> {
        let cells = selection(given).cells(&context);
        let told = |c: &PlannedCell| (c.factors.to_string(), c.samples, c.trials());
        cells.iter().map(told).collect()
    };
    assert_eq!(
        keys(&[("intervals", "10ms"), ("probes", "7"), ("icmp", "true")]),
        [("packet-delay/icmp/10ms/idle".to_owned(), 2, 4)]
    );
    assert_eq!(
        keys(&[("preset", "whiteaker")]),
        [("packet-delay/stamp/250ms/idle".to_owned(), 40, 4)]
    );
    let whiteaker = selection(&[("preset", "whiteaker")]);
    assert_eq!(Asked::of(&whiteaker.values, 1).bytes, Some(100));
    assert_eq!(keys(&[("user-stamps", "true")])[0].2, 1);
    assert_eq!(keys(&[("hardware-stamps", "eth0")])[0].2, 5);
    // Nobody waits for replies so often.
    assert_eq!(keys(&[("intervals", "900us")])[0].2, 3);
    // Each trial has a key of its own, known before anything is measured.
    let cells = selection(&[]).cells(&context);
    let names: Vec<String> = cells[0].keys().iter().map(ToString::to_string).collect();
    let name = |vantage: &str| format!("packet-delay/stamp/20ms/vantage={vantage}/idle");
    assert_eq!(names, ["user", "qdisc", "kernel", "path"].map(name));
}

#[test]
fn wrong_values_are_refused_in_one_line() {
    let none: [(&str, Vec<String>); 0] = [];
    for place in [Place::CommandLine, Place::LabPlan] {
        let why = Selection::new(&ENTRY, place, none.clone()).unwrap_err();
        assert_eq!(why.to_string(), "packet-delay needs `to`");
    }
    for (name, text, want) in [
        ("to", "", "is no name of a host"),
        ("to", "two words", "is no name of a host"),
        ("port", "0", "write a number from 1 to 65535"),
        ("port", "70000", "write a number from 1 to 65535"),
        ("size", "huge", "is no length of a packet"),
        ("preset", "kirova", "use whiteaker"),
        ("intervals", "0s", "out of range"),
        ("probes", "0", "at least 1"),
    ] {
        let given = [("to", vec!["x".to_owned()]), (name, vec![text.to_owned()])];
        let why = Selection::new(&ENTRY, Place::LabPlan, given).unwrap_err();
        let why = why.to_string();
        assert!(why.contains(want) && !why.contains('\n'), "{why}");
    }
}
