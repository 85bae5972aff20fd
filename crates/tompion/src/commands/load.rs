//! `tompion load`: a load by itself, and what it did.

mod text;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use tompion_load::{LoadConfig, LoadProcess, LoadSpec, Observation, least_write_bytes};
use tompion_model::LoadEvidence;
use tompion_time::os;

use super::given_file;
use crate::cli::LoadOptions;
use crate::exit;
use crate::output::{print, print_json};

/// How often the load is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What loads may write where nothing is said: about as much as beside a check,
/// and what files that are only read may need at once.
const WRITE_BYTES_PER_SECOND: f64 = 2e6;
const READ_FILES_BYTES: f64 = 64e6;
/// How long a load runs that writes files, where nothing is said.
const WRITING_TIME: Duration = Duration::from_secs(3600);

/// Carries out the command.
pub fn load(options: &LoadOptions) -> exit::Result {
    if let Some(cpu) = options.cpu {
        super::session::require_cpus("--cpu", &[cpu])?;
    }
    let stop = crate::stop::on_signals()?;
    let writes = options.load.is_paced().then_some(WRITING_TIME);
    let time = options.time.or(writes);
    let planned = time.unwrap_or(Duration::ZERO).max(LOOK_EVERY);
    let write_limit = options.write_limit.unwrap_or_else(|| {
        let reads = |part: LoadSpec| part.writes_files() && !part.is_paced();
        let least = if options.load.parts().any(reads) {
            READ_FILES_BYTES
        } else {
            0.0
        };
        let paced = (WRITE_BYTES_PER_SECOND * planned.as_secs_f64()).max(least) as u64;
        // Of many at once each needs its pace.
        paced.max(least_write_bytes(
            std::slice::from_ref(&options.load),
            planned,
        ))
    });
    let directory = given_file::directory("--dir", &options.dir)?;
    let config = LoadConfig {
        executable: std::env::current_exe().context("finding this program's own file")?,
        directory: directory.lasting_path(),
        write_budget_bytes: write_limit,
        planned_load_time: planned,
        measured_cpu: options.cpu,
    };
    let mut process = LoadProcess::start(&options.load, &config)?;
    if !options.output.quiet {
        process
            .notes()
            .for_each(|note| exit::complain(&format!("note: {note}")));
    }
    let evidence = run(&mut process, time, options.output.quiet, &stop)?;
    process.stop()?;
    if options.output.json {
        print_json(&as_json(&evidence))?;
    } else if !options.output.quiet {
        print(&text::of(&evidence))?;
    }
    // Without a time, Ctrl-C is how it is meant to end.
    let interrupted = stop.load(Ordering::Relaxed) && options.time.is_some();
    Ok(if interrupted { exit::INTERRUPTED } else { 0 })
}

/// Has the load work until its time is over or `stop` is set.
fn run(
    process: &mut LoadProcess,
    time: Option<Duration>,
    quiet: bool,
    stop: &AtomicBool,
) -> anyhow::Result<LoadEvidence> {
    let line = progress_line(quiet);
    process.resume()?;
    let since = process.observe()?;
    let begun = Instant::now();
    let mut last = since.clone();
    loop {
        let left = time.map(|time| time.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) || stop.load(Ordering::Relaxed) {
            break;
        }
        os::sleep(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY));
        let now = process.observe()?;
        line.set_message(text::progress(&rates(&last, &now), begun.elapsed(), time));
        // Rates over a second do not flicker.
        if now.activity.at.duration_since(last.activity.at) >= 10 * LOOK_EVERY {
            last = now;
        }
    }
    let evidence = process.evidence(&since);
    process.pause()?;
    line.finish_and_clear();
    Ok(evidence?)
}

/// A line on standard error; hidden where that is no terminal.
fn progress_line(quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let line = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        line.set_style(style);
    }
    line
}

/// What the load does per second.
struct Rates {
    operations: Option<f64>,
    bytes: Option<f64>,
    cpus: f64,
}

fn rates(before: &Observation, now: &Observation) -> Rates {
    let seconds = now
        .activity
        .at
        .duration_since(before.activity.at)
        .as_secs_f64()
        .max(1e-9);
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
    let counted = |now: Option<u64>, before: Option<u64>| {
        now.zip(before).map(|(now, before)| rate(now, before))
    };
    Rates {
        operations: counted(now.operations, before.operations),
        bytes: counted(now.bytes, before.bytes),
        cpus: rate(now.cpu_time_ns, before.cpu_time_ns) / 1e9,
    }
}

/// The evidence, with its rates.
fn as_json(evidence: &LoadEvidence) -> Value {
    let mut value = json!(evidence);
    value["operations_per_second"] = json!(evidence.operations_per_second());
    value["bytes"] = json!(evidence.bytes);
    value["bytes_per_second"] = json!(evidence.bytes_per_second());
    value["busy_cpus"] = json!(text::busy_cpus(evidence));
    value["notes"] = json!(evidence.notes);
    value["parts"] = evidence.parts.iter().map(as_json).collect();
    value
}
