//! `tompion ping`: round trips split by vantage point.

mod beside;
mod clean;
mod several;

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::Serialize;
use tompion_load::read_key;
use tompion_model::{LoadEvidence, format_ns, printable};
use tompion_net::device::HardwareStamps;
use tompion_net::{ReceiveStamps, Schedule, Stop, TransmitStamps};
use tompion_packets::{
    MOST_PROBES, Measured, OneWay, OwnTap, OwnTapped, PacketError, Progress, Protocol, Settings,
    Summary, TcpBeside, TcpSeen, measure, resolve,
};
use tompion_path::stamps::{Outcome, Packets, Probe, Stamp, Vantage, round_trips};
use tompion_stamp::{Key, TimeFormat};

use self::beside::Beside;
use self::clean::Clean;
use crate::cli::{PingOptions, PingPreset, StampFormat};
use crate::{exit, output, stop};

/// Carries out the command.
pub fn ping(options: &PingOptions) -> exit::Result {
    let [host] = &options.hosts[..] else {
        return several::several(options);
    };
    let settings = settings(options, host)?;
    // Until it ends, however that comes about; a process that is killed leaves the device stamping.
    let device = options.hardware_stamps.as_deref();
    let _stamping = device.map(HardwareStamps::begin).transpose()?;
    let stopped = Stop::new()?;
    let wake = stopped.clone();
    let interrupted = stop::on_signals_call(move || wake.set())?;
    let is_shown = !options.output.json && !options.output.quiet;
    let mut shown = Shown::default();
    let tap = options
        .tap
        .as_deref()
        .map(|device| open_tap(device, &settings));
    let tap = tap.transpose()?;
    let mut clean = options.clean.map(Clean::wanted);
    let rest = rest_probes(options)?;
    let all = usize::try_from(settings.count).unwrap_or(usize::MAX);
    let time = settings.schedule.interval() * u32::try_from(settings.count).unwrap_or(u32::MAX);
    let loaded = rest..all.saturating_sub(rest);
    let mut tcp = tcp_beside(options, &settings)?;
    let mut beside = Beside::new(loaded.clone(), options.load.as_ref(), time)?;
    let enough = stopped.clone();
    let (mut measured, marks) = measure(&settings, &stopped, &mut |progress| {
        if is_shown {
            shown.rows(progress);
        }
        beside.sent(progress.packets.len());
        tcp.iter_mut().for_each(TcpBeside::turn);
        if clean
            .as_mut()
            .is_some_and(|clean| clean.is_enough(progress.packets))
        {
            enough.set();
        }
    })?;
    let load = beside.finish(measured.packets.len())?;
    if is_shown {
        shown.rest(&measured.packets);
    }
    let is_interrupted = interrupted.load(std::sync::atomic::Ordering::Relaxed);
    let held = measured.require(&settings);
    let is_answered = |p: Probe| p.outcome == Outcome::Answered;
    if measured.tally.sent == 0 || !measured.packets.probes().any(is_answered) {
        if options.output.json && measured.tally.sent > 0 {
            output::print_json(&Told {
                interrupted: is_interrupted,
                ..told(host, &settings, &measured, None, None)
            })?;
        }
        held?;
        return Ok(exit::INTERRUPTED);
    }
    let tapped = tap.map(|tap| tap.join(&mut measured.packets, &marks, TAP));
    let tapped = tapped.transpose()?;
    let one_way = options
        .one_way
        .then(|| OneWay::with_rests(&measured.packets, &loaded));
    let of_both = one_way.as_ref().and_then(|found| found.as_ref().ok());
    let tcp = tcp.map(TcpBeside::finish).transpose();
    let told = Told {
        interrupted: is_interrupted,
        load: load.as_ref(),
        tcp: tcp.as_ref().ok().and_then(Option::as_ref),
        ..told(host, &settings, &measured, tapped.as_ref(), of_both)
    };
    tell(options, &settings, &measured, &told)?;
    tcp?;
    if let Some(Err(why)) = one_way {
        return Err(why).context("delays one way are not known");
    }
    if let Some(tapped) = tapped {
        require_tap(tapped)?;
    }
    if is_interrupted {
        return Ok(exit::INTERRUPTED);
    }
    held?;
    clean.map_or(Ok(()), |clean| clean.require(measured.trust()))?;
    Ok(0)
}

