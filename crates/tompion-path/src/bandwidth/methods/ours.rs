//! The default: trains around the rate at which they begin to be stretched, and a line through what they say.
//!
//! A first train goes as fast as it can, the next ones at the rate of its arrivals and where the two then put the
//! available bandwidth. What follows are trains somewhat faster than that, by more where others come in bursts, so that
//! the queue is never empty while one passes: then each of them says exactly what others sent meanwhile, once the
//! capacity is known, and an error of that counts by the little that the trains are too fast. Capacity and what is left come from a line
//! through `stretch` over `rate` (Melander, Björkman and Gunningberg, "A New End-to-End Probing and Analysis Method for
//! Estimating Bandwidth Bottlenecks", GLOBECOM 2000, for the curve); it ends once leaving out each train in turn moves that
//! little. Where the gaps between arrivals show the capacity, what is left is what others did not send between packets that
//! waited for one another. Last come trains just below what was found: where these are stretched, too, another link has less, and
//! no number is given; nor is one where gaps and line speak of different links. Trains in which sender or receiver was held up are left out and counted. Its interval
//! is held against the truth of simulated paths.

mod policed;
mod queue;
mod shaped;

use tompion_stats::Moments;

use super::super::ending::{Ending, Estimate};
use super::super::method::{Asked, Budget, Method, MethodEntry, Step};
use super::super::response::{Arrival, Response, arrivals};
use super::super::train::{TrainPlan, TrainSeen};
use super::fit::{Link, Point, jackknife};

pub(in super::super) static ENTRY: MethodEntry = MethodEntry {
    name: "tompion",
    about: "Trains just faster than what is left, and a line through their stretch",
    begin: |asked| Box::new(Ours::new(asked)),
};

/// Trains of which the line is made.
const TRAINS: u32 = 12;
const FEWEST_TRAINS: usize = 6;
/// Packets of a train at least and at most.
const SHORTEST: u32 = 40;
const LONGEST: u32 = 400;
/// A train is not stretched below this.
const STRETCHED: f64 = 1.015;
/// By how much of the capacity trains are too fast at least, and over which further part they are spread.
const LEAST_EXCESS: f64 = 0.08;
const MOST_EXCESS: f64 = 0.35;
const SPREAD: f64 = 0.30;
/// So many standard deviations of a train's stretch it is too fast.
const DEVIATIONS: f64 = 2.5;
/// Trains that are faster by more than this part of the capacity say nothing of the line: another link may come in.
const FARTHEST: f64 = 0.75;
/// Half the width of the interval over the capacity: narrower than the first is narrow enough, wider than the second no number.
const NARROW: f64 = 0.006;
const TOO_WIDE: f64 = 0.04;
/// A sender that reaches less of a rate has missed it; and it is not thought to be slower than this.
const MISSED: f64 = 0.95;
const MOST_BEHIND: f64 = 0.35;
/// The longest silence between two trains, in nanoseconds.
const MOST_SILENCE_NS: f64 = 500e6;
/// So many trains are sent below what was found to be left, to see whether that is so: so far below, in standard deviations of a train's
/// stretch, and of the capacity at least.
const VERIFYING: u32 = 2;
const BENEATH: f64 = 1.5;
const LEAST_BENEATH: f64 = 0.02;
/// What is left of others below which a link may be one whose flows take turns.
const ALONE: f64 = 0.03;
/// Two flows that get this much more than one have a share each.
const MORE_FOR_TWO: f64 = 1.25;

/// How far below nothing the rest may be, of the capacity: further down the points are no link's.
const BELOW: f64 = 0.05;
/// How near the capacities by gaps have to be to one another, and to that of the line, as logarithms.
const SAME: f64 = 0.03;
const LIKE_LINE: f64 = 0.25;
/// Where the gaps' capacity is as far from the line's, as logarithms, the line is of several links.
const ANOTHER: f64 = 0.25;
/// Trains agree where what they say of the rest does not change with their rate by more standard errors; these are no less than a least one.
const SAME_LINK: f64 = 2.5;
const LEAST_ERROR: f64 = 0.01;
/// Half of the interval where gaps tell: so much of the capacity, by how much gaps and line differ, and so much of the standard deviation
/// of what the trains say. Neither trains nor others are independent, so that it is no confidence interval of any theory: it is held
/// against the truth, on paths that were not used to choose these.
const FLOOR: f64 = 0.003;
const SCATTER: f64 = 0.15;
/// How far outside the line's interval, of the capacity.
const OUTSIDE: f64 = 0.01;
/// Which part of the slowest trains is looked at, until one agrees.
const SLOWEST: [f64; 3] = [1.0, 0.7, 0.45];
/// Cross traffic between two packets comes in so many packets at most, as far as gaps tell.
const MULTIPLES: u32 = 4;
/// A share of packets lost, and how little of its time a train's delay grows where these were not in a queue.
const LOST: f64 = 0.10;
const WAITED: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// As fast as it can, so many times so far.
    Fast(u32),
    /// Nearer to what is left.
    Approach(u32),
    /// Just above it.
    Measure,
    /// Just below it: whether that is so.
    Verify,
    /// In two flows.
    TwoFlows,
}

