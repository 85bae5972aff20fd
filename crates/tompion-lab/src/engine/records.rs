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
