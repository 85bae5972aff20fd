//! A measurement from its settings to the table of what came.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rand::TryRngCore;
use rand::rngs::OsRng;
use tompion_model::format_ns;
use tompion_net::icmp::{Echo, HEADER_BYTES, MARK_BYTES, Version};
use tompion_net::sender::{Plan, Tally, at_rate, one_by_one};
use tompion_net::{NetError, Options, Schedule, StampingSocket, Stop, Transport};
use tompion_path::stamps::{Outcome, Stamp};
use tompion_stamp::{Ask, Key, Mode, Sender, SenderConfig, SenderError, TimeFormat};
use tompion_time::sleep::{Policy, Sleeper};

use crate::account::{Account, Measured};
use crate::at_rate::Log;
use crate::error::PacketError;
use crate::icmp::IcmpSpeaker;
use crate::marks::Marks;
use crate::observed::Observing;
use crate::probing::{Probing, Progress};
use crate::speaker::Speaker;
use crate::stamp::StampSpeaker;
use crate::standstills::Beating;
use crate::target::{Family, Protocol, TRANSPORT_BYTES};

/// Most probes of one measurement: a table of some 100 bytes each.
pub const MOST_PROBES: u64 = 1 << 23;
/// The longest IP packet.
const LONGEST: usize = 65_535;
/// Below this interval replies are drained, not waited for: when the program had one says little then.
pub const WAITED_FOR: Duration = Duration::from_millis(1);
/// What at a high rate is written down may take, in bytes.
const MOST_LOG_BYTES: usize = 2 << 30;
/// The shortest ICMP echo: with what it is known by.
const LEAST_ECHO: usize = HEADER_BYTES + MARK_BYTES;
/// An echo's usual length as an IP packet of IPv4, as ping has it.
const USUAL_ECHO: usize = 64;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who is asked; the port counts for STAMP alone.
    pub to: SocketAddr,
    /// By which protocol.
    pub protocol: Protocol,
    /// When.
    pub schedule: Schedule,
    /// How many probes.
    pub count: u64,
    /// Bytes of a probe as an IP packet; none for as few as do.
    pub bytes: Option<usize>,
    /// How long a reply is waited for.
    pub timeout: Duration,
    /// The key of authenticated mode.
    pub key: Option<Key>,
    /// The format of STAMP's time stamps.
    pub format: TimeFormat,
    /// Whether this machine's clock is in step with UTC, and its error in nanoseconds: told to
    /// the far end.
    pub clock: (bool, u64),
    /// How it is waited for the moment of sending.
    pub policy: Policy,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
    /// TOS or traffic class.
    pub tos: Option<u8>,
    /// Whether the kernel is asked for stamps.
    pub kernel_stamps: bool,
    /// Whether the device stamps, too.
    pub hardware: bool,
    /// Whether probes leave past the queue of the own device; of STAMP, at intervals of a millisecond at least.
    pub past_queue: bool,
    /// The CPUs on which the threads may run, where what keeps these from running is to be observed; else none. At
    /// intervals below a millisecond nothing is.
    pub observed_cpus: Vec<u32>,
    /// The CPUs on which a heartbeat shows when they stand still; none for no such. At intervals below a millisecond there is
    /// none either.
    pub heartbeat_cpus: Vec<u32>,
}

impl Settings {
    /// Twenty probes, one each 100 ms.
    pub fn new(to: SocketAddr, protocol: Protocol) -> Self {
        let interval = Duration::from_millis(100);
        Self {
            to,
            protocol,
            schedule: Schedule::Periodic { interval },
            count: 20,
            bytes: None,
            timeout: Duration::from_secs(1),
            key: None,
            format: TimeFormat::Ntp,
            clock: (false, 500_000_000),
            policy: Policy::hybrid(),
            ttl: None,
            tos: None,
            kernel_stamps: true,
            hardware: false,
            past_queue: false,
            observed_cpus: Vec::new(),
            heartbeat_cpus: Vec::new(),
        }
    }
}

