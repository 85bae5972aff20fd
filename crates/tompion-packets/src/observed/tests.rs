use super::*;

const AHEAD: i64 = 1_700_000_000_000_000_000;

fn disturbance(from_us: u64, until_us: u64, cause: Cause, by: Option<&str>) -> Disturbance {
    Disturbance {
        from_ns: from_us * 1_000,
        until_ns: until_us * 1_000,
        cause,
        by: by.map(str::to_owned),
        source: Source::Event,
    }
}

fn polled(from_us: u64, until_us: u64, cause: Cause) -> Disturbance {
    Disturbance {
        source: Source::Polled,
        ..disturbance(from_us, until_us, cause, None)
    }
}

fn held_up(side: Side, from_us: i64, until_us: i64) -> HeldUp {
    HeldUp {
        row: 0,
        side,
        from_ns: AHEAD + from_us * 1_000,
        until_ns: AHEAD + until_us * 1_000,
        excess_ns: (until_us - from_us - 10) * 1_000,
    }
}

fn observed(sending: &[Disturbance], receiving: &[Disturbance]) -> Observed {
    Observed {
        sending: sending.to_vec(),
        receiving: receiving.to_vec(),
        ahead_ns: Some(AHEAD),
        ..Observed::default()
    }
}

fn of<'a>(observed: &'a Observed, all: &[HeldUp]) -> Vec<(Cause, Option<&'a str>)> {
    let found = observed.causes(all).into_iter();
    found.flatten().map(|by| (by.cause, by.by)).collect()
}

#[test]
fn each_thread_is_held_up_by_what_disturbed_it() {
    let hog = disturbance(1_000, 3_000, Cause::Preempted, Some("hog[7]"));
    let stopped = disturbance(50_000, 90_000, Cause::Stopped, None);
    let observed = observed(&[hog], &[stopped]);
    let all = [
        held_up(Side::Sending, 1_100, 3_020),
        held_up(Side::Receiving, 60_000, 90_050),
        held_up(Side::Receiving, 70_000, 90_040),
        // The other thread was not disturbed then.
        held_up(Side::Receiving, 1_100, 3_020),
    ];
    let expected = [
        (Cause::Preempted, Some("hog[7]")),
        (Cause::Stopped, None),
        (Cause::Stopped, None),
        (Cause::Unknown, None),
    ];
    assert_eq!(of(&observed, &all), expected);
    // Nobody watched the far end.
    let far = [held_up(Side::FarEnd, 1_100, 3_020)];
    assert_eq!(observed.causes(&far), [None]);
}

#[test]
fn what_waits_in_a_queue_waits_for_others_but_where_its_sender_did_not_run_for_nearly_all_of_that()
{
    let all = [held_up(Side::Queued, 1_000, 5_010)];
    let by = |from_us, until_us| {
        let hog = disturbance(from_us, until_us, Cause::Preempted, Some("hog[7]"));
        of(&observed(&[hog], &[]), &all)[0].0
    };
    // It left before its sender had the CPU again, or long after.
    assert_eq!(by(2_000, 9_000), Cause::Queued);
    assert_eq!(by(900, 4_000), Cause::Queued);
    assert_eq!(by(1_020, 5_000), Cause::Preempted);
}

#[test]
fn what_took_less_than_half_of_it_explains_nothing() {
    let tick = |length: u64| disturbance(2_000, 2_000 + length, Cause::Tick, None);
    let all = [held_up(Side::Receiving, 1_000, 5_010)];
    let cause = |length| of(&observed(&[], &[tick(length)]), &all)[0].0;
    assert_eq!(cause(1_900), Cause::Unknown);
    assert_eq!(cause(2_100), Cause::Tick);
    // Several of a kind count together, and the longest names itself.
    let hogs = [
        disturbance(1_000, 2_200, Cause::Preempted, Some("a[1]")),
        disturbance(2_300, 4_000, Cause::Preempted, Some("b[2]")),
    ];
    let observed = observed(&[], &hogs);
    assert_eq!(of(&observed, &all), [(Cause::Preempted, Some("b[2]"))]);
}

