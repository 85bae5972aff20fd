use tompion_model::Findings;

use super::*;

/// Three probes, the last of them late: in microseconds out of the program, out of the queue, at
/// the far end and back, and home at the program.
fn packets(queue_us: i64) -> Packets {
    let mut packets = Packets::new();
    for probe in 0..3 {
        let row = packets.push(100).unwrap();
        let us = |us: i64| (probe * 20_000 + us) * 1_000;
        let stay = 100 * (probe + 1);
        let stamps = [
            (Stamp::Due, us(0)),
            (Stamp::UserSent, us(5)),
            (Stamp::Scheduled, us(15)),
            (Stamp::Sent, us(15 + queue_us)),
            // Of a clock of its own.
            (Stamp::FarReceived, us(900_000)),
            (Stamp::FarSent, us(900_000 + stay)),
            (Stamp::Received, us(1_015 + queue_us + stay)),
            (Stamp::UserReceived, us(1_055 + queue_us + stay)),
        ];
        for (stamp, at_ns) in stamps {
            packets.set(row, stamp, at_ns).unwrap();
        }
        packets.arrived(row).unwrap();
    }
    packets.set_outcome(2, Outcome::Lost).unwrap();
    packets
}

fn trial(packets: &Packets) -> (Trial, TrialData) {
    let found = RoundTrips {
        to: "far.example:862".to_owned(),
        due: 3,
        answered: 2,
        lost: 1,
        late_replies: 1,
        remarks: vec!["Something.".to_owned()],
        ..RoundTrips::default()
    };
    let trial = Trial {
        id: 0,
        factors: Default::default(),
        block: 0,
        started_ns: 0,
        duration_ns: 0,
        started_at: None,
        storage: Default::default(),
        tables: Default::default(),
        measurement: Default::default(),
        load: None,
        findings: Findings::from(found),
        observation: None,
        cpu_use: None,
        summary: Default::default(),
    };
    let mut data = TrialData::default();
    let table = recorded::table(packets);
    data.tables.insert(recorded::TABLE.to_owned(), table);
    (trial, data)
}

#[test]
fn what_lies_between_two_places_is_found_over_all_trials() {
    let mut view = PacketsView::default();
    for queue_us in [10, 30] {
        let (trial, data) = trial(&packets(queue_us));
        view.add(&trial, &data, &mut Room::default());
    }
    let us = |times: &Times| {
        let all = times.distribution();
        let median = all.median().map(|ns| ns / 1e3);
        (times.name.clone(), median, all.max().map(|ns| ns / 1000))
    };
    let found: Vec<_> = view.times.iter().map(us).collect();
    let want = [
        ("user and qdisc", 50.0, 50),
        ("user and qdisc, on the way out", 10.0, 10),
        ("user and qdisc, on the way home", 40.0, 40),
        // Of one block 10 us, of the other 30.
        ("qdisc and kernel", 20.0, 30),
        ("far end's stay", 150.0, 200),
        // The far end's stay is not in it, nor in its variation.
        ("path beyond kernel", 1_000.0, 1_000),
        ("PDV of the path", 0.0, 0),
        ("IPDV of the path", 0.0, 0),
        ("sent late by", 5.0, 5),
    ];
    let want: Vec<_> = want
        .into_iter()
        .map(|(name, median, max)| (name.to_owned(), Some(median), Some(max)))
        .collect();
    assert_eq!(found, want);
    let probes = &view.probes;
    assert_eq!((probes.due, probes.answered, probes.lost), (6, 4, 2));
    assert_eq!(view.lost_share(), Some(1.0 / 3.0));
    assert_eq!((view.longest_loss, view.remarks.len()), (1, 1));
}

#[test]
fn where_the_far_end_tells_nothing_its_stay_is_in_the_variation_and_that_is_said() {
    let mut silent = packets(10);
    for row in 0..3 {
        for stamp in [Stamp::FarReceived, Stamp::FarSent] {
            silent.set_missing(row, stamp, Missing::NotGiven).unwrap();
        }
    }
    let (trial, data) = trial(&silent);
    let mut view = PacketsView::default();
    view.add(&trial, &data, &mut Room::default());
    let names: Vec<&str> = view.times.iter().map(|t| t.name.as_str()).collect();
    assert!(names.contains(&"PDV with the far end's stay"), "{names:?}");
    assert!(!names.iter().any(|n| n.contains("path")), "{names:?}");
}

