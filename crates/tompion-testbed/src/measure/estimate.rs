//! What the times of a train say.

/// Nanoseconds from one packet of a train to the next: the median over all packets of the time to the one half
/// a train later. A lost, late or held-back packet spoils few of these, where it would spoil a quotient of the
/// train's ends; the median of slopes is Theil's (1950), over pairs of equal distance.
pub fn interval_ns(times: &[Option<i64>]) -> Option<f64> {
    let apart = times.len() / 2;
    let pairs = times.iter().zip(times.get(apart..)?);
    let mut spans: Vec<i64> = pairs
        .filter_map(|(early, late)| Some((*late)? - (*early)?))
        .collect();
    // A few would be chance.
    if apart == 0 || spans.len() < 4 {
        return None;
    }
    Some(median(&mut spans) / apart as f64)
}

/// The median, between the middle two where they are two.
pub fn median(values: &mut [i64]) -> f64 {
    values.sort_unstable();
    let middle = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len() % 2 == 1 => values[middle] as f64,
        _ => (values[middle - 1] as f64 + values[middle] as f64) / 2.0,
    }
}

/// Whether packets that arrive at these times keep a queue busy that takes `each_ns` for one, but for 1 % of the
/// time. What happens in the first tenth does not count: a sender has to get going.
pub fn keeps_busy(times: &[Option<i64>], each_ns: f64) -> bool {
    let Some(first) = times.first().copied().flatten() else {
        return false;
    };
    let (mut free_ns, mut idle_ns) = (0.0, 0.0);
    for (number, time) in times.iter().enumerate() {
        let Some(time) = time else { return false };
        let at_ns = (time - first) as f64;
        if number > times.len() / 10 {
            idle_ns += f64::max(at_ns - free_ns, 0.0);
        }
        free_ns = at_ns.max(free_ns) + each_ns;
    }
    idle_ns <= each_ns * times.len() as f64 / 100.0
}

/// The rate at which a train of rate `sent` leaves a queue of rate `link` that it shares with cross traffic of
/// rate `cross`, first come, first served (Melander, Bjorkman and Gunningberg 2000): all in the same unit.
pub fn shared_rate(link: f64, sent: f64, cross: f64) -> f64 {
    if sent + cross <= link {
        sent
    } else {
        link * sent / (sent + cross)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_withstands_losses_and_stragglers() {
        let mut times: Vec<Option<i64>> = (0..200).map(|i| Some(1_000 + 40_373 * i)).collect();
        assert_eq!(interval_ns(&times), Some(40_373.0));
        for lost in [0, 17, 99, 150, 199] {
            times[lost] = None;
        }
        times[60] = Some(9_000_000);
        assert_eq!(interval_ns(&times), Some(40_373.0));
        assert_eq!(interval_ns(&[None; 200]), None);
        assert_eq!(interval_ns(&[]), None);
    }

    #[test]
    fn a_gap_that_lets_a_queue_run_dry_is_seen() {
        let mut times: Vec<Option<i64>> = (0..50).map(|i| Some(10 * i)).collect();
        assert!(keeps_busy(&times, 40.0));
        assert!(!keeps_busy(&times, 9.0));
        let late = |from: usize, times: &[Option<i64>]| -> Vec<Option<i64>> {
            let by = |number| if number < from { 0 } else { 1_000 };
            let numbered = times.iter().enumerate();
            numbered.map(|(i, time)| time.map(|t| t + by(i))).collect()
        };
        assert!(keeps_busy(&late(3, &times), 40.0));
        assert!(!keeps_busy(&late(20, &times), 40.0));
        times[0] = None;
        assert!(!keeps_busy(&times, 40.0));
    }

    #[test]
    fn a_shared_queue_gives_each_his_part() {
        assert_eq!(shared_rate(300.0, 400.0, 100.0), 240.0);
        assert_eq!(shared_rate(300.0, 150.0, 100.0), 150.0);
    }
}
