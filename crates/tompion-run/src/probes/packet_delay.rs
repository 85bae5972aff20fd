//! Round trips of packets, seen from several places of this machine.
//!
//! Each probe is stamped by the program, as it enters its device's queue and as the driver takes
//! it, and so is its reply (Whiteaker et al., ACM SIGCOMM CCR 41(1), 2011). One measurement gives
//! a trial for each of these vantage points, one for the path between the two ends, and a side table with every stamp.

mod asked;
mod held_up;
pub mod join;
mod seen;
mod trials;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tompion_model::{Factors, InvalidValue, Unavailable, factor, format_duration};
use tompion_net::{Stop, monotonic_ns, realtime_ns};
use tompion_packets::{MOST_PROBES, PacketError, WAITED_FOR, measure};
use tompion_path::stamps::{Outcome, Packets, Stamp, recorded};
use tompion_probe::{Error, Limits};

use super::{
    BASE, Context, FEW, Form, InPlan, Observing, OwnTable, Parameter, Part, Preset, Probe, Probing,
    Room, Split, Time, Usual, Values, Way,
};
use crate::PlannedCell;
use asked::{Asked, WHITEAKER};
use seen::Seen;
use trials::{Began, parts};

pub(super) static ENTRY: Probe = Probe {
    name: recorded::NAME,
    title: "packet delay",
    about: "Round trips of packets, split by where the time goes (Whiteaker 2011)",
    overview: &["tompion measure packet-delay --to 192.0.2.7 --loads idle,cpu,network"],
    examples: &[
        "tompion measure packet-delay --to 192.0.2.7 --loads idle,cpu,network",
        "tompion measure packet-delay --to 192.0.2.7 --icmp --intervals 10ms,100ms",
        "tompion measure packet-delay --to 192.0.2.7 --preset whiteaker",
    ],
    remarks: "\
Sends STAMP test packets (RFC 8762), which `tompion reflect`, routers and other
TWAMP-Light reflectors answer; with --icmp any host does. The round trip of each
probe is a sample of several trials, one for each vantage point: `user` is what
a program sees, `qdisc` begins as the packet enters its device's queue, and
`kernel` as the driver takes it. `path` is the last without the far end's stay,
of probes that nothing held up at either end; of intervals below 1ms there is
none. The side table `packets` has every stamp.",
    parameters: &[
        Parameter::new(
            "to",
            "HOST",
            Form::One(host),
            Preset::Required,
            "Name or address of the other machine",
        ),
        Parameter {
            in_plan: InPlan::Preset("false"),
            excludes: &["port"],
            ..Parameter::new(
                "icmp",
                "",
                Form::Flag,
                Preset::Absent,
                "Send ICMP echo requests, which need no far end",
            )
        },
        Parameter::new(
            "port",
            "PORT",
            Form::One(port),
            Preset::Text("862"),
            "UDP port of the reflector",
        ),
        Parameter {
            short: Some('i'),
            alias: Some("interval"),
            ..Parameter::new(
                "intervals",
                "TIME",
                Form::Times("interval"),
                Preset::Text("20ms"),
                "Times between two probes, comma-separated",
            )
        },
        Parameter {
            in_plan: InPlan::Preset("false"),
            ..Parameter::new(
                "poisson",
                "",
                Form::Flag,
                Preset::Absent,
                "Send at random times, a Poisson process with the interval as its mean",
            )
        },
        Parameter::new(
            "probes",
            "N",
            Form::Count,
            Preset::Text("1200"),
            "Number of probes of each cell, over all blocks",
        ),
        Parameter::new(
            "size",
            "BYTES",
            Form::One(size),
            Preset::Absent,
            "Bytes of a probe as an IP packet, headers included [default: as few as possible]",
        ),
        Parameter::new(
            "timeout",
            "TIME",
            Form::Time,
            Preset::Text("1s"),
            "How long to wait for a reply; later ones count as lost",
        ),
        Parameter {
            in_plan: InPlan::Preset("false"),
            ..Parameter::new(
                "user-stamps",
                "",
                Form::Flag,
                Preset::Absent,
                "Do without the kernel's stamps: `user` is the only vantage point then",
            )
        },
        Parameter {
            in_plan: InPlan::Preset("false"),
            ..Parameter::new(
                "no-heartbeat",
                "",
                Form::Flag,
                Preset::Absent,
                "Do not look for moments at which CPUs stand still, by a thread on each of them",
            )
        },
        Parameter {
            excludes: &["user-stamps"],
            ..Parameter::new(
                "hardware-stamps",
                "DEVICE",
                Form::One(device),
                Preset::Absent,
                "Have this device stamp in hardware, too, during each trial, for a vantage point \
                 `hardware`",
            )
        },
        Parameter {
            in_plan: InPlan::Always(Preset::Absent),
            excludes: &["icmp"],
            ..Parameter::new(
                "key",
                "FILE",
                Form::One(key),
                Preset::Absent,
                "Authenticate with the key in this file",
            )
        },
        Parameter {
            in_plan: InPlan::Always(Preset::Absent),
            excludes: &["intervals", "poisson", "probes", "size"],
            ..Parameter::new(
                "preset",
                "NAME",
                Form::One(preset),
                Preset::Absent,
                "Use count, interval and size of a published measurement: `whiteaker` is 200 probes \
                 of 100 bytes, one each 250 ms",
            )
        },
    ],
    tables: &[
        OwnTable {
            name: recorded::TABLE,
            empty: || recorded::table(&Packets::new()),
            is_read: |table| recorded::of_table(table).is_ok(),
        },
        OwnTable {
            name: recorded::KEYS,
            empty: || recorded::keys_table(&[]),
            is_read: |table| recorded::keys_of(table).is_ok(),
        },
        OwnTable {
            name: recorded::MARKS,
            empty: || recorded::marks_table(&[]),
            is_read: |table| recorded::marks_of(table).is_ok(),
        },
    ],
    usual: Usual {
        // By fewer no difference between vantage points, of which there are four and more, can be shown.
        blocks: 10,
        time: Time::AllSamples,
        ..BASE.usual
    },
    observing: Observing::Always,
    // The program's, the queue's, the kernel's, the device's, and the path.
    parts: 5,
    available: |values| {
        let asked = Asked::of(values, interval_of(values));
        asked
            .is_answered()
            .map_err(|why| Unavailable::Absent(why.to_string()))
    },
    cells,
    ..BASE
};

