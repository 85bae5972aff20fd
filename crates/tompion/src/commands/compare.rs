//! `tompion compare`.

mod by_turns;
mod factors;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tompion_assess::compare::{
    Figure, Judgement, Settings, Side, Undecided, beside, compare as held, differences, leave_out,
    mismatches,
};
use tompion_report::{CompareView, compare_json, compare_text};
use tompion_store::{Run, UserRuns, canonical_id};

use super::run_names::{NEWEST, side_named};
use crate::cli::CompareOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width, wants_color};

/// How published results are named among the runs.
const PUBLISHED: &str = "published:";

/// Carries out the command.
pub fn compare(options: &CompareOptions) -> exit::Result {
    if let [a, b] = options.switch.as_slice() {
        return by_turns::compare_by_turns(options, [a, b], compare);
    }
    anyhow::ensure!(
        options.measured.is_empty() && options.switch_back.is_none(),
        "what is to be measured, and --switch-back, go with --switch CMD_A CMD_B and no run"
    );
    let options = &CompareOptions {
        runs: runs_meant(options)?,
        figures: each_once(&options.figures),
        ..options.clone()
    };
    if !options.factors.is_empty() {
        return factors::by_factors(options, &options.factors);
    }
    let (published, runs): (Vec<&str>, Vec<&str>) = options
        .runs
        .iter()
        .map(String::as_str)
        .partition(|r| r.starts_with(PUBLISHED));
    let mut sides = sides(&runs, options.by.as_deref())?;
    let settings = Settings {
        figures: Some(options.figures.clone()).filter(|f| !f.is_empty()),
        level: options.level,
        paired: options.by.is_some(),
        within_run: options.within_run,
    };
    let mut mismatches = match options.by {
        // A factor such as the CPU may be what makes the difference.
        Some(_) => Vec::new(),
        None => mismatches(&sides),
    };
    if !options.allow_mixed && leave_out(&mut sides, &mismatches) {
        mismatches.clear();
    }
    if let Some(m) = mismatches.first()
        && !options.allow_mixed
    {
        anyhow::bail!(
            "{} was measured differently ({}: {} in {}, {} in {}{}); --allow-mixed compares all the same",
            m.cell,
            m.what,
            m.values.0,
            m.sides.0,
            m.values.1,
            m.sides.1,
            match mismatches.len() {
                1 => String::new(),
                n => format!("; and {} more", n - 1),
            }
        );
    }
    anyhow::ensure!(
        sides.len() > 1 || (options.fail_if.is_empty() && options.fail_unless.is_empty()),
        "--fail-if and --fail-unless need two runs: published results have no replicates to judge by"
    );
    let comparison = match sides.len() {
        1 => None,
        _ => Some(held(&sides, &settings)?),
    };
    let mut gates = Vec::new();
    let required = options.fail_unless.iter().map(|required| &required.0);
    for gate in options.fail_if.iter().chain(required) {
        gates.extend(gate.judge(&sides, &settings)?);
    }
    let mut besides = Vec::new();
    if !published.is_empty() {
        // A level lacks the factor that tells what its cells correspond to.
        let whole = match options.by {
            Some(_) => self::sides(&runs, None)?,
            None => sides.clone(),
        };
        for name in published {
            for side in &whole {
                besides.push(beside(side, &name[PUBLISHED.len()..])?);
            }
        }
    }
    // Of levels, which share those of their run, each once.
    let of_sides = sides.iter().enumerate().flat_map(|(at, side)| {
        let run = runs
            .get(at)
            .filter(|_| options.by.is_none())
            .unwrap_or(&runs[0]);
        side.remarks
            .iter()
            .map(|remark| ((*run).to_owned(), remark.clone()))
    });
    let mut known = HashSet::new();
    let remarks = of_sides.filter(|told| known.insert(told.clone()));
    let rests_on_two_runs = gates.iter().any(|g| g.undecided == Some(Undecided::OneRun));
    let worst = gates.iter().map(|g| g.judgement).max();
    let view = CompareView {
        remarks: remarks.collect(),
        environment: differences(&sides),
        mismatches,
        by: options.by.clone(),
        comparison,
        gates,
        beside: besides,
    };
    if options.json {
        print_json(&compare_json(&view))?;
    } else {
        let color = wants_color();
        print(&compare_text(&view, terminal_width(), color))?;
    }
    if rests_on_two_runs {
        exit::complain(
            "no gate is decided on one run a side, which cannot show how runs scatter; give several \
             (A1,A2,... B1,B2,...), or --within-run to accept that",
        );
    }
    Ok(match worst {
        Some(Judgement::Fail) => exit::FAILED,
        Some(Judgement::Inconclusive) => exit::INCONCLUSIVE,
        Some(Judgement::Pass) | None => 0,
    })
}

