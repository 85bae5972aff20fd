//! What every command that measures does: a run directory, loads, the plan, a
//! report.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tompion_assess::verdict::Profile;
use tompion_load::LoadSpec;
use tompion_model::{Design, RunHeader, Status};
use tompion_run::session::{self, SETTLE};
use tompion_run::{
    Attention, Destination, Error, Guides, Plan, PlanOptions, Session, SessionSettings, TimeSetting,
};
use tompion_store::{Directory, Run};

use super::given_file;
use super::progress::ProgressLine;
use super::report::{self, Judged, Page, Shape};
use super::writing::{BESIDE_TRIALS, require_few_writes};
use crate::cli::RunOptions;
use crate::exit;
use crate::machine::Machine;

/// What has to be promised before a run.
#[derive(Default)]
pub struct Promises<'a> {
    /// What the run is judged by.
    pub judged: Judged<'a>,
    /// Whether the run keeps that, to be judged so again.
    pub keeps_profiles: bool,
    /// The most that loads may write over the whole run, in bytes; absent for as much as
    /// its time takes.
    pub load_bytes: Option<u64>,
    /// How much of the report is printed.
    pub shape: Shape,
    /// Who says which cells need more of the time.
    pub attention: Option<&'a mut dyn Attention>,
}

/// A plan of nothing yet, as the options of the run say; for a command to fill in.
pub fn plan_of_nothing(
    options: &RunOptions,
    loads: &[&str],
    duration: Duration,
    blocks: u32,
) -> PlanOptions {
    let by_name = |n: &&str| n.parse::<LoadSpec>().expect("built-in names parse");
    PlanOptions {
        probes: Vec::new(),
        loads: if options.loads.is_empty() {
            loads.iter().map(by_name).collect()
        } else {
            let given = options.loads.iter();
            given.flat_map(|list| list.0.clone()).collect()
        },
        policies: options.policy.clone(),
        cpu: options.cpu,
        observe: options.observe.clone(),
        blocks: options.blocks.unwrap_or(blocks),
        duration: options.duration.unwrap_or(duration),
        time: TimeSetting::option("--duration"),
        settle: SETTLE,
        seed: options.seed.unwrap_or_else(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64)
        }),
    }
}

/// Carries out a plan where the options say, reports, and returns the exit status
/// for the profiles that are required.
pub fn carry_out(plan: &Plan, options: &RunOptions, promises: Promises<'_>) -> exit::Result {
    carry_out_and(plan, options, promises, |_| Ok(()))
}

/// The same, and does something with the run before it is reported.
pub fn carry_out_and(
    plan: &Plan,
    options: &RunOptions,
    promises: Promises<'_>,
    then: impl FnOnce(&Run) -> anyhow::Result<()>,
) -> exit::Result {
    if let Some(most) = promises.load_bytes {
        require_few_writes(&plan.loads, plan.duration, most)?;
    }
    let stop = crate::stop::on_signals()?;
    let guides = Guides {
        attention: promises.attention,
        ..Guides::default()
    };
    let mut header = header(plan.design());
    if promises.keeps_profiles {
        header.profiles = promises.judged.profiles.iter().map(Profile::kept).collect();
    }
    let (directory, result) = carried_out(plan, options, &stop, guides, header)?;
    let Some(directory) = directory else {
        let status = result?;
        exit::complain("nothing was measured, so nothing is kept");
        return Ok(match status {
            Status::Interrupted => exit::INTERRUPTED,
            _ => exit::ERROR,
        });
    };

    let told = Run::open_in(&directory).map(|run| {
        let then = then(&run);
        let reported = report::make(
            &run,
            &Page::InRun,
            options.output,
            promises.judged,
            promises.shape,
        );
        (then, reported)
    });
    // What ended the run comes before what it did to the report.
    let status = result?;
    let (then, reported) = told?;
    then?;
    let verdict = reported?;
    Ok(match status {
        Status::Interrupted => exit::INTERRUPTED,
        // A signal that came after the last trial has ended nothing.
        _ => verdict,
    })
}

/// Carries out a plan where the options say, with these guides. Returns the
/// run's directory, absent where nothing was measured, and how the run ended.
pub(super) fn carried_out(
    plan: &Plan,
    options: &RunOptions,
    stop: &Arc<AtomicBool>,
    guides: Guides<'_>,
    header: RunHeader,
) -> anyhow::Result<(Option<Directory>, Result<Status, Error>)> {
    let destination = Destination::of(options.out.clone())?;
    let load_dir = load_dir(options.load_dir.as_deref())?;
    let load_path = options.load_dir.as_deref();
    session::require(plan, &plan.loads, plan.bytes(), &destination, load_path)?;
    if let Some(warning) = plan.warning().filter(|_| !options.output.quiet) {
        exit::complain(&format!("warning: {warning}"));
    }

    let settings = SessionSettings {
        destination,
        header,
        loads: &plan.loads,
        load_directory: load_dir.as_ref().map(Directory::lasting_path),
        load_time: load_time(plan.duration),
        settle: plan.settle,
        cpu: options.cpu,
    };
    let mut session = Session::begin(&settings, Machine::new)?;
    let progress = ProgressLine::new(plan, options.output.quiet);
    let result = session.execute_guided(plan, guides, stop, |p| progress.show(&p));
    progress.clear();
    // Loads end before anything is made of the run.
    let directory = session.end_or_take_back();
    Ok((directory, result))
}

/// Refuses CPUs that do not exist, as the value of `option`.
pub fn require_cpus(option: &str, cpus: &[u32]) -> anyhow::Result<()> {
    tompion_host::require_cpus(cpus).map_err(|why| anyhow::anyhow!("{option}: {why}"))
}

/// What is known of every run beforehand.
pub(super) fn header(design: Design) -> RunHeader {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let tool = concat!("tompion ", env!("CARGO_PKG_VERSION"));
    session::header(design, tool, words.collect(), crate::machine::environment())
}

/// The directory of the loads' files, where one is named.
pub(super) fn load_dir(named: Option<&Path>) -> anyhow::Result<Option<Directory>> {
    let open = |path| given_file::directory("--load-dir", path);
    named.map(open).transpose()
}

/// How long each load may be on: the whole run, for all that is known beforehand.
pub(super) fn load_time(duration: Duration) -> Duration {
    duration + BESIDE_TRIALS
}
