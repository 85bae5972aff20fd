//! Runs, tables and captures that are given, without any network.

use tompion_model::{Design, Environment, Factors, RunHeader, Status};
use tompion_net::frame::{Frame, LinkType};
use tompion_net::icmp::{Echo, Version};
use tompion_net::pcapng::{Described, Writer};
use tompion_net::tap::{Direction, Record};
use tompion_packets::Sighted;

use super::*;

const START: i64 = 1_700_000_000_000_000_000;
const PROBES: u64 = 4;
/// How far the tap's clock is behind the sender's.
const BEHIND: i64 = 3_600_000_000_000;

fn header() -> RunHeader {
    RunHeader {
        command_line: Vec::new(),
        tool: "tompion test".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        design: Design {
            order: "as planted".to_owned(),
            seed: 1,
            blocks: 2,
            cells: 2,
        },
        environment: Environment::default(),
        guards: Vec::new(),
        profiles: Vec::new(),
    }
}

/// The echo request of a probe, or its reply, as a frame.
fn frame(block: u64, number: u64, is_reply: bool) -> Vec<u8> {
    let echo = Echo {
        version: Version::V4,
        identifier: 7,
        secret: [100 + block, 1],
    };
    let mut message = vec![0; 64];
    echo.write(number, &mut message);
    if is_reply {
        message[0] = Version::V4.reply();
    }
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 84, 0, 0, 0, 0, 64, 1, 0, 0]);
    frame.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend(message);
    frame
}

fn key(block: u64, number: u64) -> Key {
    let frame = frame(block, number, false);
    let frame = Frame::read(LinkType::Ethernet, &frame).unwrap();
    Sighted::of(&frame).unwrap().key
}

fn sent_ns(block: u64, number: u64) -> i64 {
    START + (block * 1_000 + number * 20) as i64 * 1_000_000
}

/// Probes of a block, each with a round trip of a millisecond; the second was not sent, the last
/// is lost.
fn packets(block: u64) -> Packets {
    let mut packets = Packets::new();
    for number in 0..PROBES {
        let row = packets.push(84).unwrap();
        let sent = sent_ns(block, number);
        packets.set(row, Stamp::UserSent, sent).unwrap();
        match number {
            1 => packets.set_outcome(row, Outcome::NotSent).unwrap(),
            3 => packets.set_outcome(row, Outcome::Lost).unwrap(),
            _ => {
                let home = sent + 1_000_000;
                packets.set(row, Stamp::UserReceived, home).unwrap();
                packets.arrived(row).unwrap();
            }
        }
    }
    packets
}

/// A run of two blocks with two vantage points each.
fn run(directory: &Path, with_keys: bool) -> Run {
    let mut writer = RunWriter::create(directory, header()).unwrap();
    for block in 0..2 {
        for vantage in ["user", "kernel"] {
            let packets = packets(block);
            let trips = round_trips(&packets, Vantage::User, sent_ns(block, 0));
            let (mut data, storage) = samples(trips, 100);
            if vantage == "user" {
                let table = recorded::table(&packets);
                data.tables.insert(recorded::TABLE.to_owned(), table);
                let keys: Vec<Key> = (0..PROBES).map(|number| key(block, number)).collect();
                if with_keys {
                    let keys = recorded::keys_table(&keys);
                    data.tables.insert(recorded::KEYS.to_owned(), keys);
                }
            }
            let draft = TrialDraft {
                factors: Factors::new()
                    .with(factor::PROBE, recorded::NAME)
                    .with(factor::METHOD, "icmp")
                    .with(factor::VANTAGE, vantage),
                block: block as u32,
                storage,
                findings: Findings::from(RoundTrips {
                    answered: 2,
                    ..RoundTrips::default()
                }),
                ..TrialDraft::default()
            };
            writer.save(draft, &data).unwrap();
        }
    }
    writer.finish(Status::Complete).unwrap();
    Run::open(directory).unwrap()
}

/// What a tap saw that is so far away: of the second block the first reply is missing.
fn capture(distance_us: i64) -> Vec<u8> {
    let device = Described {
        name: "vif1.0",
        link: LinkType::Ethernet,
        snap: 256,
        filter: None,
    };
    let mut writer = Writer::new(vec![], "a test", "", &[device]).unwrap();
    let mut packet = |ns: i64, bytes: &[u8]| {
        let record = Record {
            ns: ns - BEHIND,
            direction: Direction::Incoming,
            length: bytes.len() as u32,
            bytes,
        };
        writer.packet(0, &record).unwrap();
    };
    for block in 0..2 {
        for number in [0, 2, 3] {
            let sent = sent_ns(block, number);
            packet(sent + distance_us * 1_000, &frame(block, number, false));
            if number < 3 && (block, number) != (1, 0) {
                let home = sent + 1_000_000 - distance_us * 1_000;
                packet(home, &frame(block, number, true));
            }
        }
    }
    writer.finish().unwrap()
}

fn tap(name: &str, capture: Vec<u8>) -> TapCapture<std::io::Cursor<Vec<u8>>> {
    TapCapture {
        name: name.to_owned(),
        capture: std::io::Cursor::new(capture),
    }
}

/// Levels of the vantage point with block and values in microseconds.
fn seen(run: &Run) -> Vec<(String, u32, Vec<i64>)> {
    let trials = run.record().trials.iter();
    trials
        .map(|trial| {
            let data = run.data(trial).unwrap();
            let values = data
                .samples
                .iter()
                .map(|sample| sample.value_ps / 1_000_000);
            let level = trial.factors.level(factor::VANTAGE).to_owned();
            (level, trial.block, values.collect())
        })
        .collect()
}

