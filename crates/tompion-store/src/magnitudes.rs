//! How large the numbers of a run may be: so that whatever is added up over its trials, or taken
//! from one another, fits.

mod numbers;

use serde::Serialize;
use tompion_model::{RunRecord, Sample, StallPart, Trial, TrialData, stall_parts};

use crate::error::Fault;
use numbers::Most;

/// The largest whole number, without its sign, of what there is once in a run.
const OF_RUN: u64 = 1 << 62;

/// The largest other number: nothing that is measured comes near it, and neither its square nor a sum of
/// as many as there may be is beyond what a number can be.
const OF_FRACTIONS: f64 = 1e100;

/// Of the trials of a run: each has its share of what fits, rounded down to a power of two.
fn of_trial(trials: usize) -> u64 {
    OF_RUN / (trials.max(1) as u64).next_power_of_two()
}

/// Says which whole number of a record is too large. The seed of a design is nobody's summand.
pub(super) fn check(record: &RunRecord) -> Result<(), Fault> {
    check_value("environment", &record.header.environment, OF_RUN)?;
    check_value("throttling", &record.throttling, OF_RUN)?;
    check_value("cpu_use_before", &record.cpu_use_before, OF_RUN)?;
    check_value("clock_readings", &record.clock_readings, OF_RUN)?;
    check_value("platforms", &record.platforms, OF_RUN)?;
    // Added up over a search's runs.
    check_value("holds", &record.holds, of_trial(1 << 16))?;
    let mut trials = record.trials.iter().enumerate();
    trials.try_for_each(|(i, trial)| check_trial(&format!("trial {i}"), trial, record.trials.len()))
}

/// Says which whole number of one of so many trials is too large; `name` is what it is called.
pub(super) fn check_trial(name: &str, trial: &Trial, trials: usize) -> Result<(), Fault> {
    // Rows of tables have a limit of their own.
    let most = Most {
        passed_over: Some("tables"),
        ..most(of_trial(trials))
    };
    look(name, trial, most)?;
    // Causes are added up within a trial, too.
    let causes = trial
        .findings
        .stalls
        .iter()
        .flat_map(|stalls| &stalls.causes);
    let (ns, parts) = causes.fold((0_u64, 0_u64), |(ns, parts), cause| {
        (
            ns.saturating_add(cause.ns),
            parts.saturating_add(cause.parts),
        )
    });
    let (found, whole) = (ns.max(parts), of_trial(trials));
    match found > whole {
        true => {
            Err(format!("{name}.findings.stalls.causes come to {found}, at most {whole}").into())
        }
        false => Ok(()),
    }
}

/// Says whether values that are counted in one of so many trials are more than a run's sums can hold.
pub(super) fn check_counted(counted: u64, trials: usize) -> Result<(), Fault> {
    let most = of_trial(trials);
    match counted > most {
        true => Err(format!("histograms count {counted} values, at most {most}").into()),
        false => Ok(()),
    }
}

/// Says what of a trial's tables counts or lasts more than a run's sums can hold.
pub(super) fn check_data(data: &TrialData, trials: usize) -> Result<(), Fault> {
    let most = of_trial(trials);
    let bins = data.bins.iter().chain(&data.filled_bins);
    let counted = bins.fold(0_u64, |sum, bins| sum.saturating_add(bins.len()));
    if counted > most {
        return Err(format!("bins count {counted} values, at most {most}").into());
    }
    let parts = match data.tables.get(stall_parts::NAME) {
        Some(table) => stall_parts::of_table(table).unwrap_or_default(),
        None => Vec::new(),
    };
    let ends = |p: &StallPart| u128::from(p.at_ns) + u128::from(p.ns);
    let sum: u128 = parts.iter().map(|p| u128::from(p.ns)).sum();
    let last = parts.iter().map(ends).max().unwrap_or(0);
    match sum.max(last) > u128::from(most) {
        true => Err(format!("stalls last or end at more than {most} ns").into()),
        false => Ok(()),
    }
}