/// One that is named twice is one comparison, and no two of a family.
fn each_once(figures: &[Figure]) -> Vec<Figure> {
    let mut found = Vec::new();
    for figure in figures {
        if !found.contains(figure) {
            found.push(*figure);
        }
    }
    found
}

/// The runs that are named, and those that go without saying.
fn runs_meant(options: &CompareOptions) -> anyhow::Result<Vec<String>> {
    let is_published = |run: &&String| run.starts_with(PUBLISHED);
    let published = options.runs.iter().filter(is_published).count();
    let is_alone = options.by.is_some() || !options.factors.is_empty() || published > 0;
    let more: &[&str] = match (options.runs.len() - published, is_alone) {
        (0, true) => &[NEWEST],
        (0, false) => &["@2", NEWEST],
        (1, false) => &[NEWEST],
        _ => &[],
    };
    let named = |run: &str| match run.starts_with(PUBLISHED) {
        true => Ok(run.to_owned()),
        false => side_named(run),
    };
    let all = options.runs.iter().map(String::as_str);
    let all = all.chain(more.iter().copied()).map(named);
    Ok(all.collect::<Result<_, _>>()?)
}

fn sides(runs: &[&str], by: Option<&str>) -> anyhow::Result<Vec<Side>> {
    if let Some(by) = by {
        let [run] = runs else {
            anyhow::bail!(
                "--by compares levels within one run; {} runs are given",
                runs.len()
            );
        };
        return Ok(Side::of_levels(&Opening::default().open(run)?, by)?);
    }
    let mut opening = Opening::default();
    let named: Vec<Vec<&str>> = runs
        .iter()
        .map(|side| runs_of(side))
        .collect::<anyhow::Result<_>>()?;
    let several = named.iter().any(|names| names.len() > 1);
    let mut sides = Vec::new();
    for (name, names) in runs.iter().zip(named) {
        let of_each = names
            .into_iter()
            .map(|name| Ok(Side::of_run(name, &opening.open(name)?)?));
        let of_each = of_each.collect::<anyhow::Result<Vec<Side>>>()?;
        sides.push(match several {
            true => of_several(name, of_each)?,
            false => of_each.into_iter().next().expect("a name at least"),
        });
    }
    Ok(sides)
}

/// Runs that are opened one after another to be compared: each measurement once, and none that is empty.
#[derive(Default)]
struct Opening {
    /// Names of runs by where they lie.
    places: HashMap<PathBuf, String>,
    /// Names of runs by their ids, and by the checksums of their records.
    named: HashMap<String, String>,
}

impl Opening {
    fn open(&mut self, name: &str) -> anyhow::Result<Run> {
        let path = Path::new(name);
        let run = Run::open_tidied(path)?;
        let place = path.canonicalize().unwrap_or_else(|_| path.into());
        if let Some(first) = self.places.insert(place, name.to_owned()) {
            let what = match first == name {
                true => format!("{name} is given twice"),
                false => format!("{name} and {first} are one run"),
            };
            anyhow::bail!("{what}: it would be compared with itself; `tompion runs` lists others");
        }
        let id = run.record().run_id.as_deref().and_then(canonical_id);
        let of_record = (run.sha256().to_owned(), "run.json");
        let marks = id.map(|id| (id, "run_id")).into_iter().chain([of_record]);
        for (mark, what) in marks {
            if let Some(first) = self.named.insert(mark, name.to_owned()) {
                anyhow::bail!(
                    "{name} is a copy of {first}: both have the same {what}, so that one measurement would be \
                     compared with itself"
                );
            }
        }
        anyhow::ensure!(
            !run.record().trials.is_empty(),
            "{name} holds no trial, so that there is nothing to compare: {}",
            match UserRuns::is_being_written(path) {
                true => "its measurement has just begun; wait for it",
                false => "its measurement ended before the first was saved",
            }
        );
        Ok(run)
    }
}

/// A side of several runs, with what these differ in.
fn of_several(name: &str, of_each: Vec<Side>) -> anyhow::Result<Side> {
    let found = differences(&of_each);
    let mut side = Side::of_runs(name, of_each)?;
    if !found.is_empty() {
        let what: Vec<&str> = found.iter().map(|d| d.what.as_str()).collect();
        Arc::make_mut(&mut side.remarks).push(format!(
            "Its runs differ among themselves in {}; the first of them stands for it below.",
            what.join(", ")
        ));
    }
    Ok(side)
}

/// The runs that a side is of: several joined by commas, unless a directory is called so.
fn runs_of(side: &str) -> anyhow::Result<Vec<&str>> {
    if Path::new(side).exists() {
        return Ok(vec![side]);
    }
    let names: Vec<&str> = side.split(',').collect();
    anyhow::ensure!(
        !names.contains(&""),
        "`{side}`: the name of a run is empty; write A1,A2 for two runs of one side"
    );
    Ok(names)
}
