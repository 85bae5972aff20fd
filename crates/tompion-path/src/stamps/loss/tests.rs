use proptest::prelude::*;

use super::*;
use crate::Way;
use crate::stamps::place::Clock;

fn outcomes(letters: &str) -> Packets {
    let mut packets = Packets::new();
    for letter in letters.chars() {
        let row = packets.push(64).unwrap();
        let outcome = match letter {
            'a' => Outcome::Answered,
            'l' => Outcome::Lost,
            'n' => Outcome::NotSent,
            _ => Outcome::Pending,
        };
        packets.set_outcome(row, outcome).unwrap();
    }
    packets
}

#[test]
fn streaks_and_distances() {
    let loss = Loss::of(&outcomes("allanlnlaap-l"));
    assert_eq!((loss.counted, loss.lost), (9, 5));
    assert_eq!((loss.pending, loss.not_sent), (2, 2));
    assert_eq!(loss.streaks.pairs(), [(1, 1), (2, 2)]);
    assert_eq!(loss.distances.pairs(), [(1, 2), (2, 1), (3, 1)]);
    assert_eq!((loss.share(), loss.longest_streak()), (Some(5.0 / 9.0), 2));
}

#[test]
fn nothing_and_everything_lost() {
    assert_eq!(Loss::of(&outcomes("")).share(), None);
    assert_eq!(Loss::of(&outcomes("nn--")).share(), None);
    let all = Loss::of(&outcomes("llll"));
    assert_eq!((all.share(), all.longest_streak()), (Some(1.0), 4));
    let none = Loss::of(&outcomes("aaaa"));
    assert_eq!((none.share(), none.longest_streak()), (Some(0.0), 0));
}

#[test]
fn duplicates_are_counted_by_probe_and_by_reply() {
    let mut packets = outcomes("aaa");
    for probe in [0, 0, 0, 1, 2, 2] {
        packets.arrived(probe).unwrap();
    }
    let loss = Loss::of(&packets);
    assert_eq!((loss.duplicated, loss.duplicates), (2, 3));
}

#[test]
fn a_lost_probe_was_last_seen_somewhere() {
    let mut packets = outcomes("lllla");
    let tap = packets.add_tap("router", Clock::SENDER).unwrap();
    let (out, home) = (
        Stamp::Tap(tap, Way::Outward),
        Stamp::Tap(tap, Way::Homeward),
    );
    for row in 0..5 {
        packets.set(row, Stamp::Sent, 10).unwrap();
    }
    for row in [1, 2, 4] {
        packets.set(row, out, 20).unwrap();
    }
    packets.set(2, home, 30).unwrap();
    let expected = [(Stamp::Sent, 2), (out, 1), (home, 1)];
    assert_eq!(losses_by_last_place(&packets), expected);
}

proptest! {
    #[test]
    fn streaks_hold_every_loss(letters in "[aln-]{0,60}") {
        let loss = Loss::of(&outcomes(&letters));
        let streaks = loss.streaks.pairs().iter();
        let in_streaks: i64 = streaks.map(|&(length, n)| length * n as i64).sum();
        prop_assert_eq!(in_streaks as u64, loss.lost);
        prop_assert_eq!(loss.distances.len(), loss.lost.saturating_sub(1));
        let within = loss.distances.pairs().iter().find(|p| p.0 == 1).map_or(0, |p| p.1);
        prop_assert_eq!(loss.lost - loss.streaks.len(), within);
    }
}
