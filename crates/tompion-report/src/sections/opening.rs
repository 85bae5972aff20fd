//! What a report opens with: the verdict, or what was measured where nothing slept and
//! there is none; then what must not be overlooked, and the figures people ask for first.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use tompion_model::{RunRecord, Status, factor};

use super::{Machine, SECTIONS, Section};
use crate::answer::Said;
use crate::blocks::{Block, Content, Media, Tile};
use crate::data::{ReportData, Shown};
use crate::environment::emulation;
use crate::figures::{capital, count, plural};
use crate::grid::{all_loads, under, variant};
use crate::limitations::{QuotaEffect, cpu_quota, early_end};

pub(super) static ENTRY: Section = Section {
    name: "verdict",
    title: "",
    question: None,
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let record = data.record();
    let (answer, without_verdict) = answer(data);
    let profiles = &data.assessment().profiles;
    let is_judged = profiles.iter().any(|p| !p.by_load.is_empty());
    let said = is_judged.then(|| Said::of(data));
    let opening = match &said {
        Some(Said { verdict, why, .. }) => {
            vec![format!("Can you trust time here? {verdict}: {why}.")]
        }
        None => answer,
    };
    let mut blocks: Vec<Block<'_>> = vec![Content::Answer(opening).into()];
    blocks.extend(without_verdict.map(|why| Content::Text(why).into()));
    if let Some(Said { cause, steps, .. }) = said {
        blocks.extend((!cause.is_empty()).then(|| Content::Text(cause).into()));
        // A page has them in its summary.
        let numbered = steps.iter().zip(1..).map(|(step, number)| {
            let text = format!("Do now, step {number}: {} ({})", step.what, step.effect);
            Content::Text(text).on(Media::NOT_PAGE)
        });
        blocks.extend(numbered);
    }
    blocks.extend(early_end(data).map(|end| Content::Alert(end.title, end.sentence()).into()));
    let mistakes = record.mistakes().into_iter();
    blocks.extend(mistakes.map(|told| Content::Alert("Written wrongly", told).into()));
    let emulated = emulation(&record.header.environment);
    blocks.extend(emulated.map(|how| Content::Alert("Emulated machine", how).into()));
    if let Some((QuotaEffect::Felt, sentence)) = cpu_quota(data) {
        blocks.push(Content::Alert("CPU quota", sentence).into());
    }
    // A page has them where it says how it was measured.
    blocks.push(Content::Facts(facts(record)).on(Media::TEXT));
    let notes = record.notes.iter();
    blocks.extend(notes.map(|note| Content::Text(note.text.clone()).into()));
    blocks.push(match sizes(data) {
        Some(sizes) => Content::Note(sizes).on(Media::SCREEN),
        None => Content::Text("No samples were taken.".to_owned()).on(Media::SCREEN),
    });
    blocks
}

/// The figures that people ask for first.
pub(super) fn tiles(data: &ReportData) -> Vec<Tile> {
    let probes = SECTIONS.iter().filter_map(|s| s.probe);
    let mut tiles: Vec<Tile> = probes.flat_map(|probe| (probe.tiles)(data)).collect();
    tiles.push(samples(data));
    tiles
}

/// The answer in sentences, and why it is no verdict where it is none.
fn answer(data: &ReportData) -> (Vec<String>, Option<String>) {
    let assessment = data.assessment();
    let verdict = assessment.headline.clone();
    let judged = assessment.profiles.iter().any(|p| !p.by_load.is_empty());
    let measured = if judged { Vec::new() } else { measured(data) };
    if measured.is_empty() {
        (vec![verdict], None)
    } else {
        (measured, Some(verdict))
    }
}

