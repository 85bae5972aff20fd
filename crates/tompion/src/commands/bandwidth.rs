//! `tompion bandwidth`: how much more a path could carry.

mod simulate;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

use serde::Serialize;
use tompion_bandwidth::{Arrivals, Estimated, FarEnd, Session, Settings, Timers, in_words};
use tompion_load::read_key;
use tompion_model::{format_bits_per_second, format_bytes, format_ns};
use tompion_net::{Stop, wait};
use tompion_packets::{Key, resolve};
use tompion_path::bandwidth::{Asked, Ending, METHODS};

use crate::cli::{BandwidthCommand, BandwidthOptions};
use crate::{exit, output, stop};

/// Carries out the command.
pub fn bandwidth(options: &BandwidthOptions) -> exit::Result {
    if let Some(BandwidthCommand::Simulate(simulate)) = &options.command {
        return simulate::simulate(simulate);
    }
    let host = options.host.as_deref().unwrap_or_default();
    let settings = settings(options, host)?;
    let stopped = Stop::new()?;
    let wake = stopped.clone();
    let interrupted = stop::on_signals_call(move || wake.set())?;
    let is_shown = !options.output.json && !options.output.quiet;
    let mut session = match Session::open(&settings, &stopped) {
        Err(_) if interrupted.load(Relaxed) => return Ok(exit::INTERRUPTED),
        opened => opened?,
    };
    let far_end = session.far_end().clone();
    if is_shown {
        output::print(&header(options, &settings, &far_end))?;
    }
    let mut all: Vec<Estimated> = Vec::new();
    let mut failed = None;
    let interval_ns = u64::try_from(options.interval.as_nanos()).unwrap_or(u64::MAX);
    for number in 1..=options.count {
        if number > 1 {
            wait(&[], &stopped, interval_ns)?;
        }
        match session.estimate(&stopped) {
            Ok(Some(one)) => {
                if is_shown {
                    // Nobody reads it where that fails, and the rest still counts.
                    let _ = writeln!(std::io::stdout(), "{number:>5}   {}", line(&one, &settings));
                }
                all.push(one);
            }
            Ok(None) => break,
            Err(why) => {
                failed = Some(why);
                break;
            }
        }
    }
    tell(options, &settings, &far_end, &all)?;
    if interrupted.load(Relaxed) {
        return Ok(exit::INTERRUPTED);
    }
    failed.map_or(Ok(()), Err)?;
    if let Some(one) = all
        .iter()
        .find(|one| matches!(one.ending, Ending::Unfinished { .. }))
    {
        let said = in_words(&one.ending, settings.asked.bytes, one.bytes);
        anyhow::bail!("{said} (--max-bytes)");
    }
    Ok(0)
}

fn settings(options: &BandwidthOptions, host: &str) -> anyhow::Result<Settings> {
    let address = resolve(host, options.family.family())?;
    let key = options.key.as_deref().map(read_key).transpose()?;
    let key = key.map(|bytes| Key::new(&bytes)).transpose()?;
    Ok(Settings {
        method: options.method,
        asked: Asked {
            bytes: options.size,
            most_bytes: options.max_bytes,
            most_bps: options.max_rate.map(|bps| bps as f64),
            ..Asked::default()
        },
        timers: Timers::from(options.timers),
        most_time: options.max_time,
        key,
        ..Settings::new(SocketAddr::new(address, options.port))
    })
}

fn header(options: &BandwidthOptions, settings: &Settings, far_end: &FarEnd) -> String {
    let who = match far_end.tompion {
        Some((major, minor)) => format!("Tompion {major}.{minor}"),
        None => "another reflector".to_owned(),
    };
    format!(
        "Available bandwidth to {}, method {}, timers {}, packets of {} bytes\n\
         {who}, {} away\n\n",
        settings.to,
        options.method.name,
        settings.timers.name(),
        settings.asked.bytes,
        format_ns(far_end.round_trip_ns as f64),
    )
}

/// An estimate, and what it took.
fn line(one: &Estimated, settings: &Settings) -> String {
    format!(
        "{}   ({}, {}, {} trains)",
        in_words(&one.ending, settings.asked.bytes, one.bytes),
        format_ns(one.lasts_ns as f64),
        format_bytes(one.bytes as f64),
        one.trains.len()
    )
}

#[derive(Serialize)]
struct Told<'a> {
    host: &'a str,
    to: SocketAddr,
    method: &'static str,
    timers: &'static str,
    /// Of a packet, headers of IP counted: rates are of these.
    bytes: u32,
    far_end: &'a FarEnd,
    estimates: &'a [Estimated],
}

fn tell(
    options: &BandwidthOptions,
    settings: &Settings,
    far_end: &FarEnd,
    all: &[Estimated],
) -> anyhow::Result<()> {
    if options.output.quiet && !options.output.json {
        return Ok(());
    }
    if options.output.json {
        return output::print_json(&Told {
            host: options.host.as_deref().unwrap_or_default(),
            to: settings.to,
            method: options.method.name,
            timers: settings.timers.name(),
            bytes: settings.asked.bytes,
            far_end,
            estimates: all,
        });
    }
    let mut text = String::new();
    let mut with_headers: Vec<f64> = all
        .iter()
        .filter_map(|one| one.available_ethernet_bps)
        .collect();
    with_headers.sort_by(f64::total_cmp);
    if let Some(middle) = with_headers.get(with_headers.len() / 2) {
        text.push_str(&format!(
            "\nWith the headers of Ethernet: {}{}\n",
            format_bits_per_second(*middle),
            if with_headers.len() > 1 {
                " in the middle"
            } else {
                ""
            }
        ));
    }
    let is_ours = options.method.name == METHODS[0].name;
    text.push_str(&cautions(far_end, all, is_ours));
    let is_bounded = |one: &&Estimated| matches!(one.ending, Ending::HostLimited { .. });
    if let (Some(_), Some(rate)) = (all.iter().find(is_bounded), options.max_rate) {
        text.push_str(&format!(
            "No train was faster than {} (--max-rate).\n",
            format_bits_per_second(rate as f64)
        ));
    }
    output::print(&text)
}

/// What stands between these numbers and the path.
fn cautions(far_end: &FarEnd, all: &[Estimated], is_ours: bool) -> String {
    let mut text = String::new();
    let trains = || all.iter().flat_map(|one| &one.trains);
    let here = trains().filter(|train| train.is_spoilt_here).count();
    let there = trains().filter(|train| train.is_spoilt_there).count();
    if here + there > 0 {
        text.push_str(&format!(
            "Of {} trains this machine paused in {here}, the far end in {there}{}.\n",
            trains().count(),
            if is_ours { ", which are left out" } else { "" }
        ));
    }
    if all.iter().any(|one| !one.sent_by_kernel) {
        text.push_str("The kernel does not stamp departures here: what this machine delays counts as the path's.\n");
    }
    let by_program =
        far_end.receives_by == Some("user") || all.iter().any(|one| !one.received_by_kernel);
    if by_program {
        text.push_str("The far end's program stamps arrivals, not its kernel: what that machine delays counts as the path's.\n");
    }
    if far_end.arrivals == Arrivals::Replies {
        text.push_str(
            "The far end answers each packet: the way back carries as much as the way there.\n",
        );
    }
    if let Some(step_ns @ 1_000..) = far_end.step_ns {
        text.push_str(&format!(
            "The far end's receive stamps have steps of {}.\n",
            format_ns(step_ns as f64)
        ));
    }
    text
}