struct Ours {
    bytes: u32,
    asked_bytes: u64,
    budget: Budget,
    most_bps: Option<f64>,
    phase: Phase,
    packets: u32,
    most_packets: u32,
    /// What was sent just below what was found.
    beneath: Vec<Point>,
    points: Vec<Point>,
    trains: Vec<(f64, Vec<Arrival>)>,
    least_delay: f64,
    link: Option<Link>,
    /// The fastest arrivals of a train.
    fastest_bps: f64,
    unstretched: Vec<f64>,
    /// The rates of trains in which the sender was held up, or slower than it was asked to be.
    missed_bps: Vec<f64>,
    /// As part of the rate that the last train was to have, the rate that it had.
    reached: f64,
    policed: Vec<policed::Seen>,
    shaped: Vec<shaped::Seen>,
    sent: u32,
    spoilt_here: u32,
    spoilt_there: u32,
    step: u32,
    /// By how much the last train made the path's queue grow, in nanoseconds.
    rise_ns: f64,
    /// Whether a train lost packets that had waited for nothing.
    lost_at_once: bool,
}

impl Ours {
    fn new(asked: &Asked) -> Self {
        let budget = Budget::new(asked);
        Self {
            bytes: asked.bytes,
            asked_bytes: asked.most_bytes,
            packets: (budget.packets() / (TRAINS + 2))
                .clamp(SHORTEST, LONGEST.min(asked.most_packets).max(SHORTEST)),
            most_packets: asked.most_packets,
            budget,
            most_bps: asked.most_bps,
            phase: Phase::Fast(0),
            beneath: Vec::new(),
            points: Vec::new(),
            trains: Vec::new(),
            least_delay: f64::INFINITY,
            link: None,
            fastest_bps: 0.0,
            unstretched: Vec::new(),
            missed_bps: Vec::new(),
            reached: 1.0,
            policed: Vec::new(),
            shaped: Vec::new(),
            sent: 0,
            spoilt_here: 0,
            spoilt_there: 0,
            step: 0,
            rise_ns: 0.0,
            lost_at_once: false,
        }
    }

    /// A train that is paid for, once the path has had time to forget the last one; else the end.
    fn send(&mut self, plan: TrainPlan) -> Step {
        let forgets_ns = self.shaped.last().map_or(0.0, shaped::Seen::fills_ns);
        let forgets_ns = forgets_ns
            .max(1.5 * self.rise_ns)
            .clamp(0.0, MOST_SILENCE_NS);
        let after_ns = plan.after_ns.max(forgets_ns as u64 + 1_000_000);
        let Some(plan) = self.budget.pay(plan.after(after_ns)) else {
            return Step::Done(self.end());
        };
        self.sent += 1;
        Step::Send(plan)
    }

    fn at(&mut self, rate_bps: f64) -> Step {
        let rate_bps = self.most_bps.map_or(rate_bps, |most| rate_bps.min(most));
        self.send(TrainPlan::even(self.packets, self.bytes, rate_bps))
    }

    fn fast(&mut self, tries: u32) -> Step {
        self.phase = Phase::Fast(tries);
        // What rides a bucket is outlasted by a longer one.
        let packets = (self.packets / 2).max(SHORTEST) << tries.min(4);
        let packets = packets.min(self.budget.packets()).min(self.most_packets);
        let packets = packets.max(SHORTEST);
        self.send(match self.most_bps {
            Some(most) => TrainPlan::even(packets, self.bytes, most),
            None => TrainPlan::at_once(packets, self.bytes),
        })
    }

    fn after_fast(&mut self, tries: u32, seen: Response) -> Step {
        if seen.stretch >= STRETCHED {
            self.points.push(seen.into());
            self.phase = Phase::Approach(0);
            return self.at(seen.received_bps());
        }
        self.unstretched.push(seen.rate_bps);
        if tries >= 3 {
            return Step::Done(self.host_limited());
        }
        self.fast(tries + 1)
    }