/// Probes, their interval and their bytes: section 3.1 of Whiteaker 2011.
const WHITEAKER: (u64, Duration, Option<usize>) = (200, Duration::from_millis(250), Some(100));

/// Probes where nobody says how many.
const COUNT: u64 = 20;

/// The connection on which TCP makes its estimate.
fn tcp_beside(options: &PingOptions, settings: &Settings) -> anyhow::Result<Option<TcpBeside>> {
    if !options.tcp {
        return Ok(None);
    }
    let interval = settings.schedule.interval();
    anyhow::ensure!(
        interval >= Duration::from_millis(1),
        "--tcp: takes an --interval of at least 1ms, since nothing is done between probes at shorter ones"
    );
    let most = usize::try_from(settings.count).unwrap_or(usize::MAX);
    Ok(Some(TcpBeside::connect(settings.to, interval, most)?))
}

/// What TCP made of the path, in a line.
fn tcp_text(tcp: &TcpSeen) -> String {
    let Some(smoothed) = &tcp.smoothed else {
        return "TCP's estimate: none, nothing came back\n".to_owned();
    };
    let ns = |ns: i64| format_ns(ns as f64);
    let mut text = format!(
        "TCP's estimate: {} in the middle, {} at most",
        ns(smoothed.median_ns),
        ns(smoothed.max_ns)
    );
    if let Some(least) = tcp.least_ns {
        text.push_str(&format!("; least round trip {}", format_ns(least as f64)));
    }
    if tcp.sent_again > 0 {
        text.push_str(&format!("; {} segments sent again", tcp.sent_again));
    }
    if let Some(why) = &tcp.ended {
        text.push_str(&format!("; ended early: {why}"));
    }
    text + "\n"
}

/// How many probes each of both rests has.
fn rest_probes(options: &PingOptions) -> anyhow::Result<usize> {
    let Some(rest) = options.rest else {
        return Ok(0);
    };
    let interval = match options.preset {
        Some(PingPreset::Whiteaker) => WHITEAKER.1,
        None => options.interval,
    };
    let probes = rest.as_nanos().div_ceil(interval.as_nanos().max(1));
    anyhow::ensure!(
        interval >= Duration::from_millis(1),
        "--rest {rest:?}: takes an --interval of at least 1ms, since nobody looks at what came before it is over at shorter ones"
    );
    Ok(usize::try_from(probes).unwrap_or(usize::MAX))
}

/// How many probes are sent at most.
fn count(options: &PingOptions) -> anyhow::Result<u64> {
    let Some(clean) = options.clean else {
        return Ok(options.count.unwrap_or(COUNT));
    };
    let count = options
        .count
        .unwrap_or_else(|| clean.saturating_mul(clean::TIMES).min(MOST_PROBES));
    anyhow::ensure!(
        clean <= count,
        "--clean {clean}: --count {count} are fewer; take a --count of some more than {clean}"
    );
    anyhow::ensure!(
        options.interval >= Duration::from_millis(1),
        "--clean {clean}: takes an --interval of at least 1ms, since nobody looks at what came before it is over at shorter ones"
    );
    Ok(count)
}

/// What the tap is called in tables.
const TAP: &str = "tap";

/// A tap at the device of this name; without one at that which packets leave by.
fn open_tap(device: &str, settings: &Settings) -> Result<OwnTap, PacketError> {
    OwnTap::open(Some(device).filter(|name| !name.is_empty()), settings)
}

/// Why the tap is of no use, or was none to the end.
fn require_tap(tapped: OwnTapped) -> anyhow::Result<()> {
    let OwnTapped {
        device,
        joined,
        failed,
        ..
    } = tapped;
    let about = || format!("the tap at {}", printable(&device));
    if let Some(error) = failed {
        return Err::<(), _>(error).with_context(about);
    }
    joined.map(drop).with_context(about)
}

