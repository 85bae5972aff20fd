//! `tompion lab`: the same measurement on every kind of platform.

mod progress;
mod summary;
mod text;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};
use tompion_lab::engine::{self, Lab, Platforms};
use tompion_lab::{LabPlan, Refusal, Room};
use tompion_platforms::PlatformPlan;
use tompion_platforms::leftovers::{self, Way};
use tompion_platforms::platform::Presence;
use tompion_run::Destination;
use tompion_store::{Run, RunWriter};

use super::given_file::text_of;
use super::report::{self, Judged, Page, Shape};
use super::run_names::run_named;
use super::session::header;
use crate::cli::{
    LabCleanOptions, LabCommand, LabOptions, LabPlanOptions, LabPlatformsOptions, LabRunOptions,
    ProgramOptions,
};
use crate::exit;
use crate::output::{print, print_json};

/// Carries out the command.
pub fn lab(options: &LabOptions) -> exit::Result {
    match &options.what {
        LabCommand::Plan(o) => plan(o),
        LabCommand::Run(o) => run(o),
        LabCommand::Summary(o) => summary::summary(o),
        LabCommand::Clean(o) => clean(o),
        LabCommand::Platforms(o) => platforms(o),
    }
}

fn plan(options: &LabPlanOptions) -> exit::Result {
    let Some((_, plan)) = read(&options.file)? else {
        return Ok(exit::ERROR);
    };
    let platforms = match options.probe {
        true => Platforms::look(&plan, &program(&options.program)?),
        false => Platforms::at_a_glance(&plan),
    };
    let measured = platforms.cells(&plan);
    let prospect = tompion_lab::estimate(&plan, &measured);
    let refused = told_of(&platforms, &options.file);
    refused.iter().for_each(|why| exit::complain(why));
    if options.json {
        let cells: Vec<String> = plan.cells().into_iter().map(|c| plan.name_of(c)).collect();
        print_json(&json!({
            "plan": plan,
            "platforms": as_json(plan.platforms.iter().zip(platforms.presence())),
            "cells": cells,
            "refused": refused,
            "prospect": prospect,
            "warnings": tompion_lab::warnings(&plan, &measured, &prospect, &Room::here()),
        }))?;
    } else {
        print(&text::plan(&plan, &platforms, &prospect))?;
    }
    // Absent platforms are no mistake of the plan, unless it has no others.
    if prospect.cells == 0 && refused.is_empty() {
        exit::complain(&nowhere(&absent(&plan, &platforms)));
    }
    Ok(if prospect.cells == 0 { exit::ERROR } else { 0 })
}

/// One line for each platform and placement of a plan that is left out here.
fn missing(plan: &LabPlan, platforms: &Platforms, file: &Path) -> Vec<String> {
    let absent = absent(plan, platforms).into_iter();
    let absent = absent.map(|platform| format!("absent: {platform}"));
    told_of(platforms, file).into_iter().chain(absent).collect()
}

/// The platforms of a plan that are not here, each with the reason.
fn absent(plan: &LabPlan, platforms: &Platforms) -> Vec<String> {
    let named = plan.platforms.iter().zip(platforms.presence());
    let absent = named.filter_map(|(plan, presence)| match presence {
        Presence::Absent(why) => Some(format!("{}: {why}", plan.level())),
        Presence::Present(_) | Presence::NotAsked => None,
    });
    absent.collect()
}

fn nowhere(absent: &[String]) -> String {
    format!("no platform of the plan is here ({})", absent.join("; "))
}

/// One line for each placement that platforms cannot have, and each reason.
fn told_of(platforms: &Platforms, file: &Path) -> Vec<String> {
    let refused = Refusal::told(platforms.refused()).into_iter();
    refused
        .map(|mistake| format!("{}:{mistake}", file.display()))
        .collect()
}