    fn host_limited(&self) -> Ending {
        let reached_bps = middle(&self.unstretched);
        Ending::HostLimited { reached_bps }
    }

    fn after_approach(&mut self, tries: u32, seen: Response) -> Step {
        if seen.stretch < STRETCHED && self.reached < MISSED && tries < 4 {
            self.phase = Phase::Approach(tries + 1);
            let asked_bps = seen.rate_bps / self.reached;
            return self.at(asked_bps / self.reached.clamp(MOST_BEHIND, 1.0));
        }
        if seen.stretch < STRETCHED {
            // As fast as it arrives when it is too fast: nobody else is there, or few.
            let capacity_bps = seen.rate_bps.max(self.fastest_bps);
            self.link = Some(Link {
                capacity_bps,
                available_bps: seen.rate_bps,
            });
            self.phase = Phase::Measure;
            return self.measure();
        }
        self.points.push(seen.into());
        let nearest = &self.points[self.points.len().saturating_sub(2)..];
        self.link = self.line(nearest);
        let Some(link) = self.link else {
            return Step::Done(self.end());
        };
        if tries >= 2 {
            self.phase = Phase::Measure;
            return self.measure();
        }
        self.phase = Phase::Approach(tries + 1);
        self.at(self.too_fast_by(link, 0.2) / self.reached.clamp(MOST_BEHIND, 1.0))
    }

    fn too_fast_by(&self, link: Link, part: f64) -> f64 {
        link.available_bps.max(0.0) + part * link.capacity_bps
    }

    /// Where what trains say fits no link.
    fn no_links(&self) -> Ending {
        Ending::TooVariable {
            low_bps: 0.0,
            high_bps: self.fastest_bps,
        }
    }

    /// A line through points, of a link that is at least as fast as what arrived.
    fn line(&self, points: &[Point]) -> Option<Link> {
        let fastest = points
            .iter()
            .map(|p| p.rate_bps / p.stretch)
            .fold(0.0, f64::max);
        Link::fit(points, fastest, 20.0 * fastest)
    }

    /// The points that the line is of, chosen by their rates alone: what they say chooses none.
    fn near(&self) -> Vec<Point> {
        let Some(link) = self.link else {
            return Vec::new();
        };
        let (low, high) = (
            self.too_fast_by(link, 0.4 * LEAST_EXCESS),
            self.too_fast_by(link, FARTHEST),
        );
        let all = self.points.iter();
        all.filter(|p| (low..=high).contains(&p.rate_bps))
            .copied()
            .collect()
    }

    /// The standard deviation of a train's stretch around the line.
    fn deviation(&self, near: &[Point], link: Link) -> f64 {
        if near.len() < 4 {
            return 0.0;
        }
        let off = |p: &Point| {
            let others = link.capacity_bps - link.available_bps;
            p.stretch - (p.rate_bps + others) / link.capacity_bps
        };
        let squares: f64 = near.iter().map(|p| off(p).powi(2)).sum();
        (squares / (near.len() - 2) as f64).sqrt()
    }

    fn measure(&mut self) -> Step {
        let Some(link) = self.link else {
            return Step::Done(self.end());
        };
        let near = self.near();
        let excess = DEVIATIONS * self.deviation(&near, link);
        let excess = excess.clamp(LEAST_EXCESS, MOST_EXCESS);
        let part = excess + SPREAD * halving(self.step);
        self.step += 1;
        // A sender that is late is asked for more, so that it is fast enough.
        self.at(self.too_fast_by(link, part) / self.reached.clamp(MOST_BEHIND, 1.0))
    }

    fn after_measure(&mut self, seen: Response) -> Step {
        if seen.lost > 0.02 && self.packets > SHORTEST {
            // It was too long for the queue: what is lost takes no time, and hides what it was stretched by.
            self.packets = (self.packets / 2).max(SHORTEST);
            return self.measure();
        }
        self.points.push(seen.into());
        let near = self.near();
        if let Some(link) = self.line(&near).filter(|_| near.len() >= 2) {
            self.link = Some(link);
        }
        let near = self.near();
        if near.len() >= FEWEST_TRAINS
            && let Some((_, (low, high))) = self.interval(&near)
            && let Some(link) = self.link
            && (high - low) / 2.0 <= NARROW * link.capacity_bps
        {
            return self.conclude();
        }
        if self.budget.packets() < (2 + VERIFYING) * self.packets {
            return self.conclude();
        }
        self.measure()
    }

