//! `tompion testbed`: a command over a path whose truth is known.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use tompion_launch::command_file;
use tompion_model::{format_bits_per_second, format_ns};
use tompion_path::model::{CrossPattern, CrossTraffic};
use tompion_testbed::{
    BottleneckKind, LINK_HEADER, Measurement, Outcome, Place, Programs, Quantity, Settings,
    Summary, Testbed, Unmeasured, Verdict, run,
};

use super::given_file::text_of;
use crate::cli::{Bottleneck, TestbedOptions};
use crate::{exit, output};

/// Most false intervals that are told one by one.
const TOLD: usize = 10;
/// Largest file of a plan, in bytes.
const MOST_PLAN_BYTES: u64 = 1 << 20;

/// Carries out the command.
pub fn testbed(options: &TestbedOptions) -> exit::Result {
    let settings = settings(options)?;
    let command = (!options.command.is_empty()).then(|| options.command.clone());
    // Before the path is made and measured.
    if let Some(name) = options.command.first() {
        command_file(name)?;
    }
    let stop = signals(command.is_some())?;
    let waits = command.is_none();
    let far_end = options.far_end.iter();
    let programs = Programs {
        command,
        far_end: far_end
            .map(|line| vec!["sh".into(), "-c".into(), line.clone()])
            .collect(),
    };
    let mut told = Ok(());
    let mut ready = |testbed: &Testbed, measured: &Measurement| {
        if !options.quiet || measured.outside().next().is_some() {
            exit::complain(&format!("before: {}", in_words(measured)));
        }
        if testbed.is_real_time() == Some(false) {
            exit::complain(
                "warning: SCHED_FIFO is refused, so that other programs make the relay late",
            );
        }
        if waits {
            told = output::print(&entrances(testbed));
        }
    };
    let outcome = run(&settings, &programs, &mut ready, &stop)?;
    told?;
    tell(&outcome, options.quiet);
    Ok(match (outcome.verdict(), outcome.status) {
        (Verdict::AsPlanned, Some(status)) => of_status(status),
        (Verdict::AsPlanned, None) => 0,
        (Verdict::OutsideBefore | Verdict::OutsideAfter, _) => exit::ERROR,
    })
}

fn settings(options: &TestbedOptions) -> anyhow::Result<Settings> {
    let mut settings =
        Settings::symmetric(options.rtt.unwrap_or_default(), options.rate).with_loss(options.loss);
    settings.plan.seed = options.seed;
    if let (Some(rate_bps), Some(link)) = (options.cross, &mut settings.plan.outward.bottleneck) {
        link.cross_traffic = Some(CrossTraffic {
            rate_bps,
            packet_bytes: options.mtu.saturating_add(LINK_HEADER),
            pattern: CrossPattern::Constant,
        });
    }
    if let Some(file) = &options.plan {
        let text = text_of(file, MOST_PLAN_BYTES, "a plan")?;
        settings.plan = toml::from_str(&text).map_err(|error| mistake(file, &text, &error))?;
    }
    settings.bottleneck = match options.bottleneck {
        Bottleneck::Relay => BottleneckKind::Relay,
        Bottleneck::Kernel => BottleneckKind::Kernel,
    };
    settings.mtu = options.mtu;
    settings.truth = options.truth.clone();
    settings.open_truth = tompion_store::open_anew;
    Ok(settings)
}

/// What is wrong with a plan, in a line with its place.
fn mistake(file: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start));
    let at = before.map_or_else(String::new, |before| {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{line}:{column}: ")
    });
    anyhow::anyhow!("{}:{at}{}", file.display(), error.message())
}

/// A flag that ends the run. What a terminal sends goes to the command, too, and is its own matter.
fn signals(has_command: bool) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::<AtomicBool>::default();
    let is_of_terminal = has_command && is_in_foreground();
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
        let from_terminal = matches!(signal, SIGINT | SIGQUIT);
        let flag = if is_of_terminal && from_terminal {
            Arc::default()
        } else {
            Arc::clone(&stop)
        };
        signal_hook::flag::register(signal, flag)?;
    }
    Ok(stop)
}

