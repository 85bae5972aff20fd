//! What to do about a CPU quota that was used up.

use tompion_assess::blame::Culprit;
use tompion_model::Environment;

use super::{Kind, Mends, Shown, Step, is_plain, places};
use crate::data::ReportData;

pub(super) static ENTRY: Kind = Kind { steps };

/// The longest path that a step names.
const LONGEST: usize = 160;

fn steps(data: &ReportData, shown: &[Shown<'_>]) -> Vec<Step> {
    let is_one = shown.iter().all(|s| s.place.is_none());
    let step = places(shown, |c| *c == Culprit::Quota).map(|on| {
        let command = is_one.then(|| command(&data.record().header.environment));
        let (what, short) = match command.flatten() {
            Some(command) => (format!("{command}; more CPU time for this control group"), command),
            None => (
                format!(
                    "{on}give this control group more CPU time; CPUQuota= of its unit, --cpus of its container"
                ),
                "give this control group more CPU time".to_owned(),
            ),
        };
        Step::not_measured(Mends::Quota, what, short)
    });
    step.into_iter().collect()
}

/// Lifts the quota, where it is known who sets it.
fn command(environment: &Environment) -> Option<String> {
    if environment.container.kind.is_some() {
        return None;
    }
    let group = environment.cgroup.limiting.as_deref()?;
    let name = group.strip_prefix("/sys/fs/cgroup/")?;
    let is_up = |part: &str| part.is_empty() || part == "..";
    if !name.split('/').all(|part| is_plain(part) && !is_up(part)) || group.len() > LONGEST {
        return None;
    }
    let name = name.rsplit('/').next()?;
    let is_unit = [".service", ".scope", ".slice"]
        .iter()
        .any(|kind| name.ends_with(kind));
    let period = environment.cgroup.period_us.unwrap_or(100_000);
    Some(match environment.cgroup.version.as_deref() {
        _ if is_unit => format!("systemctl set-property {name} CPUQuota="),
        Some("v1") => format!("echo -1 > {group}/cpu.cfs_quota_us"),
        _ => format!("echo 'max {period}' > {group}/cpu.max"),
    })
}

#[cfg(test)]
mod tests {
    use tompion_model::Cgroup;

    use super::*;

    #[test]
    fn the_command_is_that_of_whoever_sets_the_quota_and_nothing_a_shell_would_act_on() {
        let of = |version: &str, limiting: &str| {
            command(&Environment {
                cgroup: Cgroup {
                    version: Some(version.to_owned()),
                    limiting: Some(limiting.to_owned()),
                    period_us: Some(50_000),
                    ..Cgroup::default()
                },
                ..Environment::default()
            })
        };
        let plain = of("v2", "/sys/fs/cgroup/a/b").unwrap();
        assert_eq!(plain, "echo 'max 50000' > /sys/fs/cgroup/a/b/cpu.max");
        let unit = of("v2", "/sys/fs/cgroup/system.slice/x.service").unwrap();
        assert_eq!(unit, "systemctl set-property x.service CPUQuota=");
        let old = of("v1", "/sys/fs/cgroup/cpu/a").unwrap();
        assert_eq!(old, "echo -1 > /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us");
        for hostile in [
            "/sys/fs/cgroup/a;reboot",
            "/sys/fs/cgroup/$(reboot)",
            "/sys/fs/cgroup/a b",
            "/sys/fs/cgroup/a/-x.service",
            "/sys/fs/cgroup/../../../etc/x",
            "/etc/cron.d",
        ] {
            assert_eq!(of("v2", hostile), None, "{hostile}");
        }
    }
}