    fn interval(&self, near: &[Point]) -> Option<(f64, (f64, f64))> {
        jackknife(near, |points| Some(self.line(points)?.available_bps))
    }

    /// Before the end: whether a link that seems to be idle only takes turns.
    fn conclude(&mut self) -> Step {
        if let Some(rate_bps) = self
            .rate_beneath()
            .filter(|_| self.beneath.len() < VERIFYING as usize)
            && self.budget.packets() >= self.packets
        {
            self.phase = Phase::Verify;
            return self.at(rate_bps);
        }
        let is_alone = self
            .link
            .is_some_and(|link| link.available_bps > (1.0 - ALONE) * link.capacity_bps);
        if is_alone && let Some(link) = self.link {
            self.phase = Phase::TwoFlows;
            let rate = 2.5 * link.capacity_bps;
            let rate = self.most_bps.map_or(rate, |most| rate.min(most));
            return self.send(TrainPlan::even(self.packets, self.bytes, rate).in_flows(2));
        }
        Step::Done(self.end())
    }

    /// Where no train is stretched if what was found is true; `None` where that is too slow to say.
    fn rate_beneath(&self) -> Option<f64> {
        let link = self.link?;
        let beneath = (BENEATH * self.deviation(&self.near(), link)).max(LEAST_BENEATH);
        let rate_bps = link.available_bps - beneath * link.capacity_bps;
        Some(rate_bps).filter(|bps| *bps > 0.05 * link.capacity_bps)
    }

    fn after_verify(&mut self, seen: Response) -> Step {
        self.beneath.push(seen.into());
        self.conclude()
    }

    /// Whether trains were stretched where none should have been.
    fn is_lower(&self) -> bool {
        let Some(link) = self.link.filter(|_| !self.beneath.is_empty()) else {
            return false;
        };
        let n = self.beneath.len() as f64;
        let mean = self.beneath.iter().map(|p| p.stretch - 1.0).sum::<f64>() / n;
        mean > (BENEATH * self.deviation(&self.near(), link) / n.sqrt()).max(LEAST_BENEATH / 2.0)
    }

    fn after_two_flows(&mut self, seen: Response) -> Step {
        if let Some(link) = self.link
            && seen.received_bps() > MORE_FOR_TWO * link.available_bps
        {
            return Step::Done(Ending::FairQueue {
                share_bps: link.available_bps,
            });
        }
        Step::Done(self.end())
    }

    /// What all that was seen comes to.
    fn end(&mut self) -> Ending {
        if self.lost_at_once {
            // Longer trains would say whether it is a policer's.
            return Ending::Unfinished {
                needs_bytes: 2 * self.asked_bytes,
            };
        }
        let near = self.near();
        if 2 * self.spoilt_here > self.sent {
            // What the others say was said beside whatever spoilt these.
            return Ending::HostLimited {
                reached_bps: middle(&self.missed_bps),
            };
        }
        let Some(link) = self.link.filter(|_| near.len() >= 3) else {
            if 2 * self.spoilt_there > self.sent {
                return Ending::ReceiverLimited {
                    spoilt: self.spoilt_there,
                    trains: self.sent,
                };
            }
            if 2 * self.missed_bps.len() > self.sent as usize {
                return Ending::HostLimited {
                    reached_bps: middle(&self.missed_bps),
                };
            }
            if !self.unstretched.is_empty() {
                return self.host_limited();
            }
            let packets = u64::from(SHORTEST) * u64::from(TRAINS + 2);
            return Ending::Unfinished {
                needs_bytes: packets * u64::from(self.bytes),
            };
        };
        if self.is_lower() {
            return self.no_links();
        }
        if let Some(found) = self.by_queue(link) {
            return found;
        }
        let Some((available_bps, (low, high))) = self.interval(&near) else {
            return self.no_links();
        };
        if available_bps < -BELOW * link.capacity_bps {
            return self.no_links();
        }
        let available_bps = available_bps.max(0.0);
        let (low_bps, high_bps) = (low.max(0.0), high.max(0.0));
        if (high_bps - low_bps) / 2.0 > TOO_WIDE * link.capacity_bps {
            return Ending::TooVariable { low_bps, high_bps };
        }
        Ending::Estimate(Estimate {
            available_bps,
            capacity_bps: Some(link.capacity_bps),
            interval_bps: Some(around(
                available_bps,
                FLOOR * link.capacity_bps + (high_bps - low_bps) / 2.0,
            )),
            trains: near.len() as u32,
            left_out: self.spoilt_here + self.spoilt_there,
        })
    }

