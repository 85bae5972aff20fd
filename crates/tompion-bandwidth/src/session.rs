//! Estimates to one far end, each from its first train to its end.

mod reach;

use std::time::{Duration, Instant};

use serde::Serialize;
use tompion_net::Stop;
use tompion_path::bandwidth::{Ending, Response, Step, TrainPlan};

use crate::error::BandwidthError;
use crate::far_end::{Arrivals, FarEnd};
use crate::flow::{Carried, Flows};
use crate::settings::Settings;
use crate::text::on_ethernet;

/// A train as it passed.
#[derive(Clone, Debug, Serialize)]
pub struct TrainTold {
    /// How many packets it has, and how many of these arrived.
    pub packets: usize,
    /// As before.
    pub arrived: usize,
    /// The rate at which its packets departed, in bits a second; nothing where too few did.
    pub sent_bps: Option<f64>,
    /// The rate at which they arrived.
    pub received_bps: Option<f64>,
    /// The latest departure after its moment, in nanoseconds.
    pub most_late_ns: u64,
    /// How often a late packet put off those after it.
    pub put_off: u32,
    /// Whether this machine paused while it was sent.
    pub is_spoilt_here: bool,
    /// Whether the far end paused while it arrived.
    pub is_spoilt_there: bool,
}

impl TrainTold {
    fn of(carried: &Carried) -> Self {
        let seen = &carried.seen;
        let response = Response::of(seen);
        Self {
            packets: seen.packets.len(),
            arrived: seen
                .packets
                .iter()
                .filter(|packet| packet.received_ns.is_some())
                .count(),
            sent_bps: response.map(|said| said.rate_bps),
            received_bps: response.map(|said| said.received_bps()),
            most_late_ns: carried.most_late_ns,
            put_off: carried.put_off,
            is_spoilt_here: seen.is_spoilt_here,
            is_spoilt_there: seen.is_spoilt_there,
        }
    }
}

/// What an estimate came to.
#[derive(Clone, Debug, Serialize)]
pub struct Estimated {
    /// How it ended, by name.
    pub ended: &'static str,
    /// What that says.
    pub ending: Ending,
    /// Its trains.
    pub trains: Vec<TrainTold>,
    /// Their bytes as IP packets.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub lasts_ns: u64,
    /// What is available as Ethernet has it, with its headers, in bits a second.
    pub available_ethernet_bps: Option<f64>,
    /// Whether this machine's kernel stamped every departure.
    pub sent_by_kernel: bool,
    /// Whether the far end's kernel stamped every arrival, as far as it says so.
    pub received_by_kernel: bool,
}

/// A far end that is known.
pub struct Session<'a> {
    settings: &'a Settings,
    far_end: FarEnd,
    flows: Flows<'a>,
}

impl<'a> Session<'a> {
    /// Asks the far end who it is.
    ///
    /// # Errors
    /// No reply, packets that are too long on the way, a far end without receive stamps.
    pub fn open(settings: &'a Settings, stop: &Stop) -> Result<Self, BandwidthError> {
        let mut far_end = reach::ask(settings, stop)?;
        let mut flows = Flows::open(settings, &far_end)?;
        if far_end.arrivals == Arrivals::Asked && !flows.are_kept(stop)? {
            far_end.arrivals = Arrivals::Replies;
            flows = Flows::open(settings, &far_end)?;
        }
        Ok(Self {
            settings,
            far_end,
            flows,
        })
    }

    /// Who is there.
    pub fn far_end(&self) -> &FarEnd {
        &self.far_end
    }

    /// Makes an estimate. Nothing where it was stopped.
    ///
    /// # Errors
    /// A far end that does not say when packets arrived, a train of which nothing leaves, and no answer in time.
    pub fn estimate(&mut self, stop: &Stop) -> Result<Option<Estimated>, BandwidthError> {
        let Self {
            settings, flows, ..
        } = self;
        let asked = flows.asked();
        let mut method = (settings.method.begin)(&asked);
        let began = Instant::now();
        let end = began.checked_add(settings.most_time);
        flows.until(end);
        let (mut trains, mut bytes) = (Vec::new(), 0);
        let mut last = None;
        let (mut sent_by_kernel, mut received_by_kernel) = (true, true);
        let ending = loop {
            let plan = match method.next(last.as_ref()) {
                Step::Done(ending) => break ending,
                Step::Send(plan) => plan,
            };
            let takes = lasts(&plan);
            let is_late = end.is_some_and(|end| Instant::now() + takes > end);
            let carried = match is_late {
                true => None,
                false => {
                    bytes += plan.all_bytes();
                    flows.carry(plan, stop)?
                }
            };
            if stop.is_set() {
                return Ok(None);
            }
            let Some(carried) = carried else {
                break method.finish().ok_or(BandwidthError::OutOfTime {
                    time: settings.most_time,
                    next: is_late.then_some(takes),
                    trains: trains.len(),
                    bytes,
                })?;
            };
            sent_by_kernel &= carried.sent_by_kernel;
            received_by_kernel &= carried.received_by_kernel;
            trains.push(TrainTold::of(&carried));
            last = Some(carried.seen);
        };
        let available_ethernet_bps = match &ending {
            Ending::Estimate(found) => Some(on_ethernet(found.available_bps, asked.bytes)),
            _ => None,
        };
        Ok(Some(Estimated {
            ended: ending.name(),
            ending,
            trains,
            bytes,
            lasts_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            available_ethernet_bps,
            sent_by_kernel,
            received_by_kernel,
        }))
    }
}

/// How long a train takes, and the silence before it.
fn lasts(plan: &TrainPlan) -> Duration {
    let of_train = plan.due_ns.last().copied().unwrap_or_default();
    Duration::from_nanos(plan.after_ns.saturating_add(of_train))
}
