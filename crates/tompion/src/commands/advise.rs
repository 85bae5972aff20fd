//! `tompion advise`: remedies, one at a time, each with its measured effect.

mod consent;
mod leftover;
mod preload;
mod progress;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use tompion_advise::{
    Advice, Candidate, Journal, JournalError, RealBench, Surroundings, TryOptions, bar_system,
    candidates, try_all,
};
use tompion_assess::verdict::{Profile, QUANTILE_OF_MOST_USES, profiles};
use tompion_host::Root;
use tompion_load::{LoadConfig, LoadProcess, LoadSpec, Observation, write_budget};
use tompion_model::unknown_name;
use tompion_time::os;

use crate::cli::AdviseOptions;
use crate::exit;
use crate::output::{print, print_json};

/// How long a changed setting of the machine settles before it is measured.
const SETTLE: Duration = Duration::from_millis(10);
/// How long a load runs before the first trial, as in a check.
const LOAD_SETTLES: Duration = Duration::from_millis(300);
/// Trials that are shorter, or wake-ups that are rarer, decide nothing.
const LONGEST_TARGET: Duration = Duration::from_millis(100);

/// What it takes to try remedies that touch other programs.
const NEEDS: &str = "needs --system";
/// The same where this process may not change them.
const NEEDS_ROOT: &str = "needs root and --system";
/// The same with --system given.
const NEEDS_ONLY_ROOT: &str = "needs root";

/// Carries out the command.
pub fn advise(options: &AdviseOptions) -> exit::Result {
    let root = Root::real();
    if options.restore {
        return leftover::restore(&root, options.output);
    }
    let for_use = options.for_use.as_deref().map(named).transpose()?;
    let target_ns = for_use.map_or(options.target.0, |p| p.period_ns.round() as u64);
    let target = Duration::from_nanos(target_ns);
    if target.is_zero() || target > LONGEST_TARGET {
        bail!(
            "--target {}: wake-ups have to be more than 0 and at most 100 ms apart",
            super::writing::in_option(target)
        );
    }
    let program = preload::program();
    let told = match &program {
        Ok(run) => Ok(run.script.program.to_owned()),
        Err(why) => Err(why.clone()),
    };
    let here = Surroundings::real(told);
    let mut all = chosen(candidates(&here), &options.only)?;
    let how = try_options(options, for_use, target_ns);
    if options.dry_run {
        leftover::mention(&root)?;
        match (options.system, Journal::may_open(&root)) {
            (true, true) => {}
            (true, false) => bar_system(&mut all, NEEDS_ONLY_ROOT),
            (false, true) => bar_system(&mut all, NEEDS),
            (false, false) => bar_system(&mut all, NEEDS_ROOT),
        }
        tell(&Advice::dry_run(&all, &how), options)?;
        return Ok(0);
    }
    let journal = match Journal::open(&root) {
        Ok(journal) => Some(journal),
        // Whoever may not write there may not change settings of the machine either.
        Err(JournalError::Denied(_)) => None,
        Err(other) => return Err(other.into()),
    };
    leftover::settle(&root, journal.as_ref())?;
    match (options.system, &journal) {
        (true, Some(_)) => {}
        (true, None) => bar_system(&mut all, NEEDS_ONLY_ROOT),
        (false, Some(_)) if consent::given(&all, options)? => {}
        (false, Some(_)) => bar_system(&mut all, NEEDS),
        (false, None) => bar_system(&mut all, NEEDS_ROOT),
    }
    if !all.iter().any(Candidate::is_tried) {
        tell(&Advice::dry_run(&all, &how), options)?;
        if all.iter().any(Candidate::is_advised) {
            return Ok(0);
        }
        bail!("nothing is left to be tried; the list above says why");
    }
    let advice = measure(&all, &how, options, &root, journal.as_ref(), program.ok())?;
    tell(&advice, options)?;
    Ok(if advice.interrupted {
        exit::INTERRUPTED
    } else {
        0
    })
}

