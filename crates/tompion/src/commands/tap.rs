//! `tompion tap`: test packets as they pass a device.

use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tompion_model::printable;
use tompion_net::Stop;
use tompion_packets::{
    CaptureEnd, Captured, Ended, Family, KEPT_BYTES, PacketError, Tapping, resolve,
};
use tompion_store::{try_whole, write_whole_until};

use super::progress::target;
use crate::cli::TapOptions;
use crate::{exit, output, stop};

/// Standard output, as a file.
const STANDARD_OUTPUT: &str = "/dev/stdout";

/// Carries out the command.
pub fn tap(options: &TapOptions) -> exit::Result {
    let tapping = tapping(options)?;
    let to_output = options.write == Path::new("-");
    anyhow::ensure!(
        !(to_output && options.output.json),
        "--json and --write -: both would go to standard output"
    );
    let stopped = Stop::new()?;
    let wake = stopped.clone();
    stop::on_signals_call(move || wake.set())?;
    let file = match to_output {
        true => Path::new(STANDARD_OUTPUT),
        false => &options.write,
    };
    try_whole(file)?;
    let tap = tapping.open()?;
    let device = tap.device().to_owned();
    let shown = printable(&device);
    let end = options
        .duration
        .map(|time| Instant::now().checked_add(time));
    let is_over = || {
        let end = end.flatten();
        stopped.is_set() || end.is_some_and(|end| Instant::now() > end)
    };
    let line = progress_line(options.output.quiet);
    let done = write_whole_until(file, &is_over, |out: &mut (dyn Write + Send)| {
        let written = tapping.write(tap, out, &stopped, &mut |captured| {
            line.set_message(format!("{shown}: {}", in_words(captured)));
        });
        written.with_context(|| file.display().to_string())
    });
    line.finish_and_clear();
    let CaptureEnd {
        captured,
        ended,
        failed,
    } = done?;
    let told = Told {
        device: &device,
        file: (!to_output).then(|| file.display().to_string()),
        ended,
        kept_bytes: KEPT_BYTES,
        captured,
    };
    tell(options, &told, to_output)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    // Without a count or a time, Ctrl-C is how it is meant to end.
    let has_end = options.count.is_some() || options.duration.is_some();
    Ok(match ended {
        Ended::Stopped if has_end => exit::INTERRUPTED,
        _ => 0,
    })
}

fn tapping(options: &TapOptions) -> anyhow::Result<Tapping> {
    let mut hosts = Vec::new();
    for host in &options.host {
        hosts.extend(addresses(host)?);
    }
    Ok(Tapping {
        device: options.device.as_str().into(),
        hosts,
        port: (!options.icmp).then_some(options.port),
        icmp: true,
        count: options.count,
        duration: options.duration,
    })
}

/// One of each family that the name has.
fn addresses(host: &str) -> Result<Vec<IpAddr>, PacketError> {
    let first = resolve(host, None)?;
    let families = [Family::V4, Family::V6].map(Some);
    let all = families.map(|family| resolve(host, family).ok());
    let others = all.into_iter().flatten().filter(|other| *other != first);
    Ok(std::iter::once(first).chain(others).collect())
}

/// A line on standard error; hidden where that is no terminal.
fn progress_line(quiet: bool) -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, target(quiet));
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        line.set_style(style);
    }
    line
}

fn in_words(captured: &Captured) -> String {
    let of = |name: &str, requests: u64, replies: u64| match requests + replies {
        0 => None,
        _ => Some(format!("{name}: {requests} requests, {replies} replies")),
    };
    let kinds = [
        of("STAMP", captured.stamp_requests, captured.stamp_replies),
        of("ICMP echo", captured.echo_requests, captured.echo_replies),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    match kinds.as_slice() {
        [] => "no packet".to_owned(),
        kinds => format!("{} packets ({})", captured.packets, kinds.join("; ")),
    }
}

#[derive(Serialize)]
struct Told<'a> {
    device: &'a str,
    file: Option<String>,
    ended: Ended,
    /// Bytes of a frame that are in the file at most.
    kept_bytes: usize,
    #[serde(flatten)]
    captured: Captured,
}

fn tell(options: &TapOptions, told: &Told<'_>, to_output: bool) -> anyhow::Result<()> {
    if options.output.json {
        return output::print_json(told);
    }
    if options.output.quiet {
        return Ok(());
    }
    let captured = &told.captured;
    let device = printable(told.device);
    let mut lines = vec![format!("{device}: {}", in_words(captured))];
    if captured.dropped > 0 {
        let dropped = captured.dropped;
        lines.push(format!("{dropped} frames were dropped for want of room"));
    }
    if captured.unstamped > 0 {
        let unstamped = captured.unstamped;
        lines.push(format!("{unstamped} frames had no stamp, and are left out"));
    }
    if captured.packets == 0 && !options.icmp {
        let port = options.port;
        lines.push(format!(
            "STAMP was looked for on UDP port {port}; --port names another"
        ));
    }
    if to_output {
        lines.iter().for_each(|line| exit::complain(line));
        return Ok(());
    }
    output::print(&(lines.join("\n") + "\n"))
}
