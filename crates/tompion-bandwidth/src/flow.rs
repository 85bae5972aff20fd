//! Trains on their way: the sockets by which they leave, and how it is learnt when their packets arrived.

mod manners;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tompion_net::sender::{OfTrain, Train, TrainLog, send_train};
use tompion_net::{
    Options, ReceiveBatch, Route, SendError, StampingSocket, Stop, TransmitStamps, Transport,
    monotonic_ns, realtime_ns, wait,
};
use tompion_packets::unforeseen;
use tompion_path::bandwidth::{Asked, Passed, TrainPlan, TrainSeen};
use tompion_stamp::tlv::values::TrainArrival;
use tompion_stamp::{
    ArrivalsAsked, Ask, Mode, Sender, SenderConfig, Stamp, Taken, TrainAnswer, TrainSender,
};
use tompion_time::sleep::Sleeper;

use self::manners::Manners;
use crate::error::BandwidthError;
use crate::far_end::{Arrivals, FarEnd, payload};
use crate::settings::Settings;

/// Packets of a train at most: a reflector of Tompion's remembers no more.
const MOST_PACKETS: usize = 4_096;
/// Bytes for packets on their way through this machine.
const SEND_BUFFER: usize = 16 << 20;
/// Arrivals that one request asks for at most. It is no longer than a packet of a train.
const ASKED_AT_ONCE: u16 = 330;
/// What a packet takes of the receive buffer, in bytes: its two stamps, or its reply. Generous, since the kernel counts more than
/// what it hands over.
const STAMPS_BYTES: usize = 2_048;
const REPLY_BYTES: usize = 2_048;
/// Calls that read what is left of earlier trains, before a train goes all the same.
const MOST_CALLS: usize = 1_024;
/// How often arrivals are asked for until an answer comes, and by how much longer each time than the first.
const TRIES: u32 = 5;
const LONGER: u64 = 3;
/// How long an answer takes beside the path's round trip, in nanoseconds, and at most.
const ANSWER_NS: u64 = 20_000_000;
const MOST_WAIT_NS: u64 = 2_000_000_000;
/// The slowest path for which an answer is waited, in bits a second: it follows the train.
const SLOWEST_BPS: u64 = 1_000_000;
/// Packets that are read by one call.
const AT_ONCE: usize = 64;

/// How packets of one flow are written, and what answers them.
enum Speaker {
    /// Arrivals are asked for.
    Trains(TrainSender),
    /// Each packet has a reply. With the requests of the train.
    Replies(Sender),
}

/// What a request for arrivals came to.
enum Told {
    Arrivals(Vec<Option<TrainArrival>>),
    /// The far end remembers none.
    NotKept,
    /// No answer came; why the question was not sent, where it was not.
    Nothing(Option<SendError>),
    /// It was stopped, or its time is up.
    Stopped,
}

struct Flow {
    speaker: Speaker,
    /// The number of the train's first packet of this flow.
    first: u32,
    /// What came of the train's packets of this flow: when, and whether marked as congested.
    received: Vec<Option<(i64, bool)>>,
}

/// All flows to one far end.
pub(crate) struct Flows<'a> {
    settings: &'a Settings,
    arrivals: Arrivals,
    round_trip_ns: u64,
    sockets: Vec<StampingSocket>,
    flows: Vec<Flow>,
    log: TrainLog,
    packet: Vec<u8>,
    incoming: ReceiveBatch,
    /// The number of the next packet's stamps.
    next: u64,
    manners: Manners,
    /// When nothing is waited for any longer, by `CLOCK_MONOTONIC` in nanoseconds.
    end_ns: u64,
    received_by_kernel: bool,
}

/// A train that went.
pub(crate) struct Carried {
    pub seen: TrainSeen,
    /// The latest departure after its moment, in nanoseconds, of those that went.
    pub most_late_ns: u64,
    /// How often one that was late put off the others.
    pub put_off: u32,
    /// Whether this machine's kernel stamped all departures, and the far end's all arrivals, as far as it says so.
    pub sent_by_kernel: bool,
    pub received_by_kernel: bool,
}

