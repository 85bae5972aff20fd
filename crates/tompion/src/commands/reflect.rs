//! `tompion reflect`: the far end of round trips.

use std::thread;

use serde::Serialize;
use tompion_load::read_key;
use tompion_net::{StampingSocket, Stop};
use tompion_packets::reflector::{Served, TcpEcho, listen, serve};
use tompion_stamp::{
    ClockAccount, ControlLimits, Key, Limits, Rate, ReflectorConfig, SharedKey, Trust,
};

use super::ping::format_of;
use crate::cli::ReflectOptions;
use crate::{exit, output, stop};

/// The longest reply that a key may ask for, in bytes of UDP's payload: within an Ethernet's
/// packet.
const LONGEST_REPLY: u16 = 1452;
/// The shortest interval between replies that a key may ask for, in nanoseconds.
const LEAST_INTERVAL_NS: u32 = 1_000_000;

/// Carries out the command.
pub fn reflect(options: &ReflectOptions) -> exit::Result {
    let config = config(options)?;
    let stopped = Stop::new()?;
    let wake = stopped.clone();
    stop::on_signals_call(move || wake.set())?;
    let sockets = listen(&options.listen)?;
    let echoes = sockets
        .iter()
        .map(StampingSocket::local)
        .filter(|_| options.tcp);
    let echoes: Vec<TcpEcho> = echoes.map(TcpEcho::listen).collect::<Result<_, _>>()?;
    if !options.output.quiet {
        let all: Vec<String> = sockets.iter().map(|s| s.local().to_string()).collect();
        exit::complain(&format!("answering on {}; Ctrl-C ends it", all.join(", ")));
    }
    let account = || {
        let (synchronized, error_ns) = tompion_host::clock_error();
        ClockAccount {
            synchronized,
            error_ns,
            ..ClockAccount::default()
        }
    };
    let observed_cpus = match options.no_observe {
        true => Vec::new(),
        false => tompion_host::usable_cpus(),
    };
    let served = thread::scope(|scope| -> anyhow::Result<Served> {
        for echo in &echoes {
            let serving = thread::Builder::new().name("tcp echo".to_owned());
            // That it cannot wait any more is no matter of the packets.
            serving.spawn_scoped(scope, || drop(echo.serve(&stopped)))?;
        }
        let served = serve(&sockets, config, account, &observed_cpus, &stopped);
        stopped.set();
        Ok(served?)
    })?;
    tell(options, &served)?;
    Ok(0)
}

fn config(options: &ReflectOptions) -> anyhow::Result<ReflectorConfig> {
    let key = options.key.as_deref().map(read_key).transpose()?;
    let trust = match key {
        None => Trust::Anybody { tlv_key: None },
        Some(bytes) => Trust::Keyed(vec![SharedKey {
            key: Key::new(&bytes)?,
            ssid: None,
            control: options.grant_replies.map(|most_replies| ControlLimits {
                longest_bytes: LONGEST_REPLY,
                most_replies,
                least_interval_ns: LEAST_INTERVAL_NS,
            }),
        }]),
    };
    let usual = Limits::default();
    Ok(ReflectorConfig {
        trust,
        format: format_of(options.format),
        stateful: !options.stateless,
        limits: Limits {
            stranger: Rate {
                per_second: options.rate,
                ..usual.stranger
            },
            ..usual
        },
        ..ReflectorConfig::default()
    })
}

/// Counts of what it did.
#[derive(Serialize)]
struct Told {
    received: u64,
    answered: u64,
    received_bytes: u64,
    answered_bytes: u64,
    silent: Vec<(&'static str, u64)>,
    options_not_known: u64,
    /// Requests for replies of another length or number that were done.
    replies_granted: u64,
    /// Those that were not: one reply, as long as the request.
    replies_refused: u64,
    /// Replies beyond the first to one request.
    repeated: u64,
    transmit_stamps: u64,
    transmit_stamps_missing: u64,
    dropped_by_socket: u64,
}

fn tell(options: &ReflectOptions, served: &Served) -> anyhow::Result<()> {
    let Served {
        counters: c,
        reflected,
    } = served;
    let silent = [
        ("too short", c.too_short),
        (
            "from an address or a port to which nothing is sent",
            c.bad_source,
        ),
        ("look like replies", c.looks_like_reply),
        ("no key for them", c.no_key),
        ("wrong key", c.wrong_tag),
        ("replayed", c.replay),
        ("beyond the rate of their source", c.source_rate),
        ("beyond the rate of all", c.total_rate),
        ("wanted no reply", c.none_wanted),
        ("too long", c.no_room + reflected.too_long),
        ("could not be sent", reflected.not_sent),
    ];
    let told = Told {
        received: reflected.received,
        answered: reflected.answered,
        received_bytes: c.received_bytes,
        answered_bytes: c.replied_bytes.saturating_sub(reflected.not_sent_bytes),
        silent: silent.into_iter().filter(|(_, n)| *n > 0).collect(),
        options_not_known: c.tlvs_unrecognized,
        replies_granted: c.control_granted,
        replies_refused: c.control_refused,
        repeated: c.repeated,
        transmit_stamps: reflected.stamps,
        transmit_stamps_missing: reflected.losses.missing.iter().sum(),
        dropped_by_socket: reflected.drops,
    };
    if options.output.json {
        return output::print_json(&told);
    }
    if options.output.quiet {
        return Ok(());
    }
    let mut text = format!(
        "{} requests, {} answered ({} bytes in, {} out)\n",
        told.received, told.answered, told.received_bytes, told.answered_bytes
    );
    for (why, count) in &told.silent {
        text.push_str(&format!("  {count} not answered: {why}\n"));
    }
    if told.replies_granted + told.replies_refused > 0 {
        text.push_str(&format!(
            "  {} asked for other replies than one: {} granted ({} further replies), {} refused\n",
            told.replies_granted + told.replies_refused,
            told.replies_granted,
            told.repeated,
            told.replies_refused
        ));
    }
    if told.dropped_by_socket > 0 {
        let dropped = told.dropped_by_socket;
        text.push_str(&format!(
            "  {dropped} dropped by the kernel: no room, or a wrong checksum\n"
        ));
    }
    if told.transmit_stamps_missing > 0 {
        let missing = told.transmit_stamps_missing;
        text.push_str(&format!("  {missing} transmit stamps did not come\n"));
    }
    output::print(&text)
}
