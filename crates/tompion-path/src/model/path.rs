//! One way of a path at work.

use crate::Way;
use crate::model::chance::{Chance, Decides};
use crate::model::delay::Delay;
use crate::model::flight::{Departure, Flight};
use crate::model::loss::Loss;
use crate::model::plan::{PathPlan, WayPlan};
use crate::model::queue::{Queue, Queued};
use crate::model::truth::{Corruption, Counts, Decision, Fate, Truth};
use crate::model::validate::{PathPlanError, PlanError};

/// One way of a path: packets are offered as they arrive and taken when they are due.
///
/// Times are signed nanoseconds of whatever clock the caller goes by. Offering and taking
/// allocate nothing.
#[derive(Clone, Debug)]
pub struct Path {
    queue: Option<Queue>,
    delay: Delay,
    keep_order: bool,
    loss: Loss,
    duplication: Option<(f64, i64, Chance)>,
    reordering: Option<(f64, i64, Chance)>,
    corruption: Option<(f64, u32, Chance)>,
    flight: Flight,
    /// When the last packet that was not held back is due.
    last_due_ns: i64,
    /// The latest arrival.
    latest_ns: i64,
    counts: Counts,
}

/// What is drawn for a packet, whatever its fate.
struct Drawn {
    delay_ns: i64,
    is_cut: bool,
    is_lost: bool,
    copy_after_ns: Option<i64>,
    held_back_ns: Option<i64>,
    corruption: Option<Corruption>,
}

impl Path {
    /// An empty path as planned, with all the memory that it will ever take. It draws as the way
    /// outward of [`Path::both`] does.
    ///
    /// # Errors
    /// Where the plan cannot be followed, or the memory is not there.
    pub fn new(plan: &WayPlan, seed: u64) -> Result<Self, PlanError> {
        Self::on(plan, seed, Way::Outward)
    }

    /// Both ways of a path, outward first.
    ///
    /// # Errors
    /// Where the plan of one of them cannot be followed, or the memory is not there.
    pub fn both(plan: &PathPlan) -> Result<[Self; 2], PathPlanError> {
        plan.validate()?;
        let on = |way| {
            let path = Self::on(plan.way(way), plan.seed, way);
            path.map_err(|error| PathPlanError { way, error })
        };
        Ok([on(Way::Outward)?, on(Way::Homeward)?])
    }

    fn on(plan: &WayPlan, seed: u64, way: Way) -> Result<Self, PlanError> {
        plan.validate()?;
        let packets = plan.most_in_flight;
        let no_memory = |_| PlanError::NoMemory { packets };
        let chance = |decides| Chance::new(seed, way, decides);
        let bottleneck = plan.bottleneck.as_ref();
        let queue = bottleneck.map(|b| Queue::new(b, packets, chance(Decides::CrossTraffic)));
        let ns = u64::cast_signed;
        Ok(Self {
            queue: queue.transpose().map_err(no_memory)?,
            delay: Delay::new(plan, chance(Decides::Delay)),
            keep_order: plan.keep_order,
            loss: Loss::new(plan.loss, chance(Decides::Loss)),
            duplication: plan
                .duplication
                .map(|d| (d.share, ns(d.after_ns), chance(Decides::Duplication))),
            reordering: plan
                .reordering
                .map(|r| (r.share, ns(r.by_ns), chance(Decides::Reordering))),
            corruption: plan
                .corruption
                .map(|c| (c.share, c.from_byte, chance(Decides::Corruption))),
            flight: Flight::new(packets).map_err(no_memory)?,
            last_due_ns: i64::MIN,
            latest_ns: i64::MIN,
            counts: Counts::default(),
        })
    }

    /// A packet of so many bytes arrives. One that is earlier than an arrival before it takes its
    /// place behind that.
    ///
    /// A packet under way stays there until it is taken: who takes none has `most_in_flight` of
    /// them at most, and the rest dropped.
    pub fn offer(&mut self, arrival_ns: i64, bytes: u32) -> Decision {
        let drawn = self.draw(bytes);
        self.counts.backward += u64::from(arrival_ns < self.latest_ns);
        self.latest_ns = self.latest_ns.max(arrival_ns);
        let mut packet = Truth {
            number: self.counts.offered,
            is_copy: false,
            bytes,
            arrival_ns,
            left_queue_ns: None,
            due_ns: None,
            fate: Fate::FlightFull,
            is_held_back: drawn.held_back_ns.is_some(),
            corruption: drawn.corruption,
        };
        self.counts.offered += 1;
        packet.fate = self.enter(&mut packet, &drawn);
        let slot = self.depart(&packet);
        let copy_after = drawn.copy_after_ns.filter(|_| packet.fate == Fate::Leaves);
        let copy = copy_after.map(|after_ns| {
            self.counts.copies += 1;
            let mut copy = Truth {
                is_copy: true,
                due_ns: packet.due_ns.map(|due| due.saturating_add(after_ns)),
                ..packet
            };
            if self.flight.is_full() {
                copy.fate = Fate::FlightFull;
                copy.due_ns = None;
            }
            let slot = self.depart(&copy);
            self.count(&copy);
            (copy, slot)
        });
        self.count(&packet);
        self.counts.delays_cut += u64::from(drawn.is_cut && packet.due_ns.is_some());
        Decision { packet, slot, copy }
    }

