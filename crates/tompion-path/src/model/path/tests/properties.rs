//! What holds of any plan and any arrivals.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn shares() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64]
}

fn patterns() -> impl Strategy<Value = CrossPattern> {
    prop_oneof![
        Just(CrossPattern::Constant),
        Just(CrossPattern::Poisson),
        (1..=65_536u32).prop_map(CrossPattern::Bursts),
    ]
}

fn bottlenecks() -> impl Strategy<Value = Bottleneck> {
    let rates = || prop_oneof![Just(1), 1..1_000_000_000u64, Just(10_000_000_000_000)];
    let limits = prop_oneof![
        (1..=1u64 << 40).prop_map(QueueLimit::Bytes),
        (1..100u32).prop_map(QueueLimit::Packets),
    ];
    let cross = (rates(), 1..=1u32 << 20, patterns());
    let cross = cross.prop_map(|(rate_bps, packet_bytes, pattern)| CrossTraffic {
        rate_bps,
        packet_bytes,
        pattern,
    });
    let overheads = prop_oneof![Just(0), Just(1 << 20)];
    (rates(), overheads, limits, prop::option::of(cross)).prop_map(
        |(rate_bps, overhead_bytes, limit, cross_traffic)| Bottleneck {
            rate_bps,
            overhead_bytes,
            limit,
            cross_traffic,
        },
    )
}

fn jitters() -> impl Strategy<Value = Jitter> {
    let ns = || 1..=MOST_DELAY_NS;
    prop_oneof![
        ns().prop_map(|deviation_ns| Jitter::Normal { deviation_ns }),
        ns().prop_map(|mean_ns| Jitter::Exponential { mean_ns }),
        (ns(), 1e-6..1_000.0f64).prop_map(|(least_ns, shape)| Jitter::Pareto { least_ns, shape }),
        ns().prop_map(|most_ns| Jitter::Uniform { most_ns }),
    ]
}

fn losses() -> impl Strategy<Value = LossPlan> {
    prop_oneof![
        Just(LossPlan::None),
        shares().prop_map(|share| LossPlan::Bernoulli { share }),
        (1e-9..1.0f64, shares(), shares(), shares()).prop_map(
            |(to_bad, to_good, loss_good, loss_bad)| LossPlan::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            }
        ),
    ]
}

fn plans() -> impl Strategy<Value = WayPlan> {
    let others = (
        shares(),
        shares(),
        shares(),
        0..=MOST_DELAY_NS,
        any::<u32>(),
    );
    (
        prop::option::of(bottlenecks()),
        0..=MOST_DELAY_NS,
        prop::option::of(jitters()),
        any::<bool>(),
        losses(),
        others,
        1..40u32,
    )
        .prop_map(
            |(bottleneck, delay_ns, jitter, keep_order, loss, others, most_in_flight)| {
                let (twice, back, hit, ns, from_byte) = others;
                WayPlan {
                    bottleneck,
                    delay_ns,
                    jitter,
                    keep_order,
                    loss,
                    duplication: Some(Duplicating {
                        share: twice,
                        after_ns: ns,
                    }),
                    reordering: Some(Reorder {
                        share: back,
                        by_ns: ns,
                    }),
                    corruption: Some(Corrupting {
                        share: hit,
                        from_byte: from_byte >> (from_byte & 31),
                    }),
                    most_in_flight,
                }
            },
        )
}

/// A gap before each packet, its bytes, and how many leave before it.
fn arrivals() -> impl Strategy<Value = Vec<(i64, u32, usize)>> {
    let gaps = prop_oneof![Just(0), 0..10_000_000i64, any::<i64>()];
    let bytes = prop_oneof![0..2_000u32, any::<u32>()];
    prop::collection::vec((gaps, bytes, 0..4usize), 0..80)
}

proptest! {
    #[test]
    fn every_packet_has_one_fate_within_bounded_memory(
        plan in plans(),
        arrivals in arrivals(),
        seed in any::<u64>(),
    ) {
        plan.validate().unwrap();
        let mut path = Path::new(&plan, seed).unwrap();
        let mut under_way = BTreeSet::new();
        let (mut at, mut left) = (0i64, 0);
        let mut last_due = i64::MIN;
        for (gap, bytes, leave) in arrivals {
            at = at.saturating_add(gap);
            for _ in 0..leave {
                if let Some(departure) = path.take_due(i64::MAX) {
                    left += 1;
                    prop_assert!(under_way.remove(&departure.slot));
                    if let Some(hit) = departure.corruption {
                        prop_assert!(hit.byte < departure.bytes && hit.bit < 8);
                    }
                }
            }
            let decision = path.offer(at, bytes);
            let rows = [Some((decision.packet, decision.slot)), decision.copy];
            for (truth, slot) in rows.into_iter().flatten() {
                prop_assert_eq!(truth.due_ns.is_some(), truth.fate == Fate::Leaves);
                prop_assert_eq!(slot.is_some(), truth.fate == Fate::Leaves);
                if let Some(slot) = slot {
                    prop_assert!(slot < plan.most_in_flight && under_way.insert(slot));
                    prop_assert!(truth.due_ns >= truth.left_queue_ns);
                }
            }
            if plan.keep_order && !decision.packet.is_held_back {
                prop_assert!(decision.packet.due_ns.is_none_or(|due| due >= last_due));
                last_due = decision.packet.due_ns.unwrap_or(last_due);
            }
            prop_assert_eq!(path.in_flight(), under_way.len());
        }
        let counts = *path.counts();
        let dropped = counts.lost + counts.queue_full + counts.flight_full;
        prop_assert_eq!(counts.offered + counts.copies, counts.leave + dropped);
        prop_assert_eq!(counts.leave, left + under_way.len() as u64);
        let mut last = i64::MIN;
        while let Some(departure) = path.take_due(i64::MAX) {
            prop_assert!(departure.due_ns >= last);
            last = departure.due_ns;
        }
    }
}