impl<'a> Flows<'a> {
    pub fn open(settings: &'a Settings, far_end: &FarEnd) -> Result<Self, BandwidthError> {
        let bytes = payload(&settings.to, settings.asked.bytes);
        let mut flows = Self {
            settings,
            arrivals: far_end.arrivals,
            round_trip_ns: far_end.round_trip_ns.unsigned_abs(),
            sockets: Vec::new(),
            flows: Vec::new(),
            log: TrainLog::new(MOST_PACKETS),
            packet: vec![0; bytes],
            incoming: ReceiveBatch::new(AT_ONCE, bytes.max(2_048)),
            next: 0,
            manners: Manners::towards(&settings.to, settings.key.is_some()),
            end_ns: u64::MAX,
            received_by_kernel: true,
        };
        flows.more(1)?;
        Ok(flows)
    }

    /// Has that many flows at least.
    fn more(&mut self, flows: usize) -> Result<(), BandwidthError> {
        while self.flows.len() < flows {
            let options = Options {
                in_one_piece: true,
                send_buffer: Some(SEND_BUFFER),
                ..Options::to(Transport::Udp, self.settings.to)
            };
            self.sockets.push(StampingSocket::open(&options)?);
            let flow = Flow {
                speaker: self.speaker()?,
                first: 0,
                received: Vec::with_capacity(MOST_PACKETS),
            };
            self.flows.push(flow);
        }
        Ok(())
    }

    /// What a method is asked for: what the settings say, and no longer trains than there is room for.
    pub fn asked(&self) -> Asked {
        let granted = self
            .sockets
            .first()
            .map_or(0, |socket| socket.capability().receive_buffer.granted);
        let each = match self.arrivals {
            Arrivals::Asked => STAMPS_BYTES,
            Arrivals::Replies => REPLY_BYTES + self.packet.len(),
        };
        Asked {
            most_packets: (granted / each).min(MOST_PACKETS) as u32,
            ..self.settings.asked.clone()
        }
    }

    /// Nothing is waited for after that moment.
    pub fn until(&mut self, end: Option<Instant>) {
        let left = end.map_or(Duration::MAX, |end| {
            end.saturating_duration_since(Instant::now())
        });
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        self.end_ns = monotonic_ns().saturating_add(left_ns);
    }

    fn speaker(&self) -> Result<Speaker, BandwidthError> {
        let mode = match self.settings.key {
            Some(_) => Mode::Authenticated,
            None => Mode::Unauthenticated,
        };
        let arrivals = TrainSender::arrivals_within(self.packet.len(), mode);
        let config = SenderConfig {
            // Zero means that there is none.
            ssid: unforeseen()? as u16 | 1,
            key: self.settings.key.clone(),
            bytes: Some(self.packet.len()),
            outstanding: MOST_PACKETS,
            ask: Ask {
                arrivals: arrivals.clamp(1, ASKED_AT_ONCE),
                ..Ask::default()
            },
            ..SenderConfig::default()
        };
        Ok(match self.arrivals {
            Arrivals::Asked => Speaker::Trains(TrainSender::new(config)?),
            Arrivals::Replies => Speaker::Replies(Sender::new(SenderConfig {
                ask: Ask::default(),
                ..config
            })?),
        })
    }