    /// One draw of each kind, so that no packet's fate changes what others get.
    fn draw(&mut self, bytes: u32) -> Drawn {
        let delay = self.delay.next();
        let happens =
            |(share, ns, chance): &mut (f64, i64, Chance)| chance.happens(*share).then_some(*ns);
        Drawn {
            delay_ns: delay.ns,
            is_cut: delay.is_cut,
            is_lost: self.loss.takes_next(),
            copy_after_ns: self.duplication.as_mut().and_then(happens),
            held_back_ns: self.reordering.as_mut().and_then(happens),
            corruption: self.corruption.as_mut().and_then(|(share, from, chance)| {
                let (is_hit, place) = (chance.happens(*share), chance.share());
                let bits = 8 * u64::from(bytes.checked_sub(*from).filter(|&b| is_hit && b > 0)?);
                let bit = ((place * bits as f64) as u64).min(bits - 1);
                Some(Corruption {
                    byte: *from + (bit / 8) as u32,
                    bit: (bit % 8) as u8,
                })
            }),
        }
    }

    /// Through the queue and onwards: fills in the times, and says what becomes of the packet.
    fn enter(&mut self, packet: &mut Truth, drawn: &Drawn) -> Fate {
        if self.flight.is_full() {
            return Fate::FlightFull;
        }
        let left_queue_ns = match &mut self.queue {
            None => packet.arrival_ns,
            Some(queue) => match queue.arrive(self.latest_ns, packet.bytes) {
                Queued::LeavesAt(ns) => ns,
                Queued::Full => return Fate::QueueFull,
                Queued::TooMany => return Fate::FlightFull,
            },
        };
        packet.left_queue_ns = Some(left_queue_ns);
        if drawn.is_lost {
            return Fate::Lost;
        }
        let mut due_ns = left_queue_ns.saturating_add(drawn.delay_ns);
        match drawn.held_back_ns {
            Some(by_ns) => due_ns = due_ns.saturating_add(by_ns),
            None if self.keep_order => {
                due_ns = due_ns.max(self.last_due_ns);
                self.last_due_ns = due_ns;
            }
            None => {}
        }
        packet.due_ns = Some(due_ns);
        Fate::Leaves
    }

    /// On its way, if it leaves; gives its slot.
    fn depart(&mut self, truth: &Truth) -> Option<u32> {
        self.flight.push(Departure {
            number: truth.number,
            is_copy: truth.is_copy,
            due_ns: truth.due_ns?,
            bytes: truth.bytes,
            slot: 0,
            corruption: truth.corruption,
        })
    }

    fn count(&mut self, truth: &Truth) {
        let counts = &mut self.counts;
        match truth.fate {
            Fate::Leaves => {
                counts.leave += 1;
                counts.held_back += u64::from(truth.is_held_back && !truth.is_copy);
                counts.corrupted += u64::from(truth.corruption.is_some() && !truth.is_copy);
            }
            Fate::Lost => counts.lost += 1,
            Fate::QueueFull => counts.queue_full += 1,
            Fate::FlightFull => counts.flight_full += 1,
        }
    }

    /// When the next packet is due to leave, in nanoseconds.
    pub fn next_due(&self) -> Option<i64> {
        self.flight.next_due()
    }

    /// The next packet that leaves, if it is due by `now_ns`. Packets due at once leave as they
    /// were offered. Its slot may be given to the next packet that is offered.
    pub fn take_due(&mut self, now_ns: i64) -> Option<Departure> {
        self.flight.take_due(now_ns)
    }

    /// Bytes that others sent into the queue so far, with its overhead. Between packets that are far apart it is what they send on
    /// average.
    pub fn others_bytes(&self) -> u128 {
        self.queue.as_ref().map_or(0, Queue::others_bytes)
    }

    /// How many packets are under way.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// How often each thing happened so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[cfg(test)]
mod tests;
