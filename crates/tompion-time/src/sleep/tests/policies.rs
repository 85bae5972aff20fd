//! What each policy does.

use super::*;

#[test]
fn highpertimer_spins_exactly_the_last_tick() {
    let mut s = sleeper(Policy::HighPerTimer, |_| 0);
    let deadline = s.host().now_ns + 3 * Sim::TICK_NS;
    let slept = s.sleep_until_ns(deadline);
    assert_eq!(s.host().kernel_targets, [deadline - Sim::TICK_NS]);
    assert_eq!(slept.spun_ns, Sim::TICK_NS);
    assert!(slept.late_ns < READS);

    // Not longer than a tick: nothing is slept. A microsecond longer: it is.
    let start = s.host().now_ns;
    let slept = s.sleep_until_ns(start + Sim::TICK_NS);
    assert_eq!(s.host().kernel_targets.len(), 1);
    assert_eq!(slept.spun_ns, Sim::TICK_NS);
    let start = s.host().now_ns;
    s.sleep_until_ns(start + Sim::TICK_NS + US);
    assert_eq!(s.host().kernel_targets.len(), 2);
}

#[test]
fn kernel_and_system_sleep_once_and_never_spin() {
    for policy in [Policy::Kernel, Policy::System] {
        let mut s = sleeper(policy, |_| 14 * US);
        let deadline = s.host().now_ns + MS;
        let slept = s.sleep_until_ns(deadline);
        assert_eq!((slept.spun_ns, slept.late_ns), (0, 14 * US));
        assert_eq!(s.host().kernel_targets, [deadline]);
        assert_eq!(s.host().pauses, 0);
    }
}

#[test]
fn spin_asks_nothing_of_the_kernel() {
    let mut s = sleeper(Policy::Spin, |_| 14 * US);
    let slept = s.sleep(Duration::from_millis(1));
    assert_eq!(slept.spun_ns, MS);
    assert!(s.host().kernel_targets.is_empty());
    assert_eq!(s.host().slack, None);
}

#[test]
fn each_policy_sees_to_its_slack() {
    for (name, slack) in [
        ("kernel", Slack::Least),
        ("hybrid", Slack::Least),
        ("highpertimer", Slack::Default),
        ("system", Slack::Default),
    ] {
        let mut s = sleeper(name.parse().unwrap(), |_| 0);
        s.sleep(Duration::from_millis(10));
        assert_eq!(s.host().slack, Some(slack), "{name}");
    }
}

#[test]
fn a_deadline_in_the_past_returns_at_once_and_tells_how_late() {
    for name in Policy::NAMES {
        let mut s = sleeper(name.parse().unwrap(), |_| 14 * US);
        let now = s.host().now_ns;
        let slept = s.sleep_until_ns(now - 7 * US);
        assert_eq!((slept.late_ns, slept.spun_ns), (7 * US, 0), "{name}");
        assert!(s.host().kernel_targets.is_empty());
    }
}

#[test]
fn a_signal_ends_the_kernels_part_where_the_host_lets_it() {
    for name in Policy::NAMES.into_iter().filter(|name| *name != "spin") {
        let mut s = sleeper(name.parse().unwrap(), |_| 14 * US);
        let deadline = s.host().now_ns + 10 * MS;
        let signal = deadline - 5 * MS;
        s.host().signals = vec![signal];
        assert_eq!(s.try_sleep_until_ns(deadline), Err(Interrupted), "{name}");
        assert!(s.host().now_ns - signal < READS, "{name}");
        // The same sleep, taken up again; it is also what the others do.
        assert!(s.try_sleep_until_ns(deadline).is_ok(), "{name}");
        assert!(s.host().now_ns >= deadline, "{name}");

        let deadline = s.host().now_ns + 10 * MS;
        s.host().signals = vec![deadline - 6 * MS, deadline - 5 * MS];
        s.sleep_until_ns(deadline);
        assert!(s.host().now_ns >= deadline, "{name}");
    }
}
