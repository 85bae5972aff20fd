//! Whether the CPUs' counters agree, asked once for all processes of this boot.

use std::fs;

use tompion_time::agreement::{self, Agreement, NotMeasured};
use tompion_time::evidence::{Evidence, Standing};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Where the CPUs are busy a measurement may find no moment at which two of them
/// run.
const TRIES: usize = 5;

/// What is known of the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They agree, or there is but one CPU. Holds for this boot, whose number is
    /// given.
    Agree(String),
    /// They were not compared, or differ: why the counter is to be used only
    /// where the kernel keeps time by it.
    Unproven(String),
    /// The counter cannot be used at all, whatever a comparison would show: why.
    Unusable(String),
}

/// Compares the counters of the CPUs that this process may run on: about a
/// millisecond of two CPUs for each.
pub fn compare_counters() -> Comparison {
    let evidence = Evidence::gather();
    let boot = fs::read_to_string(BOOT_ID).map_err(|e| format!("{BOOT_ID}: {e}"));
    judge(
        evidence.clocksources.standing(),
        evidence.host_promises_agreement,
        boot,
        || agreement::measure(agreement::TIME_LIMIT),
    )
}

fn judge(
    standing: Standing,
    host_promises: Option<bool>,
    boot: Result<String, String>,
    mut measure: impl FnMut() -> Result<Agreement, NotMeasured>,
) -> Comparison {
    match standing {
        Standing::NotListed => {
            return Comparison::Unusable(
                "the kernel does not list the counter in available_clocksource".to_owned(),
            );
        }
        Standing::Unknown => {
            return Comparison::Unusable("the kernel does not tell its clocksources".to_owned());
        }
        Standing::Listed if host_promises == Some(false) => {
            return Comparison::Unproven(
                "the host does not promise equal counters on all virtual CPUs".to_owned(),
            );
        }
        Standing::Listed | Standing::InUse => {}
    }
    let boot = match boot {
        Ok(boot) => boot.trim().to_owned(),
        Err(why) => return Comparison::Unproven(why),
    };
    let mut found = measure();
    for _ in 1..TRIES {
        match &found {
            Err(NotMeasured::NoTime | NotMeasured::NoThread) => {}
            Ok(found) if found.agrees() && !found.is_complete() => {}
            _ => break,
        }
        found = measure();
    }
    match found {
        Err(NotMeasured::OneCpu) => Comparison::Agree(boot),
        Err(why @ (NotMeasured::NoCounter | NotMeasured::CounterRefused)) => {
            Comparison::Unusable(why.to_string())
        }
        Err(why) => Comparison::Unproven(format!("the CPUs' counters were not compared: {why}")),
        Ok(found) if !found.agrees() => Comparison::Unproven(format!(
            "the CPUs' counters differ: by {} ticks, {} steps back seen",
            found.worst_excess_ticks(),
            found.warps().backward_steps
        )),
        Ok(found) if !found.is_complete() => Comparison::Unproven(format!(
            "the counters of only {} of {} CPUs could be compared",
            found.covered(),
            found.allowed_cpus
        )),
        Ok(_) => Comparison::Agree(boot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tompion_time::agreement::{PairOffset, Warps};

    fn measured(offset_ticks: i64, not_covered: &[usize]) -> Result<Agreement, NotMeasured> {
        Ok(Agreement {
            reference_cpu: 0,
            allowed_cpus: 2 + not_covered.len(),
            pairs: vec![PairOffset {
                cpu: 1,
                offset_ticks,
                uncertainty_ticks: 100,
                steady: true,
                exchanges: 1000,
                warps: Warps::default(),
            }],
            not_covered: not_covered.to_vec(),
        })
    }

    fn judged(standing: Standing, result: Result<Agreement, NotMeasured>) -> Comparison {
        judge(standing, None, Ok("b\n".into()), || result.clone())
    }

    fn unproven(comparison: Comparison) -> String {
        match comparison {
            Comparison::Unproven(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn agreement_is_told_with_the_boot_in_which_it_holds() {
        let agree = Comparison::Agree("b".into());
        for standing in [Standing::InUse, Standing::Listed] {
            assert_eq!(judged(standing, measured(3, &[])), agree);
            assert_eq!(judged(standing, Err(NotMeasured::OneCpu)), agree);
        }
    }

    #[test]
    fn what_differs_or_was_not_all_compared_is_unproven() {
        let listed = Standing::Listed;
        assert!(unproven(judged(listed, measured(1100, &[]))).contains("1000 ticks"));
        assert!(unproven(judged(listed, measured(0, &[2, 3]))).contains("2 of 4"));
        assert!(unproven(judged(listed, Err(NotMeasured::NoTime))).contains("not compared"));
        let denied = judge(listed, Some(false), Ok("b".into()), || measured(0, &[]));
        assert!(unproven(denied).contains("host"));
        let no_boot = judge(listed, None, Err("gone".into()), || measured(0, &[]));
        assert_eq!(unproven(no_boot), "gone");
    }

    #[test]
    fn what_the_kernel_does_not_list_is_not_measured() {
        for standing in [Standing::NotListed, Standing::Unknown] {
            let result = judge(standing, None, Ok("b".into()), || unreachable!());
            assert!(matches!(result, Comparison::Unusable(_)), "{result:?}");
        }
    }

    #[test]
    fn busy_cpus_get_further_tries_and_differing_ones_do_not() {
        let count = |results: &[Result<Agreement, NotMeasured>]| {
            let mut asked = 0;
            let last = judge(Standing::Listed, None, Ok("b".into()), || {
                asked += 1;
                results[asked - 1].clone()
            });
            (asked, last)
        };
        let busy = || Err(NotMeasured::NoTime);
        let (asked, last) = count(&[busy(), measured(0, &[2]), measured(0, &[])]);
        assert_eq!((asked, last), (3, Comparison::Agree("b".into())));
        assert_eq!(count(&[measured(1100, &[])]).0, 1);
        assert_eq!(count(&[busy(), busy(), busy(), busy(), busy()]).0, TRIES);
    }
}
