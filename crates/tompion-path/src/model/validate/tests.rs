use super::*;
use crate::model::plan::{Corrupting, Duplicating, Reorder};

fn field(change: impl FnOnce(&mut WayPlan)) -> String {
    let mut plan = WayPlan {
        bottleneck: Some(Bottleneck {
            cross_traffic: Some(CrossTraffic {
                rate_bps: 1_000,
                packet_bytes: 100,
                pattern: CrossPattern::Poisson,
            }),
            ..Bottleneck::of_rate(1_000_000)
        }),
        ..WayPlan::default()
    };
    assert_eq!(plan.validate(), Ok(()));
    change(&mut plan);
    plan.validate().unwrap_err().to_string()
}

fn cross(plan: &mut WayPlan) -> &mut CrossTraffic {
    let bottleneck = plan.bottleneck.as_mut().unwrap();
    bottleneck.cross_traffic.as_mut().unwrap()
}

#[test]
fn each_field_says_what_would_be_right() {
    let told = [
        field(|p| p.bottleneck.as_mut().unwrap().rate_bps = 0),
        field(|p| p.bottleneck.as_mut().unwrap().overhead_bytes = u32::MAX),
        field(|p| p.bottleneck.as_mut().unwrap().limit = QueueLimit::Bytes(0)),
        field(|p| p.bottleneck.as_mut().unwrap().limit = QueueLimit::Packets(0)),
        field(|p| cross(p).rate_bps = 0),
        field(|p| cross(p).packet_bytes = 0),
        field(|p| cross(p).pattern = CrossPattern::Bursts(0)),
        field(|p| p.delay_ns = MOST_DELAY_NS + 1),
        field(|p| p.jitter = Some(Jitter::Uniform { most_ns: u64::MAX })),
        field(|p| p.loss = LossPlan::Bernoulli { share: 1.01 }),
        field(|p| p.most_in_flight = 0),
    ];
    let expected = [
        "bottleneck.rate_bps is 0: it has to be from 1 to 10000000000000",
        "bottleneck.overhead_bytes is 4294967295: it has to be from 0 to 1048576",
        "bottleneck.limit.bytes is 0: it has to be from 1 to 1099511627776",
        "bottleneck.limit.packets is 0: it has to be from 1 to 8388608",
        "bottleneck.cross_traffic.rate_bps is 0: it has to be from 1 to 10000000000000",
        "bottleneck.cross_traffic.packet_bytes is 0: it has to be from 1 to 1048576",
        "bottleneck.cross_traffic.pattern.bursts is 0: it has to be from 1 to 65536",
        "delay_ns is 100000000001: it has to be from 0 to 100000000000",
        "jitter.uniform.most_ns is 18446744073709551615: it has to be from 0 to 100000000000",
        "loss.bernoulli.share is 1.01: a share is a number from 0 to 1",
        "most_in_flight is 0: it has to be from 1 to 8388608",
    ];
    assert_eq!(told, expected);
}

#[test]
fn shares_and_shapes_are_numbers() {
    let duplication = |share| Some(Duplicating { share, after_ns: 0 });
    let reordering = |share| Some(Reorder { share, by_ns: 0 });
    let corruption = |share| {
        Some(Corrupting {
            share,
            from_byte: 0,
        })
    };
    let pareto = |shape| Some(Jitter::Pareto { least_ns: 1, shape });
    for value in [f64::NAN, f64::INFINITY, -0.1] {
        assert!(field(|p| p.duplication = duplication(value)).starts_with("duplication.share"));
        assert!(field(|p| p.reordering = reordering(value)).starts_with("reordering.share"));
        assert!(field(|p| p.corruption = corruption(value)).starts_with("corruption.share"));
        assert!(field(|p| p.jitter = pareto(value)).starts_with("jitter.pareto.shape"));
    }
}

#[test]
fn states_have_to_be_left_some_time() {
    let stuck = |to_bad, to_good| LossPlan::GilbertElliott {
        to_bad,
        to_good,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    assert!(field(|p| p.loss = stuck(0.0, 0.0)).contains("both 0"));
    assert!(stuck(0.0, 0.1).validate().is_ok());
    assert!(stuck(0.1, 0.0).validate().is_ok());
    assert!(field(|p| p.loss = stuck(0.1, 2.0)).starts_with("loss.gilbert-elliott.to_good"));
}

#[test]
fn of_a_path_the_way_is_named() {
    let mut plan = PathPlan::default();
    assert_eq!(plan.validate(), Ok(()));
    plan.homeward.delay_ns = u64::MAX;
    let error = plan.validate().unwrap_err();
    assert_eq!(error.way, Way::Homeward);
    assert!(
        error.to_string().starts_with("homeward: delay_ns is "),
        "{error}"
    );
}

#[test]
fn a_plan_survives_json_and_unknown_fields_do_not() {
    let mut plan = PathPlan {
        seed: 7,
        ..PathPlan::default()
    };
    plan.outward.bottleneck = Some(Bottleneck {
        limit: QueueLimit::Packets(100),
        cross_traffic: Some(CrossTraffic {
            rate_bps: 100,
            packet_bytes: 1_500,
            pattern: CrossPattern::Bursts(10),
        }),
        ..Bottleneck::of_rate(300_000_000)
    });
    plan.outward.jitter = Some(Jitter::Pareto {
        least_ns: 5,
        shape: 1.5,
    });
    plan.homeward.loss = LossPlan::Bernoulli { share: 0.01 };
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<PathPlan>(&text).unwrap(), plan);
    let short: PathPlan = serde_json::from_str(r#"{"outward": {"delay_ns": 5}}"#).unwrap();
    assert_eq!(
        (short.outward.delay_ns, short.outward.keep_order),
        (5, true)
    );
    assert!(serde_json::from_str::<PathPlan>(r#"{"outward": {"dely_ns": 5}}"#).is_err());
}