fn host(text: &str) -> Result<String, InvalidValue> {
    // Of a name in the DNS, and of an address with its zone.
    const LONGEST: usize = 255;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    match !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is no name of a host, and no address").into()),
    }
}

fn port(text: &str) -> Result<String, InvalidValue> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port.to_string()),
        _ => Err(format!("`{text}` is no port; write a number from 1 to 65535").into()),
    }
}

fn size(text: &str) -> Result<String, InvalidValue> {
    match text.parse::<u16>() {
        Ok(bytes) if bytes > 0 => Ok(bytes.to_string()),
        _ => Err(format!("`{text}` is no length of a packet; write a number such as 100").into()),
    }
}

fn device(text: &str) -> Result<String, InvalidValue> {
    // The kernel's limit, and what it does not take.
    let is_name = !text.is_empty() && text.len() <= 15;
    match is_name && !text.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is no name of a network device").into()),
    }
}

/// The file's name: what is in it is read where it is used, and stands nowhere.
fn key(text: &str) -> Result<String, InvalidValue> {
    match tompion_load::read_key(Path::new(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(why) => Err(why.to_string().into()),
    }
}

fn preset(text: &str) -> Result<String, InvalidValue> {
    match text {
        "whiteaker" => Ok(text.to_owned()),
        _ => Err(format!(
            "no measurement of that name is published here; use whiteaker, not `{text}`"
        )
        .into()),
    }
}

/// The first interval, for a look at whether anybody answers.
fn interval_of(values: &Values) -> u64 {
    values
        .times_ns("intervals")
        .first()
        .copied()
        .unwrap_or(WHITEAKER.1)
}

fn cells(values: &Values, context: &Context<'_>) -> Vec<PlannedCell> {
    let (probes, intervals) = match values.texts("preset") {
        [] => (values.count("probes"), values.times_ns("intervals")),
        _ => (WHITEAKER.0, vec![WHITEAKER.1]),
    };
    let cell = |interval_ns: u64| {
        let asked = Asked::of(values, interval_ns);
        let key = context
            .key(recorded::NAME, asked.method())
            .with(factor::TARGET, format_duration(interval_ns));
        PlannedCell {
            samples: context.samples(probes),
            weight: (interval_ns as f64 / 1e5).max(1.0),
            ..context.cell(&key, None, PacketDelay { asked })
        }
    };
    intervals.into_iter().map(cell).collect()
}

/// Round trips to one host at one interval.
#[derive(Clone, Debug)]
pub struct PacketDelay {
    asked: Asked,
}

/// Measures as long as the limits say.
fn measured(asked: &Asked, limits: &Limits, stop: &Stop) -> Result<Vec<Part>, PacketError> {
    let fit = limits.time_ns / asked.interval_ns.max(1);
    let least = limits.samples.min(limits.least_samples).max(1);
    let count = limits.samples.min(fit).max(least);
    if count > MOST_PROBES {
        return Err(PacketError::TooMany {
            wanted: count,
            most: MOST_PROBES,
        });
    }
    let settings = asked.settings(count)?;
    let _stamping = asked.begin_stamping()?;
    let began = Began {
        mono_ns: monotonic_ns(),
        utc_ns: realtime_ns(),
    };
    let (mut measured, marks) = measure(&settings, stop, &mut |_| ())?;
    if stop.is_set() {
        unsettle(&mut measured.packets, asked.timeout_ns, realtime_ns());
    }
    let held = measured.require(&settings);
    let remark = match held {
        // Nothing came back, and nobody says why: all of it is loss, which is told.
        Ok(()) | Err(PacketError::NoReply { why: None, .. }) => None,
        Err(error @ PacketError::Interval { .. }) => Some(error.to_string()),
        Err(_) if stop.is_set() => None,
        Err(error) => return Err(error),
    };
    Ok(parts(
        &measured,
        asked,
        &asked.seen(),
        limits,
        began,
        remark,
        &marks.keys(&measured.packets),
    ))
}

/// Probes whose reply might still have come when the measurement was stopped are not lost.
fn unsettle(packets: &mut Packets, timeout_ns: u64, now_ns: i64) {
    for row in 0..packets.len() {
        let is_lost = packets
            .probe(row)
            .is_ok_and(|p| p.outcome == Outcome::Lost && p.arrival.is_none());
        let sent_ns = packets.get(row, Stamp::UserSent);
        let waited_ns = sent_ns.map(|sent| now_ns.saturating_sub(sent).max(0).unsigned_abs());
        if is_lost && waited_ns.is_some_and(|ns| ns < timeout_ns) {
            // The row is there.
            let _ = packets.set_outcome(row, Outcome::Pending);
        }
    }
}

impl Probing for PacketDelay {
    fn way(&self) -> Way<'_> {
        // Made where it is measured, since it may be refused.
        let stop: Arc<OnceLock<Stop>> = Arc::default();
        let (asked, stopped) = (self.asked.clone(), Arc::clone(&stop));
        let measure = move |limits: &Limits| {
            let made = Stop::new().map_err(PacketError::from);
            let measured = made.and_then(|made| {
                let stop = stopped.get_or_init(|| made);
                measured(&asked, limits, stop)
            });
            measured.map_err(|error| Error::Measuring(Box::new(error)))
        };
        let part = |seen: &Seen| Factors::new().with(factor::VANTAGE, seen.to_string());
        Way::Split(Split {
            parts: self.asked.seen().iter().map(part).collect(),
            measure: Box::new(measure),
            interrupt: Box::new(move || {
                if let Some(stop) = stop.get() {
                    stop.set();
                }
            }),
        })
    }

    fn least_time(&self, samples: u64) -> Duration {
        let few = samples.min(FEW);
        Duration::from_nanos(self.asked.interval_ns.saturating_mul(few))
    }

    fn overhead(&self) -> Duration {
        // A socket, the kernel's events, and what comes last of replies and of these.
        let last = Duration::from_millis(50);
        match Duration::from_nanos(self.asked.interval_ns) < WAITED_FOR {
            // Such replies are looked at a timeout behind the last probe, whatever came before.
            true => last + Duration::from_nanos(self.asked.timeout_ns),
            false => last,
        }
    }

    fn trials(&self) -> usize {
        self.asked.seen().len()
    }

    fn wait_ns(&self) -> u64 {
        self.asked.interval_ns
    }

    fn bytes(&self, room: &Room) -> u64 {
        // A sample for each vantage point and the path, and a row with all stamps.
        const ROW: u64 = 220;
        let ns = u64::try_from(room.duration.as_nanos()).unwrap_or(u64::MAX);
        let in_time = (ns / self.asked.interval_ns.max(1)).saturating_mul(ROW);
        room.of_samples(ROW).min(in_time)
    }
}

#[cfg(test)]
mod tests;