#[test]
fn a_table_that_is_none_is_told_and_the_counts_stay() {
    let (trial, mut data) = trial(&packets(10));
    let columns = data.tables[recorded::TABLE].columns()[1..].to_vec();
    let less = tompion_model::SideTable::new(columns).unwrap();
    data.tables.insert(recorded::TABLE.to_owned(), less);
    let mut view = PacketsView::default();
    view.add(&trial, &data, &mut Room::default());
    assert_eq!(
        view.unread,
        Some((1, "it has no column `outcome` of text".to_owned()))
    );
    assert!(view.times.is_empty() && view.probes.due == 3);
}

#[test]
fn a_strangers_packets_take_no_more_than_their_room_and_that_is_told() {
    // Times that are all different.
    let many = |seed: i64| {
        let mut packets = Packets::new();
        for probe in 0..2_000_i64 {
            let row = packets.push(100).unwrap();
            let sent = probe * 1_000_000_000;
            let took = 1_000_000 + (probe * 7_919 + seed) % 100_003;
            packets.set(row, Stamp::UserSent, sent).unwrap();
            packets.set(row, Stamp::UserReceived, sent + took).unwrap();
            packets.set(row, Stamp::Sent, sent + took / 3).unwrap();
            packets.set(row, Stamp::Received, sent + took / 2).unwrap();
            packets.arrived(row).unwrap();
        }
        packets
    };
    let exact = {
        let mut view = PacketsView::default();
        let (trial, data) = trial(&many(0));
        view.add(&trial, &data, &mut Room::default());
        assert_eq!(view.rounded_to(), None);
        view
    };
    let mut room = Room::default();
    let mut views = [PacketsView::default(), PacketsView::default()];
    let mut trials = 0;
    while views[1].no_room == 0 {
        let (trial, data) = trial(&many(trials));
        views[(trials % 2) as usize].add(&trial, &data, &mut room);
        room.make(views.iter_mut());
        trials += 1;
        assert!(trials < 20_000, "there is room without end");
        // As long as there are few enough trials, each is taken in.
        let is_full = views.iter().any(|view| view.no_room > 0);
        assert!(!is_full || trials > 500, "{trials}");
    }
    let kept = |view: &PacketsView| -> usize {
        let blocks = view.times.iter().flat_map(|times| &times.blocks);
        blocks.map(taken_by).sum()
    };
    let all = views.iter().map(kept).sum::<usize>();
    assert!(all <= MOST_KEPT + (MOST_KEPT >> 8), "{all}");
    let share = views[0].rounded_to().unwrap();
    assert!(share < 0.02, "{share}");
    // What is told is near what it was.
    for (times, exact) in views[0].times.iter().zip(&exact.times) {
        let (found, want) = (times.distribution(), exact.distribution());
        for q in [0.5, 0.99] {
            let (found, want) = (found.quantile(q).unwrap(), want.quantile(q).unwrap());
            assert!(
                (found / want - 1.0).abs() < 0.02,
                "{} {q}: {found} {want}",
                times.name
            );
        }
    }
}

#[test]
fn places_without_end_are_told_as_one() {
    let mut view = PacketsView::default();
    for number in 0..1_000_u64 {
        let found = RoundTrips {
            due: 1,
            missing: vec![MissingStamps {
                place: format!("place-{}", number % 500),
                why: "never seen".to_owned(),
                probes: 1,
            }],
            ..RoundTrips::default()
        };
        view.count(&found);
    }
    let missing = &view.probes.missing;
    assert_eq!(missing.len(), MOST_MISSING + 1);
    assert_eq!(missing.iter().map(|m| m.probes).sum::<u64>(), 1_000);
    assert_eq!(missing[0].probes, 2);
}

#[test]
fn no_name_of_a_column_that_hides_text_is_told() {
    let (trial, mut data) = trial(&packets(10));
    let table = data.tables.remove(recorded::TABLE).unwrap();
    let mut columns = table.columns().to_vec();
    let rows = table.rows();
    columns.push(tompion_model::Column {
        name: "tap_a\u{3164}b\u{2800}_outward_ns".to_owned(),
        values: tompion_model::Values::Int64(vec![None; rows]),
    });
    let table = tompion_model::SideTable::new(columns).unwrap();
    data.tables.insert(recorded::TABLE.to_owned(), table);
    let mut view = PacketsView::default();
    view.add(&trial, &data, &mut Room::default());
    let (_, why) = view.unread.unwrap();
    assert!(why.contains("\"a b \""), "{why}");
}