    /// Sends a train and learns what became of it; nothing where it was stopped.
    pub fn carry(
        &mut self,
        plan: TrainPlan,
        stop: &Stop,
    ) -> Result<Option<Carried>, BandwidthError> {
        let flows = usize::from(plan.flows).max(1);
        self.more(flows)?;
        let first = self.next;
        self.next += plan.packets() as u64;
        for (at, flow) in self.flows[..flows].iter_mut().enumerate() {
            let packets = (plan.packets() + flows - 1 - at) / flows;
            flow.begin(packets);
        }
        // Those of an earlier train.
        for socket in &self.sockets {
            for _ in 0..MOST_CALLS {
                if socket.receive(&mut self.incoming)? == 0 {
                    break;
                }
            }
        }
        self.received_by_kernel = true;
        let dropped: Vec<Option<u32>> = self.sockets.iter().map(StampingSocket::drops).collect();
        let train = Train {
            due_ns: &plan.due_ns,
            silence_ns: plan.after_ns,
            first,
        };
        if let Some(Speaker::Trains(sender)) = self.flows.first().map(|flow| &flow.speaker) {
            self.packet.copy_from_slice(&sender.packet());
        }
        let takes = Duration::from_nanos(plan.due_ns.last().copied().unwrap_or_default());
        let mut sleeper = Sleeper::new(self.settings.timers.policy(takes));
        let all = &mut self.flows;
        let is_whole = send_train(
            &self.sockets[..flows],
            &train,
            &mut sleeper,
            &mut self.packet,
            &mut |index, user_ns, packet| {
                all[index % flows].write(index / flows, user_ns, packet);
            },
            &mut self.log,
            stop,
        )?;
        if !is_whole {
            return Ok(None);
        }
        let packets = self.log.packets();
        if !packets.is_empty() && packets.iter().all(|packet| !packet.went) {
            let why = self.log.first_refusal.take();
            return Err(BandwidthError::NothingSent {
                to: self.settings.to,
                why: why.map_or_else(|| "no reason was given".to_owned(), |why| why.to_string()),
            });
        }
        for at in 0..flows {
            match self.arrivals {
                Arrivals::Asked => self.ask(at, stop)?,
                Arrivals::Replies => self.take_replies(at, stop)?,
            }
        }
        if stop.is_set() || monotonic_ns() >= self.end_ns {
            return Ok(None);
        }
        let mut carried = self.carried(plan, flows);
        let drops = self.sockets.iter().map(StampingSocket::drops);
        // What this machine had no room for is not what the path lost.
        carried.seen.is_spoilt_here |= dropped.into_iter().zip(drops).any(|(was, is)| was != is);
        Ok(Some(carried))
    }

    fn carried(&mut self, plan: TrainPlan, flows: usize) -> Carried {
        let packets = self.log.packets();
        let has_kernel = self
            .sockets
            .iter()
            .all(|socket| socket.capability().transmit == TransmitStamps::Kernel);
        // One vantage point for all: a stamp that was lost is none.
        let sent = |packet: &OfTrain| match has_kernel {
            true => packet.software_ns,
            false => packet.went.then_some(packet.user_ns),
        };
        let received = |index: usize| *self.flows[index % flows].received.get(index / flows)?;
        let passed = packets.iter().enumerate().map(|(index, packet)| {
            let received = received(index);
            Passed {
                sent_ns: sent(packet),
                received_ns: received.map(|(ns, _)| ns),
                is_marked: received.is_some_and(|(_, is_marked)| is_marked),
            }
        });
        let late = packets.iter().filter(|packet| packet.went);
        let most_late_ns = late.map(|packet| packet.mono_ns.saturating_sub(packet.due_ns));
        Carried {
            most_late_ns: most_late_ns.max().unwrap_or_default(),
            put_off: self.log.put_off,
            sent_by_kernel: has_kernel,
            received_by_kernel: self.received_by_kernel,
            seen: TrainSeen::of(plan, passed.collect()),
        }
    }