    /// By what others sent between packets that waited, where the capacity is known by the gaps between arrivals.
    fn by_queue(&self, link: Link) -> Option<Ending> {
        let bits = f64::from(self.bytes) * 8.0;
        let (low, high) = (
            self.too_fast_by(link, 0.0),
            self.too_fast_by(link, FARTHEST),
        );
        let mut chosen: Vec<&(f64, Vec<Arrival>)> = self
            .trains
            .iter()
            .filter(|(rate, _)| (low..=high).contains(rate))
            .collect();
        chosen.sort_by(|a, b| a.0.total_cmp(&b.0));
        let near: Vec<Vec<Arrival>> = chosen.iter().map(|(_, all)| all.clone()).collect();
        let fast: Vec<Vec<Arrival>> = self
            .trains
            .iter()
            .take(2)
            .map(|(_, all)| all.clone())
            .collect();
        let by_near = queue::capacity(&near, bits);
        let by_fast = queue::capacity(&fast, bits);
        let multiples = || (1..=MULTIPLES).filter_map(|n| Some(f64::from(n) * by_near?));
        let far = |a: f64, b: f64| (a / b).ln().abs();
        let agreed = by_fast.filter(|fast| multiples().any(|near| far(near, *fast) < SAME));
        let of_points = |points: &[Point]| {
            let same_link = |bps: &f64| same_link(points, *bps);
            agreed.filter(same_link).or_else(|| {
                let all = multiples().chain(by_fast).filter(same_link);
                let by_line = self.line(points)?.capacity_bps;
                let nearest = all.min_by(|a, b| far(*a, by_line).total_cmp(&far(*b, by_line)))?;
                (far(nearest, by_line) <= LIKE_LINE).then_some(nearest)
            })
        };
        // Where trains of all rates do not agree, faster ones fill another link.
        let mut points = self.near();
        points.sort_by(|a, b| a.rate_bps.total_cmp(&b.rate_bps));
        let n = points.len();
        let (capacity_bps, most_bps) = SLOWEST.iter().find_map(|part| {
            let slower = &points[..(n as f64 * part).ceil() as usize];
            let fastest = slower
                .last()
                .filter(|_| slower.len() >= 5 || *part == 1.0)?;
            Some((of_points(slower)?, fastest.rate_bps))
        })?;
        let each: Vec<queue::Others> = chosen
            .iter()
            .filter(|(rate, _)| *rate <= most_bps)
            .map(|(_, train)| train)
            .map(|train| queue::others(train, capacity_bps, bits, self.least_delay))
            .collect();
        let of = |each: &[queue::Others]| {
            let time: f64 = each.iter().map(|o| o.time_ns).sum();
            let sum: f64 = each.iter().map(|o| o.bits).sum();
            (time > 0.0).then(|| capacity_bps - sum * 1e9 / time)
        };
        let available_bps = of(&each)?;
        // The line is of other links, too, where the two speak of another capacity.
        let (_, (low_bps, high_bps)) = self.interval(&points)?;
        let outside = (low_bps - available_bps).max(available_bps - high_bps);
        if far(capacity_bps, link.capacity_bps) > ANOTHER || outside > OUTSIDE * capacity_bps {
            return None;
        }
        if available_bps < -BELOW * capacity_bps {
            return Some(self.no_links());
        }
        let said = each.iter().filter_map(|one| of(std::slice::from_ref(one)));
        let scatter_bps = Moments::of(said).standard_deviation().unwrap_or(0.0);
        let two_ways_bps = (link.available_bps - available_bps).abs();
        let half_bps = FLOOR * capacity_bps + two_ways_bps + SCATTER * scatter_bps;
        Some(Ending::Estimate(Estimate {
            available_bps: available_bps.max(0.0),
            capacity_bps: Some(capacity_bps),
            interval_bps: Some(around(available_bps, half_bps)),
            trains: each.len() as u32,
            left_out: self.spoilt_here + self.spoilt_there,
        }))
    }

    /// What to do where a train does not stand for the path.
    fn again(&mut self, plan: &TrainPlan) -> Step {
        if self.sent >= 8 && 2 * self.spoilt_there > self.sent {
            return Step::Done(self.end());
        }
        self.send(plan.clone())
    }
}

