//! Which round trips were held up at this machine, and by what.

use std::collections::HashMap;

use tompion_cause::{Cause, Source};
use tompion_model::{EvidenceItem, Mark, Observation, ObservedReason, SideTable};
use tompion_observe::events::item;
use tompion_packets::{Measured, Observed};
use tompion_path::stamps::{Values, Vantage, recorded};
use tompion_path::trust::{FEWEST, Side, Trust};

/// Row, place, by how much in nanoseconds, and by what, where that is known.
type Entry = (usize, Side, i64, Option<(Cause, Source)>);

/// Which probes were held up, with marks of those that were so here for each vantage point.
pub(super) struct HeldUp {
    /// What the stamps say; nothing where no probe has those of the kernel.
    trust: Option<Trust>,
    all: Vec<Entry>,
    /// Without marks; none where nothing was observed.
    observation: Option<Observation>,
}

impl HeldUp {
    /// Of a measurement. Where its threads were not observed nothing is marked: either it was not wanted, or the stamps of
    /// the program say little, since it drains what came now and then.
    pub fn of(measured: &Measured) -> Self {
        let trust = measured.trust();
        let held_up = trust.as_ref().map_or(&[][..], |trust| &trust.held_up);
        let all = held_up.iter().zip(measured.held_up_by(held_up));
        let all = all.map(|(h, by)| {
            let by = by.map(|by| (by.cause, by.source));
            (h.row, h.side, h.excess_ns, by)
        });
        Self {
            all: all.collect(),
            observation: measured.observed.as_ref().map(without_marks),
            trust,
        }
    }

    /// All of them as a side table.
    pub fn table(&self) -> SideTable {
        let mark = |(row, side, excess_ns, by): &Entry| recorded::PacketMark {
            row: u32::try_from(*row).unwrap_or(u32::MAX),
            side: side.name().into(),
            excess_ns: *excess_ns,
            cause: by.map(|(cause, _)| cause.name().into()),
            source: by.map(|(_, source)| source.name().into()),
        };
        recorded::marks_table(&self.all.iter().map(mark).collect::<Vec<_>>())
    }

    /// The path of each clean probe, in nanoseconds, and how many were held up. Less than half, or very few of many, stand for
    /// nothing: then it is that of none, and all judged ones are left out.
    pub fn path(&self) -> (Values, u64) {
        let Some(trust) = &self.trust else {
            return (Values::default(), 0);
        };
        let is_small = trust.judged < FEWEST;
        match trust.is_path_known() || is_small && trust.has_most_clean() {
            true => (trust.path.clone(), (trust.judged - trust.clean) as u64),
            false => (Values::default(), trust.judged as u64),
        }
    }

    /// The marks of the rows whose round trip, as that place sees it, has a stretch in it where they were held up: of
    /// several the longest says why.
    pub fn marks(&self, vantage: Vantage) -> HashMap<usize, Mark> {
        let mut longest: HashMap<usize, (i64, Mark)> = HashMap::new();
        for (row, side, excess_ns, by) in &self.all {
            let Some((cause, source)) = by.filter(|_| has(vantage, *side)) else {
                continue;
            };
            let mark = Mark::Disturbed(cause, source);
            let known = longest.entry(*row).or_insert((*excess_ns, mark));
            if known.0 < *excess_ns {
                *known = (*excess_ns, mark);
            }
        }
        longest
            .into_iter()
            .map(|(row, (_, mark))| (row, mark))
            .collect()
    }

    /// What was observed, with the samples that bear a mark.
    pub fn observation(&self, marks: impl Iterator<Item = Mark>) -> Option<Observation> {
        Some(Observation {
            marked: ObservedReason::of(marks),
            ..self.observation.clone()?
        })
    }
}

/// What there was to be observed, and what was not to be had, with the reason.
fn without_marks(observed: &Observed) -> Observation {
    let mut observation = Observation {
        own_cpu_share: observed.own_cpu_share,
        ..Observation::of_access(observed.access())
    };
    if let Some(why) = &observed.lacks {
        let evidence = &mut observation.evidence;
        evidence.retain(|known| known.name != item::TURNS);
        evidence.push(EvidenceItem {
            name: item::TURNS.to_owned(),
            missing: Some(why.clone()),
        });
    }
    observation
}

/// Whether that stretch lies within the round trip that a place sees.
fn has(vantage: Vantage, side: Side) -> bool {
    match side {
        Side::Sending | Side::Receiving => vantage == Vantage::User,
        Side::Queued => matches!(vantage, Vantage::User | Vantage::Qdisc),
        Side::UnderWay => true,
        Side::FarEnd => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vantage_point_has_the_marks_of_what_lies_within_its_round_trip() {
        let by = |cause| Some((cause, Source::Event));
        let held_up = HeldUp {
            trust: None,
            all: vec![
                (3, Side::Sending, 100, by(Cause::Preempted)),
                (3, Side::Receiving, 900, by(Cause::Stopped)),
                (5, Side::Queued, 100, by(Cause::Queued)),
                (7, Side::UnderWay, 100, by(Cause::Unseen)),
                (9, Side::FarEnd, 100, by(Cause::Stopped)),
            ],
            observation: Some(Observation::default()),
        };
        let of = |vantage| held_up.marks(vantage);
        let disturbed = |cause| Mark::Disturbed(cause, Source::Event);
        let user = [
            (3, disturbed(Cause::Stopped)),
            (5, disturbed(Cause::Queued)),
            (7, disturbed(Cause::Unseen)),
        ];
        assert_eq!(of(Vantage::User), HashMap::from(user));
        assert_eq!(of(Vantage::Qdisc), HashMap::from([user[1], user[2]]));
        assert_eq!(of(Vantage::Kernel), HashMap::from([user[2]]));
        assert_eq!(of(Vantage::Hardware), HashMap::from([user[2]]));
        let marks = [
            disturbed(Cause::Queued),
            Mark::None,
            disturbed(Cause::Queued),
        ];
        let observation = held_up.observation(marks.into_iter()).unwrap();
        let [reason] = &observation.marked[..] else {
            panic!("one reason");
        };
        assert_eq!((reason.cause, reason.samples), (Cause::Queued, 2));
    }

    #[test]
    fn evidence_says_why_it_is_not_known_who_had_the_cpu() {
        let turns = |lacks: Option<&str>| {
            let mut observed = Observed::default();
            observed.lacks = lacks.map(str::to_owned);
            let evidence = without_marks(&observed).evidence;
            let of_turns = evidence.into_iter().filter(|e| e.name == item::TURNS);
            of_turns.map(|e| e.missing).collect::<Vec<_>>()
        };
        assert_eq!(turns(None), []);
        let why = "not in the first PID namespace";
        assert_eq!(turns(Some(why)), [Some(why.to_owned())]);
    }
}
