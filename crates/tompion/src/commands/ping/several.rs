//! Several targets at once, a line each.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use tompion_model::format_ns;
use tompion_net::Stop;
use tompion_packets::{InCommon, Measured, PacketError, Quantiles, Settings, measure};
use tompion_path::stamps::Packets;
use tompion_time::os;

use super::{Told, settings, told};
use crate::cli::PingOptions;
use crate::{exit, output, stop};

/// As many as share a moment.
const MOST: usize = 16;
/// Their probes are sent one after another, so that none waits for another one's thread; they are under way
/// together all the same.
const APART: Duration = Duration::from_micros(500);

/// Carries out the command for more than one host.
pub fn several(options: &PingOptions) -> exit::Result {
    let hosts = &options.hosts;
    ensure!(
        hosts.len() <= MOST,
        "{} hosts: at most {MOST} are measured at once",
        hosts.len()
    );
    let single = [
        ("--tap", options.tap.is_some()),
        ("--hardware-stamps", options.hardware_stamps.is_some()),
        ("--one-way", options.one_way),
        ("--clean", options.clean.is_some()),
        ("--tcp", options.tcp),
    ];
    if let Some((option, _)) = single.iter().find(|(_, is_set)| *is_set) {
        bail!("{option} takes a single host, not {}", hosts.len());
    }
    let all = hosts.iter().map(|host| settings(options, host));
    let all: Vec<Settings> = all.collect::<Result<_, _>>()?;
    let mut known = HashMap::new();
    for (host, settings) in hosts.iter().zip(&all) {
        if let Some(other) = known.insert(settings.to, host) {
            bail!(
                "{other} and {host} are one host, {}: name it once",
                settings.to.ip()
            );
        }
    }
    let stopped = Stop::new()?;
    let wake = stopped.clone();
    let interrupted = stop::on_signals_call(move || wake.set())?;
    let found = measure_all(&all, &stopped)?;
    let mut measured = Vec::new();
    let mut failed = None;
    for ((host, settings), found) in hosts.iter().zip(&all).zip(found) {
        match found {
            Ok(of_host) => {
                let why = of_host.require(settings).err();
                failed = failed.or(why.map(|why| (host, why)));
                measured.push((host, settings, of_host));
            }
            Err(why) => failed = failed.or(Some((host, why))),
        }
    }
    let is_interrupted = interrupted.load(Relaxed);
    if !measured.is_empty() {
        tell(options, &measured, is_interrupted)?;
    }
    if is_interrupted {
        return Ok(exit::INTERRUPTED);
    }
    match failed {
        Some((host, why)) => Err(why).with_context(|| host.clone()),
        None => Ok(0),
    }
}

type Found = Result<Measured, PacketError>;

fn measure_all(all: &[Settings], stop: &Stop) -> anyhow::Result<Vec<Found>> {
    thread::scope(|scope| {
        let start = |(number, settings): (usize, &'_ Settings)| {
            let settings = settings.clone();
            thread::Builder::new()
                .name(format!("to-{number}"))
                .spawn_scoped(scope, move || {
                    os::sleep(APART * number as u32);
                    measure(&settings, stop, &mut |_| {}).map(|(measured, _)| measured)
                })
        };
        let threads: Vec<_> = all.iter().enumerate().map(start).collect();
        if threads.iter().any(Result::is_err) {
            // Those that run are not waited for to their end.
            stop.set();
        }
        let end = |thread: thread::ScopedJoinHandle<'_, Found>| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let found = threads.into_iter().map(|thread| thread.map(end));
        found
            .collect::<Result<_, _>>()
            .context("cannot start a thread")
    })
}

#[derive(Serialize)]
struct All<'a> {
    targets: Vec<Told<'a>>,
    common: InCommon,
}

fn tell(
    options: &PingOptions,
    measured: &[(&String, &Settings, Measured)],
    is_interrupted: bool,
) -> anyhow::Result<()> {
    if options.output.quiet && !options.output.json {
        return Ok(());
    }
    let targets = measured.iter().map(|(host, settings, of)| Told {
        interrupted: is_interrupted && of.tally.due < settings.count,
        ..told(host, settings, of, None, None)
    });
    let packets: Vec<&Packets> = measured.iter().map(|(.., of)| &of.packets).collect();
    let interval = measured
        .first()
        .map(|(_, settings, _)| settings.schedule.interval());
    let all = All {
        targets: targets.collect(),
        common: InCommon::of(&packets, interval.unwrap_or_default()),
    };
    if options.output.json {
        return output::print_json(&all);
    }
    let mut text = row(
        ["", "answered", "median", "p99", "path", "here", "far end"],
        "",
    );
    for target in &all.targets {
        text.push_str(&line(target));
    }
    text.push_str(&format!("\nin common: {}\n", all.common.why));
    text.push_str(
        "median, p99: as a program sees it. path: p99 of probes that neither end held up; here, far end: held up there\n",
    );
    output::print(&text)
}

fn row(columns: [&str; 7], verdict: &str) -> String {
    let [host, answered, median, p99, path, here, far_end] = columns;
    let line = format!(
        "{host:<24}{answered:>12}{median:>10}{p99:>10}{path:>10}{here:>7}{far_end:>9}  {verdict}"
    );
    format!("{}\n", line.trim_end())
}

fn line(target: &Told<'_>) -> String {
    let summary = &target.summary;
    let time = |quantile: Option<i64>| quantile.map_or("-".to_owned(), |ns| format_ns(ns as f64));
    let user: Option<&Quantiles> = summary.round_trips.first().map(|seen| &seen.quantiles);
    let ends = summary.ends.as_ref();
    let count = |of: Option<u64>| of.map_or("-".to_owned(), |count| count.to_string());
    let here = ends.map(|e| e.held_up_sending + e.held_up_queued + e.held_up_receiving);
    row(
        [
            target.host,
            &format!("{} of {}", summary.answered, summary.sent),
            &time(user.map(|q| q.median_ns)),
            &time(user.map(|q| q.p99_ns)),
            &time(ends.and_then(|e| e.clean_path).map(|q| q.p99_ns)),
            &count(here),
            &count(ends.and_then(|e| e.held_up_at_far_end)),
        ],
        ends.map_or("no stamps of the kernel's", |e| e.verdict),
    )
}
