//! Which of method, load and platform make a difference, in a lab's report.

use tompion_assess::factors::{FactorRun, FactorSettings, analyse};
use tompion_model::factor;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::data::ReportData;
use crate::factors;

pub(super) static ENTRY: Section = Section {
    name: "factors",
    title: "Factors",
    question: Some(Question::Fit),
    probe: None,
    blocks,
    machine: Machine::Blocks,
};

/// Level of the tests.
const LEVEL: f64 = 0.05;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let trials = &data.record().trials;
    let several = |name: &&str| {
        let mut levels = trials.iter().filter_map(|t| t.factors.get(name));
        let first = levels.next();
        levels.any(|level| Some(level) != first)
    };
    // A lab's run, and no other.
    if !several(&factor::PLATFORM) {
        return Vec::new();
    }
    let names = [factor::METHOD, factor::LOAD, factor::PLATFORM];
    let names: Vec<String> = names
        .iter()
        .filter(|name| several(name))
        .map(|name| (*name).to_owned())
        .collect();
    let runs = [FactorRun {
        name: "this run",
        record: data.record(),
        cells: data.cells(),
    }];
    let settings = FactorSettings {
        factors: &names,
        figures: None,
        level: LEVEL,
    };
    // A run whose cells make no table has nothing to tell here.
    let Ok(analysis) = analyse(&runs, &settings) else {
        return Vec::new();
    };
    let lead = format!(
        "Tests on ranks of trials by {}; more factors and figures: `tompion compare RUN --factors`.",
        names.join(", ")
    );
    let folded = Content::fold("Tests on ranks", false, factors::blocks(&analysis));
    vec![
        Content::Lead(lead).on(Media::NOT_SCREEN),
        folded.on(Media::NOT_SCREEN),
    ]
}
