//! How much a run's description holds, counted before anything is made of it: what takes three bytes
//! in JSON takes up to a hundred and more in memory.
//!
//! By a scanner of our own and not a visitor of serde_json's: that one stops at a depth of 128, while a value that
//! is read over may be deeper, so that whoever puts such a one first hides from the count what follows it.

use std::ops::Add;

use super::limits;
use crate::error::Fault;

/// The key of the list of trials.
const TRIALS: &[u8] = b"trials";

/// The key of what a trial's probe found, and of what of it has a structure; all else is kept as it is.
const FINDINGS: &[u8] = b"findings";
const KNOWN_FINDINGS: [&[u8]; 2] = [b"stalls", b"round_trips"];

/// An object counts as so many values where few are expected: all of its fields may be left out and
/// take their room all the same. One that is kept as it is takes that of eleven entries, some 640 bytes.
const OBJECT: u64 = 8;

/// Where its histograms lie: a table and its four fields.
const HISTOGRAMS: u64 = 5;

/// How many values there are in a description: numbers, texts, truths, nulls, lists and objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JsonSize {
    /// In the list of trials, an object among findings that nobody knows as [`OBJECT`] of them.
    pub(super) of_trials: u64,
    /// Elsewhere, an object as [`OBJECT`] of them.
    pub(super) of_others: u64,
}

impl JsonSize {
    /// Of a whole description. What is no JSON is counted somehow: nothing is made of it.
    pub(super) fn of_record(text: &str) -> Self {
        let mut found = Self::default();
        let mut is_trials = false;
        // In an object that has a list of them.
        let mut trial = TrialValues::at(3);
        scan(text, |depth, seen| match seen {
            Seen::Key(name) if depth == 1 => is_trials = name == TRIALS,
            seen if is_trials => found.of_trials += trial.count(depth, &seen),
            Seen::Key(_) => {}
            Seen::Value => found.of_others += 1,
            Seen::Object => found.of_others += OBJECT,
        });
        found
    }

    /// Of the description of one trial, and the comma behind it.
    pub(super) fn of_trial(text: &str) -> Self {
        let mut found = Self {
            of_trials: 1,
            of_others: 0,
        };
        let mut trial = TrialValues::at(1);
        scan(text, |depth, seen| {
            found.of_trials += trial.count(depth, &seen)
        });
        found
    }

    /// The same with what comes to it when the run is finished.
    pub(super) fn of_gathered_trial(text: &str) -> Self {
        Self::of_trial(text)
            + Self {
                of_trials: HISTOGRAMS,
                of_others: 0,
            }
    }

    /// Says whether the description of one of so many trials holds more than it may if all are to be
    /// in one run.
    pub(super) fn check_share(self, trials: u64) -> Result<(), Fault> {
        let most = limits::VALUES_OF_TRIALS / trials.max(1);
        match self.of_trials > most {
            true => Err(format!(
                "its description holds {} values; one of {trials} trials has at most {most}",
                self.of_trials
            )
            .into()),
            false => Ok(()),
        }
    }

    /// Says what is more than a run has; one of format version 1, which is read in another way, has a
    /// quarter of it.
    pub(super) fn check(self, version: u64) -> Result<(), Fault> {
        let quarter = if version == 1 { 4 } else { 1 };
        let within = |found: u64, most: u64, what: &str| match found > most / quarter {
            true => Err(Fault::from(format!(
                "it holds {found} values {what}; a run has at most {}",
                most / quarter
            ))),
            false => Ok(()),
        };
        within(self.of_trials, limits::VALUES_OF_TRIALS, "in its trials")?;
        within(
            self.of_others,
            limits::VALUES_OF_OTHERS,
            "beside its trials (an object counts as eight)",
        )
    }
}

impl Add for JsonSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            of_trials: self.of_trials.saturating_add(other.of_trials),
            of_others: self.of_others.saturating_add(other.of_others),
        }
    }
}

/// Counts what is met in descriptions of trials, each of which lies at a depth.
struct TrialValues {
    at: usize,
    /// Whether what comes may be findings.
    is_findings: bool,
    /// Whether it is some of a structure.
    is_known: bool,
}

impl TrialValues {
    fn at(at: usize) -> Self {
        Self {
            at,
            is_findings: true,
            is_known: false,
        }
    }

    fn count(&mut self, depth: usize, seen: &Seen<'_>) -> u64 {
        match seen {
            Seen::Key(name) if depth == self.at => {
                // A letter may be written in other ways.
                self.is_findings = *name == FINDINGS || name.contains(&b'\\');
                self.is_known = false;
            }
            Seen::Key(name) if depth == self.at + 1 => {
                self.is_known = KNOWN_FINDINGS.contains(name);
            }
            // Another trial, or more of it: as a list it would have no keys.
            Seen::Value | Seen::Object if depth <= self.at => *self = Self::at(self.at),
            Seen::Object if depth > self.at + 1 && self.is_findings && !self.is_known => {
                return OBJECT;
            }
            Seen::Key(_) | Seen::Value | Seen::Object => {}
        }
        match seen {
            Seen::Key(_) => 0,
            Seen::Value | Seen::Object => 1,
        }
    }
}

