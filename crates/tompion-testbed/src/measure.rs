//! A testbed measures itself: what its path does, witnessed by taps at both ends and never by the relay's own
//! file, against what it is to do.

mod estimate;
mod exchange;

use std::time::{Duration, Instant};

use tompion_path::Way;
use tompion_path::model::{Bottleneck, CrossPattern, CrossTraffic, LossPlan, QueueLimit, WayPlan};
use tompion_time::os;

use crate::TestbedError;
use crate::place::Place;
use crate::settings::{BottleneckKind, LINK_HEADER, Settings};
use estimate::{interval_ns, keeps_busy, median, shared_rate};
use exchange::{Exchange, Flow, LEAST_FRAME, exchange};

/// Probes of the delay.
const PROBES: u32 = 21;
/// Time from one probe to the next, in nanoseconds.
const PROBE_GAP_NS: f64 = 2e6;
/// Longest train.
const TRAIN: u32 = 200;
/// Longest time that a train may take at the link's rate, in seconds.
const TRAIN_S: f64 = 0.5;
/// How much faster than the link a train comes that is to meet cross traffic.
const EXCESS: f64 = 1.25;
/// How often a figure is measured that is outside its tolerance: other programs may have had the CPU.
const ATTEMPTS: u32 = 3;

/// How long a queue is waited for that hardly empties beside its cross traffic.
const LONGEST_EMPTYING: Duration = Duration::from_secs(30);
/// How often it is looked whether it is.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Share of packets beyond which too few are left to measure by.
const MOST_LOST: f64 = 0.6;

/// What is measured of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// One-way delay of a short packet, in nanoseconds.
    Delay(Way),
    /// The rate at which a train that comes faster leaves, in bits a second.
    Rate(Way),
    /// Cross traffic within a train's own time, in bits a second.
    CrossTraffic,
}

/// A figure of a path beside what it is to be, in the quantity's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Of what.
    pub quantity: Quantity,
    /// What it is to be.
    pub nominal: f64,
    /// What it is.
    pub measured: f64,
    /// By how much it may differ.
    pub tolerance: f64,
    /// Of how many packets.
    pub packets: usize,
    /// When it was measured, in nanoseconds by `CLOCK_REALTIME`.
    pub between_ns: (i64, i64),
}

impl Figure {
    /// Whether it is what it is to be.
    pub fn is_within(&self) -> bool {
        (self.measured - self.nominal).abs() <= self.tolerance
    }
}

/// Why something was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unmeasured {
    /// The plan makes it random from packet to packet.
    Random,
    /// Nearly all packets are lost, as planned.
    LostByPlan,
    /// Too few packets arrived.
    Lost,
    /// The sender did not keep the queue busy: the link is faster than it.
    SenderTooSlow,
}

/// All figures of one look at a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// What was measured.
    pub figures: Vec<Figure>,
    /// What was not, and why.
    pub unmeasured: Vec<(Quantity, Unmeasured)>,
}

impl Measurement {
    /// Figures that are not what they are to be.
    pub fn outside(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| !figure.is_within())
    }

    /// The figure of this quantity.
    pub fn figure(&self, quantity: Quantity) -> Option<&Figure> {
        self.figures.iter().find(|f| f.quantity == quantity)
    }
}

/// Measures a path between these places.
pub(crate) fn measure(
    settings: &Settings,
    sender: &Place,
    far_end: &Place,
) -> Result<Measurement, TestbedError> {
    let mut result = Measurement::default();
    for way in Way::BOTH {
        let (plan, from, to) = match way {
            Way::Outward => (&settings.plan.outward, sender, far_end),
            Way::Homeward => (&settings.plan.homeward, far_end, sender),
        };
        // The kernel's queue is on the way out alone.
        let in_kernel = settings.bottleneck == BottleneckKind::Kernel;
        let bottleneck = plan.bottleneck.as_ref();
        let look = Look {
            bottleneck: bottleneck.filter(|_| !in_kernel || way == Way::Outward),
            way,
            plan,
            from,
            to,
            mtu: settings.mtu,
            in_kernel,
        };
        result.add(Quantity::Delay(way), || look.delay())?;
        if let Some(bottleneck) = look.bottleneck {
            result.add(Quantity::Rate(way), || look.rate(bottleneck))?;
            if let Some(cross) = &bottleneck.cross_traffic {
                result.add(Quantity::CrossTraffic, || look.cross(bottleneck, cross))?;
                look.wait_until_empty()?;
            }
        }
    }
    Ok(result)
}

type Looked = Result<Result<Figure, Unmeasured>, TestbedError>;

impl Measurement {
    fn add(
        &mut self,
        quantity: Quantity,
        mut look: impl FnMut() -> Looked,
    ) -> Result<(), TestbedError> {
        let mut last = look()?;
        for _ in 1..ATTEMPTS {
            match &last {
                Ok(figure) if figure.is_within() => break,
                // Nor does trying again help where that is planned.
                Err(Unmeasured::Random | Unmeasured::LostByPlan) => break,
                _ => last = look()?,
            }
        }
        match last {
            Ok(figure) => self.figures.push(figure),
            Err(why) => self.unmeasured.push((quantity, why)),
        }
        Ok(())
    }
}

