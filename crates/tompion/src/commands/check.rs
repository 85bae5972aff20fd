//! `tompion check`: measure, save, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tompion_load::LoadSpec;
use tompion_probe::{read_cost, wake_up};
use tompion_record::{RunHeader, RunWriter, now_utc};
use tompion_run::{
    Machine, MachineSettings, Plan, PlanOptions, Progress, execute, require_free_space,
};

use super::report::{self, Output};
use crate::cli::{CheckOptions, MethodName};
use crate::exit;

/// What the loads may write over a whole run; with the samples of a default run
/// (some 60 MB) it stays below 200 MB.
const LOAD_BYTES: u64 = 100_000_000;

/// Space that a run's own files may need.
const RUN_BYTES: u64 = 100_000_000;

/// How long a load runs before its first trial: a hundred threads on two CPUs
/// need a round of the scheduler, 200 ms, to weigh evenly.
const SETTLE: Duration = Duration::from_millis(300);

/// Methods that are measured at 1 ms too.
const AT_1_MS: [wake_up::Method; 4] = [
    wake_up::Method::Usleep,
    wake_up::Method::ClockNanosleepAbs,
    wake_up::Method::Timerfd,
    wake_up::Method::TompionHybrid,
];

/// Carries out the command.
pub fn check(options: &CheckOptions) -> exit::Result {
    let plan = Plan::new(&plan_options(options))?;
    let directory = options.out.clone().unwrap_or_else(default_directory);
    require_free_space(&directory, RUN_BYTES + LOAD_BYTES)?;

    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The first signal ends the run in order, the second at once.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(exit::INTERRUPTED),
            Arc::clone(&stop),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }

    let mut writer = RunWriter::create(&directory, header(&plan))?;
    let mut machine = Machine::new(&plan.loads, &machine_settings(options, &plan, &directory)?)
        .inspect_err(|_| remove_empty_run(&directory))?;
    machine.guards().into_iter().for_each(|g| writer.guard(g));
    let bar = progress_bar(options, plan.trials());
    let status = execute(&plan, &mut machine, &mut writer, &stop, |p| show(&bar, &p));
    // Loads end before the report is made.
    drop(machine);
    bar.finish_and_clear();
    status?;

    let required: Vec<&str> = options.require.iter().map(|r| r.0.as_str()).collect();
    let verdict = report::make(
        &directory,
        &directory.join(tompion_report::REPORT_FILE),
        Output::chosen(options.json, options.quiet),
        &required,
    )?;
    Ok(if stop.load(Ordering::Relaxed) {
        exit::INTERRUPTED
    } else {
        verdict
    })
}

fn plan_options(options: &CheckOptions) -> PlanOptions {
    let quick = options.quick;
    let mut read_methods: Vec<read_cost::Method> = Vec::new();
    let mut wake_methods: Vec<wake_up::Method> = Vec::new();
    for method in &options.methods {
        match method {
            MethodName::Read(m) => read_methods.push(*m),
            MethodName::Wake(m) => wake_methods.push(*m),
        }
    }
    if options.methods.is_empty() {
        read_methods.extend(read_cost::Method::available());
        wake_methods.extend(wake_up::Method::ALL);
    }
    let targets = match (options.targets.is_empty(), quick) {
        (false, _) => options.targets.iter().map(|t| (t.0, None)).collect(),
        (true, true) => vec![(100_000, None)],
        (true, false) => vec![(100_000, None), (1_000_000, Some(AT_1_MS.to_vec()))],
    };
    let loads = if options.loads.is_empty() {
        let names: &[&str] = if quick {
            &["idle", "cpu"]
        } else {
            &["idle", "cpu", "network"]
        };
        let parse = |n: &&str| n.parse::<LoadSpec>().expect("built-in names parse");
        names.iter().map(parse).collect()
    } else {
        options.loads.clone()
    };
    PlanOptions {
        read_methods,
        wake_methods,
        targets,
        slacks: options.slack.clone(),
        loads,
        policies: options.policy.clone(),
        cpu: options.cpu,
        blocks: options.blocks.unwrap_or(if quick { 6 } else { 8 }),
        read_samples: options
            .samples
            .unwrap_or(if quick { 200_000 } else { 1_000_000 }),
        wake_samples: options.wake_samples,
        duration: options
            .duration
            .unwrap_or(Duration::from_secs(if quick { 20 } else { 75 })),
        seed: options.seed.unwrap_or_else(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64)
        }),
    }
}

fn default_directory() -> PathBuf {
    let stamp: String = now_utc()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| if c == 'T' { '-' } else { c })
        .filter(|c| *c != 'Z')
        .collect();
    PathBuf::from(format!("tompion-run-{stamp}"))
}

fn header(plan: &Plan) -> RunHeader {
    RunHeader {
        command_line: std::env::args_os()
            .map(|a| a.to_string_lossy().into_owned())
            .collect(),
        tool: concat!("tompion ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_at: now_utc(),
        design: plan.design(),
        environment: tompion_platform::detect(),
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

fn machine_settings(
    options: &CheckOptions,
    plan: &Plan,
    directory: &Path,
) -> anyhow::Result<MachineSettings> {
    // Each may be on for the whole run, for all that is known beforehand.
    let writing = plan.loads.iter().filter(|l| l.needs_directory()).count();
    Ok(MachineSettings {
        executable: std::env::current_exe().context("finding this program's own file")?,
        load_directory: options
            .load_dir
            .clone()
            .unwrap_or_else(|| directory.to_path_buf()),
        write_budget_bytes: LOAD_BYTES / writing.max(1) as u64,
        planned_load_time: plan.duration + Duration::from_secs(10),
        settle: SETTLE,
    })
}

/// Takes back the directory of a run that could not begin.
fn remove_empty_run(directory: &Path) {
    let _ = std::fs::remove_file(directory.join("run.json"));
    let _ = std::fs::remove_dir(directory.join("samples"));
    let _ = std::fs::remove_dir(directory);
}

fn progress_bar(options: &CheckOptions, trials: usize) -> ProgressBar {
    let target = if options.quiet {
        ProgressDrawTarget::hidden()
    } else {
        // Hidden by itself where standard error is no terminal.
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(trials as u64), target);
    let template = "{bar:30} {pos}/{len} trials, {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    bar.set_position(progress.done as u64);
    bar.set_message(progress.cell.factors.to_string());
}
