//! The loops driven by a planted clock: what goes in comes out. Then the real ones.

use std::sync::Arc;

use tompion_model::{Mark, Sample, Storage, View};

use super::mechanisms::Told;
use super::*;
use crate::wake_up::WARM_UP;

/// A clock that stands still but for waits, which end off their targets by planted
/// amounts; late ones never before the present.
struct Planted {
    now: u64,
    off_ns: Vec<i64>,
    next: usize,
    /// Points waited for, with their targets.
    points: Vec<(u64, u64)>,
    refuses: Option<usize>,
}

impl Planted {
    fn wait(&mut self, target_ns: u64) -> io::Result<()> {
        if self.refuses == Some(self.next) {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let off = self.off_ns[self.next % self.off_ns.len()];
        self.now = self.now.max(target_ns.saturating_add_signed(off));
        self.next += 1;
        Ok(())
    }
}

impl Mechanism for Planted {
    fn now_ns(&mut self) -> u64 {
        self.now
    }

    fn wait_point(&mut self, point: u64, target_ns: u64) -> io::Result<()> {
        self.points.push((point, target_ns));
        self.wait(target_ns)
    }

    fn rearm(&mut self, target_ns: u64, _period_ns: u64) -> io::Result<()> {
        self.wait(target_ns)
    }
}

const BEGAN: u64 = 5_000_000;
const PERIOD: u64 = 100_000;

/// Events off by the given amounts after warm-up ones off by 77 ns.
fn planted(off_ns: impl IntoIterator<Item = i64>) -> Planted {
    let mut all = vec![77; WARM_UP as usize];
    all.extend(off_ns);
    Planted {
        now: BEGAN,
        off_ns: all,
        next: 0,
        points: Vec::new(),
        refuses: None,
    }
}

fn limits(samples: u64) -> Limits {
    Limits {
        samples,
        time_ns: u64::MAX,
        rows: 1 << 20,
        least_samples: 0,
        patience_ns: 0,
        granularity: false,
        stop: Arc::default(),
    }
}

fn unmarked(outcome: &Outcome) -> Vec<Sample> {
    let samples = outcome.data.samples.iter();
    samples.filter(|s| s.mark == Mark::None).copied().collect()
}

/// Every row's point of the grid, once by counting and once from its own values.
fn assert_on_grid(outcome: &Outcome, period_ns: u64) {
    let first = outcome.began_ns + period_ns;
    let mut due = first;
    for s in &outcome.data.samples {
        let own = (outcome.began_ns + s.at_ns) as i64 - s.value_ps / 1000;
        assert_eq!(own as u64, due, "{s:?}");
        due += period_ns * (1 + u64::from(s.missed));
    }
}

#[test]
fn lateness_on_a_grid_comes_out_event_by_event() {
    let outcome = run(&mut planted(0..1000), Form::Grid, PERIOD, &limits(1000)).unwrap();
    let values: Vec<i64> = unmarked(&outcome).iter().map(|s| s.value_ps).collect();
    assert_eq!(values, (0..1000).map(|ns| ns * 1000).collect::<Vec<_>>());
    assert_eq!(outcome.missed_periods, Some(0));
    assert_eq!(outcome.began_ns, BEGAN);
    assert_eq!(outcome.measurement.period_ns, Some(PERIOD));
    assert!(!outcome.measurement.ended_by_time);
    assert_on_grid(&outcome, PERIOD);
}

#[test]
fn a_late_event_is_one_row_with_the_periods_it_missed() {
    let mut off = vec![1_000; 100];
    off[50] = 4_930_000;
    let mut mechanism = planted(off);
    let outcome = run(&mut mechanism, Form::Grid, PERIOD, &limits(100)).unwrap();
    let rows = unmarked(&outcome);
    assert_eq!((rows[50].value_ps, rows[50].missed), (4_930_000_000, 49));
    assert_eq!(rows[51].missed, 0);
    assert_eq!(outcome.missed_periods, Some(49));
    assert_on_grid(&outcome, PERIOD);
    // The mechanism is asked for the point that the count says.
    let (point, target) = mechanism.points[WARM_UP as usize + 51];
    assert_eq!(point, WARM_UP + 51 + 49);
    assert_eq!(target, BEGAN + PERIOD * (point + 1));
}

#[test]
fn a_lateness_of_exactly_a_period_has_missed_one() {
    for (late, missed) in [(99_999, 0), (100_000, 1), (199_999, 1), (200_000, 2)] {
        let outcome = run(&mut planted([late, 0]), Form::Grid, PERIOD, &limits(2)).unwrap();
        assert_eq!(outcome.missed_periods, Some(missed), "{late}");
    }
}

#[test]
fn an_early_event_is_kept_as_such_and_the_grid_goes_on() {
    let outcome = run(&mut planted([-700, 0]), Form::Grid, PERIOD, &limits(2)).unwrap();
    let rows = unmarked(&outcome);
    assert_eq!((rows[0].value_ps, rows[0].missed), (-700_000, 0));
    assert_eq!(rows[1].value_ps, 0);
    assert_on_grid(&outcome, PERIOD);
}

#[test]
fn intervals_come_out_where_each_event_arms_the_next() {
    let off = [300, 0, 250_000, -40, 5];
    let outcome = run(&mut planted(off), Form::Rearmed, PERIOD, &limits(5)).unwrap();
    let rows = unmarked(&outcome);
    let values: Vec<i64> = rows.iter().map(|s| s.value_ps / 1000).collect();
    assert_eq!(values, off);
    assert!(rows.iter().all(|s| s.missed == 0));
    // Successive times differ by the very intervals.
    for pair in outcome.data.samples.windows(2) {
        let interval = (pair[1].at_ns - pair[0].at_ns) as i64;
        assert_eq!(interval, PERIOD as i64 + pair[1].value_ps / 1000);
    }
    assert_eq!(outcome.missed_periods, None);
    assert_eq!(outcome.measurement.period_ns, None);
}

#[test]
fn time_and_stops_end_a_trial_early_and_say_so() {
    for form in Form::ALL {
        let mut l = limits(1_000_000);
        l.time_ns = 50 * PERIOD;
        let outcome = run(&mut planted([0]), form, PERIOD, &l).unwrap();
        assert!(outcome.measurement.ended_by_time);
        // 77 ns a time are lost to lateness where each event arms the next.
        let rows = outcome.data.samples.len();
        assert!((49..=50).contains(&rows), "{form}: {rows}");

        let outcome = run(&mut planted([0]), form, MAX_PERIOD_NS, &l).unwrap();
        assert!(outcome.data.samples.is_empty(), "it would have slept a day");

        l.stop = Arc::new(true.into());
        let outcome = run(&mut planted([0]), form, PERIOD, &l).unwrap();
        assert!(outcome.measurement.ended_by_time && outcome.data.samples.is_empty());
    }
}

#[test]
fn the_recorders_pause_is_marked_and_moves_no_grid() {
    let pause = 64 - WARM_UP as usize;
    let mut off = vec![500; 100];
    off[pause] = 1_000_500;
    let l = Limits {
        rows: 64,
        ..limits(100)
    };
    let outcome = run(&mut planted(off), Form::Grid, PERIOD, &l).unwrap();
    assert!(matches!(outcome.storage, Storage::Tail { .. }));
    let marked: Vec<_> = outcome
        .data
        .samples
        .iter()
        .filter(|s| s.mark == Mark::Recorder)
        .collect();
    assert_eq!(marked[0].missed, 10);
    assert_eq!(outcome.missed_periods, Some(0));
    // Rows are gone into bins, but those kept still lie on the grid.
    for s in &outcome.data.samples {
        assert_eq!((s.at_ns as i64 - s.value_ps / 1000) % PERIOD as i64, 0);
    }
    let all = outcome.data.distribution(View::Measured).len();
    let marks = outcome.data.samples.iter().filter(|s| s.mark != Mark::None);
    assert_eq!(all + marks.count() as u64, 100 + WARM_UP);
}

#[test]
fn what_the_system_refuses_is_an_error_not_a_shorter_series() {
    for form in Form::ALL {
        let mut mechanism = planted([0]);
        mechanism.refuses = Some(10);
        let error = run(&mut mechanism, form, PERIOD, &limits(100)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("waiting for a timer event: "), "{text}");
    }
}

#[test]
fn periods_that_nobody_can_keep_are_refused_in_one_line() {
    for period in [0, MAX_PERIOD_NS + 1, u64::MAX] {
        for form in Form::ALL {
            let error = run(&mut planted([0]), form, period, &limits(1)).unwrap_err();
            let text = error.to_string();
            assert!(text.ends_with("between 1 ns and a day"), "{text}");
        }
    }
}

#[test]
fn an_event_counts_for_the_point_that_the_kernel_or_the_clock_says() {
    let (due, not_due) = (|| true, || false);
    let mut told = Told::default();
    // Point 0, early by the clock: its event all the same.
    assert!(told.reaches(1, 0, not_due));
    // Points 1 to 3 told at once; then an event of point 4 that our clock has
    // counted as missed is passed over, and that of point 5 is not.
    assert!(told.reaches(3, 1, due));
    assert!(!told.reaches(1, 5, not_due));
    assert!(told.reaches(1, 5, due));
    // A kernel that does not count what it skipped delays nobody.
    assert!(told.reaches(1, 60, due));
}

#[test]
fn names_are_found_and_wrong_ones_told_what_is_right() {
    for m in Method::all() {
        assert_eq!(m.name().parse::<Method>(), Ok(m));
        assert_eq!(m.spin_budget().is_some(), m.row().way.spins());
    }
    for f in Form::ALL {
        assert_eq!(f.name().parse::<Form>(), Ok(f));
    }
    let error = "alarm".parse::<Method>().unwrap_err().to_string();
    assert!(Method::all().all(|m| error.contains(m.name())), "{error}");
    assert!(
        "line"
            .parse::<Form>()
            .unwrap_err()
            .to_string()
            .contains("`line`")
    );
}

/// Those that this system has; the others with the reason.
fn present() -> Vec<Method> {
    let mut methods = Method::all().collect::<Vec<_>>();
    methods.retain(|m| match m.available() {
        Ok(()) => true,
        Err(why) => {
            println!("left out: {why}");
            false
        }
    });
    assert!(
        methods.contains(&Method::named("timerfd")) && methods.contains(&Method::named("ticker"))
    );
    methods
}

#[test]
fn every_real_mechanism_fires_in_both_forms_and_none_early() {
    for method in present() {
        for form in Form::ALL {
            let l = Limits {
                time_ns: 5_000_000_000,
                ..limits(100)
            };
            let outcome = measure(method, form, 200_000, &l).unwrap();
            let rows = unmarked(&outcome);
            assert!(!rows.is_empty(), "{method} {form}");
            assert!(rows.iter().all(|s| s.value_ps >= 0), "{method} {form}");
            assert!(outcome.measurement.cpu_per_operation_ns.unwrap() > 0.0);
            let technique = &outcome.measurement.technique;
            assert!(technique.contains(method.about()), "{technique}");
            if form == Form::Grid {
                assert_on_grid(&outcome, 200_000);
            }
        }
    }
}

#[test]
fn periods_below_what_a_mechanism_holds_are_missed_not_left_out() {
    for method in present() {
        let period = match method.name() {
            // It spins: only the reading of clocks takes time.
            "ticker" => 20,
            // It does not sleep for what has passed when it looks: one system call.
            "epoll" => 50,
            _ => 200,
        };
        let l = Limits {
            time_ns: 20_000_000_000,
            ..limits(EVENTS)
        };
        let outcome = measure(method, Form::Grid, period, &l).unwrap();
        let missed = outcome.missed_periods.unwrap();
        assert_eq!(outcome.data.samples.len() as u64, EVENTS + WARM_UP);
        assert!(missed > EVENTS / 10, "{method}: {missed} missed");
        assert_on_grid(&outcome, period);
        // Points and time agree: none is lost.
        let last = outcome.data.samples.last().unwrap();
        let points: u64 = outcome
            .data
            .samples
            .iter()
            .map(|s| 1 + u64::from(s.missed))
            .sum();
        let reached = last.at_ns / period;
        assert!(
            reached.abs_diff(points) <= 1,
            "{method}: {reached} {points}"
        );

        let outcome = measure(method, Form::Rearmed, 1, &l).unwrap();
        assert_eq!(outcome.data.samples.len() as u64, EVENTS + WARM_UP);
    }
}

#[test]
fn a_posix_timer_leaves_neither_a_blocked_nor_a_pending_signal() {
    let signals = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let lines = status.lines().filter(|l| l.starts_with("Sig"));
        let own = lines.filter(|l| l.starts_with("SigPnd") || l.starts_with("SigBlk"));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = signals();
    assert_eq!(before.len(), 2);
    // A timer dropped while it fires on: a signal is pending then.
    let l = Limits {
        time_ns: 100_000_000,
        ..limits(50)
    };
    measure(Method::named("posix-timer"), Form::Grid, 1_000, &l).unwrap();
    assert_eq!(signals(), before);
}