/// Whether a terminal sends its signals to this process: elsewhere they come from somebody who means it alone.
fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else {
        return false;
    };
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// How to enter each place.
fn entrances(testbed: &Testbed) -> String {
    let line = |name: &str, place: &Place| {
        let addresses = place.addresses();
        format!(
            "{name:<8} {:<13} {}  nsenter --net={} COMMAND\n",
            addresses.v4,
            addresses.v6,
            place.path().display()
        )
    };
    let mut lines = line("sender", testbed.sender()) + &line("far end", testbed.far_end());
    if let Some(router) = testbed.router() {
        let _ = writeln!(
            lines,
            "{:<8} {:<13} rs, rf  nsenter --net={} COMMAND",
            "router",
            "",
            router.display()
        );
    }
    lines
}

/// What a measurement found, on one line.
fn in_words(measured: &Measurement) -> String {
    let mut words = Vec::new();
    for figure in &measured.figures {
        let (name, value, nominal) = match figure.quantity {
            Quantity::Delay(way) => (
                format!("delay {way}"),
                format_ns(figure.measured),
                format_ns(figure.nominal),
            ),
            Quantity::Rate(way) => (
                format!("rate {way}"),
                format_bits_per_second(figure.measured),
                format_bits_per_second(figure.nominal),
            ),
            Quantity::CrossTraffic => (
                "cross traffic".to_owned(),
                format_bits_per_second(figure.measured),
                format_bits_per_second(figure.nominal),
            ),
        };
        let verdict = if figure.is_within() { "" } else { ", OUTSIDE" };
        words.push(format!("{name} {value} ({nominal} expected{verdict})"));
    }
    for (quantity, why) in &measured.unmeasured {
        let name = match quantity {
            Quantity::Delay(way) => format!("delay {way}"),
            Quantity::Rate(way) => format!("rate {way}"),
            Quantity::CrossTraffic => "cross traffic".to_owned(),
        };
        let why = match why {
            Unmeasured::Random => "random by the plan",
            Unmeasured::LostByPlan => "lost by the plan",
            Unmeasured::Lost => "too few packets arrived",
            Unmeasured::SenderTooSlow => "this machine cannot keep the link busy",
            _ => "unknown",
        };
        words.push(format!("{name} not measured: {why}"));
    }
    words.join("; ")
}

fn tell(outcome: &Outcome, quiet: bool) {
    if let Some(after) = &outcome.after
        && (!quiet || outcome.verdict() == Verdict::OutsideAfter)
    {
        exit::complain(&format!("after: {}", in_words(after)));
    }
    if let Some(summary) = &outcome.summary {
        for line in false_time(summary) {
            exit::complain(&line);
        }
    }
    match outcome.verdict() {
        Verdict::AsPlanned => {}
        Verdict::OutsideBefore => {
            exit::complain("the path is not what it was to be; the command was not run");
        }
        Verdict::OutsideAfter => exit::complain("the path was not what it was to be"),
    }
}

/// When the path was not what it stands for, a line for each interval.
fn false_time(summary: &Summary) -> Vec<String> {
    let all = &summary.false_time;
    let mut lines = Vec::new();
    for interval in all.intervals().iter().take(TOLD) {
        let length = format_ns((interval.to_ns - interval.from_ns) as f64);
        let mut line = format!("false at {} ns for {length}", interval.from_ns);
        if let Some(way) = interval.way {
            let _ = write!(line, ", {way}");
        }
        let _ = write!(line, ": {}", interval.reason.name());
        if interval.packets > 0 {
            let _ = write!(line, ", packets: {}", interval.packets);
        }
        if interval.worst_ns > 0 {
            let _ = write!(line, ", worst {}", format_ns(interval.worst_ns as f64));
        }
        lines.push(line);
    }
    let more = (all.intervals().len() - lines.len()) as u64 + all.untold();
    if more > 0 {
        lines.push(format!("and {more} more false intervals"));
    }
    lines
}

/// A command's own status, as shells tell it.
fn of_status(status: ExitStatus) -> u8 {
    let number = status.code().or(status.signal().map(|signal| 128 + signal));
    number
        .and_then(|n| u8::try_from(n).ok())
        .unwrap_or(exit::ERROR)
}
