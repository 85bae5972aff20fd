//! The measuring loops, over any mechanism, planted ones included.

use std::io;

use tompion_model::{Mark, Measurement, Recorder, Sample};
use tompion_time::os::{self, ClockId};

use super::{Form, Mechanism};
use crate::wake_up::WARM_UP;
use crate::{Error, Limits, Outcome, floor, sys};

/// The longest period: a day, in nanoseconds.
pub const MAX_PERIOD_NS: u64 = 86_400_000_000_000;

/// Runs any mechanism.
///
/// # Errors
/// What the mechanism was refused, or a period of 0 or above [`MAX_PERIOD_NS`].
pub fn run<M: Mechanism>(
    mechanism: &mut M,
    form: Form,
    period_ns: u64,
    limits: &Limits,
) -> Result<Outcome, Error> {
    run_while_held(mechanism, form, period_ns, limits, u64::MAX)
}

/// As [`run`], ended as well once more than `most_missed` periods were missed.
pub(super) fn run_while_held<M: Mechanism>(
    mechanism: &mut M,
    form: Form,
    period_ns: u64,
    limits: &Limits,
    most_missed: u64,
) -> Result<Outcome, Error> {
    if !(1..=MAX_PERIOD_NS).contains(&period_ns) {
        let refused = format!("a period of {period_ns} ns between timer events");
        let right = "it must lie between 1 ns and a day";
        return Err(Error::system(refused)(io::Error::new(
            io::ErrorKind::InvalidInput,
            right,
        )));
    }
    let wanted = limits.samples.saturating_add(WARM_UP);
    let rows = limits
        .rows
        .min(usize::try_from(wanted).unwrap_or(usize::MAX));
    let grid = form == Form::Grid;
    let mut recorder = Recorder::new(rows, grid.then_some(period_ns as i64 * 1000));
    let memory_locked = sys::lock_memory(recorder.buffer());
    let floor_ns = floor(|| mechanism.now_ns());

    let cpu_before = os::now_ns(ClockId::ThreadCpu);
    let began = mechanism.now_ns();
    let mut trial = Trial {
        mechanism,
        form,
        began,
        period_ns,
        wanted,
        limits,
        recorder: &mut recorder,
        missed: 0,
        most_missed,
    };
    let taken = match form {
        Form::Grid => trial.on_grid(),
        Form::Rearmed => trial.rearmed(),
    };
    let cpu_ns = os::now_ns(ClockId::ThreadCpu) - cpu_before;

    if memory_locked {
        sys::unlock_memory(recorder.buffer());
    }
    let taken = taken.map_err(Error::system("waiting for a timer event"))?;
    let missed = recorder.missed();
    let (data, storage) = recorder.finish();
    Ok(Outcome {
        data,
        storage,
        missed_periods: grid.then_some(missed),
        began_ns: began,
        measurement: Measurement {
            technique: if grid {
                "time of each event minus its point on a fixed grid".into()
            } else {
                "time from each event to the next, armed again after it, minus d".into()
            },
            clock: "CLOCK_MONOTONIC".into(),
            floor_ns: Some(floor_ns),
            blind_spots: "a stall between an event and the clock read counts as lateness of the \
                          event; a stall of the hypervisor that stops the clock too is not seen"
                .into(),
            period_ns: grid.then_some(period_ns),
            cpu_per_operation_ns: (taken > 0).then(|| cpu_ns as f64 / taken as f64),
            wanted_samples: limits.samples,
            ended_by_time: taken < wanted,
            timer_slack_ns: os::timer_slack_ns().ok(),
            memory_locked,
            ..Measurement::default()
        },
    })
}

/// Periods that a sample shows as missed; none for marked ones. Where each event
/// arms the next, an interval of twice the period and more counts as one.
#[inline(always)]
pub(super) fn missed_by(form: Form, period_ns: u64, sample: &Sample) -> u64 {
    match (sample.mark, form) {
        (Mark::None, Form::Grid) => u64::from(sample.missed),
        (Mark::None, Form::Rearmed) => u64::from(sample.value_ps >= period_ns as i64 * 1000),
        _ => 0,
    }
}

struct Trial<'a, M> {
    mechanism: &'a mut M,
    form: Form,
    began: u64,
    period_ns: u64,
    wanted: u64,
    limits: &'a Limits,
    recorder: &'a mut Recorder,
    /// Periods missed so far, by [`missed_by`].
    missed: u64,
    most_missed: u64,
}

impl<M: Mechanism> Trial<'_, M> {
    /// A late event is one row that says how many points it missed; the next one
    /// waited for is the next point in the future. The grid stays where it is even
    /// while the recorder makes room: the points that this costs are of a marked
    /// sample and count nowhere.
    fn on_grid(&mut self) -> io::Result<u64> {
        let mut point = 0;
        let mut target = self.began + self.period_ns;
        self.mechanism.start(target, self.period_ns)?;
        let mut after_pause = false;
        for taken in 0..self.wanted {
            if self.ends_before(taken, target) {
                return Ok(taken);
            }
            self.mechanism.wait_point(point, target)?;
            let now = self.mechanism.now_ns();
            // Negative where the mechanism fired early.
            let late = now as i64 - target as i64;
            let missed = late.max(0) as u64 / self.period_ns;
            self.push(self.sample(taken, now, late, missed, after_pause));
            point += missed + 1;
            target += self.period_ns * (missed + 1);
            after_pause = self.make_room(taken);
        }
        Ok(self.wanted)
    }

    /// Each event is due a period after the last one came.
    fn rearmed(&mut self) -> io::Result<u64> {
        let mut last = self.began;
        let mut after_pause = false;
        for taken in 0..self.wanted {
            let target = last + self.period_ns;
            if self.ends_before(taken, target) {
                return Ok(taken);
            }
            self.mechanism.rearm(target, self.period_ns)?;
            let now = self.mechanism.now_ns();
            let late = now as i64 - target as i64;
            self.push(self.sample(taken, now, late, 0, after_pause));
            last = now;
            after_pause = self.make_room(taken);
            if after_pause {
                // Our own pause is no part of an interval.
                last = self.mechanism.now_ns();
            }
        }
        Ok(self.wanted)
    }

    /// Whether the trial ends here: no wait begins that would outlast it.
    #[inline(always)]
    fn ends_before(&self, taken: u64, target: u64) -> bool {
        let counted = taken.saturating_sub(WARM_UP);
        self.limits.ended(counted, target - self.began) || self.missed > self.most_missed
    }

    #[inline(always)]
    fn push(&mut self, sample: Sample) {
        self.missed += missed_by(self.form, self.period_ns, &sample);
        self.recorder.push(sample);
    }

    /// The sample of an event that came at `now`.
    #[inline(always)]
    fn sample(&self, taken: u64, now: u64, late_ns: i64, missed: u64, after_pause: bool) -> Sample {
        Sample {
            at_ns: now - self.began,
            value_ps: late_ns * 1000,
            n: 1,
            missed: u32::try_from(missed).unwrap_or(u32::MAX),
            mark: if taken < WARM_UP {
                Mark::WarmUp
            } else if after_pause {
                Mark::Recorder
            } else {
                Mark::None
            },
        }
    }

    /// Makes room for more samples where it is needed; says whether it was.
    fn make_room(&mut self, taken: u64) -> bool {
        let full = self.recorder.is_full() && taken + 1 < self.wanted;
        if full {
            self.recorder.make_room();
        }
        full
    }
}
