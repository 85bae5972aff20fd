//! The kernel's queue as the bottleneck.

use std::time::{Duration, Instant};

use tompion_path::Way;
use tompion_path::model::{CrossPattern, CrossTraffic};
use tompion_testbed::{BottleneckKind, Quantity, Settings};
use tompion_time::os;

use crate::common::{alone, testbed, within_three};
use crate::rate::train;

fn kernel(round_trip: Duration) -> Settings {
    Settings {
        bottleneck: BottleneckKind::Kernel,
        ..Settings::symmetric(round_trip, Some(300_000_000))
    }
}

#[test]
fn a_token_bucket_lets_a_train_out_at_its_rate() {
    let _alone = alone();
    let Some(testbed) = testbed(&kernel(Duration::ZERO)) else {
        return;
    };
    assert!(testbed.summary().is_none());
    // It loses tokens whenever its timer is late, so that it is slower beside other work.
    within_three("a train through a token bucket of 300 Mbit/s", || {
        let (rate, ..) = train(&testbed);
        let is_held = (0.9..=1.01).contains(&(rate / 300e6));
        is_held.then_some(()).ok_or_else(|| format!("{rate} bit/s"))
    });
    let sent = testbed.router_sent().unwrap().unwrap();
    assert!(sent.packets >= 300 && sent.bytes >= 300 * 1_514, "{sent:?}");
    assert_eq!(sent.dropped, 0);
}

#[test]
fn a_delay_beside_the_kernels_queue_is_the_relays() {
    let _alone = alone();
    let Some(testbed) = testbed(&kernel(Duration::from_millis(10))) else {
        return;
    };
    let measured = testbed.measure().unwrap();
    for way in Way::BOTH {
        let figure = measured.figure(Quantity::Delay(way)).unwrap();
        assert_eq!(figure.nominal, 5e6);
        assert!(figure.is_within(), "{figure:?}");
    }
    assert!(testbed.stop().unwrap().is_some());
}

#[test]
fn real_cross_traffic_is_counted_at_the_router() {
    let _alone = alone();
    let mut settings = kernel(Duration::ZERO);
    let link = settings.plan.outward.bottleneck.as_mut().unwrap();
    link.cross_traffic = Some(CrossTraffic {
        rate_bps: 100_000_000,
        packet_bytes: 1_514,
        pattern: CrossPattern::Constant,
    });
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    within_three("100 Mbit/s of cross traffic", || {
        let before = testbed.router_sent().unwrap().unwrap();
        let begun = Instant::now();
        os::sleep(Duration::from_millis(500));
        let after = testbed.router_sent().unwrap().unwrap();
        let bits = 8.0 * (after.bytes - before.bytes) as f64;
        let rate = bits / begun.elapsed().as_secs_f64();
        let left_out = testbed.cross_left_out();
        let is_held = (0.9..=1.1).contains(&(rate / 100e6));
        is_held
            .then_some(())
            .ok_or_else(|| format!("{rate} bit/s, {left_out:?} packets left out"))
    });
}
