//! Packets that come at once or at random, behind a bottleneck.

use rand_distr::{Distribution, Exp};

use super::*;

/// A train behind a bottleneck climbs by L / R a packet, and is delayed beyond it.
#[test]
fn a_train_leaves_as_a_staircase() {
    let mut path = path(WayPlan {
        bottleneck: Some(Bottleneck::of_rate(10_000_000)),
        delay_ns: 10_000_000,
        ..WayPlan::default()
    });
    for k in 1..=1_000 {
        let truth = path.offer(0, 142).packet;
        assert_eq!(truth.left_queue_ns, Some(113_600 * k));
        assert_eq!(truth.due_ns, Some(10 * MS + 113_600 * k));
    }
}

/// Waiting of packets that come at random by themselves: load / (2 (1 - load)) services. 400 000
/// packets at a load of 0.7 are some ten thousand independent looks, a standard error of about 1
/// %.
#[test]
fn packets_at_random_wait_as_in_m_d_1() {
    let service_ns = 40_000.0;
    let load = 0.7;
    let mut path = path(WayPlan {
        bottleneck: Some(Bottleneck::of_rate(300_000_000)),
        ..WayPlan::default()
    });
    let mut random = Chance::new(3, Way::Homeward, Decides::Delay);
    let gaps = Exp::new(load / service_ns).unwrap();
    let (mut at, mut waited) = (0.0, 0.0);
    for _ in 0..400_000 {
        at += gaps.sample(random.rng());
        let truth = pass(&mut path, at as i64, 1_500).packet;
        waited += (truth.left_queue_ns.unwrap() - truth.arrival_ns) as f64 - service_ns;
    }
    let mean = waited / 400_000.0 / service_ns;
    let theory = load / (2.0 * (1.0 - load));
    assert!((mean / theory - 1.0).abs() < 0.05, "{mean}, not {theory}");
}

fn shared(limit: QueueLimit, pattern: CrossPattern) -> Path {
    path(WayPlan {
        bottleneck: Some(Bottleneck {
            limit,
            cross_traffic: Some(CrossTraffic {
                rate_bps: 100_000_000,
                packet_bytes: 1_514,
                pattern,
            }),
            ..Bottleneck::of_rate(300_000_000)
        }),
        ..WayPlan::default()
    })
}

/// The rate at which a train of 400 Mbit/s leaves, in bits a second.
fn rate_behind(path: &mut Path, packets: u32) -> f64 {
    let gap_ns = 1_514.0 * 8e9 / 400e6;
    let offered = (0..packets).map(|k| pass(path, (f64::from(k) * gap_ns) as i64, 1_514));
    let left: Vec<i64> = offered.filter_map(|d| d.packet.left_queue_ns).collect();
    let span_ns = left[left.len() - 1] - left[0];
    (left.len() - 1) as f64 * 1_514.0 * 8e9 / span_ns as f64
}

/// A train of R with cross traffic of X through C leaves at C R / (R + X).
#[test]
fn a_train_gets_its_share_beside_cross_traffic() {
    let patterns = [
        CrossPattern::Constant,
        CrossPattern::Poisson,
        CrossPattern::Bursts(4),
    ];
    for pattern in patterns {
        let mut path = shared(QueueLimit::Bytes(1 << 30), pattern);
        let rate = rate_behind(&mut path, 5_000);
        assert!((rate / 240e6 - 1.0).abs() < 0.03, "{pattern:?}: {rate}");
        assert_eq!(path.counts().queue_full, 0);
    }
}

/// The same where the queue drops its tail, for packets that come at random: whoever comes so finds
/// room equally often. (A train that keeps its intervals finds more than its share.)
#[test]
fn a_full_queue_is_shared_among_packets_at_random() {
    let mut path = shared(QueueLimit::Packets(60), CrossPattern::Poisson);
    let mut random = Chance::new(3, Way::Homeward, Decides::Delay);
    let gaps = Exp::new(400e6 / (1_514.0 * 8e9)).unwrap();
    let (mut at, mut left) = (0.0, Vec::new());
    for _ in 0..100_000 {
        at += gaps.sample(random.rng());
        left.extend(pass(&mut path, at as i64, 1_514).packet.left_queue_ns);
    }
    let span_ns = left[left.len() - 1] - left[0];
    let rate = (left.len() - 1) as f64 * 1_514.0 * 8e9 / span_ns as f64;
    assert!((rate / 240e6 - 1.0).abs() < 0.02, "{rate}");
    assert!(path.counts().queue_full > 30_000);
}

/// Slower than what is left, a train keeps its rate.
#[test]
fn a_train_slower_than_the_free_rate_keeps_it() {
    let mut path = shared(QueueLimit::default(), CrossPattern::Poisson);
    let gap_ns = 1_514 * 8_000 / 150;
    let left: Vec<i64> = (0..5_000)
        .map(|k| {
            pass(&mut path, k * gap_ns, 1_514)
                .packet
                .left_queue_ns
                .unwrap()
        })
        .collect();
    let span_ns = left[4_999] - left[0];
    assert!(
        (span_ns as f64 / (4_999 * gap_ns) as f64 - 1.0).abs() < 0.005,
        "{span_ns}"
    );
}