/// Measures. `watching` is shown what there is whenever nothing is under way, and not at all at
/// intervals below a millisecond.
///
/// # Errors
/// Settings that no probe can have, a socket that is refused, a failure while measuring.
pub fn measure(
    settings: &Settings,
    stop: &Stop,
    watching: &mut dyn FnMut(&Progress<'_>),
) -> Result<(Measured, Marks), PacketError> {
    if settings.count > MOST_PROBES {
        return Err(PacketError::TooMany {
            wanted: settings.count,
            most: MOST_PROBES,
        });
    }
    match settings.protocol {
        Protocol::Stamp => {
            let (sender, ssid) = sender(settings)?;
            let socket = StampingSocket::open(&options(settings, Transport::Udp))?;
            let probes = settings.count as usize;
            let speaker = StampSpeaker::new(sender, ssid, settings.format, probes);
            carry_out(settings, &socket, speaker, stop, watching)
        }
        Protocol::Icmp => {
            let bytes = echo_bytes(settings)?;
            let socket = echo_socket(settings)?;
            let identifier = match socket.transport() {
                Transport::IcmpPing => socket.local().port(),
                _ => unforeseen()? as u16,
            };
            let version = match settings.to.ip() {
                IpAddr::V4(_) => Version::V4,
                IpAddr::V6(_) => Version::V6,
            };
            let echo = Echo {
                version,
                identifier,
                secret: [unforeseen()?, unforeseen()?],
            };
            carry_out(
                settings,
                &socket,
                IcmpSpeaker { echo, bytes },
                stop,
                watching,
            )
        }
    }
}

/// A number that neither another measurement nor a stranger has.
///
/// # Errors
/// The kernel gives none.
pub fn unforeseen() -> Result<u64, PacketError> {
    OsRng
        .try_next_u64()
        .map_err(|_| PacketError::NoRandomNumbers)
}

fn options(settings: &Settings, transport: Transport) -> Options {
    let remote = match transport {
        Transport::Udp => settings.to,
        _ => SocketAddr::new(settings.to.ip(), 0),
    };
    Options {
        ttl: settings.ttl,
        tos: settings.tos,
        kernel_stamps: settings.kernel_stamps,
        hardware: settings.hardware,
        past_queue: settings.past_queue && transport == Transport::Udp,
        in_one_piece: true,
        ..Options::to(transport, remote)
    }
}

/// A raw socket, or where that is not allowed a ping socket.
fn echo_socket(settings: &Settings) -> Result<StampingSocket, NetError> {
    let raw = StampingSocket::open(&options(settings, Transport::IcmpRaw));
    match raw {
        Err(NetError::Open { .. }) => StampingSocket::open(&options(settings, Transport::IcmpPing)),
        other => other,
    }
}

fn headers(settings: &Settings) -> usize {
    Family::of(&settings.to.ip()).header_bytes()
}

fn echo_bytes(settings: &Settings) -> Result<usize, PacketError> {
    let headers = headers(settings);
    let bytes = settings.bytes.unwrap_or(headers + USUAL_ECHO);
    let (least, most) = (headers + LEAST_ECHO, LONGEST);
    match (least..=most).contains(&bytes) {
        true => Ok(bytes - headers),
        false => Err(PacketError::Size {
            wanted: bytes,
            least,
            most,
        }),
    }
}

/// A sender that asks for as much as there is room for: the kernel's transmit stamp of replies is
/// worth most.
fn sender(settings: &Settings) -> Result<(Sender, u16), PacketError> {
    let headers = headers(settings) + TRANSPORT_BYTES;
    let least = |ask| SenderConfig {
        ask,
        ..config(settings, 1)
    };
    // Zero means that there is none.
    let ssid = unforeseen()? as u16 | 1;
    let asks = [(true, true), (true, false), (false, false)];
    let mut refused = None;
    for (follow_up, tompion) in asks {
        let ask = Ask {
            follow_up,
            tompion,
            ..Ask::default()
        };
        let bytes = settings.bytes.map(|b| b.saturating_sub(headers));
        let made = Sender::new(SenderConfig {
            ssid,
            bytes,
            ..least(ask)
        });
        match made {
            Ok(sender) => return Ok((sender, ssid)),
            Err(SenderError::Length { least, longest, .. }) => {
                refused = Some((least, longest));
            }
            Err(other) => return Err(other.into()),
        }
    }
    let (least, longest) = refused.unwrap_or((Mode::Unauthenticated.base_bytes(), LONGEST));
    Err(PacketError::Size {
        wanted: settings.bytes.unwrap_or(0),
        least: least + headers,
        most: (longest + headers).min(LONGEST),
    })
}

fn config(settings: &Settings, ssid: u16) -> SenderConfig {
    let (synchronized, error_ns) = settings.clock;
    SenderConfig {
        ssid,
        format: settings.format,
        synchronized,
        error_ns,
        key: settings.key.clone(),
        outstanding: settings.count as usize,
        ..SenderConfig::default()
    }
}

fn carry_out<S: Speaker>(
    settings: &Settings,
    socket: &StampingSocket,
    speaker: S,
    stop: &Stop,
    watching: &mut dyn FnMut(&Progress<'_>),
) -> Result<(Measured, Marks), PacketError> {
    let bytes = speaker.bytes();
    let transport = match settings.protocol {
        Protocol::Stamp => TRANSPORT_BYTES,
        Protocol::Icmp => 0,
    };
    let ip_bytes = bytes + headers(settings) + transport;
    let mut account = Account::new(settings.count as usize, ip_bytes as u32, settings.hardware)?;
    if settings.past_queue {
        account.without(Stamp::Scheduled);
    }
    let timeout_ns = u64::try_from(settings.timeout.as_nanos()).unwrap_or(u64::MAX);
    let plan = Plan {
        timeout: settings.timeout,
        packet_bytes: bytes + 64,
        ..Plan::new(settings.schedule, Some(settings.count))
    };
    let mut sleeper = Sleeper::new(settings.policy);
    let mut probing = Probing {
        speaker,
        account,
        watching,
        timeout_ns,
        observed_cpus: &settings.observed_cpus,
        beside: Vec::new(),
        observing: None,
    };
    let mut beating = None;
    let tally = if settings.schedule.interval() >= WAITED_FOR {
        beating = Beating::begin(&settings.heartbeat_cpus);
        probing.beside = beating.as_ref().map_or_else(Vec::new, Beating::tids);
        one_by_one(socket, &plan, &mut sleeper, &mut probing, stop)?
    } else {
        let probes = settings.count as usize;
        let most = MOST_LOG_BYTES / (bytes + 256);
        if probes > most {
            return Err(PacketError::TooMany {
                wanted: settings.count,
                most: most as u64,
            });
        }
        let mut log = Log::new(probes, bytes + 1);
        let mut tally = at_rate(socket, &plan, &mut sleeper, &mut probing, &mut log, stop)?;
        log.replay(&mut probing.speaker, &mut probing.account);
        tally.losses.unattributed += log.overflowed;
        tally
    };
    let marks = probing.speaker.mark();
    let standstills = beating.map(Beating::finish);
    let observed = probing.observing.map(Observing::finish);
    let timeout_ns = i64::try_from(timeout_ns).unwrap_or(i64::MAX);
    let capability = *socket.capability();
    let measured = probing
        .account
        .finish(timeout_ns, tally, capability, observed);
    Ok((
        Measured {
            standstills,
            ..measured
        },
        marks,
    ))
}

impl Measured {
    /// Why there is nothing to be shown, or what was asked for was not done.
    ///
    /// # Errors
    /// No probe was sent, none was answered, or the interval was not held.
    pub fn require(&self, settings: &Settings) -> Result<(), PacketError> {
        let to = settings.to;
        let Tally { sent, due, .. } = self.tally;
        if sent == 0 && due > 0 {
            let mtu = self.errors.mtu;
            let too_long = || match mtu {
                Some(mtu) => format!("it is longer than the path's MTU of {mtu} bytes"),
                None => "it is longer than the path's MTU".to_owned(),
            };
            let refusal = self.first_refusal.as_ref().map(ToString::to_string);
            let why = match self.is_too_long {
                true => too_long(),
                false => refusal.unwrap_or_else(|| "each was too late for its turn".to_owned()),
            };
            return Err(PacketError::NothingSent { to, why });
        }
        let answered = self
            .packets
            .probes()
            .filter(|p| p.outcome == Outcome::Answered)
            .count();
        if answered == 0 && sent > 0 {
            let why = self.why_silent(settings);
            return Err(PacketError::NoReply { to, sent, why });
        }
        self.require_interval(settings)
    }

    fn why_silent(&self, settings: &Settings) -> Option<String> {
        if self.late > 0 {
            return Some(format!(
                "{} came, all of them later than the timeout of {}",
                self.late,
                format_ns(settings.timeout.as_nanos() as f64)
            ));
        }
        if let Some(mtu) = self.errors.mtu {
            return Some(format!("a link of the path takes {mtu} bytes at most"));
        }
        if self.errors.count > 0 {
            let error = std::io::Error::from_raw_os_error(self.errors.errno.cast_signed());
            let refused = self.errors.errno == REFUSED;
            let hint = if refused {
                " (does anything answer there?)"
            } else {
                ""
            };
            return Some(format!("{error}{hint}"));
        }
        let others = self.tally.received;
        if others > 0 {
            let keyless = match settings.key {
                Some(_) => " (does it have a key?)",
                None => "",
            };
            return Some(format!(
                "{others} packets came that are no replies to this measurement{keyless}"
            ));
        }
        // A far end with a key says nothing to who has another one or none.
        let asked = match (settings.protocol, &settings.key) {
            (Protocol::Icmp, _) => return None,
            (Protocol::Stamp, Some(_)) => "does it have this key?",
            (Protocol::Stamp, None) => {
                "is it there, does it want a key, or are probes faster than its --rate?"
            }
        };
        Some(format!("nothing came back ({asked})"))
    }

    fn require_interval(&self, settings: &Settings) -> Result<(), PacketError> {
        let rows = self.packets.len();
        let at = |row: usize, stamp| self.packets.get(row, stamp);
        let lateness = |row: usize| Some(at(row, Stamp::UserSent)? - at(row, Stamp::Due)?);
        let sent: Vec<usize> = (0..rows).filter(|r| lateness(*r).is_some()).collect();
        let (Some(&first), Some(&last)) = (sent.first(), sent.last()) else {
            return Ok(());
        };
        let span = at(last, Stamp::UserSent).zip(at(first, Stamp::UserSent));
        let span = span.map_or(0, |(b, a)| (b - a).max(0)) as f64;
        let interval = settings.schedule.interval().as_nanos() as f64;
        let late = lateness(last).unwrap_or(0).max(0) as f64;
        let gaps = (last - first).max(1) as f64;
        // It fell behind and did not catch up: a pause alone is made up for by those that follow.
        let is_behind = late > FALLEN_BEHIND * span && late > 10.0 * interval && sent.len() > 20;
        if !is_behind {
            return Ok(());
        }
        Err(PacketError::Interval {
            wanted: settings.schedule.interval(),
            least: Duration::from_nanos((span / gaps) as u64),
            late: Duration::from_nanos(late as u64),
        })
    }
}

/// ECONNREFUSED.
const REFUSED: u32 = 111;
/// The share of the whole time by which the last probe may be late.
const FALLEN_BEHIND: f64 = 0.1;
