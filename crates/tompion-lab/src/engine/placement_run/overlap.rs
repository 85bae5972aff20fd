//! Guests that measure at once: all of them are waited for, and it is held that they did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tompion_platforms::platform::{Output, Running, TaskError};
use tompion_time::os;

/// How often they are looked at: seldom, since it may be on the CPU that is measured.
const LOOK: Duration = Duration::from_millis(100);
/// The part of the shortest measurement that all others must have been there for.
const LEAST: f64 = 0.5;

/// One of them.
pub(super) struct Overlap<'a, 'scope> {
    /// Its number among all guests, from 1.
    number: usize,
    /// What errors call it; the first of all has no name.
    what: Option<&'a str>,
    running: Running<'scope>,
    /// When it was seen to begin and to end measuring.
    began: Option<Instant>,
    ended: Option<Instant>,
}

impl<'a, 'scope> Overlap<'a, 'scope> {
    pub fn new(number: usize, what: Option<&'a str>, running: Running<'scope>) -> Self {
        Self {
            number,
            what,
            running,
            began: None,
            ended: None,
        }
    }

    /// Takes down what it has told by now.
    fn look(&mut self) {
        // The first of its signs is the beginning, the second the end.
        let told = self.running.signs();
        let now = Instant::now();
        if told >= 1 {
            self.began.get_or_insert(now);
        }
        if told >= 2 || self.running.is_over() {
            self.ended.get_or_insert(now);
        }
    }
}

/// Waits for all of them, and returns what they gave, by number.
///
/// # Errors
/// The first that failed, and guests that did not measure at the same time.
pub(super) fn outputs(
    mut all: Vec<Overlap<'_, '_>>,
    stop: &AtomicBool,
) -> Result<Vec<(usize, Output)>, TaskError> {
    while !all.iter().all(|guest| guest.running.is_over()) {
        os::sleep(LOOK);
        all.iter_mut().for_each(Overlap::look);
        if stop.load(Ordering::Relaxed) {
            return Err(TaskError::Stopped);
        }
    }
    all.iter_mut().for_each(Overlap::look);
    let times: Vec<_> = all.iter().map(|g| g.began.zip(g.ended)).collect();
    let mut outputs = Vec::new();
    for mut guest in all {
        let output = guest.running.take_end();
        let output = output.map_err(|error| match (error, guest.what) {
            (TaskError::Failed(why), Some(what)) => TaskError::Failed(format!("{what}: {why}")),
            (error, _) => error,
        });
        outputs.push((guest.number, output?));
    }
    let failed = outputs.iter().any(|(_, output)| !output.success);
    let why = match times.iter().position(Option::is_none) {
        Some(silent) => Some(format!(
            "guest {} did not say when it measured",
            outputs[silent].0
        )),
        None => apart(&times.into_iter().flatten().collect::<Vec<_>>()),
    };
    match why {
        Some(why) if !failed => Err(TaskError::Failed(why)),
        _ => Ok(outputs),
    }
}

/// Why these spans of time are not the same, if they are too different.
fn apart(times: &[(Instant, Instant)]) -> Option<String> {
    // One that was over within a look says nothing of how long the others were there together.
    let longer: Vec<_> = times.iter().copied().filter(|t| t.0 < t.1).collect();
    let of_longer = (longer.len() < times.len())
        .then(|| apart(&longer))
        .flatten();
    if of_longer.is_some() {
        return of_longer;
    }
    let last = times.iter().map(|t| t.0).max()?;
    let first = times.iter().map(|t| t.1).min()?;
    let shortest = times.iter().map(|t| t.1.duration_since(t.0)).min()?;
    let common = first.saturating_duration_since(last);
    let is_beside = last <= first + LOOK;
    (!is_beside || common.as_secs_f64() < LEAST * shortest.as_secs_f64()).then(|| {
        format!(
            "the guests measured at the same time for {:.1} s of {:.1} s only, since they started \
             one after the other: a longer time of the probe has them overlap",
            common.as_secs_f64(),
            shortest.as_secs_f64()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_that_took_turns_did_not_measure_at_once() {
        let zero = Instant::now();
        let at = |s: f64| zero + Duration::from_secs_f64(s);
        let spans =
            |all: &[(f64, f64)]| -> Vec<_> { all.iter().map(|&(a, b)| (at(a), at(b))).collect() };
        assert_eq!(apart(&spans(&[(0.0, 2.0), (0.5, 2.5)])), None);
        assert_eq!(apart(&spans(&[(0.0, 9.0), (4.0, 6.0)])), None);
        let why = apart(&spans(&[(0.0, 2.0), (1.5, 3.5)])).unwrap();
        assert!(why.contains("for 0.5 s of 2.0 s"), "{why}");
        let why = apart(&spans(&[(0.0, 2.0), (0.1, 2.0), (5.0, 7.0)])).unwrap();
        assert!(why.contains("for 0.0 s of 1.9 s"), "{why}");
        // Who says both at once: beside the others, when they are over, and beside two that took turns.
        assert_eq!(apart(&spans(&[(0.0, 2.0), (0.1, 2.0), (1.0, 1.0)])), None);
        assert!(apart(&spans(&[(0.0, 2.0), (0.1, 2.0), (5.0, 5.0)])).is_some());
        assert!(apart(&spans(&[(0.0, 2.0), (5.0, 7.0), (1.0, 1.0)])).is_some());
        assert_eq!(apart(&[]), None);
    }
}