/// The settings of the measurement.
fn settings(options: &PingOptions, host: &str) -> anyhow::Result<Settings> {
    let address = resolve(host, options.family.family())?;
    let (protocol, port) = match options.icmp {
        true => (Protocol::Icmp, 0),
        false => (Protocol::Stamp, options.port),
    };
    anyhow::ensure!(
        !options.past_queue || options.interval >= Duration::from_millis(1),
        "--past-queue: takes an --interval of at least 1ms, since probes are sent in batches at shorter ones"
    );
    let key = options.key.as_deref().map(read_key).transpose()?;
    let key = key.map(|bytes| Key::new(&bytes)).transpose()?;
    let (count, interval, size) = match options.preset {
        Some(PingPreset::Whiteaker) => WHITEAKER,
        None => (count(options)?, options.interval, options.size),
    };
    let count = count.saturating_add((rest_probes(options)? as u64).saturating_mul(2));
    let from_clock = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |t| t.as_nanos() as u64)
    };
    let schedule = match options.poisson {
        true => Schedule::Poisson {
            mean: interval,
            seed: options.seed.unwrap_or_else(from_clock),
        },
        false => Schedule::Periodic { interval },
    };
    Ok(Settings {
        schedule,
        count,
        bytes: size,
        timeout: options.timeout,
        key,
        format: format_of(options.format),
        clock: tompion_host::clock_error(),
        policy: options.policy,
        ttl: options.ttl,
        // Its six bits stand above the two of ECN.
        tos: options.dscp.map(|dscp| dscp << 2),
        kernel_stamps: !options.user_stamps,
        hardware: options.hardware_stamps.is_some(),
        past_queue: options.past_queue,
        observed_cpus: looked_at(options, options.no_observe),
        heartbeat_cpus: looked_at(options, options.no_heartbeat),
        ..Settings::new(SocketAddr::new(address, port), protocol)
    })
}

/// The CPUs on which it is looked for what keeps probes waiting: of a single host, since each would take an observer.
fn looked_at(options: &PingOptions, is_unwanted: bool) -> Vec<u32> {
    match is_unwanted || options.hosts.len() > 1 {
        true => Vec::new(),
        false => tompion_host::usable_cpus(),
    }
}

/// As packets have it.
pub(super) fn format_of(format: StampFormat) -> TimeFormat {
    match format {
        StampFormat::Ntp => TimeFormat::Ntp,
        StampFormat::Ptp => TimeFormat::Ptp,
    }
}

/// What is printed as the probes come to their ends.
#[derive(Default)]
struct Shown {
    rows: usize,
}

impl Shown {
    /// Those of which all is known by now.
    fn rows(&mut self, progress: &Progress<'_>) {
        let packets = progress.packets;
        let now = now_ns();
        while self.rows < packets.len() {
            let sent = packets.get(self.rows, Stamp::UserSent);
            let waited = sent.map_or(0, |sent| now.saturating_sub(sent));
            let is_over = waited > i64::try_from(progress.timeout_ns).unwrap_or(i64::MAX);
            let is_open = packets
                .probe(self.rows)
                .is_ok_and(|p| p.outcome == Outcome::Pending);
            if is_open && !is_over {
                break;
            }
            self.line(packets);
        }
    }

    /// All others, at the end.
    fn rest(&mut self, packets: &Packets) {
        while self.rows < packets.len() {
            self.line(packets);
        }
    }

    fn line(&mut self, packets: &Packets) {
        let row = self.rows;
        self.rows += 1;
        // Whoever looks at a thousand lines looks at none: the table follows.
        if row >= MOST_LINES {
            return;
        }
        let outcome = packets.probe(row).map(|p| p.outcome);
        let what = match outcome {
            Ok(Outcome::Answered) => {
                let between = |from, to| Some(packets.get(row, to)? - packets.get(row, from)?);
                let trips = [
                    ("user", between(Stamp::UserSent, Stamp::UserReceived)),
                    ("qdisc", between(Stamp::Scheduled, Stamp::Received)),
                    ("kernel", between(Stamp::Sent, Stamp::Received)),
                    ("far end", between(Stamp::FarReceived, Stamp::FarSent)),
                ];
                let told = trips
                    .into_iter()
                    .filter_map(|(name, ns)| Some(format!("{name} {:>8}", format_ns(ns? as f64))));
                told.collect::<Vec<_>>().join("   ")
            }
            Ok(Outcome::NotSent) => "not sent".to_owned(),
            _ => "no reply".to_owned(),
        };
        // Nobody reads it where that fails, and the table still counts.
        let _ = writeln!(std::io::stdout(), "{:>5}   {what}", row + 1);
        if row + 1 == MOST_LINES {
            let _ = writeln!(std::io::stdout(), "      ...");
        }
    }
}

const MOST_LINES: usize = 1000;

