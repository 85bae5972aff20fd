//! Loss, copies, reordering and damage: what the taps saw against the file that is the truth, packet by packet.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use tompion_path::Way;
use tompion_path::model::{Corrupting, Duplicating, LossPlan, Reorder};
use tompion_testbed::{Fate, Reason, Record, Settings, Tapped, read_truth};
use tompion_time::os;

use crate::common::{all_of, alone, cpus, datagrams, sockets, testbed, within_three};

/// What each end saw of these datagrams, and what the file says of the way out.
struct Seen {
    near: Vec<Tapped>,
    far: Vec<Tapped>,
    truth: Vec<Record>,
}

/// Sends datagrams, each of other bytes, half a millisecond apart.
fn send(mut settings: Settings, count: u32, file: &Path) -> Option<Seen> {
    settings.truth = Some(file.to_owned());
    let testbed = testbed(&settings)?;
    let (sender, far_end) = (testbed.sender(), testbed.far_end());
    let mut near = sender.tap(1_500, 4 * count as usize).unwrap();
    let mut far = far_end.tap(1_500, 4 * count as usize).unwrap();
    let (source, _sink) = sockets(sender, far_end);
    for number in 0..count {
        let mut datagram = [0x5a; 100];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        source.send(&datagram).unwrap();
        os::sleep(Duration::from_micros(500));
    }
    let quiet = Duration::from_millis(100);
    let (near, far) = (all_of(&mut near, quiet), all_of(&mut far, quiet));
    testbed.stop().unwrap();
    let mut truth = read_truth(file).unwrap();
    let ours: Vec<u32> = datagrams(&near, true).iter().map(|t| crc(t)).collect();
    assert_eq!(ours.len(), count as usize);
    truth.retain(|r| r.way == Way::Outward && ours.contains(&r.crc32));
    Some(Seen { near, far, truth })
}

fn crc(tapped: &Tapped) -> u32 {
    crc32fast::hash(&tapped.frame)
}

#[test]
fn everything_is_lost_where_that_is_planned() {
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let settings = Settings::symmetric(Duration::from_millis(2), None).with_loss(1.0);
    let Some(seen) = send(settings, 50, file.path()) else {
        return;
    };
    assert_eq!(datagrams(&seen.far, false), Vec::<&Tapped>::new());
    assert_eq!(seen.truth.len(), 50);
    assert!(seen.truth.iter().all(|r| r.fate == Fate::Lost));
}

#[test]
fn losses_copies_and_reordering_are_those_of_the_file() {
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut settings = Settings::symmetric(Duration::from_millis(4), None);
    let way = &mut settings.plan.outward;
    way.loss = LossPlan::Bernoulli { share: 0.2 };
    way.duplication = Some(Duplicating {
        share: 0.2,
        after_ns: 700_000,
    });
    way.reordering = Some(Reorder {
        share: 0.1,
        by_ns: 3_000_000,
    });
    let Some(seen) = send(settings, 600, file.path()) else {
        return;
    };
    // Each frame as often as the file has it sent.
    let mut arrivals: HashMap<u32, Vec<i64>> = HashMap::new();
    for tapped in datagrams(&seen.far, false) {
        let at = tapped.at_ns;
        arrivals.entry(crc(tapped)).or_default().push(at);
    }
    for tapped in datagrams(&seen.near, true) {
        let of = |fate| {
            let records = seen.truth.iter().filter(|r| r.crc32 == crc(tapped));
            records.filter(|r| r.fate == fate).collect::<Vec<_>>()
        };
        let (sent, lost) = (of(Fate::Sent), of(Fate::Lost));
        let arrived = arrivals.get(&crc(tapped)).map_or(0, Vec::len);
        assert_eq!(arrived, sent.len());
        assert_eq!(lost.len(), usize::from(sent.is_empty()));
        // Its stamps are in order, and witnessed at either end.
        for record in sent {
            let [arrival, due, handed, back] = [
                Some(record.arrival_ns),
                record.due_ns,
                record.sent_ns,
                record.returned_ns,
            ]
            .map(Option::unwrap);
            assert!(tapped.at_ns <= arrival);
            assert!(arrival < due && due <= handed && handed <= back);
            let there = &arrivals[&record.crc32];
            let delivered = there
                .iter()
                .any(|at| (handed..=back + 2_000_000).contains(at));
            assert!(delivered, "{record:?}: {there:?}");
        }
    }
    // All kinds of them happened, about as often as planned.
    let count = |is: fn(&Record) -> bool| seen.truth.iter().filter(|r| is(r)).count();
    let lost = count(|r| r.fate == Fate::Lost);
    let copies = count(|r| r.is_copy && r.fate == Fate::Sent);
    let held = count(|r| r.is_held_back && !r.is_copy && r.fate == Fate::Sent);
    assert!((80..=160).contains(&lost), "{lost}");
    assert!((60..=150).contains(&copies), "{copies}");
    assert!((25..=80).contains(&held), "{held}");
    // They arrive in the order in which they were sent, which is not that of their numbers.
    let mut sent: Vec<&Record> = seen.truth.iter().filter(|r| r.fate == Fate::Sent).collect();
    sent.sort_by_key(|r| r.sent_ns);
    let order: Vec<u32> = sent.iter().map(|r| r.crc32).collect();
    let arrived: Vec<u32> = datagrams(&seen.far, false).into_iter().map(crc).collect();
    assert_eq!(arrived, order);
    assert!(!sent.is_sorted_by_key(|r| r.number));
}