fn run(options: &LabRunOptions) -> exit::Result {
    let program = program(&options.program)?;
    let (lab, platforms, directory) = match (&options.resume, &options.file) {
        (Some(directory), _) => {
            let directory = run_named(directory)?;
            // The killed lab's own leftovers would be in the way of nobody else.
            leftovers::clean(Way::Remove)?;
            let lab = Lab::resume(&directory)?;
            let platforms = Platforms::look(lab.plan(), &program);
            missing(lab.plan(), &platforms, &directory)
                .iter()
                .for_each(|told| exit::complain(told));
            (lab, platforms, directory)
        }
        (None, Some(file)) => {
            let Some((text, plan)) = read(file)? else {
                return Ok(exit::ERROR);
            };
            begin(options, file, &program, &text, plan)?
        }
        (None, None) => unreachable!("refused by the options"),
    };
    let quiet = options.output.quiet;
    let home = lab.directory().clone();
    let stop = crate::stop::in_order()?;
    let line = progress::LabLine::new(quiet);
    let ending = lab.run(&platforms, &program, &stop, |progress| line.show(progress));
    line.clear();
    let ending = ending.with_context(|| {
        let at = directory.display();
        format!(
            "the lab ends early; what it has is kept, go on with: tompion lab run --resume {at}"
        )
    })?;
    ending.lost.iter().for_each(|lost| exit::complain(lost));
    for left in &ending.left {
        exit::complain(&format!("{left}; remove it later with: tompion lab clean"));
    }
    if ending.measured == 0 {
        ending.failed.iter().for_each(|why| exit::complain(why));
        anyhow::ensure!(
            ending.interrupted,
            "{}: no cell could be measured",
            directory.display()
        );
        exit::complain(&go_on(&directory));
        return Ok(exit::INTERRUPTED);
    }
    report::make(
        &Run::open_in(&home)?,
        &Page::InRun,
        options.output,
        Judged::default(),
        match options.verbose {
            true => Shape::Whole,
            false => Shape::Screen,
        },
    )?;
    if ending.interrupted {
        exit::complain(&go_on(&directory));
        return Ok(exit::INTERRUPTED);
    }
    Ok(if ending.failed.is_empty() && ending.lost.is_empty() {
        0
    } else {
        exit::FAILED
    })
}

fn go_on(directory: &Path) -> String {
    let at = directory.display();
    format!("interrupted; go on with: tompion lab run --resume {at}")
}

/// A new lab, refused before anything is written where no platform is here.
fn begin(
    options: &LabRunOptions,
    file: &Path,
    program: &Path,
    text: &str,
    plan: LabPlan,
) -> anyhow::Result<(Lab, Platforms, PathBuf)> {
    if let Some(out) = &options.out {
        RunWriter::try_create(out)?;
    }
    let platforms = Platforms::look(&plan, program);
    let absent = absent(&plan, &platforms);
    anyhow::ensure!(absent.len() < plan.platforms.len(), nowhere(&absent));
    let measured = platforms.cells(&plan);
    let prospect = tompion_lab::estimate(&plan, &measured);
    let refused = told_of(&platforms, file);
    anyhow::ensure!(
        prospect.cells > 0,
        "no placement of the plan can be had here ({})",
        refused.join("; ")
    );
    missing(&plan, &platforms, file)
        .iter()
        .for_each(|told| exit::complain(told));
    anyhow::ensure!(
        absent.is_empty() && refused.is_empty() || !options.require_all,
        "--require-all: nothing is measured, since not all of the plan can be"
    );
    let left = leftovers::clean(Way::Tell)?.found.len();
    if left > 0 {
        exit::complain(&format!(
            "warning: killed labs have left {left} things behind, which may disturb: tompion lab clean"
        ));
    }
    if !options.output.quiet {
        for warning in tompion_lab::warnings(&plan, &measured, &prospect, &Room::here()) {
            exit::complain(&format!("warning: {warning}"));
        }
    }
    let seed = options.seed.or(plan.seed).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |d| d.as_nanos() as u64)
    });
    let header = header(engine::design(&plan, &platforms, seed));
    let directory = Destination::of(options.out.clone())?.free();
    let lab = Lab::begin(&directory, text, plan, seed, program, header)?;
    Ok((lab, platforms, directory))
}

