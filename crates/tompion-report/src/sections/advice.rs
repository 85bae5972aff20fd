//! Remedies that this very run tried.

use tompion_assess::verdict::remedies::REMEDIES;
use tompion_assess::verdict::{LoadVerdict, Outcome, ProfileVerdict};
use tompion_model::{format_ns, range_in_words};
use tompion_stats::BlockRange;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Item, Items, Media};
use crate::data::ReportData;
use crate::figures::{quantile_name, times, times_to_times};
use crate::grid::under;

pub(super) static ENTRY: Section = Section {
    name: "advice",
    title: "Advice, tested in this run",
    question: Some(Question::Lost),
    probe: None,
    blocks,
    // Machines find it in the assessment.
    machine: Machine::Keys(|_, _| {}),
};

/// Pieces of advice that a terminal shows.
const ON_SCREEN: usize = 5;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let advice = data.assessment().advice.iter().enumerate();
    let items: Vec<Item> = advice
        .map(|(i, a)| {
            let gain = match (a.gain_range, a.gain_low, a.gain_high) {
                (Some(range), ..) => format!("{} (blocks)", times_to_times(range)),
                (None, Some(low), Some(high)) => {
                    format!("{} [{}, {}]", times(a.gain), times(low), times(high))
                }
                _ => times(a.gain),
            };
            let noise = if a.effective {
                ""
            } else {
                ", not shown beyond noise"
            };
            Item {
                figure: format!(
                    "{} → {} {}",
                    or_range(a.before_ns, a.before_range_ns),
                    or_range(a.after_ns, a.after_range_ns),
                    quantile_name(a.quantile)
                ),
                sure: a.effective,
                text: a.sentence.clone(),
                how: Some(a.how.clone()),
                more: [
                    ("Cost", Some(a.price.clone())),
                    ("Gain", Some(format!("{gain}{noise}"))),
                    (
                        "Passes with it",
                        passes_with(&data.assessment().profiles, &a.how),
                    ),
                ]
                .into_iter()
                .filter_map(|(name, told)| Some((name, told?)))
                .collect(),
                media: if i < ON_SCREEN {
                    Media::ALL
                } else {
                    Media::NOT_SCREEN
                },
            }
        })
        .collect();
    if items.is_empty() {
        let nothing = "This run held no pair of settings to compare.";
        return vec![Content::Text(nothing.to_owned()).on(Media::PAGE)];
    }
    vec![Content::Items(Items::Cards, items).into()]
}

/// The uses that pass with the remedy that is applied so, each with its loads; nothing where none does.
fn passes_with(profiles: &[ProfileVerdict], how: &str) -> Option<String> {
    let remedy = REMEDIES.iter().find(|r| r.words.how == how)?;
    let of_use = |p: &ProfileVerdict| {
        let passes = |l: &&LoadVerdict| {
            let with = l.remedy.as_ref().filter(|with| with.name == remedy.name);
            l.outcome == Outcome::WithRemedy && with.is_some()
        };
        let loads: Vec<String> = p
            .by_load
            .iter()
            .filter(passes)
            .map(|l| under(&l.load))
            .collect();
        let told = || format!("{} {}", p.title(), loads.join(", "));
        (!loads.is_empty()).then(told)
    };
    let uses: Vec<String> = profiles.iter().filter_map(of_use).collect();
    (!uses.is_empty()).then(|| uses.join("; "))
}

/// A quantile, or from which block's to which where blocks disagree.
fn or_range(ns: f64, range_ns: Option<[f64; 2]>) -> String {
    let range = range_ns.map(|[low, high]| BlockRange { low, high });
    range.map_or_else(|| format_ns(ns), range_in_words)
}

#[cfg(test)]
mod tests {
    use tompion_assess::verdict::Remedied;

    use super::*;

    #[test]
    fn a_remedy_is_told_with_the_uses_that_pass_with_it_and_with_no_others() {
        let [first, second, ..] = &REMEDIES;
        let under = |load: &str, outcome, remedy: &str| LoadVerdict {
            load: load.to_owned(),
            outcome,
            remedy: Some(Remedied {
                name: remedy.to_owned(),
                ..Remedied::default()
            }),
            ..LoadVerdict::default()
        };
        let of = |name: &str, by_load: Vec<LoadVerdict>| ProfileVerdict {
            name: name.to_owned(),
            title: name.to_owned(),
            by_load,
            ..ProfileVerdict::default()
        };
        let passes = Outcome::WithRemedy;
        let uses = [
            of(
                "both",
                vec![
                    under("idle", passes, first.name),
                    under("busy", passes, first.name),
                ],
            ),
            of(
                "one",
                vec![
                    under("idle", passes, first.name),
                    under("busy", Outcome::Fail, first.name),
                ],
            ),
            of("other", vec![under("idle", passes, second.name)]),
        ];
        assert_eq!(
            passes_with(&uses, first.words.how).as_deref(),
            Some("both at rest, under busy load; one at rest")
        );
        assert_eq!(
            passes_with(&uses, second.words.how).as_deref(),
            Some("other at rest")
        );
        assert_eq!(passes_with(&uses[..0], first.words.how), None);
        assert_eq!(passes_with(&uses, "something else"), None);
    }
}
