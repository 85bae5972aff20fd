//! The placement of one cell: guests beside the measuring one, there and at work before
//! it starts, ended after it in every case.

mod overlap;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tompion_model::Unavailable;
use tompion_time::os;

use self::overlap::Overlap;
use super::bed::{Bed, Networked};
use crate::ledger::Beside;
use crate::limits;
use crate::neighbour::NeighbourJob;
use crate::placing;
use crate::plan::{PlacementPlan, Role};
use tompion_platforms::groups::Scheduling;
use tompion_platforms::groups::{Group, Hierarchy};
use tompion_platforms::leftovers::{self, Workspace};
use tompion_platforms::platform::MOST_ANSWER;
use tompion_platforms::platform::{
    Host, Output, Platform, Running, Seat, Seating, Start, TaskError,
};
use tompion_platforms::signs::Sign;
use tompion_platforms::{Joined, Network};

/// How often neighbours are looked at until they work.
const LOOK: Duration = Duration::from_millis(20);
/// A load that says nothing for so long is none; it may have a hundredth of a busy CPU.
const SILENT: Duration = Duration::from_secs(30);
/// A load that does nothing for so long by its own clock is none, in seconds.
const IDLE_S: f64 = 2.0;
/// How much slower a start may be taken for beside others.
const SLOWEST: f64 = 30.0;

/// One cell's placement on its platform.
pub(super) struct PlacementRun<'a> {
    pub placement: &'a PlacementPlan,
    pub platform: &'a dyn Platform,
    pub program: &'a Path,
    pub workspace: &'a Workspace,
    pub stop: &'a Arc<AtomicBool>,
    /// Of the group of all guests; the instances have those that follow.
    pub number: usize,
    /// The network that guests are joined to, and how.
    pub bed: Option<(&'a Bed<'a>, Network)>,
    /// Cells that are measured at the same time, this one among them.
    pub at_once: usize,
}

/// What came of a cell.
#[derive(Debug, PartialEq)]
pub(super) struct Done {
    /// Of each guest that measured, with its number among all guests, from 1.
    pub outputs: Vec<(usize, Output)>,
    /// What each neighbour did meanwhile.
    pub beside: Vec<Beside>,
    /// The network of the cell, where it had one.
    pub network: Option<Networked>,
}

/// A guest, or a load of the host, beside the first guest.
struct Neighbour<'a> {
    what: String,
    role: Cow<'a, Role>,
    platform: &'a dyn Platform,
    seat: Option<Seat>,
    is_guest: bool,
}

impl<'a> PlacementRun<'a> {
    /// Numbers that it needs: of the group, the measuring guest, the others, and the host.
    pub fn numbers(placement: &PlacementPlan) -> usize {
        3 + placement.neighbours()
    }

    /// Has the task done in every guest that measures, at once and among their neighbours,
    /// within `limit` where one were alone. The outputs are in the plan's order, which
    /// begins with the first guest. Tells what the neighbours did meanwhile.
    pub fn run(&self, arguments: &[String], limit: Duration) -> Result<Done, TaskError> {
        self.run_in(&Groups::make(self)?, arguments, limit)
    }

