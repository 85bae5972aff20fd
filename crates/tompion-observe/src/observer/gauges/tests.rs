use super::*;

/// Values by column name, read once.
fn read(gauge: &mut dyn Gauge) -> Vec<(String, i64)> {
    let columns = gauge.columns();
    let mut values = vec![0; columns.len()];
    gauge.read(&mut values);
    columns.into_iter().map(|c| c.name).zip(values).collect()
}

fn value(read: &[(String, i64)], name: &str) -> i64 {
    read.iter()
        .find(|r| r.0 == name)
        .unwrap_or_else(|| panic!("no {name}"))
        .1
}

#[test]
fn context_switches_grow_when_this_thread_sleeps() {
    let mut gauge = ProcStat::open(&crate::events::online_cpus()).unwrap();
    let before = value(&read(&mut *gauge), "context_switches");
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(value(&read(&mut *gauge), "context_switches") - before >= 20);
}

#[test]
fn a_threads_columns_follow_its_work() {
    let tid = sys::own_tid();
    let mut gauge = Thread::open(tid, true).unwrap();
    let before = value(
        &read(&mut *gauge),
        &format!("voluntary_switches.thread{tid}"),
    );
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let after = value(
        &read(&mut *gauge),
        &format!("voluntary_switches.thread{tid}"),
    );
    assert!(after - before >= 20, "{before} {after}");
}

#[test]
fn of_many_threads_only_what_is_read_fast_is_read_and_that_is_told() {
    let of = |count: usize| {
        let (gauges, access) = all(&vec![sys::own_tid(); count], &[]);
        let columns = gauges.iter().flat_map(|g| g.columns());
        let names: Vec<String> = columns.map(|c| c.name).collect();
        let with = |what: &str| names.iter().filter(|n| n.starts_with(what)).count();
        let told = access.iter().filter(|(_, why)| {
            let why = why.as_ref().err();
            why.is_some_and(|why| why.contains("9 threads"))
        });
        (with("run_delay."), with("major_faults."), told.count())
    };
    assert_eq!(of(FEW), (FEW, FEW, 0));
    assert_eq!(of(FEW + 1), (FEW + 1, 0, 1));
}

#[test]
fn loopback_bytes_are_counted_apart() {
    let mut gauge = Network::open().unwrap();
    let before = value(&read(&mut *gauge), "loopback_sent_bytes");
    let to = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..20 {
        from.send_to(&[0; 1000], to.local_addr().unwrap()).unwrap();
    }
    let grown = value(&read(&mut *gauge), "loopback_sent_bytes") - before;
    assert!(grown >= 20_000, "{grown}");
}

#[test]
fn the_clocks_differ_by_a_steady_offset() {
    let mut gauge = Clocks;
    let (first, second) = (read(&mut gauge), read(&mut gauge));
    let offset = |r| value(r, "clock_offset");
    let uncertainty = |r| value(r, "clock_offset_uncertainty");
    let wall = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let expected = wall.as_nanos() as i64 - now_ns(ClockId::Monotonic) as i64;
    assert!((offset(&first) - expected).abs() < 1_000_000_000);
    let moved = (offset(&first) - offset(&second)).abs();
    assert!(
        moved <= uncertainty(&first) + uncertainty(&second) + 1000,
        "{moved} ns"
    );
}

#[test]
fn what_is_missing_is_named() {
    let (gauges, access) = all(&[sys::own_tid(), i32::MAX], &[0, 4_000_000]);
    assert!(!gauges.is_empty());
    let missing: Vec<_> = access
        .iter()
        .filter(|a| a.1.is_err())
        .map(|a| a.0.as_str())
        .collect();
    assert!(
        missing.contains(&format!("counters of thread {}", i32::MAX).as_str()),
        "{missing:?}"
    );
    assert!(missing.contains(&"frequency of CPU 4000000"), "{missing:?}");
}
