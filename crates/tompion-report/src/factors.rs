//! Which factors make a difference, in tables and sentences: for `tompion compare --factors`, and for
//! the report of a lab's run.

use tompion_assess::factors::{FactorAnalysis, FactorFigure, FactorGroup, OneFactor, PaperFigure};
use tompion_model::factor;
use tompion_stats::Effect;

use crate::blocks::{Block, Column, Content, Entry, Row, Table};
use crate::documents::words;
use crate::figures::{count, plural, real};
use crate::grid::factors_in_words;
use crate::sections::probe_title;

/// Pairs of levels shown of each factor; `--json` has all.
const PAIRS: usize = 10;

/// How to read the tables.
pub(crate) const LEGEND: [&str; 4] = [
    "One value is the figure of one trial; samples are no replicates. Kruskal-Wallis looks at one factor \
     alone, for which the others are scatter; ε² is the share of the variance of ranks that it explains. \
     Aligned ranks (Wobbrock 2011) and Scheirer-Ray-Hare look at all factors at once with their \
     interactions; η² of aligned ranks is partial, of what the effect and the error have together, that of \
     Scheirer-Ray-Hare of all. * p at most the level, of each test alone.",
    "A < B is the share of pairs of trials in which B's figure is the larger, with its interval; Dunn's p \
     is adjusted over the pairs of a factor by Holm's method, Tukey's on ranks is one for all pairs.",
    "Checked: that every cell has as many trials (anything else is left out), that aligning took the other \
     effects out, and by Brown and Forsythe's test whether cells scatter alike, which aligned ranks \
     suppose. Not checked: that trials are independent of each other (a drift from block to block falls \
     on all cells alike and widens the scatter), and that figures are normal, which no test here supposes.",
    "~ The papers' own form (Kirova 2019, sections 3.1.4 and 3.2.4): one figure of each cell, over all of \
     its samples, Kruskal-Wallis and Dunn by each factor. It has no replicates: what one cell happened to \
     be, a platform on its machine or a spell of noise, counts as much as the factor.",
];

/// All groups, each with its figures.
pub(crate) fn blocks<'a>(analysis: &FactorAnalysis) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    for group in &analysis.groups {
        blocks.push(Content::Heading(title(analysis, group)).into());
        for figure in &group.figures {
            blocks.extend(of_figure(analysis, figure));
        }
        if !group.papers.is_empty() {
            blocks.push(Content::Subheading("~ The papers' own form".to_owned()).into());
            blocks.push(papers(analysis, group));
        }
    }
    blocks.extend(left_out(analysis));
    blocks.push(Content::List(LEGEND.map(str::to_owned).into()).into());
    blocks
}

fn title(analysis: &FactorAnalysis, group: &FactorGroup) -> String {
    let probe = probe_title(group.common.level(factor::PROBE));
    let common = factors_in_words(&group.common);
    let levels = group.levels.iter().zip(&analysis.factors);
    let levels: Vec<String> = levels
        .map(|(levels, name)| format!("{} of {name}", levels.len()))
        .collect();
    let of = match common.as_str() {
        "" => probe,
        common => format!("{probe}, {common}"),
    };
    format!("{of}: {}", levels.join(" × "))
}

fn of_figure<'a>(analysis: &FactorAnalysis, found: &FactorFigure) -> Vec<Block<'a>> {
    let cells = found.aligned.assumptions.cells;
    let blocks = found.blocks as u64;
    let of = format!(
        "{}: {} trials, {} in each of {} cells",
        found.figure,
        count(cells * blocks),
        count(blocks),
        count(cells)
    );
    let mut out: Vec<Block<'a>> = vec![
        Content::Subheading(of).into(),
        Content::Table(effects(analysis, found)).into(),
        Content::Table(pairs(analysis, found)).into(),
    ];
    out.extend(found.factors.iter().filter_map(more_pairs));
    out.push(Content::List(assumptions(analysis, found)).into());
    out
}

/// A p with a star where it is at most the level.
fn p(p: f64, level: f64) -> String {
    let star = if p <= level { " *" } else { "  " };
    format!("{}{star}", words::p_value(p))
}

fn effects(analysis: &FactorAnalysis, found: &FactorFigure) -> Table {
    let titles = [
        "Kruskal-\nWallis H",
        "p  ",
        "ε²",
        "aligned\nranks F",
        "p  ",
        "η²",
        "Scheirer-\nRay-Hare H",
        "p  ",
        "η²",
    ];
    let total = (found.aligned.assumptions.values.max(2) - 1) as f64;
    let level = analysis.level;
    let row = |aligned: &Effect| {
        let alone = found
            .factors
            .iter()
            .find(|one| *aligned.factors == [one.name.clone()]);
        let names: Vec<&str> = aligned.factors.iter().map(String::as_str).collect();
        let hare = found.scheirer_ray_hare.effect(&names);
        let mut entries: Vec<Entry> = match alone {
            Some(one) => [
                real(one.test.h),
                p(one.test.p, level),
                format!("{:.2}", one.test.epsilon_squared),
            ]
            .map(Entry::Text)
            .into(),
            None => vec![Entry::None, Entry::None, Entry::None],
        };
        entries.extend(
            [
                f_with_df(aligned),
                p(aligned.p, level),
                share(partial_eta_squared(aligned)),
            ]
            .map(Entry::Text),
        );
        match hare {
            Some(hare) => entries.extend(
                [
                    real(hare.statistic),
                    p(hare.p, level),
                    share(Some(hare.statistic / total)),
                ]
                .map(Entry::Text),
            ),
            None => entries.extend([Entry::None, Entry::None, Entry::None]),
        }
        Row::new(names.join(" × "), entries)
    };
    Table::of(
        "Effect",
        Column::all(titles),
        found.aligned.effects.iter().map(row).collect(),
    )
}