fn clean(options: &LabCleanOptions) -> exit::Result {
    let cleaning = leftovers::clean(match (options.dry_run, options.forget) {
        (true, _) => Way::Tell,
        (false, true) => Way::Forget,
        (false, false) => Way::Remove,
    })?;
    let is_clean = options.forget || cleaning.found.iter().all(|found| found.problem.is_none());
    if options.json {
        print_json(&cleaning)?;
    } else {
        print(&text::cleaning(&cleaning, options.dry_run))?;
    }
    Ok(if is_clean { 0 } else { exit::ERROR })
}

fn platforms(options: &LabPlatformsOptions) -> exit::Result {
    let program = program(&options.program)?;
    let all: Vec<(PlatformPlan, Presence)> = tompion_platforms::usual()
        .into_iter()
        .map(|plan| {
            let presence = plan.platform().presence(&program).shortened();
            (plan, presence)
        })
        .collect();
    let pairs = || all.iter().map(|(plan, presence)| (plan, presence));
    if options.json {
        print_json(&as_json(pairs()))?;
    } else {
        print(&text::platforms(pairs()))?;
    }
    Ok(0)
}

/// The longest plan. A stranger's may be a link to a file without end, and what it is parsed to may take five hundred times its size.
const PLAN_BYTES: u64 = 1 << 18;

/// The plan in `file`; where it is none, its mistakes are told, a line each.
fn read(file: &Path) -> anyhow::Result<Option<(String, LabPlan)>> {
    anyhow::ensure!(
        !file.is_dir(),
        "{0}: a directory, where a plan is a file; to go on with the lab in it: tompion lab run --resume {0}",
        file.display()
    );
    let text = text_of(file, PLAN_BYTES, "a plan")?;
    match LabPlan::parse(&text) {
        Ok(plan) => Ok(Some((text, plan))),
        Err(error) => {
            for line in error.lines() {
                exit::complain(&format!("{}:{line}", file.display()));
            }
            Ok(None)
        }
    }
}

/// What measures in instances, beside this program where it was installed; else this program
/// does it itself.
const WORKER: &str = "tompion-worker";

fn program(options: &ProgramOptions) -> anyhow::Result<PathBuf> {
    match &options.program {
        Some(program) => program
            .canonicalize()
            .with_context(|| format!("--program {}", program.display())),
        None => {
            let own = std::env::current_exe().context("finding this program's own file")?;
            let worker = own.with_file_name(WORKER);
            Ok(if worker.is_file() { worker } else { own })
        }
    }
}

fn as_json<'a>(platforms: impl Iterator<Item = (&'a PlatformPlan, &'a Presence)>) -> Value {
    let one = |(plan, presence): (&PlatformPlan, &Presence)| {
        let (versions, absent) = match presence {
            Presence::Present(versions) => (Some(versions), None),
            Presence::Absent(why) => (None, Some(why)),
            Presence::NotAsked => (None, None),
        };
        let is_present = match presence {
            Presence::NotAsked => None,
            _ => Some(absent.is_none()),
        };
        json!({
            "level": plan.level(),
            "settings": plan.settings(),
            "emulated": plan.emulated(),
            "present": is_present,
            "versions": versions,
            "absent": absent,
        })
    };
    platforms.map(one).collect()
}

/// A length of time for people: `40 s`, `12 min`, `3 h 05 min`.
fn in_words(time: Duration) -> String {
    let s = time.as_secs_f64().ceil() as u64;
    match (s / 3600, s.div_ceil(60)) {
        (_, 0 | 1) => format!("{s} s"),
        (0, minutes) if minutes < 60 => format!("{minutes} min"),
        (hours, _) => format!("{hours} h {:02} min", s / 60 % 60),
    }
}
