//! The platforms as the run's record has them.

use std::collections::{BTreeMap, HashSet};

use tompion_model::{Environment, PlatformRecord};

use super::Platforms;
use crate::LabPlan;
use crate::ledger::Ledger;
use tompion_platforms::platform::Presence;

/// One for each platform of the plan, with what `before` knows of them already.
pub(super) fn of(
    plan: &LabPlan,
    platforms: &Platforms,
    before: &[PlatformRecord],
) -> Vec<PlatformRecord> {
    let one = |(plan, presence): (&tompion_platforms::PlatformPlan, &Presence)| {
        let level = plan.level();
        let known = before.iter().find(|r| r.level == level);
        let (versions, absent) = match (presence, known) {
            (Presence::Present(versions), _) => (versions.clone(), None),
            (Presence::NotAsked, _) => (Vec::new(), None),
            // It was there when its cells were measured.
            (Presence::Absent(_), Some(known)) if known.environment.is_some() => {
                return known.clone();
            }
            (Presence::Absent(why), _) => (Vec::new(), Some(why.clone())),
        };
        PlatformRecord {
            kind: plan.kind.name.to_owned(),
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

/// That an instance ran on another clock than the first of its platform, where it did.
pub(super) fn another_clock(
    which: &str,
    record: &PlatformRecord,
    seen: Option<&Environment>,
) -> Option<String> {
    let first = record.environment.as_ref()?.clock.clocksource.as_ref()?;
    let now = seen?.clock.clocksource.as_ref()?;
    (now != first).then(|| {
        format!("{which} ran on the clocksource {now}, the platform's first instance on {first}.")
    })
}

/// Notes of instances that the run keeps: each may say something else.
const NOTED: usize = 2000;

/// What instances of each platform noted, each note once; where these are too many, each platform has its share.
pub(super) fn noted(plan: &LabPlan, ledger: &Ledger) -> Vec<String> {
    let mut seen = HashSet::new();
    let notes = ledger
        .entries()
        .flat_map(|entry| entry.notes.iter().map(|note| (entry.platform, note)));
    let mut all: Vec<(usize, &String)> = notes.filter(|note| seen.insert(*note)).collect();
    all.sort_by_key(|(platform, _)| *platform);
    let found = all.len();
    fewer(&mut all);
    let named = all.into_iter().filter_map(|(platform, note)| {
        let level = plan.platforms.get(platform)?.level();
        Some(format!("On {level}: {note}"))
    });
    let mut kept: Vec<String> = named.collect();
    let more = found.saturating_sub(NOTED);
    if more > 0 {
        kept.push(format!("{more} more notes of instances are left out."));
    }
    kept
}

/// Leaves as many notes as are kept, of platforms by turns: none takes the room of another.
fn fewer(sorted: &mut Vec<(usize, &String)>) {
    if sorted.len() <= NOTED {
        return;
    }
    let (mut last, mut turn) = (None, 0);
    let mut by_turns: Vec<(usize, (usize, &String))> = Vec::with_capacity(sorted.len());
    for note in sorted.drain(..) {
        turn = if last == Some(note.0) { turn + 1 } else { 0 };
        last = Some(note.0);
        by_turns.push((turn, note));
    }
    by_turns.sort_by_key(|(turn, _)| *turn);
    sorted.extend(by_turns.into_iter().take(NOTED).map(|(_, note)| note));
    sorted.sort_by_key(|(platform, _)| *platform);
}

/// What a reader must know of each placement that the plan names, and what neighbours did
/// in all cells together.
pub(super) fn placements(plan: &LabPlan, ledger: &Ledger) -> Vec<String> {
    let named = plan.placements.iter().filter(|p| p.at.is_some());
    let mut notes: Vec<String> = named
        .map(|p| format!("Placement {}: {}.", p.name, p.settings().join(", ")))
        .collect();
    let mut used: BTreeMap<(usize, usize, &str), (f64, f64)> = BTreeMap::new();
    for entry in ledger.entries() {
        for beside in &entry.beside {
            let key = (entry.platform, entry.placement, beside.what.as_str());
            let (cpu, time) = used.entry(key).or_default();
            *cpu += beside.cpu_seconds;
            *time += beside.seconds;
        }
    }
    notes.extend(used.into_iter().filter(|(_, (_, time))| *time > 0.0).map(
        |((platform, placement, what), (cpu, time))| {
            format!(
                "On {} in {}, {what} used {:.2} CPUs.",
                plan.platforms[platform].level(),
                plan.placements[placement].name,
                cpu / time
            )
        },
    ));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_notes_no_platform_takes_the_room_of_another() {
        let text = "a note".to_owned();
        let mut all: Vec<(usize, &String)> = vec![(0, &text); 3 * NOTED];
        all.extend([(1, &text); 2]);
        all.extend([(2, &text); NOTED]);
        fewer(&mut all);
        let of = |platform| all.iter().filter(|note| note.0 == platform).count();
        assert_eq!([of(0), of(1), of(2)], [NOTED / 2 - 1, 2, NOTED / 2 - 1]);
        assert!(all.is_sorted_by_key(|note| note.0));
        let mut few = vec![(0, &text), (1, &text)];
        fewer(&mut few);
        assert_eq!(few.len(), 2);
    }

    #[test]
    fn an_instance_on_another_clock_than_the_first_is_told() {
        let on = |clock: &str| {
            let mut seen = Environment::default();
            seen.clock.clocksource = Some(clock.to_owned());
            seen
        };
        let mut record = PlatformRecord::default();
        let told = |record: &PlatformRecord, clock| another_clock("x", record, Some(&on(clock)));
        assert_eq!(told(&record, "tsc"), None);
        record.environment = Some(on("tsc"));
        assert_eq!(told(&record, "tsc"), None);
        let want = "x ran on the clocksource hpet, the platform's first instance on tsc.";
        assert_eq!(told(&record, "hpet").as_deref(), Some(want));
        assert_eq!(another_clock("x", &record, None), None);
    }
}
