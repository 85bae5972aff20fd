use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::Way;
use crate::stamps::place::Clock;
use crate::stamps::{
    Key, Loss, Reordering, StayBy, ipdv, lateness, layers, order, pdv, rest, stays,
};

/// Three probes: answered with all stamps, lost, and never sent; the kernel's queue not stamped.
fn packets() -> Packets {
    let mut packets = Packets::new();
    for _ in 0..3 {
        packets.push(100).unwrap();
    }
    let stamps = [
        (Stamp::Due, 1_000),
        (Stamp::UserSent, 1_010),
        (Stamp::Sent, 1_030),
        (Stamp::FarReceived, -5),
        (Stamp::FarSent, 20),
        (Stamp::Received, 1_400),
        (Stamp::UserReceived, 1_450),
    ];
    for (stamp, at_ns) in stamps {
        packets.set(0, stamp, at_ns).unwrap();
    }
    packets.arrived(0).unwrap();
    packets.arrived(0).unwrap();
    packets.set(1, Stamp::UserSent, 2_010).unwrap();
    packets
        .set_missing(1, Stamp::Sent, Missing::Overflowed)
        .unwrap();
    packets.set_outcome(1, Outcome::Lost).unwrap();
    packets.set_outcome(2, Outcome::NotSent).unwrap();
    packets
        .set_missing_otherwise(Stamp::Scheduled, Missing::Refused)
        .unwrap();
    packets
}

#[test]
fn packets_come_back_from_their_table_with_reasons_and_all() {
    let before = packets();
    let after = of_table(&table(&before)).unwrap();
    assert_eq!(after.len(), 3);
    for row in 0..3 {
        assert_eq!(after.probe(row), before.probe(row));
        for stamp in Stamp::FIXED {
            assert_eq!(after.get(row, stamp), before.get(row, stamp), "{stamp}");
            assert_eq!(
                after.missing(row, stamp),
                before.missing(row, stamp),
                "{row} {stamp}"
            );
        }
    }
    assert_eq!(table(&after), table(&before));
    // What was lost is said at each place that the reply would have passed.
    let told = table(&before);
    let Some(Values::Text(why)) = told.column("received_missing") else {
        panic!("no such column");
    };
    assert_eq!(why[1].as_deref(), Some("lost"));
    let Some(Values::Text(why)) = told.column("scheduled_missing") else {
        panic!("no such column");
    };
    assert!(why.iter().all(|w| w.as_deref() == Some("refused")));
}

#[test]
fn a_table_without_rows_has_no_packets() {
    let empty = table(&Packets::new());
    assert_eq!(empty.columns().len(), 4 + 2 * Stamp::FIXED.len());
    assert_eq!(of_table(&empty).unwrap().len(), 0);
}

/// The table with other values in a column.
fn changed(name: &str, values: Values) -> SideTable {
    let columns = table(&packets());
    let columns = columns
        .columns()
        .iter()
        .cloned()
        .map(|c| match c.name == name {
            true => Column {
                values: values.clone(),
                ..c
            },
            false => c,
        });
    SideTable::new(columns.collect()).unwrap()
}

#[test]
fn what_is_no_table_of_packets_is_refused_in_one_line() {
    let words = |words: [&str; 3]| Values::Text(words.map(|w| Some(w.into())).to_vec());
    let cases = [
        (
            "outcome",
            words(["answered", "lost", "eaten"]),
            "row 2 has an unknown word in column `outcome`",
        ),
        (
            "outcome",
            Values::Text(vec![None; 3]),
            "row 0 has no `outcome`",
        ),
        (
            "bytes",
            Values::Int64(vec![Some(1); 3]),
            "it has no column `bytes` of uint32",
        ),
        (
            "sent_ns",
            Values::Int64(vec![Some(i64::MAX); 3]),
            "a stamp of 9223372036854775807 ns is too far from its clock's zero: within 2^62 ns (146 years)",
        ),
        (
            "scheduled_missing",
            words(["refused", "refused", "bored"]),
            "row 2 has an unknown word in column `scheduled_missing`",
        ),
        (
            "user_sent_missing",
            words(["lost", "lost", "lost"]),
            "row 0 has a stamp in `user_sent_ns`, and a reason why there is none",
        ),
    ];
    for (name, values, want) in cases {
        let told = of_table(&changed(name, values)).map(|p| p.len());
        assert_eq!(told.unwrap_err().to_string(), want);
    }
}

#[test]
fn every_reason_has_a_name() {
    for why in Missing::ALL {
        assert_eq!(Missing::from_name(why.name()), Some(why));
        // As in JSON.
        assert_eq!(serde_json::to_value(why).unwrap(), why.name());
    }
    assert_eq!(Missing::from_name("bored"), None);
}