#[test]
fn a_flipped_bit_is_where_the_file_says() {
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut settings = Settings::symmetric(Duration::from_millis(2), None);
    settings.plan.outward.corruption = Some(Corrupting {
        share: 0.5,
        from_byte: 42,
    });
    let Some(seen) = send(settings, 200, file.path()) else {
        return;
    };
    let mut flipped = 0;
    for tapped in datagrams(&seen.near, true) {
        let mut expected = tapped.frame.clone();
        let mut records = seen.truth.iter().filter(|r| r.crc32 == crc(tapped));
        let record = records.next().unwrap();
        if let Some((byte, bit)) = record.flipped {
            expected[byte as usize] ^= 1 << bit;
            flipped += 1;
            assert!(byte >= 42);
        }
        let arrived = datagrams(&seen.far, false);
        assert!(arrived.iter().any(|t| t.frame == expected), "{record:?}");
        assert!(record.flipped.is_none() || !arrived.iter().any(|t| t.frame == tapped.frame));
    }
    assert!((60..=140).contains(&flipped), "{flipped}");
}

#[test]
fn a_plan_without_room_for_its_packets_is_false() {
    let _alone = alone();
    let mut settings = Settings::symmetric(Duration::from_millis(80), None);
    settings.plan.outward.most_in_flight = 10;
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    let (source, _sink) = sockets(testbed.sender(), testbed.far_end());
    for _ in 0..30 {
        source.send(b"all at once").unwrap();
    }
    os::sleep(Duration::from_millis(40));
    let summary = testbed.stop().unwrap().unwrap();
    assert_eq!(summary.outward.of(Fate::FlightFull), 20);
    // On a busy machine some may have been late besides, or the thirty were sent in two bursts.
    let intervals = summary.false_time.intervals().iter();
    let told: Vec<_> = intervals.filter(|i| i.reason == Reason::NoRoom).collect();
    assert!(told.iter().all(|i| i.way == Some(Way::Outward)));
    assert_eq!(told.iter().map(|i| i.packets).sum::<u64>(), 20);
}

/// Keeps this CPU for itself, above the relay, for so long. It ends by the clock that it reads itself: nobody could
/// end it who has to wait for a CPU.
fn hog(cpu: usize, time: Duration) {
    let mut one = nix::sched::CpuSet::new();
    one.set(cpu).unwrap();
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &one).unwrap();
    let parameters = nix::libc::sched_param { sched_priority: 60 };
    // SAFETY: reads the parameters, which outlive the call; 0 is this thread alone.
    let done =
        unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameters) };
    assert_eq!(done, 0);
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {}
}

/// Threads of a higher priority on all CPUs keep the relay from running: it says when.
#[test]
fn a_relay_that_was_late_says_so() {
    let _alone = alone();
    within_three("a relay kept from running", || {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut settings = Settings::symmetric(Duration::from_millis(100), None);
        settings.truth = Some(file.path().to_owned());
        let Some(testbed) = testbed(&settings) else {
            return Ok(());
        };
        if testbed.is_real_time() != Some(true) {
            eprintln!("NOT RUN: SCHED_FIFO is refused here");
            return Ok(());
        }
        let (source, _sink) = sockets(testbed.sender(), testbed.far_end());
        for _ in 0..50 {
            source.send(b"one of many").unwrap();
        }
        // They are due in the midst of this.
        let hogs: Vec<_> = cpus()
            .into_iter()
            .map(|cpu| std::thread::spawn(move || hog(cpu, Duration::from_millis(80))))
            .collect();
        for hog in hogs {
            hog.join().unwrap();
        }
        os::sleep(Duration::from_millis(100));
        let tolerance_ns = i64::try_from(settings.tolerance.as_nanos()).unwrap();
        let summary = testbed.stop().unwrap().unwrap();
        let truth = read_truth(file.path()).unwrap();
        let is_late = |r: &&Record| r.late_ns().is_some_and(|ns| ns > tolerance_ns);
        let late: Vec<&Record> = truth.iter().filter(is_late).collect();
        let told = summary.outward.late + summary.homeward.late;
        assert_eq!(told, late.len() as u64);
        for record in &late {
            let (due, sent) = (record.due_ns.unwrap(), record.sent_ns.unwrap());
            let mut intervals = summary.false_time.intervals().iter();
            let is_told =
                intervals.any(|i| i.reason == Reason::Late && i.from_ns <= due && sent <= i.to_ns);
            assert!(is_told && summary.is_false_within(due, sent));
        }
        // Where the threads began too late, or one by one, it had time enough.
        let worst = late.iter().filter_map(|r| r.late_ns()).max();
        let is_held_up = worst > Some(5_000_000);
        is_held_up.then_some(()).ok_or_else(|| format!("{worst:?}"))
    });
}