fn now_ns() -> i64 {
    tompion_net::realtime_ns()
}

#[derive(Serialize)]
struct Told<'a> {
    host: &'a str,
    to: SocketAddr,
    protocol: &'static str,
    interval_ns: u64,
    timeout_ns: u64,
    bytes: u32,
    transmit_stamps: &'static str,
    receive_stamps: &'static str,
    tap: Option<TapTold<'a>>,
    /// Whether it was ended before its time.
    interrupted: bool,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    one_way: Option<&'a OneWay>,
    /// What the load between the rests did.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<&'a LoadEvidence>,
    /// Where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<&'a TcpSeen>,
    #[serde(flatten)]
    summary: Summary,
}

#[derive(Serialize)]
struct TapTold<'a> {
    device: &'a str,
    /// Probes that it saw, and replies.
    outward: u64,
    homeward: u64,
    /// Frames that it dropped.
    dropped: u64,
}

impl<'a> TapTold<'a> {
    fn of(tapped: &'a OwnTapped) -> Self {
        let joined = tapped.joined.unwrap_or_default();
        Self {
            device: &tapped.device,
            outward: joined.outward,
            homeward: joined.homeward,
            dropped: tapped.dropped,
        }
    }
}

/// All that is known of one target.
fn told<'a>(
    host: &'a str,
    settings: &Settings,
    measured: &Measured,
    tapped: Option<&'a OwnTapped>,
    one_way: Option<&'a OneWay>,
) -> Told<'a> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Told {
        host,
        to: settings.to,
        protocol: match settings.protocol {
            Protocol::Stamp => "stamp",
            Protocol::Icmp => "icmp",
        },
        interval_ns: ns(settings.schedule.interval()),
        timeout_ns: ns(settings.timeout),
        bytes: measured.packets.probe(0).map_or(0, |p| p.bytes),
        transmit_stamps: match measured.capability.transmit {
            TransmitStamps::Kernel => "kernel",
            TransmitStamps::User { .. } => "user",
        },
        receive_stamps: match measured.capability.receive {
            ReceiveStamps::Nanoseconds => "kernel",
            ReceiveStamps::Microseconds => "kernel, whole microseconds",
            ReceiveStamps::User { .. } => "user",
        },
        tap: tapped.map(TapTold::of),
        interrupted: false,
        one_way,
        load: None,
        tcp: None,
        summary: Summary::of(measured),
    }
}

fn tell(
    options: &PingOptions,
    settings: &Settings,
    measured: &Measured,
    told: &Told<'_>,
) -> anyhow::Result<()> {
    if options.output.json {
        return output::print_json(told);
    }
    if options.output.quiet {
        return Ok(());
    }
    let mut text = format!(
        "\n{} by {}, {} bytes each {}\n\n{}",
        match settings.protocol {
            Protocol::Stamp => settings.to.to_string(),
            Protocol::Icmp => settings.to.ip().to_string(),
        },
        match settings.protocol {
            Protocol::Stamp => "STAMP",
            Protocol::Icmp => "ICMP echo",
        },
        told.bytes,
        format_ns(told.interval_ns as f64),
        told.summary.text(),
    );
    if let Some(TapTold {
        device, dropped, ..
    }) = &told.tap
    {
        text.push_str(&format!("{TAP}: at {}", printable(device)));
        if *dropped > 0 {
            text.push_str(&format!(", which dropped {dropped} frames"));
        }
        text.push('\n');
    }
    text.extend(told.tcp.map(tcp_text));
    if let Some(one_way) = told.one_way {
        text.push('\n');
        text.push_str(&one_way.text());
    }
    text.push_str(&without_kernel(options, measured));
    output::print(&text)
}

/// What it costs that the kernel gives no stamps.
fn without_kernel(options: &PingOptions, measured: &Measured) -> String {
    let has_kernel = |v| round_trips(&measured.packets, v).present().next().is_some();
    if options.user_stamps || has_kernel(Vantage::Kernel) {
        return String::new();
    }
    let errno = match measured.capability.transmit {
        TransmitStamps::User { errno } if errno != 0 => {
            format!(" ({})", std::io::Error::from_raw_os_error(errno))
        }
        _ => String::new(),
    };
    format!(
        "The kernel gives no stamps here{errno}: what this machine itself delays counts as the \
         network's.\n"
    )
}
