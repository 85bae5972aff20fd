//! What every command that measures does: a run directory, loads, the plan, a
//! report.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use tompion_load::{LoadSpec, USUAL_WRITE_BYTES, write_budget};
use tompion_model::{Design, RunHeader, Status, note_kind, now_utc};
use tompion_probe::{MeasuringThread, ThreadSettings};
use tompion_run::{
    MachineSettings, Plan, PlanOptions, TimeSetting, execute, require_space,
    require_space_for_loads,
};
use tompion_store::{Error, Run, RunWriter};

use super::progress::ProgressLine;
use super::report::{self, Page};
use super::writing::{BESIDE_TRIALS, require_few_writes};
use crate::cli::RunOptions;
use crate::exit;
use crate::machine::Machine;

/// What has to be promised before a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promises<'a> {
    /// Profiles that are required.
    pub required: &'a [&'a str],
    /// The most that loads may write over the whole run, in bytes; absent for as much as
    /// its time takes.
    pub load_bytes: Option<u64>,
}

/// How long a load runs before its first trial: a hundred threads on two CPUs
/// need a round of the scheduler, 200 ms, to weigh evenly.
pub(super) const SETTLE: Duration = Duration::from_millis(300);

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
    try_settings(plan)?;
    let place = options.out.as_deref().unwrap_or(Path::new("."));
    require_space(place, plan.bytes())?;
    if plan.loads.iter().any(LoadSpec::writes_files) {
        let load_place = options.load_dir.as_deref().unwrap_or(place);
        require_space_for_loads(load_place, USUAL_WRITE_BYTES)?;
    }
    if let Some(warning) = plan.warning().filter(|_| !options.output.quiet) {
        exit::complain(&format!("warning: {warning}"));
    }

    let stop = crate::stop::on_signals()?;

    let existed = place.exists();
    let mut writer = begin(options.out.as_deref(), &header(plan.design()))?;
    let directory = writer.directory().to_path_buf();
    let take_back = || remove_empty_run(&directory, options.out.is_some() && existed);
    let settings = machine_settings(
        options.load_dir.as_deref(),
        options.cpu,
        &plan.loads,
        plan.duration,
        &directory,
    )?;
    let mut machine = Machine::new(&plan.loads, &settings).inspect_err(|_| take_back())?;
    machine.guards().into_iter().for_each(|g| writer.guard(g));
    machine
        .notes()
        .into_iter()
        .for_each(|n| writer.note(note_kind::MACHINE, n));
    let progress = ProgressLine::new(plan, options.output.quiet);
    let result = execute(plan, &mut machine, &mut writer, &stop, |p| {
        progress.show(&p);
    });
    // Loads end before the report is made.
    drop(machine);
    progress.clear();
    if result.is_err() && writer.record().trials.is_empty() {
        take_back();
        return Ok(result.map(|_| 0)?);
    }

    let then = Run::open(&directory)
        .map_err(anyhow::Error::from)
        .and_then(|run| then(&run));
    let page = Page::of_run(&directory);
    let reported = report::make(&directory, &page, options.output, promises.required);
    // What ended the run comes before what it did to the report.
    let status = result?;
    then?;
    let verdict = reported?;
    Ok(match status {
        Status::Interrupted => exit::INTERRUPTED,
        // A signal that came after the last trial has ended nothing.
        _ => verdict,
    })
}

/// Refuses CPUs that do not exist, as the value of `option`.
pub fn require_cpus(option: &str, cpus: &[u32]) -> anyhow::Result<()> {
    tompion_host::require_cpus(cpus).map_err(|why| anyhow::anyhow!("{option}: {why}"))
}

