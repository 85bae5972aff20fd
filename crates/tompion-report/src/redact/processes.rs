//! Who held a thread up: of what every kernel has, its name.

use super::names::Names;
use super::words::{MOST_DIGITS, is_among};

/// Kernel threads, softirqs and interrupts that every kernel may have, up to the first `/`, digit
/// or `-`.
const KERNEL: &str = "\
    BLOCK HI HRTIMER IRQ_POLL NET_RX NET_TX RCU SCHED TASKLET TIMER call_function \
    call_function_single cpuhp deferred_error error_apic idle_inject irq_work kauditd \
    kcompactd khugepaged khungtaskd kintegrityd ksmd ksoftirqd kswapd kthreadd kworker \
    local_timer migration oom_reaper rcu_exp_gp_kthread_worker rcu_exp_par_gp_kthread_worker \
    rcu_preempt rcu_sched rcu_tasks_kthread rcu_tasks_rude_kthread rcub rcuc rcuop \
    reschedule spurious_apic swapper thermal_apic threshold_apic watchdogd x86_platform_ipi";

/// Tompion's own programs.
const OWN: [&str; 2] = ["tompion", "tompion-worker"];

impl Names {
    /// What held a thread up: a thread of the kernel, an interrupt, or somebody's process, with
    /// its number.
    pub(super) fn process(&mut self, text: &str) -> String {
        let (name, id) = match text.strip_suffix(']').and_then(|t| t.rsplit_once('[')) {
            Some((name, id))
                if id.len() <= MOST_DIGITS && id.bytes().all(|b| b.is_ascii_digit()) =>
            {
                (name, format!("[{id}]"))
            }
            _ => (text, String::new()),
        };
        let stem = name.find(|c: char| c == '/' || c == '-' || c.is_ascii_digit());
        let stem = &name[..stem.unwrap_or(name.len())];
        // A step of the clock has a time for its author.
        let is_time = name.strip_suffix(" s").is_some_and(|n| {
            n.starts_with(['+', '-']) && n.len() <= 14 && n.parse::<f64>().is_ok_and(f64::is_finite)
        });
        let is_known = OWN.contains(&name) || is_among(KERNEL, stem);
        match is_time || (is_known && !self.is_private(name)) {
            true => format!("{}{id}", self.clean(name)),
            false => format!("{}{id}", self.numbered("process", name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_numbered_but_those_that_every_kernel_has() {
        let mut names = Names::default();
        for (by, left) in [
            ("kworker/u8:1[13311]", "kworker/u8:1[13311]"),
            ("tompion[7]", "tompion[7]"),
            ("rcu_preempt[15]", "rcu_preempt[15]"),
            ("NET_RX", "NET_RX"),
            ("local_timer", "local_timer"),
            ("+0.500000 s", "+0.500000 s"),
            ("payroll[77]", "(process 1)[77]"),
            ("irq/27-enx525400123456", "(process 2)"),
            ("payroll[78]", "(process 1)[78]"),
            ("payroll[174261763]", "(process 3)"),
            ("kworker/u8:1-lyra", "kworker/u8:1-(word 1)"),
            ("+174261763.0 s", "(word 2) s"),
        ] {
            assert_eq!(names.process(by), left);
        }
    }
}