/// Whatever a column may hold, more often what it should.
fn any_values(of: &Values, rows: usize) -> BoxedStrategy<Values> {
    let word = prop_oneof![
        8 => prop::sample::select(Missing::ALL.to_vec()).prop_map(|why| Some(why.name())),
        8 => prop::sample::select(OUTCOMES.to_vec()).prop_map(|o| Some(o.1)),
        2 => Just(None),
        1 => Just(Some("eaten")),
    ];
    let words = vec(word, rows).prop_map(|words| {
        let shared = words.into_iter().map(|word| word.map(Arc::from));
        Values::Text(shared.collect())
    });
    let stamp = prop_oneof![
        4 => (-1_000_000i64..1_000_000).prop_map(Some),
        4 => Just(None),
        1 => any::<i64>().prop_map(Some),
    ];
    let stamps = vec(stamp, rows).prop_map(Values::Int64);
    let number = prop_oneof![8 => (0u32..4).prop_map(Some), 1 => any::<u32>().prop_map(Some), 1 => Just(None)];
    let numbers = vec(number, rows).prop_map(Values::UInt32);
    match of {
        Values::Text(_) => words.boxed(),
        Values::Int64(_) => stamps.boxed(),
        _ => numbers.boxed(),
    }
}

/// A table of the right columns, with anything in them.
fn any_table() -> impl Strategy<Value = SideTable> {
    (0usize..8).prop_flat_map(|rows| {
        let columns = table(&Packets::new()).columns().to_vec();
        let values: Vec<_> = columns
            .iter()
            .map(|c| any_values(&c.values, rows))
            .collect();
        let names: Vec<String> = columns.into_iter().map(|c| c.name).collect();
        values.prop_map(move |values| {
            let columns = names.iter().cloned().zip(values);
            let columns = columns.map(|(name, values)| Column { name, values });
            SideTable::new(columns.collect()).unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// What a stranger puts into a run: it is refused, or it is the same when it is written again,
    /// and whatever is made of it is made.
    #[test]
    fn any_table_is_refused_or_kept(given in any_table()) {
        if let Ok(packets) = of_table(&given) {
            let again = of_table(&table(&packets)).unwrap();
            let written = table(&packets);
            prop_assert_eq!(&table(&again), &written);
            for stamp in Stamp::FIXED {
                let name = stamp_column(&stamp.name().replace('-', "_"));
                prop_assert_eq!(written.column(&name), given.column(&name));
            }
            let stays = stays(&packets, StayBy::Best);
            for layer in layers(&packets) {
                let _ = (layer.added(&packets), layer.outward(&packets), layer.homeward(&packets));
            }
            let beyond = rest(&packets, &stays);
            let _ = (pdv(&beyond), ipdv(&beyond), lateness(&packets), order(&packets));
            let _ = (Loss::of(&packets), Reordering::of(&packets));
        }
    }
}

#[test]
fn taps_come_back_in_their_order_and_no_other_names_do() {
    let mut before = packets();
    for name in ["dom0", "router.2"] {
        let number = before.taps().len() as u8;
        let tap = before.add_tap(name, Clock::other(number)).unwrap();
        let out = Stamp::Tap(tap, Way::Outward);
        before.set(0, out, 40 + i64::from(number)).unwrap();
        before.set_missing(1, out, Missing::TapDropped).unwrap();
    }
    let told = table(&before);
    assert!(told.column("tap_dom0_outward_ns").is_some());
    assert!(told.column("tap_router.2_homeward_missing").is_some());
    let after = of_table(&told).unwrap();
    assert_eq!(table(&after), told);
    let (dom0, _) = after.taps().next().unwrap();
    assert_eq!(after.get(0, Stamp::Tap(dom0, Way::Outward)), Some(40));
    let why = after.missing(1, Stamp::Tap(dom0, Way::Outward));
    assert_eq!(why, Some(Missing::TapDropped));
    for (name, expected) in [
        ("tap_user_outward_ns", "no tap is called \"user\""),
        ("tap_a b_outward_ns", "no tap is called \"a b\""),
        ("tap_a_outward_ns", "no column `tap_a_outward_missing`"),
    ] {
        let mut columns = table(&packets()).columns().to_vec();
        columns.push(Column {
            name: name.to_owned(),
            values: Values::Int64(vec![None; 3]),
        });
        let told = of_table(&SideTable::new(columns).unwrap()).unwrap_err();
        let told = told.to_string();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn keys_come_back_from_their_table() {
    let keys = [
        Key::stamp(3, 4, u64::MAX),
        Key::icmp(1, 2, b"token"),
        Key::bytes(b""),
    ];
    let told = keys_table(&keys);
    assert_eq!(keys_of(&told).unwrap(), keys);
    let columns = told.columns()[..1].to_vec();
    let why = keys_of(&SideTable::new(columns).unwrap()).unwrap_err();
    assert_eq!(why.to_string(), "it has no column `low` of uint64");
}