    /// Asks for the arrivals of a flow's packets.
    fn ask(&mut self, at: usize, stop: &Stop) -> Result<(), BandwidthError> {
        let packets = self.flows[at].received.len();
        let mut from = 0;
        while from < packets {
            let Some(told) = self.require_from(at, from, stop)? else {
                return Ok(());
            };
            // The last ones may still be on their way: what follows them was faster.
            let rest = packets - from;
            let is_whole = told
                .iter()
                .take(rest)
                .next_back()
                .is_some_and(Option::is_some);
            let told = match is_whole || from + told.len() < packets {
                true => told,
                false => {
                    let left_ns = self.end_ns.saturating_sub(monotonic_ns());
                    let rest_ns = self.round_trip_ns.min(MOST_WAIT_NS) + ANSWER_NS / 4;
                    rest_for(rest_ns.min(left_ns), stop);
                    self.require_from(at, from, stop)?.unwrap_or(told)
                }
            };
            for (place, arrival) in self.flows[at].received[from..].iter_mut().zip(&told) {
                *place = arrival.map(|arrival| (arrival.utc_ns, arrival.is_marked));
            }
            let by_kernel = told.iter().flatten().all(|arrival| arrival.is_by_kernel);
            self.received_by_kernel &= by_kernel;
            from += told.len().max(1);
        }
        Ok(())
    }

    /// Whether the far end remembers trains; also where it was stopped.
    pub fn are_kept(&mut self, stop: &Stop) -> Result<bool, BandwidthError> {
        match self.ask_from(0, 0, stop)? {
            Told::NotKept => Ok(false),
            Told::Arrivals(_) | Told::Stopped => Ok(true),
            Told::Nothing(why) => {
                let bytes = match &self.flows[0].speaker {
                    Speaker::Trains(sender) => sender.asking_bytes(),
                    Speaker::Replies(_) => 0,
                };
                Err(BandwidthError::Silent {
                    to: self.settings.to,
                    bytes,
                    why: why.map(|why| why.to_string()),
                })
            }
        }
    }

    /// Arrivals from one packet on, as many as one request asks for; nothing where it was stopped.
    fn require_from(
        &mut self,
        at: usize,
        from: usize,
        stop: &Stop,
    ) -> Result<Option<Vec<Option<TrainArrival>>>, BandwidthError> {
        let why = match self.ask_from(at, from, stop)? {
            Told::Arrivals(told) => return Ok(Some(told)),
            Told::Stopped => return Ok(None),
            Told::NotKept => "it remembers none any longer",
            Told::Nothing(_) => "it no longer answers",
        };
        Err(BandwidthError::NoArrivals {
            to: self.settings.to,
            packets: self.flows[at].received.len(),
            why,
        })
    }

    fn ask_from(&mut self, at: usize, from: usize, stop: &Stop) -> Result<Told, BandwidthError> {
        let of_train = self
            .flows
            .iter()
            .map(|flow| flow.received.len())
            .sum::<usize>();
        let of_train = (of_train * self.packet.len()) as u64 * 8;
        let behind_ns = of_train.saturating_mul(1_000_000_000) / SLOWEST_BPS;
        let mut wait_ns = ANSWER_NS + 2 * self.round_trip_ns.min(MOST_WAIT_NS);
        let most_ns = MOST_WAIT_NS.max(behind_ns);
        let mut earlier: Vec<ArrivalsAsked> = Vec::new();
        let mut refused = None;
        for _ in 0..TRIES {
            self.manners.before(stop);
            let flow = &mut self.flows[at];
            let Speaker::Trains(sender) = &mut flow.speaker else {
                return Ok(Told::NotKept);
            };
            let first = flow.first.wrapping_add(from as u32);
            let user_ns = realtime_ns();
            let (asked, packet) = sender.ask(first, user_ns);
            let number = self.next;
            self.next += 1;
            let socket = &self.sockets[at];
            refused = socket
                .send(number, user_ns, &packet, &Route::default())
                .err();
            earlier.push(asked);
            let end = monotonic_ns().saturating_add(wait_ns).min(self.end_ns);
            loop {
                let left = end.saturating_sub(monotonic_ns());
                if stop.is_set() {
                    return Ok(Told::Stopped);
                }
                if left == 0 {
                    break;
                }
                wait(&[socket.as_fd()], stop, left)?;
                socket.receive(&mut self.incoming)?;
                let answers = self.incoming.iter();
                // One that comes late is an answer, too.
                let mut answers = answers.filter_map(|(bytes, _)| {
                    earlier.iter().find_map(|asked| sender.answer(asked, bytes))
                });
                match answers.next() {
                    Some(TrainAnswer::Arrivals(told)) => return Ok(Told::Arrivals(told)),
                    Some(TrainAnswer::NotKept) => return Ok(Told::NotKept),
                    None => drain_errors(socket)?,
                }
            }
            if monotonic_ns() >= self.end_ns {
                return Ok(Told::Stopped);
            }
            wait_ns = (wait_ns * LONGER).min(most_ns);
        }
        Ok(Told::Nothing(refused))
    }