/// A sentence for each probe and load.
fn measured(data: &ReportData) -> Vec<String> {
    let loads = all_loads(data);
    let mut groups: HashMap<(&str, &str), Vec<Shown<'_>>> = HashMap::new();
    for shown in data.shown() {
        let f = &shown.cell.factors;
        let group = (f.level(factor::PROBE), f.level(factor::LOAD));
        groups.entry(group).or_default().push(shown);
    }
    let mut sentences = Vec::new();
    for probe in SECTIONS.iter().filter_map(|s| s.probe) {
        for load in &loads {
            let cells = groups.get(&(probe.words.name, *load));
            let outcome = (probe.outcome)(data, cells.map_or(&[], Vec::as_slice), load);
            sentences.extend(outcome.map(|s| format!("{} {s}", capital(&under(load)))));
        }
    }
    sentences
}

/// A cell by its method and what else sets it apart, as in `timerfd (periodic)`.
pub(super) fn name(s: &Shown<'_>) -> String {
    let method = s.cell.factors.level(factor::METHOD);
    match variant(&s.cell.factors).as_str() {
        "" => method.to_owned(),
        variant => format!("{method} ({variant})"),
    }
}

/// Where, when and how it was measured.
pub(super) fn facts(record: &RunRecord) -> Vec<String> {
    let header = &record.header;
    let mut facts = vec![
        header.environment.hostname.clone(),
        header.started_at.clone(),
        header.tool.clone(),
    ];
    facts.retain(|fact| !fact.is_empty());
    let blocks = u64::from(header.design.blocks);
    // A live run has no plan.
    let planned = match blocks {
        0 => String::new(),
        n => format!("{} {} planned, ", count(n), plural(n, "block", "blocks")),
    };
    facts.push(format!("{planned}{}", header.design.order));
    facts
}

/// How many cells there are, and how large they are.
fn sizes(data: &ReportData) -> Option<String> {
    let sizes = || {
        data.shown()
            .filter_map(|s| s.view.plotted().map(|p| p.samples))
    };
    let (least, most) = (sizes().min()?, sizes().max()?);
    let range = if least == most {
        count(least)
    } else {
        format!("{} to {}", count(least), count(most))
    };
    let blocks = data.cells().iter().map(|c| c.blocks.len()).max();
    let blocks = blocks.unwrap_or(0);
    let cells = data.cells().len() as u64;
    Some(format!(
        "{} {}, {range} {} {}in {blocks} {}",
        count(cells),
        plural(cells, "cell", "cells"),
        plural(most, "sample", "samples"),
        plural(cells, "", "each, "),
        plural(blocks as u64, "block", "blocks"),
    ))
}

fn samples(data: &ReportData) -> Tile {
    let samples: u64 = data
        .shown()
        .flat_map(|s| [&s.view.measured, &s.view.batched])
        .flatten()
        .map(|s| s.samples)
        .sum();
    let (trials, cells) = (data.record().trials.len() as u64, data.cells().len() as u64);
    Tile {
        what: "Samples",
        value: count(samples),
        of: format!(
            "in {} {} of {} {}",
            count(trials),
            plural(trials, "trial", "trials"),
            count(cells),
            plural(cells, "cell", "cells"),
        ),
    }
}

/// The answer in one line, for machines.
pub(crate) fn headline(data: &ReportData) -> String {
    let (answer, without_verdict) = answer(data);
    let sentences: Vec<String> = answer.into_iter().chain(without_verdict).collect();
    sentences.join(" ")
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let record = data.record();
    let header = &record.header;
    let notes: Vec<&String> = record.notes.iter().map(|n| &n.text).collect();
    let all = [
        ("status", json!(record.status)),
        ("complete", json!(record.status == Status::Complete)),
        ("tool", json!(header.tool)),
        ("command_line", json!(header.command_line)),
        ("started_at", json!(header.started_at)),
        ("finished_at", json!(record.finished_at)),
        ("design", json!(header.design)),
        ("trials", json!(record.trials.len())),
        ("notes", json!(notes)),
    ];
    keys.extend(all.map(|(key, value)| (key.to_owned(), value)));
}