/// One way of a path, and how it is looked at.
struct Look<'a> {
    way: Way,
    plan: &'a WayPlan,
    bottleneck: Option<&'a Bottleneck>,
    from: &'a Place,
    to: &'a Place,
    mtu: u32,
    in_kernel: bool,
}

impl Look<'_> {
    /// Why there is no use in looking, by the plan.
    fn is_useless(&self) -> Option<Unmeasured> {
        if self.plan.jitter.is_some() {
            return Some(Unmeasured::Random);
        }
        let lost = match self.plan.loss {
            LossPlan::None => 0.0,
            LossPlan::Bernoulli { share } => share,
            LossPlan::GilbertElliott {
                loss_good,
                loss_bad,
                ..
            } => loss_good.min(loss_bad),
        };
        (lost > MOST_LOST).then_some(Unmeasured::LostByPlan)
    }

    fn longest(&self, queued_ns: f64) -> Duration {
        let held_ns = self.plan.reordering.map_or(0, |r| r.by_ns);
        Duration::from_nanos(self.plan.delay_ns.saturating_add(held_ns))
            + Duration::from_nanos(queued_ns as u64)
    }

    fn delay(&self) -> Looked {
        if let Some(why) = self.is_useless() {
            return Ok(Err(why));
        }
        // A token bucket lets lone packets pass at once.
        let link = self.bottleneck.filter(|_| !self.in_kernel);
        let frame_bytes = LEAST_FRAME.max(64);
        let on_link_ns = link.map_or(0.0, |link| each_ns(link, frame_bytes));
        let flow = Flow {
            packets: PROBES,
            frame_bytes,
            // Probes are not to wait for one another.
            gap_ns: PROBE_GAP_NS.max(2.0 * on_link_ns),
            longest: self.longest(f64::from(PROBES) * on_link_ns + 2e8),
            mtu: self.mtu,
        };
        let exchange = exchange(self.from, self.to, flow)?;
        let mut delays = exchange.delays_ns();
        let Some(between_ns) = exchange.ends_ns().filter(|_| delays.len() >= 5) else {
            return Ok(Err(Unmeasured::Lost));
        };
        let crossed = self.bottleneck.is_some_and(|b| b.cross_traffic.is_some());
        // Beside cross traffic the least waits least.
        let measured = match delays.iter().min() {
            Some(least) if crossed => *least as f64,
            _ => median(&mut delays),
        };
        let nominal = self.plan.delay_ns as f64 + on_link_ns;
        let waits_ns = link.and_then(|link| {
            let cross = link.cross_traffic.as_ref()?;
            Some(each_ns(link, cross.packet_bytes))
        });
        Ok(Ok(Figure {
            quantity: Quantity::Delay(self.way),
            nominal,
            measured,
            tolerance: (nominal / 100.0).max(200_000.0) + waits_ns.unwrap_or(0.0),
            packets: delays.len(),
            between_ns,
        }))
    }

    /// A train that fits the queue, of a length that the link has sent in reasonable time.
    fn train(&self, link: &Bottleneck, gap_ns: f64) -> Flow {
        let largest = f64::from(self.mtu + LINK_HEADER);
        let bytes = TRAIN_S * link.rate_bps as f64 / 8.0;
        let frame_bytes = (bytes / 50.0).clamp(f64::from(LEAST_FRAME), largest);
        let room = match link.limit {
            QueueLimit::Bytes(bytes) => bytes as f64 * 0.8 / frame_bytes,
            QueueLimit::Packets(packets) => f64::from(packets) * 0.8,
        };
        let packets = (bytes / frame_bytes).min(room).clamp(8.0, TRAIN.into()) as u32;
        let frame_bytes = frame_bytes as u32;
        Flow {
            packets,
            frame_bytes,
            gap_ns,
            longest: self.longest(2.0 * f64::from(packets) * each_ns(link, frame_bytes)),
            mtu: self.mtu,
        }
    }

    fn rate(&self, link: &Bottleneck) -> Looked {
        if let Some(why) = self.is_useless() {
            return Ok(Err(why));
        }
        let flow = self.train(link, 0.0);
        let exchange = exchange(self.from, self.to, flow)?;
        let seen = match self.judge(&exchange, link, flow) {
            Ok(seen) => seen,
            Err(why) => return Ok(Err(why)),
        };
        let link_bps = payload_bps(link, flow.frame_bytes);
        let cross = link.cross_traffic.as_ref();
        let cross_bps = cross.map_or(0.0, |c| c.rate_bps as f64);
        let nominal = shared_rate(link_bps, seen.sent_bps, cross_bps);
        let share = if self.in_kernel { 0.03 } else { 0.01 };
        let by_chance = cross.map_or(0.0, |c| chance_bps(c, &seen));
        // Told with headers, as the rate of a link is.
        let with_headers = link.rate_bps as f64 / link_bps;
        Ok(Ok(Figure {
            quantity: Quantity::Rate(self.way),
            nominal: nominal * with_headers,
            measured: seen.left_bps * with_headers,
            tolerance: (share * nominal + by_chance) * with_headers,
            packets: seen.packets,
            between_ns: seen.between_ns,
        }))
    }

    /// Cross traffic, by what is left of a train that is somewhat faster than the link; in the kernel by what
    /// came out beside the train.
    fn cross(&self, link: &Bottleneck, cross: &CrossTraffic) -> Looked {
        if let Some(why) = self.is_useless() {
            return Ok(Err(why));
        }
        let frame_bytes = self.train(link, 0.0).frame_bytes;
        let flow = self.train(link, each_ns(link, frame_bytes) / EXCESS);
        let exchange = exchange(self.from, self.to, flow)?;
        let seen = match self.judge(&exchange, link, flow) {
            Ok(seen) => seen,
            Err(why) => return Ok(Err(why)),
        };
        let link_bps = payload_bps(link, flow.frame_bytes);
        let measured = if self.in_kernel {
            // What came in and what goes out have the same proportion, first come, first served.
            let (from, to) = seen.out_between_ns;
            let beside = exchange
                .others
                .iter()
                .filter(|(at, _)| (from..to).contains(at));
            let bits = beside.map(|(_, bytes)| 8 * bytes).sum::<usize>() as f64;
            let left_bps = bits / (to - from) as f64 * 1e9;
            left_bps * seen.sent_bps / seen.left_bps
        } else {
            seen.sent_bps * (link_bps / seen.left_bps - 1.0)
        };
        Ok(Ok(Figure {
            quantity: Quantity::CrossTraffic,
            nominal: cross.rate_bps as f64,
            measured,
            tolerance: 0.05 * link_bps + 2.0 * chance_bps(cross, &seen),
            packets: seen.packets,
            between_ns: seen.between_ns,
        }))
    }

    /// Waits until what trains have left in the queue has left it beside cross traffic: whoever measures next would wait
    /// behind it. That is so once lone packets take no longer than they are to.
    fn wait_until_empty(&self) -> Result<(), TestbedError> {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_EMPTYING {
            match self.delay()? {
                Ok(figure) if !figure.is_within() => os::sleep(LOOK_AGAIN),
                // Or it cannot be known by that.
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        exchange: &Exchange,
        link: &Bottleneck,
        flow: Flow,
    ) -> Result<Seen, Unmeasured> {
        if !keeps_busy(&exchange.sent, each_ns(link, flow.frame_bytes)) {
            return Err(Unmeasured::SenderTooSlow);
        }
        let packets = exchange.seen.iter().flatten().count();
        let arrived = || {
            let (left, sent) = (interval_ns(&exchange.seen)?, interval_ns(&exchange.sent)?);
            let out = (
                *exchange.seen.iter().flatten().min()?,
                exchange.ends_ns()?.1,
            );
            let bits = 8e9 * f64::from(flow.frame_bytes);
            Some(Seen {
                sent_bps: bits / sent,
                left_bps: bits / left,
                sent_s: sent * f64::from(flow.packets) / 1e9,
                left_s: left * f64::from(flow.packets) / 1e9,
                packets,
                between_ns: exchange.ends_ns()?,
                out_between_ns: out,
            })
        };
        arrived().ok_or(Unmeasured::Lost)
    }
}

/// A train by its two ends.
struct Seen {
    sent_bps: f64,
    left_bps: f64,
    sent_s: f64,
    left_s: f64,
    packets: usize,
    between_ns: (i64, i64),
    out_between_ns: (i64, i64),
}

/// How long the link takes for a packet, in nanoseconds.
fn each_ns(link: &Bottleneck, frame_bytes: u32) -> f64 {
    8e9 * f64::from(frame_bytes + link.overhead_bytes) / link.rate_bps as f64
}

/// The link's rate, counted in the bytes of packets of this size alone.
fn payload_bps(link: &Bottleneck, frame_bytes: u32) -> f64 {
    8e9 * f64::from(frame_bytes) / each_ns(link, frame_bytes)
}

/// Three standard deviations of what random cross traffic takes of a train's rate, in bits a second.
fn chance_bps(cross: &CrossTraffic, train: &Seen) -> f64 {
    let packet_bits = 8.0 * f64::from(cross.packet_bytes);
    let at_once = match cross.pattern {
        // One packet more or less at each end of the train.
        CrossPattern::Constant => return 2.0 * packet_bits / train.left_s,
        CrossPattern::Poisson => 1.0,
        CrossPattern::Bursts(packets) => f64::from(packets),
    };
    let packets = cross.rate_bps as f64 * train.sent_s / packet_bits;
    3.0 * (packets * at_once).sqrt().max(at_once) * packet_bits / train.left_s
}