    fn run_in(
        &self,
        groups: &Groups,
        arguments: &[String],
        limit: Duration,
    ) -> Result<Done, TaskError> {
        let (seat, neighbours) = self.seats(groups)?;
        let limit = limit.mul_f64(slowness(self.placement));
        let most_output = limits::output(self.at_once * self.placement.measuring());
        // A neighbour outlasts everything that may be waited for.
        let beside_limit = 3 * limit;
        thread::scope(|scope| {
            let mut running = Vec::new();
            let mut measuring = Vec::new();
            for (n, neighbour) in neighbours.iter().enumerate() {
                let load = match neighbour.role.as_ref() {
                    Role::Idle => None,
                    Role::Load(load) => Some(load),
                    Role::Measure => {
                        measuring.push((n + 2, neighbour));
                        continue;
                    }
                };
                let scratch = neighbour.platform.scratch(self.workspace);
                let job = NeighbourJob::new(load, beside_limit, scratch);
                let start = Start {
                    arguments: job.arguments(),
                    number: self.number + 2 + n,
                    limit: beside_limit + neighbour.platform.patience(),
                    // It has no result.
                    most_output: MOST_ANSWER,
                    seat: neighbour.seat.clone(),
                    joined: self.join(neighbour)?,
                    stop: Arc::default(),
                    program: self.program,
                    workspace: self.workspace,
                };
                running.push((neighbour, Running::start(scope, neighbour.platform, start)));
            }
            let begun = Instant::now();
            let done = self
                .until_they_work(&mut running, begun + limit)
                .and_then(|before| {
                    let start = |number, seat, stop| {
                        let start = Start {
                            arguments: arguments.to_vec(),
                            number,
                            limit,
                            most_output,
                            seat,
                            joined: self.place()?,
                            stop,
                            program: self.program,
                            workspace: self.workspace,
                        };
                        Ok::<_, TaskError>(Running::start(scope, self.platform, start))
                    };
                    // Where the first fails, the others are dropped, and end.
                    let others = measuring.iter().map(|(n, other)| {
                        let number = self.number + n;
                        let running = start(number, other.seat.clone(), Arc::default())?;
                        Ok(Overlap::new(*n, Some(other.what.as_str()), running))
                    });
                    let mut all: Vec<_> = others.collect::<Result<_, TaskError>>()?;
                    let first = start(self.number + 1, seat, Arc::clone(self.stop))?;
                    if all.is_empty() {
                        return Ok((vec![(1, first.wait()?)], before));
                    }
                    all.insert(0, Overlap::new(1, None, first));
                    Ok((overlap::outputs(all, self.stop)?, before))
                });
            let waited = begun.elapsed();
            let beside = done.map(|(outputs, before)| {
                let seen = running.iter_mut().zip(before);
                let beside: Result<Vec<_>, _> = seen
                    .map(|((neighbour, running), before)| {
                        seen_of(neighbour, running, before, waited)
                    })
                    .collect();
                (outputs, beside)
            });
            // All at once: none waits for another's end.
            running.iter().for_each(|(_, running)| running.stop());
            let ends: Vec<_> = running
                .into_iter()
                .map(|(neighbour, running)| (neighbour, running.end()))
                .collect();
            match beside? {
                (outputs, Ok(beside)) => Ok(Done {
                    outputs,
                    beside,
                    network: None,
                }),
                (_, Err(Some(why))) => Err(TaskError::Failed(why)),
                (_, Err(None)) => Err(self.ended(ends)),
            }
        })
    }

    /// The place of a further guest in the network.
    fn place(&self) -> Result<Option<Joined>, TaskError> {
        let joined = self.bed.map(|(bed, network)| bed.join(network));
        Ok(joined.transpose()?.flatten())
    }

    /// That of a neighbour; the host's is where all of this runs.
    fn join(&self, neighbour: &Neighbour<'_>) -> Result<Option<Joined>, TaskError> {
        match neighbour.is_guest {
            true => self.place(),
            false => Ok(None),
        }
    }

    /// The seat of the measuring guest, and all others with theirs.
    fn seats(&self, groups: &Groups) -> Result<(Option<Seat>, Vec<Neighbour<'a>>), Unavailable> {
        let placement = self.placement;
        let mut cpus = placing::cpus(
            placement,
            self.platform.cpus(),
            &tompion_host::usable_cpus(),
        )?
        .into_iter();
        let mut seat = |name: String, scheduling: &Scheduling| Seat {
            cpus: cpus.next().unwrap_or_default(),
            one_each: placement.pinning == crate::plan::Pinning::OneToOne,
            scheduling: scheduling.clone(),
            parent: groups.guests.clone(),
            name,
        };
        let own = seat("measure".to_owned(), &placement.measure);
        let mut neighbours = Vec::new();
        for guests in &placement.guests {
            for _ in 0..guests.count {
                // The first guest is the one that measures in any case.
                let n = neighbours.len() + 2;
                neighbours.push(Neighbour {
                    what: format!("guest {n} ({})", guests.role),
                    role: Cow::Borrowed(&guests.role),
                    platform: self.platform,
                    seat: Some(seat(format!("guest-{n}"), &guests.scheduling)),
                    is_guest: true,
                });
            }
        }
        neighbours.extend(placement.host_load.iter().map(|load| Neighbour {
            what: format!("the host ({})", load.level()),
            role: Cow::Owned(Role::Load(load.clone())),
            platform: &Host::PLAIN,
            is_guest: false,
            seat: Some(Seat {
                cpus: placement.cpus.clone().unwrap_or_default(),
                one_each: false,
                scheduling: Scheduling::default(),
                parent: groups.host.clone(),
                name: "load".to_owned(),
            }),
        }));
        Ok((Some(own), neighbours))
    }

    /// Waits until each neighbour has shown that it works, and returns what it showed.
    fn until_they_work(
        &self,
        running: &mut [(&Neighbour<'_>, Running<'_>)],
        until: Instant,
    ) -> Result<Vec<Sign>, TaskError> {
        loop {
            let signs: Vec<_> = running.iter_mut().map(|(_, r)| r.sign()).collect();
            if let Some(signs) = signs.iter().copied().collect() {
                return Ok(signs);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(TaskError::Stopped);
            }
            // One that is over has said why; the rest are ended with it.
            if let Some(at) = running.iter().position(|(_, r)| r.is_over()) {
                let (neighbour, running) = (&running[at].0, &mut running[at].1);
                return Err(failed(neighbour, running.take_end()));
            }
            if Instant::now() > until {
                let silent = signs.iter().position(Option::is_none).unwrap_or_default();
                return Err(TaskError::Failed(format!(
                    "{} gave no sign of its load in time",
                    running[silent].0.what
                )));
            }
            os::sleep(LOOK);
        }
    }