/// What is met in JSON.
enum Seen<'t> {
    /// A key of an object, as it is written.
    Key(&'t [u8]),
    /// A value that is no object, or the comma before one more.
    Value,
    Object,
}

/// Goes through JSON without making anything of it: commas are as many as values but the first of
/// each list and object, which is counted with the bracket that opens it.
fn scan<'t>(text: &'t str, mut see: impl FnMut(usize, Seen<'t>)) {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    let mut last: &[u8] = &[];
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let begin = at;
                while let Some(byte) = bytes.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
                last = bytes.get(begin..at).unwrap_or_default();
                at += 1;
            }
            b':' => see(depth, Seen::Key(last)),
            b',' => see(depth, Seen::Value),
            b'[' => {
                depth += 1;
                see(depth, Seen::Value);
            }
            b'{' => {
                depth += 1;
                see(depth, Seen::Object);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_where_they_are() {
        let of = |text| JsonSize::of_record(text);
        let size = |of_trials, of_others| JsonSize {
            of_trials,
            of_others,
        };
        // The object itself, and its first value with it; a comma for each of the others.
        assert_eq!(of("{}"), size(0, 8));
        assert_eq!(of(r#"{"a": [1, "x,[{:", "\",", null]}"#), size(0, 8 + 4));
        assert_eq!(of(r#"{"a": [{}, {}]}"#), size(0, 8 + 2 + 16));
        let trials =
            r#"{"tool": "trials", "trials": [{"id": 0, "trials": {}}, {"id": 1}], "n": [1]}"#;
        // The comma behind the list counts with it.
        assert_eq!(of(trials), size(7, 8 + 1 + 1));
        assert_eq!(
            JsonSize::of_trial(r#"{"id": 0, "f": {"a": "b"}}"#),
            size(4, 0)
        );
        // No JSON, and no end.
        assert_eq!(of("]]}\"\\"), size(0, 0));
        assert_eq!(of("{\"a\\"), size(0, 8));
    }

    #[test]
    fn objects_that_are_kept_as_they_are_count_as_what_they_take() {
        let all = |trial: &str| {
            let record = format!(r#"{{"trials": [{trial}]}}"#);
            let of_record = JsonSize::of_record(&record).of_trials;
            let alone = JsonSize::of_trial(trial).of_trials;
            // A list around it there, and a comma behind it here.
            assert_eq!(of_record, alone, "{trial}");
            alone - 1
        };
        // Each takes a node of a tree.
        assert_eq!(all(r#"{"findings": {"x": {"": {"": 0}}}}"#), 2 + 8 + 8);
        assert_eq!(all(r#"{"findings": {"x": [{}, {}]}}"#), 2 + 2 + 16);
        // However the key is written, and where there is none.
        assert_eq!(all(r#"{"find\u0069ngs": {"x": {}}}"#), 2 + 8);
        assert_eq!(all(r#"[0, {"x": {}}]"#), 3 + 8);
        assert_eq!(all(r#"{"findings": {"st\u0061lls": {}}}"#), 2 + 8);
        // What is of a structure takes its fields, and what nobody keeps takes nothing.
        for known in ["stalls", "round_trips"] {
            assert_eq!(
                all(&format!(r#"{{"findings": {{"{known}": {{"": {{}}}}}}}}"#)),
                4
            );
        }
        assert_eq!(all(r#"{"findings": {"stalls": {}, "x": {}}}"#), 3 + 1 + 8);
        assert_eq!(
            all(r#"{"findings": {"x": {}}, "summary": {"a": {}}}"#),
            2 + 8 + 3
        );
        let two = r#"{"trials": [{"findings": {"stalls": {}}}, {"findings": {"x": {}}}]}"#;
        assert_eq!(JsonSize::of_record(two).of_trials, 1 + 3 + 1 + 2 + 8);
    }

    #[test]
    fn a_trial_has_its_share_of_a_run() {
        let of = |of_trials, trials| {
            let size = JsonSize {
                of_trials,
                of_others: 0,
            };
            size.check_share(trials).is_ok()
        };
        assert!(of(limits::VALUES_OF_TRIALS, 1) && !of(limits::VALUES_OF_TRIALS + 1, 1));
        assert!(of(1 << 10, 1 << 10) && !of((1 << 10) + 1, 1 << 10));
        // What is measured has fewer.
        assert!(of(349, limits::SURE_TRIALS) && !of(350, limits::SURE_TRIALS));
    }

    #[test]
    fn what_is_more_than_a_run_has_is_named() {
        let many = |of_trials, of_others, version| {
            let size = JsonSize {
                of_trials,
                of_others,
            };
            size.check(version).map_err(|e| e.to_string())
        };
        let (trials, others) = (limits::VALUES_OF_TRIALS, limits::VALUES_OF_OTHERS);
        assert_eq!(many(trials, others, 2), Ok(()));
        assert_eq!(many(trials / 4, others / 4, 1), Ok(()));
        for (size, words) in [
            (many(trials + 1, 0, 2), "1048577 values in its trials"),
            (many(0, others + 1, 2), "262145 values beside its trials"),
            (many(trials / 4 + 1, 0, 1), "at most 262144"),
        ] {
            let why = size.unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