    /// Takes replies until all are there, or none has come for long enough.
    fn take_replies(&mut self, at: usize, stop: &Stop) -> Result<(), BandwidthError> {
        let quiet_ns = ANSWER_NS + 2 * self.round_trip_ns.min(MOST_WAIT_NS);
        let socket = &self.sockets[at];
        let flow = &mut self.flows[at];
        let mut missing = flow.received.len();
        let mut end = monotonic_ns().saturating_add(quiet_ns);
        while missing > 0 && !stop.is_set() {
            let left = end.min(self.end_ns).saturating_sub(monotonic_ns());
            if left == 0 {
                break;
            }
            wait(&[socket.as_fd()], stop, left)?;
            let came = socket.receive(&mut self.incoming)?;
            for (bytes, received) in self.incoming.iter().take(came) {
                if flow.take(bytes, received.stamps.user_ns) {
                    missing -= 1;
                    end = monotonic_ns().saturating_add(quiet_ns);
                }
            }
            if came == 0 {
                drain_errors(socket)?;
            }
        }
        Ok(())
    }
}

impl Flow {
    /// A train of so many packets begins.
    fn begin(&mut self, packets: usize) {
        self.received.clear();
        self.received.resize(packets, None);
        self.first = match &mut self.speaker {
            Speaker::Trains(sender) => sender.begin(packets as u32),
            // Its numbers go on by themselves.
            Speaker::Replies(sender) => sender.accounts().prepared as u32,
        };
    }

    fn write(&mut self, index: usize, user_ns: i64, packet: &mut [u8]) {
        match &mut self.speaker {
            Speaker::Trains(sender) => {
                sender.write(self.first.wrapping_add(index as u32), user_ns, packet);
            }
            Speaker::Replies(sender) => {
                if let Some(request) = sender.prepare(packet, 0) {
                    sender.stamp(&request, packet, user_ns);
                }
            }
        }
    }

    /// Whether a datagram says of a packet when it arrived, for the first time.
    fn take(&mut self, bytes: &[u8], user_ns: i64) -> bool {
        let Speaker::Replies(sender) = &mut self.speaker else {
            return false;
        };
        let Taken::Reply(answer) = sender.take(bytes, Stamp::user(user_ns)) else {
            return false;
        };
        let index = answer.sequence.wrapping_sub(self.first) as usize;
        match (
            self.received.get_mut(index),
            answer.reflector_received_utc_ns,
        ) {
            (Some(place), Some(ns)) => {
                *place = Some((ns, false));
                true
            }
            _ => false,
        }
    }
}

/// Reads what the error queue holds, so that it wakes nobody again.
fn drain_errors(socket: &StampingSocket) -> Result<(), BandwidthError> {
    let mut errors = tompion_net::ErrorBatch::new(AT_ONCE);
    socket.drain(&mut errors, 4 * AT_ONCE, |_| {})?;
    Ok(())
}

fn rest_for(ns: u64, stop: &Stop) {
    // Whatever poll refuses, it is a rest.
    let _ = wait(&[], stop, ns);
}