    fn ended(&self, ends: Vec<(&Neighbour<'_>, Result<Output, TaskError>)>) -> TaskError {
        if self.stop.load(Ordering::Relaxed) {
            return TaskError::Stopped;
        }
        let early = ends
            .into_iter()
            .find(|(_, end)| *end != Err(TaskError::Stopped));
        match early {
            Some((neighbour, end)) => failed(neighbour, end),
            None => TaskError::Failed("a neighbour ended while it was measured".to_owned()),
        }
    }
}

/// What a neighbour did since `before`, `waited` or less ago; why that is too little, or
/// nothing where it is there no more.
fn seen_of(
    neighbour: &Neighbour<'_>,
    running: &mut Running<'_>,
    before: Sign,
    waited: Duration,
) -> Result<Beside, Option<String>> {
    if running.is_over() {
        return Err(None);
    }
    let now = running.sign().unwrap_or(before);
    let seconds = |now: u64, before: u64| now.saturating_sub(before) as f64 / 1e9;
    if let Role::Load(_) = neighbour.role.as_ref()
        && let Some(why) = idle(before, now, waited)
    {
        return Err(Some(format!("{} {why}", neighbour.what)));
    }
    Ok(Beside {
        what: neighbour.what.clone(),
        cpus: neighbour
            .seat
            .iter()
            .flat_map(|seat| seat.cpus.clone())
            .collect(),
        seconds: seconds(now.at_ns, before.at_ns),
        cpu_seconds: seconds(now.cpu_ns, before.cpu_ns),
    })
}

/// Why a load was none, between two of its signs.
fn idle(before: Sign, now: Sign, waited: Duration) -> Option<String> {
    let seen_s = now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
    let worked = (now.cpu_ns, now.work) != (before.cpu_ns, before.work);
    if seen_s == 0.0 && waited > SILENT {
        let s = waited.as_secs_f64();
        return Some(format!("gave no sign of its load for {s:.0} s"));
    }
    (seen_s >= IDLE_S && !worked).then(|| format!("did nothing for {seen_s:.1} s"))
}

fn failed(neighbour: &Neighbour<'_>, end: Result<Output, TaskError>) -> TaskError {
    let why = match end {
        Err(TaskError::Stopped) => return TaskError::Stopped,
        Err(TaskError::Failed(why) | TaskError::Late(why)) => why,
        Ok(output) => super::session::last_words(&output),
    };
    TaskError::Failed(format!("{} ended early: {why}", neighbour.what))
}

/// How much longer a start takes at most beside neighbours of these weights.
fn slowness(placement: &PlacementPlan) -> f64 {
    let weight = |s: &Scheduling| s.weight.unwrap_or(100) as f64;
    let own = weight(&placement.measure);
    let others = placement.guests.iter();
    let others: f64 = others.map(|g| g.count as f64 * weight(&g.scheduling)).sum();
    let shares = placement.guests.iter().map(|g| &g.scheduling);
    let shares = shares.chain([&placement.measure, &placement.together]);
    let quota = shares.map(Scheduling::share_of_cpu).fold(1.0, f64::min);
    ((1.0 + others / own) / quota).clamp(1.0, SLOWEST)
}

/// The groups of a placement, removed with all that is in them when this is dropped.
struct Groups {
    guests: Option<(Hierarchy, Group)>,
    host: Option<(Hierarchy, Group)>,
    name: String,
    host_name: String,
}

impl Groups {
    fn make(scene: &PlacementRun<'_>) -> Result<Self, TaskError> {
        let mut groups = Self {
            guests: None,
            host: None,
            name: scene.workspace.id(scene.number),
            host_name: String::new(),
        };
        let placement = scene.placement;
        if scene.platform.seating() == Seating::Process && !placement.needs_groups() {
            return Ok(groups);
        }
        let make = |name: &str, has: &Scheduling| -> Result<_, TaskError> {
            let hierarchy = Hierarchy::find()?;
            let group = hierarchy.parent(name, has)?;
            Ok(Some((hierarchy, group)))
        };
        groups.guests = make(&groups.name, &placement.together)?;
        if placement.host_load.is_some() {
            // The host's load is the last of its instances.
            let last = scene.number + PlacementRun::numbers(placement) - 1;
            groups.host_name = scene.workspace.id(last);
            groups.host = make(&groups.host_name, &Scheduling::default())?;
        }
        Ok(groups)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // What is left here all the same is found by `lab clean`.
        leftovers::remove_cgroups(&self.name);
        if self.host.is_some() {
            leftovers::remove_cgroups(&self.host_name);
        }
    }
}

#[cfg(test)]
mod tests;