/// Those that the user named, or all.
fn chosen(all: Vec<Candidate>, only: &[String]) -> anyhow::Result<Vec<Candidate>> {
    let is = |candidate: &Candidate, wanted: &String| {
        let name = candidate.name();
        let family = name.split('=').next();
        name == *wanted || family == Some(wanted)
    };
    if let Some(unknown) = only.iter().find(|w| !all.iter().any(|c| is(c, w))) {
        let names = with_families(all.iter().map(Candidate::name));
        bail!(
            "--only {unknown}: no such remedy; use some of {}",
            names.join(", ")
        );
    }
    let wanted = |c: &Candidate| only.is_empty() || only.iter().any(|w| is(c, w));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Names of remedies, and what stands for several before them.
fn with_families(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        let family = name.split('=').next().map(str::to_owned);
        names.extend(family.filter(|f| *f != name && !names.contains(f)));
        names.push(name);
    }
    names
}

/// The use of that name.
fn named(name: &str) -> anyhow::Result<&'static Profile> {
    let all = profiles();
    let known = all.iter().map(|p| p.name.as_str());
    let found = all.iter().find(|p| p.name == name);
    found.with_context(|| {
        let known: Vec<&str> = known.collect();
        format!("--use: {}", unknown_name("profile", name, known))
    })
}

fn try_options(options: &AdviseOptions, for_use: Option<&Profile>, target_ns: u64) -> TryOptions {
    TryOptions {
        duration: options.duration,
        target_ns,
        quantile: for_use.map_or(QUANTILE_OF_MOST_USES, |p| p.quantile),
        for_use: for_use.map(|p| p.name.clone()),
        settle: SETTLE,
        seed: options.seed.unwrap_or_else(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64)
        }),
        load: options.load.to_string(),
        tool: concat!("tompion ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

fn measure(
    all: &[Candidate],
    how: &TryOptions,
    options: &AdviseOptions,
    root: &Root,
    journal: Option<&Journal>,
    program: Option<tompion_advise::ProgramRun>,
) -> anyhow::Result<Advice> {
    // After the prompt, where Ctrl-C is to end at once.
    let stop = crate::stop::in_order()?;
    let scratch = tempfile::tempdir().context("a directory for the load's files")?;
    let mut load = match options.load.is_idle() {
        true => None,
        false => Some(Beside::start(&options.load, how.duration, scratch.path())?),
    };
    let mut bench = RealBench::new(how.target_ns, how.quantile, program, Arc::clone(&stop));
    let line = progress::ProgressLine::new(how.duration, options.output.quiet);
    let advice = try_all(all, how, root, journal, &mut bench, &stop, |p| line.show(p));
    line.clear();
    let beside = load.take().map_or(Ok(()), Beside::end);
    let mut advice = advice?;
    advice.interrupted = stop.load(Ordering::Relaxed);
    // A load that did not run makes of it advice for another case.
    if !advice.interrupted {
        beside?;
    }
    Ok(advice)
}

/// A load that runs throughout.
struct Beside {
    process: LoadProcess,
    since: Observation,
}

impl Beside {
    fn start(load: &LoadSpec, time: Duration, files: &Path) -> anyhow::Result<Self> {
        let planned_load_time = time + Duration::from_secs(10);
        let config = LoadConfig {
            executable: std::env::current_exe().context("finding this program's own file")?,
            directory: files.to_path_buf(),
            write_budget_bytes: write_budget(std::slice::from_ref(load), planned_load_time),
            planned_load_time,
            measured_cpu: None,
        };
        let mut process = LoadProcess::start(load, &config)?;
        process.resume()?;
        os::sleep(LOAD_SETTLES);
        let since = process.observe()?;
        Ok(Self { process, since })
    }

    /// An error where it cannot prove that it ran.
    fn end(mut self) -> anyhow::Result<()> {
        self.process.evidence(&self.since)?;
        self.process.pause()?;
        Ok(self.process.stop()?)
    }
}

fn tell(advice: &Advice, options: &AdviseOptions) -> anyhow::Result<()> {
    if options.output.json {
        print_json(advice)
    } else if !options.output.quiet {
        print(&advice.text(usize::from(columns())))
    } else {
        Ok(())
    }
}

/// The terminal's width; 80 where there is none.
fn columns() -> u16 {
    /// Longer lines are hard to read.
    const WIDEST: u16 = 120;
    let size = console::Term::stdout().size_checked();
    size.map_or(80, |(_, columns)| columns).min(WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_several_remedies_is_named_once_before_them() {
        let all = [
            "timer-slack",
            "clocksource=tsc",
            "clocksource=hpet",
            "governor",
        ];
        let names = with_families(all.map(str::to_owned).into_iter());
        assert_eq!(
            names.join(", "),
            "timer-slack, clocksource, clocksource=tsc, clocksource=hpet, governor"
        );
    }
}
