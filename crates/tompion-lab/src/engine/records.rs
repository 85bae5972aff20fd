//! The platforms as the run's record has them.

use tompion_record::PlatformRecord;

use super::Platforms;
use crate::LabPlan;
use crate::plan::Kind;
use crate::platform::Presence;

/// One for each platform of the plan, with what `before` knows of them already.
pub(super) fn of(
    plan: &LabPlan,
    platforms: &Platforms,
    before: &[PlatformRecord],
) -> Vec<PlatformRecord> {
    let one = |(plan, presence): (&crate::PlatformPlan, &Presence)| {
        let level = plan.level();
        let known = before.iter().find(|r| r.level == level);
        let (versions, absent) = match presence {
            Presence::Present(versions) => (versions.clone(), None),
            Presence::Absent(why) => (Vec::new(), Some(why.clone())),
        };
        PlatformRecord {
            kind: match plan.kind {
                Kind::Host => "host",
                Kind::Oci(_) => "oci",
                Kind::Qemu(_) => "qemu",
            }
            .to_owned(),
            settings: plan.settings(),
            versions,
            emulated: plan.emulated().map(str::to_owned),
            absent,
            environment: known.and_then(|r| r.environment.clone()),
            level,
        }
    };
    plan.platforms
        .iter()
        .zip(platforms.presence())
        .map(one)
        .collect()
}

/// What a reader must know of a platform, in one line.
pub(super) fn in_words(record: &PlatformRecord) -> Option<String> {
    let seen = record.environment.as_ref()?;
    let named = |what: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        Some(format!("{what} {value}"))
    };
    let mut facts: Vec<String> = record.versions.clone();
    facts.extend(record.settings.iter().cloned());
    facts.extend(named("kernel", &seen.kernel.release));
    facts.extend(named("clocksource", &seen.clock.clocksource));
    facts.extend(named("hypervisor", &seen.virtualization.hypervisor));
    facts.extend(named("container", &seen.container.kind));
    let mut text = format!("Platform {}: {}.", record.level, facts.join(", "));
    if let Some(by) = &record.emulated {
        text.push_str(&format!(
            " Its processor is imitated by {by}: what was measured there is no evidence about \
             hardware."
        ));
    }
    Some(text)
}