#[test]
fn what_has_its_own_times_goes_before_a_window_and_a_window_before_nothing() {
    let window = polled(0, 100_000, Cause::Stolen);
    let hog = disturbance(1_000, 4_000, Cause::Preempted, Some("hog[7]"));
    let all = [
        held_up(Side::Sending, 1_000, 4_500),
        held_up(Side::Sending, 20_000, 31_000),
        held_up(Side::Sending, 120_000, 131_000),
        // Too short for that window.
        held_up(Side::Sending, 50_000, 59_000),
    ];
    let observed = observed(&[window, hog], &[]);
    let causes: Vec<_> = observed.causes(&all).into_iter().flatten().collect();
    let causes = causes.iter().map(|by| (by.cause, by.source));
    let expected = [
        (Cause::Preempted, Source::Event),
        (Cause::Stolen, Source::Polled),
        (Cause::Unknown, Source::Event),
        (Cause::Unknown, Source::Event),
    ];
    assert!(causes.eq(expected));
}

/// Of who had the CPU before a woken thread, the kernel may tell no more than when they left it.
#[test]
fn who_had_the_cpu_until_the_thread_came_has_the_time_since_the_packet_did() {
    let left = |at_us, who| disturbance(at_us, at_us, Cause::Preempted, Some(who));
    let found = |all: &[Disturbance]| {
        let observed = observed(&[], all);
        let at = [held_up(Side::Receiving, 1_000, 31_000)];
        let by = observed.causes(&at)[0].unwrap();
        (by.cause, by.by.map(str::to_owned))
    };
    let hog = || Some("hog[7]".to_owned());
    let preempted = (Cause::Preempted, hog());
    assert_eq!(found(&[left(30_900, "hog[7]")]), preempted);
    // Who was there longest.
    let two = [left(29_000, "hog[7]"), left(30_900, "short[8]")];
    assert_eq!(found(&two), preempted);
    // It left before the packet came.
    assert_eq!(found(&[left(900, "hog[7]")]).0, Cause::Unknown);
    // What kept it from running besides is not theirs.
    let stopped = disturbance(2_000, 30_000, Cause::Stopped, None);
    assert_eq!(found(&[stopped, left(30_900, "hog[7]")]).0, Cause::Stopped);
    // Nor is what a quota did, though it is known of a window alone.
    let throttled = polled(0, 100_000, Cause::Throttled);
    let throttled = [throttled, left(30_900, "hog[7]")];
    assert_eq!(found(&throttled).0, Cause::Throttled);
    let stolen = [polled(0, 100_000, Cause::Stolen), left(30_900, "hog[7]")];
    assert_eq!(found(&stolen), preempted);
    // A moment of another kind takes no time.
    let fault = disturbance(30_900, 30_900, Cause::PageFault, None);
    assert_eq!(found(&[fault]).0, Cause::Unknown);
}

#[test]
fn a_queue_of_packets_is_one_unless_its_sender_was_kept_from_running() {
    let throttled = disturbance(1_000, 80_000, Cause::Throttled, None);
    let all = [
        held_up(Side::Queued, 500, 80_010),
        held_up(Side::Queued, 90_000, 99_000),
        held_up(Side::Queued, 190_000, 199_000),
    ];
    let observed = observed(&[throttled], &[]);
    let causes: Vec<_> = of(&observed, &all).iter().map(|by| by.0).collect();
    let queued = Cause::Queued;
    assert_eq!(causes, [Cause::Throttled, queued, queued]);
}

#[test]
fn nobody_is_named_where_the_clock_of_stamps_was_set() {
    let hog = disturbance(1_000, 4_000, Cause::Preempted, Some("hog[7]"));
    let all = [held_up(Side::Sending, 1_000, 4_500)];
    let set = Observed {
        ahead_ns: None,
        ..observed(&[hog], &[])
    };
    assert_eq!(of(&set, &all), [(Cause::Unknown, None)]);
}