/// Refuses a CPU or a policy that the system does not grant before anything is
/// written.
pub(super) fn try_settings(plan: &Plan) -> anyhow::Result<()> {
    let mut tried: Vec<ThreadSettings> = Vec::new();
    for cell in &plan.cells {
        let settings = ThreadSettings {
            slack_ns: None,
            ..cell.thread
        };
        let looped = cell.loop_cpus();
        let on = |&cpu: &u32| ThreadSettings {
            cpu: Some(cpu),
            ..settings
        };
        let one = looped.is_empty().then_some(settings);
        for settings in looped.iter().map(on).chain(one) {
            if !tried.contains(&settings) {
                tried.push(settings);
            }
        }
    }
    let named: Vec<u32> = tried.iter().filter_map(|s| s.cpu).collect();
    let several = plan.cells.iter().any(|c| c.thread.cpu.is_none());
    require_cpus(if several { "--cpus" } else { "--cpu" }, &named)?;
    let thread = MeasuringThread::start()?;
    for settings in tried {
        let tried = thread.run(settings, || Ok(()));
        let usable = tompion_host::usable_cpus();
        match settings.cpu.filter(|cpu| !usable.contains(cpu)) {
            Some(_) => tried.with_context(|| {
                let usable = tompion_host::cpu_list(&usable);
                format!("this process may use only these CPUs: {usable}")
            })?,
            None => tried?,
        }
    }
    Ok(())
}

/// Begins a run where the user says, or in the first free directory that is
/// named after the present second.
pub(super) fn begin(out: Option<&Path>, header: &RunHeader) -> Result<RunWriter, Error> {
    /// More runs than anybody begins within a second.
    const MOST: u32 = 1000;
    if let Some(out) = out {
        return RunWriter::create(out, header.clone());
    }
    let name = default_name();
    let mut number = 1;
    loop {
        let directory = match number {
            1 => PathBuf::from(&name),
            n => PathBuf::from(format!("{name}-{n}")),
        };
        match RunWriter::create(&directory, header.clone()) {
            Err(Error::NotEmpty { .. } | Error::Taken { .. }) if number < MOST => number += 1,
            result => return result,
        }
    }
}

/// The directory that `out` names, or the first free one named after the present second.
pub(super) fn free_directory(out: Option<&Path>) -> PathBuf {
    let name = default_name();
    let numbered = |n: u32| match n {
        1 => PathBuf::from(&name),
        n => PathBuf::from(format!("{name}-{n}")),
    };
    let mut free = (1..).map(numbered).filter(|path| !path.exists());
    out.map_or_else(|| free.next().unwrap_or_default(), Path::to_path_buf)
}

fn default_name() -> String {
    let stamp: String = now_utc()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| if c == 'T' { '-' } else { c })
        .filter(|c| *c != 'Z')
        .collect();
    format!("tompion-run-{stamp}")
}

/// What is known of every run beforehand.
pub(super) fn header(design: Design) -> RunHeader {
    RunHeader {
        command_line: std::env::args_os()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
        tool: concat!("tompion ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_at: now_utc(),
        design,
        environment: tompion_host::detect(),
        guards: vec![
            "A fresh thread measures beside each load; every trial sets its policy and slack \
             afresh."
                .to_owned(),
            "Sample buffers are written once before use and locked into memory where the limit \
             on locked memory allows."
                .to_owned(),
            "Nothing but the operation under test stands between two time stamps.".to_owned(),
            "Loads are separate processes, stopped while another load, or none, is measured."
                .to_owned(),
            format!(
                "A load runs for {} ms before its first trial; the first samples of every trial \
                 are marked as warm-up and left out.",
                SETTLE.as_millis()
            ),
        ],
    }
}

/// How the machine is used: where loads put their files, what they may write there, and
/// for how long each may be on.
pub(super) fn machine_settings(
    load_dir: Option<&Path>,
    cpu: Option<u32>,
    loads: &[LoadSpec],
    duration: Duration,
    directory: &Path,
) -> anyhow::Result<MachineSettings> {
    // Each may be on for the whole run, for all that is known beforehand.
    let planned_load_time = duration + BESIDE_TRIALS;
    Ok(MachineSettings {
        executable: std::env::current_exe().context("finding this program's own file")?,
        load_directory: load_dir.unwrap_or(directory).to_path_buf(),
        write_budget_bytes: write_budget(loads, planned_load_time),
        planned_load_time,
        settle: SETTLE,
        measured_cpu: cpu,
    })
}

/// Takes back what a run that could not begin has made.
pub(super) fn remove_empty_run(directory: &Path, keep_directory: bool) {
    let _ = std::fs::remove_file(directory.join("run.json"));
    let _ = std::fs::remove_dir(directory.join("samples"));
    if !keep_directory {
        let _ = std::fs::remove_dir(directory);
    }
}