#[test]
fn each_tap_is_a_further_vantage_point_of_each_trial() {
    let d = tempfile::tempdir().unwrap();
    let at = |name: &str| d.path().join(name);
    let before = run(&at("run"), true);
    let taps = [tap("dom0", capture(100)), tap("router", capture(300))];
    let (told, _) = join(&before, taps, &at("joined")).unwrap();
    let counts = |tap: &JoinedTap| (tap.found.joined.outward, tap.found.joined.homeward);
    let counts: Vec<_> = told.iter().map(counts).collect();
    assert_eq!(counts, [(6, 3), (6, 3)]);
    // One of four probes of each block was not sent.
    assert_eq!(told[0].probes, 6);
    let after = Run::open(&at("joined")).unwrap();
    let own = seen(&before);
    assert_eq!(seen(&after)[..4], own);
    let expected = [
        ("dom0", 0, vec![800, 800]),
        ("router", 0, vec![400, 400]),
        ("dom0", 1, vec![800]),
        ("router", 1, vec![400]),
    ];
    let expected = expected.map(|(name, block, values)| (name.to_owned(), block, values));
    assert_eq!(seen(&after)[4..], expected);
    let dom0 = &after.record().trials[6];
    let found = dom0.findings.round_trips.as_ref().unwrap();
    assert_eq!((found.answered, found.without_value), (2, 1));
    assert_eq!(found.missing[0].why, "not-seen");
    // The table of stamps has both, and they come back from it.
    let user = &after.record().trials[2];
    let table = &after.data(user).unwrap().tables[recorded::TABLE];
    let packets = recorded::of_table(table).unwrap();
    let names: Vec<&str> = packets.taps().map(|(_, name)| name).collect();
    assert_eq!(names, ["dom0", "router"]);
    let (dom0, _) = packets.taps().next().unwrap();
    let at = packets.get(2, Stamp::Tap(dom0, Way::Outward));
    assert_eq!(at, Some(sent_ns(1, 2) + 100_000 - BEHIND));
    assert_eq!(recorded::table(&packets), *table);
}

#[test]
fn a_joined_run_is_joined_with_another_tap_but_not_with_one_of_the_same_name() {
    let d = tempfile::tempdir().unwrap();
    let at = |name: &str| d.path().join(name);
    let first = run(&at("run"), true);
    join(&first, [tap("dom0", capture(100))], &at("once")).unwrap();
    let once = Run::open(&at("once")).unwrap();
    let again = join(&once, [tap("dom0", capture(100))], &at("same")).unwrap_err();
    assert!(again.to_string().contains("\"dom0\""), "{again}");
    assert!(!at("same").exists());
    join(&once, [tap("router", capture(300))], &at("twice")).unwrap();
    let twice = Run::open(&at("twice")).unwrap();
    let levels: Vec<String> = seen(&twice).into_iter().map(|(level, ..)| level).collect();
    let expected = [
        "user", "kernel", "user", "kernel", "dom0", "dom0", "router", "router",
    ];
    assert_eq!(levels, expected);
}

#[test]
fn taps_in_the_wrong_order_are_refused_with_the_right_one() {
    let d = tempfile::tempdir().unwrap();
    let first = run(&d.path().join("run"), true);
    let joined = |taps| join(&first, taps, &d.path().join("joined"));
    let taps = |near: i64, far: i64| [tap("a", capture(near)), tap("b", capture(far))];
    let told = joined(taps(300, 100)).unwrap_err().to_string();
    let wanted = "tap b is nearer to the sender than tap a, which stands before it";
    assert!(told.starts_with(wanted), "{told}");
    assert!(!d.path().join("joined").exists());
    // At one device, or at both ends of a wire, it cannot be told.
    joined(taps(100, 100)).unwrap();
}

#[test]
fn what_cannot_be_joined_is_told_in_one_line_and_leaves_nothing() {
    let d = tempfile::tempdir().unwrap();
    let at = |name: &str| d.path().join(name);
    let with = run(&at("with"), true);
    let without = run(&at("without"), false);
    let whole = capture(100);
    let cut = whole[..whole.len() - 5].to_vec();
    for (run, name, bytes, expected) in [
        (&without, "dom0", whole.clone(), "does not say by what"),
        (
            &with,
            "kernel",
            whole.clone(),
            "no tap can be called \"kernel\"",
        ),
        (&with, "a b", whole.clone(), "no tap can be called \"a b\""),
        (&with, "dom0", cut, "tap dom0: the capture is cut off"),
        (&with, "dom0", b"text".to_vec(), "tap dom0: not a capture"),
    ] {
        let told = join(run, [tap(name, bytes)], &at("joined")).unwrap_err();
        let told = told.to_string();
        assert!(
            told.contains(expected) && told.lines().count() == 1,
            "{told}"
        );
        assert!(!at("joined").exists());
    }
    let mut nothing = RunWriter::create(&at("nothing"), header()).unwrap();
    nothing.finish(Status::Complete).unwrap();
    let nothing = Run::open(&at("nothing")).unwrap();
    let told = join(&nothing, [tap("dom0", whole)], &at("joined")).unwrap_err();
    assert!(matches!(told, JoinRunError::NoPackets), "{told}");
}
