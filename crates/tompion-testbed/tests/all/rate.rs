//! The relay's rate, by the spacing of a train at the far end's tap.

use std::time::Duration;

use tompion_path::Way;
use tompion_path::model::{CrossPattern, CrossTraffic, QueueLimit};
use tompion_testbed::{Fate, Quantity, Settings, Testbed};

use crate::common::{all_of, alone, cpus, datagrams, sockets, testbed, within_three};

/// Packets of a train.
const TRAIN: usize = 300;
/// Of the head nothing is counted: the sender has to get going.
const HEAD: usize = 30;

/// The rate of a train's tail at the far end in bits a second, and the ends of its time.
pub fn train(testbed: &Testbed) -> (f64, i64, i64) {
    let (sender, far_end) = (testbed.sender(), testbed.far_end());
    let (source, _sink) = sockets(sender, far_end);
    let mut tap = far_end.tap(1_500, 4 * TRAIN).unwrap();
    for _ in 0..TRAIN {
        source.send(&[0; 1_472]).unwrap();
    }
    let seen = all_of(&mut tap, Duration::from_millis(100));
    let ours = |t: &&&tompion_testbed::Tapped| t.frame.len() == 1_514;
    let times: Vec<i64> = datagrams(&seen, false)
        .iter()
        .filter(ours)
        .map(|t| t.at_ns)
        .collect();
    assert_eq!(times.len(), TRAIN);
    let (first, last) = (times[HEAD], times[TRAIN - 1]);
    let bits = (8 * 1_514 * (TRAIN - 1 - HEAD)) as f64;
    (bits / (last - first) as f64 * 1e9, first, last)
}

#[test]
fn a_train_leaves_at_the_rate_of_the_link() {
    let _alone = alone();
    let settings = Settings::symmetric(Duration::from_millis(10), Some(300_000_000));
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    within_three("a train over 300 Mbit/s", || {
        let (rate, first, last) = train(&testbed);
        if (rate / 300e6 - 1.0).abs() <= 0.01 {
            return Ok(());
        }
        let late = testbed.summary().unwrap().is_false_within(first, last);
        Err(format!("{rate} bit/s, relay late: {late}"))
    });
    let measured = testbed.measure().unwrap();
    for way in Way::BOTH {
        let figure = measured.figure(Quantity::Rate(way)).unwrap();
        assert!(figure.is_within(), "{figure:?} {:?}", testbed.summary());
        let figure = measured.figure(Quantity::Delay(way)).unwrap();
        assert!(figure.is_within(), "{figure:?} {:?}", testbed.summary());
    }
}

#[test]
fn virtual_cross_traffic_takes_its_part() {
    let _alone = alone();
    let mut settings = Settings::symmetric(Duration::from_millis(10), Some(300_000_000));
    let link = settings.plan.outward.bottleneck.as_mut().unwrap();
    link.cross_traffic = Some(CrossTraffic {
        rate_bps: 100_000_000,
        packet_bytes: 1_514,
        pattern: CrossPattern::Constant,
    });
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    let measured = testbed.measure().unwrap();
    let figure = measured.figure(Quantity::CrossTraffic);
    let figure = figure.unwrap_or_else(|| panic!("{measured:?}"));
    assert_eq!(figure.nominal, 100e6);
    assert!((figure.measured / 100e6 - 1.0).abs() < 0.1, "{figure:?}");
    let figure = measured.figure(Quantity::Rate(Way::Outward)).unwrap();
    assert!(figure.nominal < 300e6 && figure.is_within(), "{figure:?}");
}

/// Not what was planned is told: here the plan is changed under the measuring's hands, by a slower device.
#[test]
fn a_path_that_is_not_as_planned_is_outside() {
    let _alone = alone();
    let settings = Settings::symmetric(Duration::from_millis(4), Some(100_000_000));
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    // The far end's own queue, slower than the link and in its way, spoils the way home.
    let bucket = tompion_testbed::TokenBucket {
        rate_bps: 50_000_000,
        burst_bytes: 3_028,
        limit_bytes: 2_000_000,
    };
    testbed.far_end().shape(bucket).unwrap();
    let measured = testbed.measure().unwrap();
    let home = Quantity::Rate(Way::Homeward);
    assert!(
        measured
            .figure(home)
            .is_none_or(|figure| !figure.is_within())
    );
    let out = measured.figure(Quantity::Rate(Way::Outward)).unwrap();
    assert!(out.is_within(), "{out:?} {:?}", testbed.summary());
}

/// A queue that is never empty has the relay spin for longer than the kernel allows real-time threads on one CPU;
/// stopped by that, it would be late by 50 ms.
#[test]
fn a_queue_that_stays_full_makes_nothing_late() {
    let _alone = alone();
    let mut settings = Settings::symmetric(Duration::from_millis(2), Some(20_000_000));
    let way = &mut settings.plan.outward;
    way.most_in_flight = 50_000;
    way.bottleneck.as_mut().unwrap().limit = QueueLimit::Bytes(8 << 20);
    within_three("a queue of two seconds", || {
        let Some(testbed) = testbed(&settings) else {
            return Ok(());
        };
        if testbed.is_real_time() != Some(true) || cpus().len() < 2 {
            eprintln!("NOT RUN: it takes SCHED_FIFO and two CPUs");
            return Ok(());
        }
        let (source, _sink) = sockets(testbed.sender(), testbed.far_end());
        // 40 us each.
        for _ in 0..45_000 {
            source.send(&[0; 58]).unwrap();
        }
        testbed.settle(Duration::from_secs(10));
        let summary = testbed.stop().unwrap().unwrap();
        let sent = summary.outward.of(Fate::Sent);
        let worst_ns = summary.outward.worst_late_ns;
        let told = || format!("{sent} sent, worst {worst_ns} ns: {:?}", summary.false_time);
        // IPv6 may say something of its own besides.
        let is_held = sent >= 45_000 && worst_ns < 40_000_000;
        is_held.then_some(()).ok_or_else(told)
    });
}