/// The middle of some values; 0 of none.
fn middle(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// From so far below to so far above, and not below nothing.
fn around(bps: f64, half_bps: f64) -> (f64, f64) {
    ((bps - half_bps).max(0.0), bps + half_bps)
}

/// Whether trains of all rates say the same of what is left in a link of that capacity.
fn same_link(points: &[Point], capacity_bps: f64) -> bool {
    let n = points.len() as f64;
    if n < 4.0 {
        return true;
    }
    let said = |p: &Point| p.rate_bps - capacity_bps * (p.stretch - 1.0);
    let (rate, mean) = (
        points.iter().map(|p| p.rate_bps).sum::<f64>() / n,
        points.iter().map(said).sum::<f64>() / n,
    );
    let square: f64 = points.iter().map(|p| (p.rate_bps - rate).powi(2)).sum();
    let product: f64 = points
        .iter()
        .map(|p| (p.rate_bps - rate) * (said(p) - mean))
        .sum();
    let slope = product / square;
    let left: f64 = points
        .iter()
        .map(|p| (said(p) - mean - slope * (p.rate_bps - rate)).powi(2))
        .sum();
    let error = (left / (n - 2.0) / square).sqrt().max(LEAST_ERROR);
    slope.abs() <= SAME_LINK * error
}

/// Numbers from 0 to 1 that fill it ever more evenly (van der Corput).
fn halving(step: u32) -> f64 {
    f64::from(step.reverse_bits()) / (f64::from(u32::MAX) + 1.0)
}

impl Method for Ours {
    fn finish(&mut self) -> Option<Ending> {
        Some(self.end()).filter(|ending| matches!(ending, Ending::Estimate(_)))
    }

    fn next(&mut self, last: Option<&TrainSeen>) -> Step {
        let Some(last) = last else {
            return self.fast(0);
        };
        if last.is_spoilt_here {
            self.spoilt_here += 1;
            self.missed_bps.extend(last.sent_bps());
        }
        self.spoilt_there += u32::from(last.is_spoilt_there && !last.is_spoilt_here);
        if last.is_spoilt_here || last.is_spoilt_there {
            return self.again(&last.plan);
        }
        if let Some(ending) = self.dropped(last).or_else(|| self.rode(last)) {
            return Step::Done(ending);
        }
        if let Some(rate_bps) = self.policed.last().and_then(policed::Seen::between)
            && self.policed.len() <= 3
        {
            let packets = last.plan.packets() as u32;
            return self.send(TrainPlan::even(packets, self.bytes, rate_bps));
        }
        let Some(seen) = Response::of(last) else {
            return match last.sent_bps() {
                Some(bps) if self.sent < 4 => self.at(bps / 4.0),
                _ => Step::Done(self.end()),
            };
        };
        self.rise_ns = seen.rise_ns;
        self.reached = last.plan.bps().map_or(1.0, |asked| seen.rate_bps / asked);
        if self.reached < MISSED {
            self.missed_bps.push(seen.rate_bps);
        }
        self.lost_at_once |= seen.lost > LOST && seen.rise_ns < WAITED * seen.lasts_ns;
        let all = arrivals(last);
        self.least_delay = all.iter().map(|a| a.delay).fold(self.least_delay, f64::min);
        self.trains.push((seen.rate_bps, all));
        self.fastest_bps = self.fastest_bps.max(seen.received_bps().min(seen.rate_bps));
        match self.phase {
            Phase::Fast(tries) => self.after_fast(tries, seen),
            Phase::Approach(tries) => self.after_approach(tries, seen),
            Phase::Measure => self.after_measure(seen),
            Phase::Verify => self.after_verify(seen),
            Phase::TwoFlows => self.after_two_flows(seen),
        }
    }
}

impl Ours {
    /// Whether what is too fast is dropped at once: two trains of different rates that lost much and waited for nothing agree on what passed.
    fn dropped(&mut self, last: &TrainSeen) -> Option<Ending> {
        self.policed.extend(policed::Seen::of(last));
        policed::agreed(&self.policed).map(|rate_bps| Ending::Policed { rate_bps })
    }

    /// Whether a bucket lets the first packets pass: three trains agree on its rate and its depth.
    fn rode(&mut self, last: &TrainSeen) -> Option<Ending> {
        self.shaped.extend(shaped::Seen::of(last));
        shaped::agreed(&self.shaped).map(|(rate_bps, depth_bytes)| Ending::Shaped {
            rate_bps,
            depth_bytes,
        })
    }
}