/// What an effect has of its own and the error's sum of squares; `None` where both have none.
pub(crate) fn partial_eta_squared(effect: &Effect) -> Option<f64> {
    let both = effect.sum_of_squares + effect.error_sum_of_squares;
    (both > 0.0).then(|| effect.sum_of_squares / both)
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| crate::figures::NONE.to_owned(), |s| format!("{s:.2}"))
}

fn f_with_df(effect: &Effect) -> String {
    let f = match effect.statistic.is_finite() {
        true => real(effect.statistic),
        false => "∞".to_owned(),
    };
    format!("{f} ({}, {})", effect.df, effect.error_df)
}

/// Pairs of levels, those that differ most surely first.
fn pairs(analysis: &FactorAnalysis, found: &FactorFigure) -> Table {
    let mut rows = Vec::new();
    for one in &found.factors {
        rows.push(Row::heading(one.name.clone()));
        let mut order: Vec<_> = one.pairs.iter().collect();
        order.sort_by(|a, b| a.dunn.p.total_cmp(&b.dunn.p));
        for pair in order.into_iter().take(PAIRS) {
            let (first, second) = (pair.dunn.first, pair.dunn.second);
            let above = &pair.second_above_first;
            let value = |at: usize| words::value(found.figure, one.middles[at]);
            let tukey = pair.tukey.map(|tukey| p(tukey.p, analysis.level));
            rows.push(Row::new(
                format!("{} and {}", one.levels[first], one.levels[second]),
                vec![
                    Entry::Text(value(first)),
                    Entry::Text(value(second)),
                    Entry::Text(format!("{:.2}", above.a)),
                    Entry::Text(format!(
                        "{:.2} to {:.2}",
                        above.interval.low, above.interval.high
                    )),
                    Entry::Text(p(pair.dunn.p_adjusted, analysis.level)),
                    tukey.into(),
                ],
            ));
        }
    }
    Table::of(
        "Levels A and B",
        Column::all(["A", "B", "A < B", "interval", "Dunn p  ", "Tukey p  "]),
        rows,
    )
}

fn more_pairs<'a>(one: &OneFactor) -> Option<Block<'a>> {
    let more = one
        .pairs
        .len()
        .checked_sub(PAIRS)
        .filter(|more| *more > 0)? as u64;
    Some(
        Content::Text(format!(
            "{} more {} of {} in --json.",
            count(more),
            plural(more, "pair", "pairs"),
            one.name
        ))
        .into(),
    )
}

/// What was checked of these figures, in sentences.
pub(crate) fn assumptions(analysis: &FactorAnalysis, found: &FactorFigure) -> Vec<String> {
    let mut told: Vec<String> = found
        .aligned
        .assumptions
        .to_string()
        .lines()
        .map(str::to_owned)
        .collect();
    told.push(match &found.spread {
        None => "Whether cells scatter alike cannot be told.".to_owned(),
        Some(spread) => format!(
            "Brown-Forsythe F({}, {}) = {}, p {}: {}.",
            spread.df,
            spread.error_df,
            real(spread.f),
            words::p_value(spread.p),
            match spread.p <= analysis.level {
                true =>
                    "cells scatter differently, so that an effect may be one of spread, and p of aligned \
                     ranks is approximate",
                false => "no difference in scatter was found",
            }
        ),
    });
    if found.blocks_left_out > 0 {
        let n = found.blocks_left_out as u64;
        told.push(format!(
            "{} {} left out: a cell has no trial with enough samples there.",
            count(n),
            plural(n, "block is", "blocks are")
        ));
    }
    told
}

/// A row a factor, a pair of columns a figure of the paper.
fn papers<'a>(analysis: &FactorAnalysis, group: &FactorGroup) -> Block<'a> {
    let mut columns = Vec::new();
    for figure in &group.papers {
        columns.extend([Column::of(format!("{}\nH", figure.name)), Column::of("p  ")]);
    }
    let row = |name: &String| {
        let of = |figure: &PaperFigure| {
            let found = figure.factors.iter().find(|one| one.name == *name);
            let [h, of] = match found {
                Some(one) => [
                    Entry::Text(real(one.test.h)),
                    Entry::Text(p(one.test.p, analysis.level)),
                ],
                None => [Entry::None, Entry::None],
            };
            [h, of]
        };
        Row::new(
            format!("~ {name}"),
            group.papers.iter().flat_map(of).collect(),
        )
    };
    Content::Table(Table::of(
        "Factor",
        columns,
        analysis.factors.iter().map(row).collect(),
    ))
    .into()
}

fn left_out<'a>(analysis: &FactorAnalysis) -> Option<Block<'a>> {
    if analysis.left_out.is_empty() {
        return None;
    }
    let told = analysis
        .left_out
        .iter()
        .map(|(cell, figure, why)| match figure {
            Some(figure) => format!("Left out: {figure} of {cell}: {why}."),
            None => format!("Left out: {cell}: {why}."),
        });
    Some(Content::List(told.collect()).into())
}