/// Says whether a sample has missed periods that would have begun before all time.
pub(super) fn check_missed(samples: &[Sample], period_ns: Option<u64>) -> Result<(), Fault> {
    let period_ps = i128::from(period_ns.unwrap_or(0)) * 1000;
    let is_beyond = |s: &Sample| {
        let begin = i128::from(s.value_ps) - i128::from(s.missed) * period_ps;
        s.missed > 0 && begin < i64::MIN.into()
    };
    match samples.iter().any(is_beyond) {
        true => Err("periods missed before a sample begin before all time".into()),
        false => Ok(()),
    }
}

fn most(whole: u64) -> Most {
    Most {
        whole,
        fraction: OF_FRACTIONS,
        point: OF_RUN,
        passed_over: None,
    }
}

fn check_value(at: &str, value: &impl Serialize, whole: u64) -> Result<(), Fault> {
    look(at, value, most(whole))
}

fn look(at: &str, value: &impl Serialize, most: Most) -> Result<(), Fault> {
    let looked = value.serialize(most);
    looked.map_err(|found| format!("{at}{found}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_share_of_each_trial_adds_up_to_what_fits() {
        for trials in [0, 1, 2, 3, 1000, 1 << 20] {
            let sum = u128::from(of_trial(trials)) * trials as u128;
            assert!(sum <= u128::from(OF_RUN), "{trials}");
        }
        assert_eq!(of_trial(1), OF_RUN);
        // Even then two and a half hours.
        assert!(of_trial(1 << 20) > 4_000_000_000_000);
    }

    #[test]
    fn causes_that_come_to_more_than_fits_are_refused() {
        let cause = |ns: u64| json!({"cause": "stolen", "ns": ns, "parts": 1, "longest_ns": 1});
        let trial = |each: u64| -> Trial {
            let causes: Vec<_> = (0..4).map(|_| cause(each)).collect();
            let mut stalls = serde_json::to_value(tompion_model::Stalls::default()).unwrap();
            stalls["causes"] = causes.into();
            let stalls: tompion_model::Stalls = serde_json::from_value(stalls).unwrap();
            Trial {
                id: 0,
                factors: Default::default(),
                block: 0,
                started_ns: 0,
                duration_ns: 0,
                started_at: None,
                storage: Default::default(),
                tables: Default::default(),
                measurement: Default::default(),
                load: None,
                findings: stalls.into(),
                observation: None,
                cpu_use: None,
                summary: Default::default(),
            }
        };
        assert!(check_trial("x", &trial(OF_RUN / 4), 1).is_ok());
        let why = check_trial("x", &trial(OF_RUN / 4 + 1), 1).unwrap_err();
        assert!(
            why.to_string().contains("findings.stalls.causes come to"),
            "{why}"
        );
        // Of several trials each has its share.
        assert!(check_trial("x", &trial(OF_RUN / 4), 2).is_err());
        assert!(check_counted(OF_RUN / 2, 2).is_ok() && check_counted(OF_RUN, 2).is_err());
    }

    #[test]
    fn a_number_too_large_is_named_with_its_place() {
        let value = json!({"a": [1, {"b": 1_000}, -1_001.5], "c": "99999", "began_unix_ns": 5_000});
        assert!(check_value("x", &value, 1000).is_ok());
        let error = check_value("x", &value, 999).unwrap_err().to_string();
        assert_eq!(error, "x.a[1].b is 1000, at most 999");
        let error = check_value("x", &json!([-1e300]), OF_RUN)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "x[0] is -1e+300, at most 1e100");
        assert!(check_value("x", &json!(1e99), OF_RUN).is_ok());
        assert!(check_value("x", &json!(i64::MIN), OF_RUN).is_err());
        assert!(check_value("x", &json!(u64::MAX), OF_RUN).is_err());
    }
}
