//! Structure in stalls: what comes periodically, and lengths that crowd.

mod candidates;
mod comb;
mod groups;
mod modes;
mod refine;
#[cfg(test)]
mod tests;

pub use groups::{LengthGroup, length_groups};
pub use modes::{Mode, modes};

use crate::{Distribution, Interval, order_statistic_interval};
use candidates::Candidate;
use comb::{Comb, Found};

/// Components found by chance are expected to be fewer than this a call.
const FALSE_ALARMS: f64 = 1e-3;

/// Components looked for, at most.
const MOST_COMPONENTS: usize = 12;

/// Fewer hits than this are never a component.
const FEWEST_HITS: u64 = 6;

/// A component shows in at least this share of its periods.
const LEAST_SHARE: f64 = 0.1;

/// Candidates tested at a time.
const CANDIDATES: usize = 16;

/// Logarithm of the false alarms below which a component is certain.
const CERTAIN: f64 = -60.0;

/// Candidates tested after which a certain component is taken.
const ENOUGH: usize = 6;

/// Parts of a period that are tried instead of it.
const FACTORS: [f64; 18] = [
    2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0, 41.0, 43.0, 47.0, 53.0,
    59.0, 61.0,
];

/// Multiples of a period that are recognised as such.
const MULTIPLES: f64 = 64.0;

/// Something that took time: a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When it began, in ns.
    pub at_ns: u64,
    /// How long it took, in ns.
    pub length_ns: u64,
}

/// What comes at equal distances in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// The period, in ns.
    pub period_ns: f64,
    /// 95 % interval of the period, in ns, by least squares through the events'
    /// times; wider where successive events are late alike.
    pub period_interval: Interval,
    /// The first moment at or after the beginning of the span at which it was
    /// due, in ns.
    pub phase_ns: f64,
    /// Robust standard deviation of the events around their due times, in ns.
    pub phase_noise_ns: f64,
    /// Periods in which it was seen.
    pub events: u64,
    /// Periods in the span.
    pub expected: u64,
    /// `events / expected`.
    pub share_found: f64,
    /// Median length of its events, in ns.
    pub cost_ns: f64,
    /// 95 % interval for that median, in ns.
    pub cost_interval: Interval,
    /// Share of the span that its events took.
    pub time_share: f64,
    /// Decimal logarithm of the number of such components to be expected by
    /// chance in the whole search.
    pub log10_false_alarms: f64,
    /// Which of the occurrences given belong to it, ascending.
    pub members: Vec<usize>,
}

/// The stretches between successive occurrences longer than `longer_than_ns`:
/// how long the thread ran without such a stall, in ns. `occurrences` must be
/// in order of time.
pub fn run_lengths(occurrences: &[Occurrence], longer_than_ns: u64) -> Vec<u64> {
    let long: Vec<&Occurrence> = occurrences
        .iter()
        .filter(|o| o.length_ns > longer_than_ns)
        .collect();
    long.windows(2)
        .map(|w| w[1].at_ns.saturating_sub(w[0].at_ns + w[0].length_ns))
        .collect()
}

/// The periodic components among `occurrences`, the costliest first, in a time
/// of observation from `from_ns` to `until_ns`; occurrences outside are ignored.
///
/// Events are sorted by length first ([`length_groups`]), so that rare long ones
/// are not lost among frequent short ones; each group is searched, the longest
/// lengths first, and then all that is left together. In each search, lags that
/// are frequent among pairs of events propose periods; the comb that fits best
/// is kept and its events taken out, until none is left that means anything.
///
/// A comb is kept only if the expected number of false alarms of the whole
/// search, over all periods from 20 us to a quarter of the span, all phases and
/// tooth widths from 1/16 to 1/4096 of the period, is at most 0.001; if it was
/// seen at least six times; and in at least a tenth of its periods. The test
/// and its sources are described at its place in the code (`structure/comb.rs`).
/// Of a period and its multiples or fractions the one that explains most is
/// reported. A multiple of a component found is one of its own only with a phase
/// of its own, or if its events are of another length and come in at least half
/// of its periods.
///
/// Phases are taken to keep to one grid: a disturber that sleeps for a time after
/// each of its events wanders off by and by, and is found only as long as it
/// wanders by less than a 16th of its period. [`modes`] of [`run_lengths`] shows
/// such a one.
pub fn periodic(occurrences: &[Occurrence], from_ns: u64, until_ns: u64) -> Vec<Periodic> {
    let mut search = Search::new(occurrences, from_ns, until_ns);
    let lengths: Vec<u64> = search.events.iter().map(|e| e.length_ns).collect();
    let mut groups = length_groups(&lengths);
    groups.retain(|g| g.count >= FEWEST_HITS);
    groups.reverse();
    let tests = (groups.len() + 1) * MOST_COMPONENTS;
    if groups.len() > 1 {
        for (number, group) in groups.iter().enumerate() {
            search.group(number, |e| group.contains(e.length_ns), tests as u32);
        }
    }
    search.group(groups.len(), |_| true, tests as u32);
    let mut components = search.components();
    components.sort_by(|a, b| b.time_share.total_cmp(&a.time_share));
    components
}

/// An event of the span, and where it stood among the occurrences.
#[derive(Clone, Copy)]
struct Event {
    /// Since the beginning of the span.
    at_ns: u64,
    length_ns: u64,
    place: usize,
}

/// A component in the making.
struct Component {
    found: Found,
    /// The search that found it.
    group: usize,
    /// Indices of its events.
    members: Vec<usize>,
}

struct Search {
    events: Vec<Event>,
    taken: Vec<bool>,
    from_ns: u64,
    span_ns: u64,
    found: Vec<Component>,
}

impl Search {
    fn new(occurrences: &[Occurrence], from_ns: u64, until_ns: u64) -> Self {
        let mut events: Vec<Event> = occurrences
            .iter()
            .enumerate()
            .filter(|(_, o)| (from_ns..=until_ns).contains(&o.at_ns))
            .map(|(place, o)| Event {
                at_ns: o.at_ns - from_ns,
                length_ns: o.length_ns,
                place,
            })
            .collect();
        events.sort_by_key(|e| e.at_ns);
        Self {
            taken: vec![false; events.len()],
            events,
            from_ns,
            span_ns: until_ns.saturating_sub(from_ns),
            found: Vec::new(),
        }
    }

    /// Takes components out of the events that `belongs` names, one by one.
    fn group(&mut self, group: usize, belongs: impl Fn(&Event) -> bool, tests: u32) {
        // Leftovers of known components cost a round each, too.
        for _ in 0..2 * MOST_COMPONENTS {
            let left: Vec<usize> = (0..self.events.len())
                .filter(|&i| !self.taken[i] && belongs(&self.events[i]))
                .collect();
            let times: Vec<u64> = left.iter().map(|&i| self.events[i].at_ns).collect();
            let Some(found) = best(&times, self.span_ns, tests) else {
                return;
            };
            let members: Vec<usize> = left
                .into_iter()
                .filter(|&i| {
                    let (_, off) = found.comb.nearest(self.events[i].at_ns);
                    off.abs() <= found.reach_ns
                })
                .collect();
            for &i in &members {
                self.taken[i] = true;
            }
            let component = Component {
                found,
                group,
                members,
            };
            if let Some(known) = self.found.iter_mut().find(|known| same(known, &component)) {
                known.members.extend(component.members);
            } else if self.found.len() < MOST_COMPONENTS {
                self.found.push(component);
            } else {
                return;
            }
        }
    }

    fn components(&self) -> Vec<Periodic> {
        self.found
            .iter()
            .filter_map(|c| self.component(c))
            .collect()
    }

    fn component(&self, component: &Component) -> Option<Periodic> {
        let Found {
            comb,
            period_interval,
            ..
        } = component.found;
        let mut members = component.members.clone();
        members.sort_unstable();
        let mut teeth: Vec<i64> = members
            .iter()
            .map(|&i| comb.nearest(self.events[i].at_ns).0)
            .collect();
        teeth.dedup();
        let lengths = Distribution::from_values(
            members
                .iter()
                .map(|&i| i64::try_from(self.events[i].length_ns).unwrap_or(i64::MAX)),
        );
        let total_ns: f64 = lengths
            .pairs()
            .iter()
            .map(|p| p.0 as f64 * p.1 as f64)
            .sum();
        // An event just outside the span's ends may still hit a tooth inside.
        let events = teeth.len() as u64;
        let expected = comb.teeth(self.span_ns).max(events);
        let mut places: Vec<usize> = members.iter().map(|&i| self.events[i].place).collect();
        places.sort_unstable();
        Some(Periodic {
            period_ns: comb.period_ns,
            period_interval,
            phase_ns: self.from_ns as f64 + comb.phase_ns,
            phase_noise_ns: component.found.noise_ns,
            events,
            expected,
            share_found: events as f64 / expected as f64,
            cost_ns: lengths.median()?,
            cost_interval: order_statistic_interval(&lengths, 0.5, 0.95)?,
            time_share: total_ns / self.span_ns as f64,
            log10_false_alarms: component.found.log_false_alarms / std::f64::consts::LN_10,
            members: places,
        })
    }
}

/// The comb that means most among these times, if any does.
fn best(times: &[u64], span_ns: u64, tests: u32) -> Option<Found> {
    if (times.len() as u64) < FEWEST_HITS {
        return None;
    }
    let mut best: Option<Found> = None;
    for (tried, candidate) in candidates::candidates(times, span_ns, CANDIDATES)
        .into_iter()
        .enumerate()
    {
        if let Some(b) = &best {
            let multiple = (candidate.period_ns / b.comb.period_ns).round();
            let off = candidate.period_ns - multiple * b.comb.period_ns;
            let again = multiple >= 1.0 && off.abs() < candidate.tolerance_ns;
            if b.log_false_alarms < CERTAIN && (again || tried >= ENOUGH) {
                continue;
            }
        }
        let period_ns = refine::refine(times, span_ns, candidate);
        best = better(best, fitted(times, span_ns, period_ns, tests));
    }
    // A period that is slightly off passes for a noisy one: look again.
    let mut best = best?;
    for part in [32.0, 256.0] {
        let again = Candidate {
            period_ns: best.comb.period_ns,
            tolerance_ns: best.comb.period_ns / part,
            score: 0.0,
        };
        let period_ns = refine::refine(times, span_ns, again);
        best = better(Some(best), fitted(times, span_ns, period_ns, tests))?;
    }
    // A multiple of a period is a frequent lag, too, and may come first.
    while let Some(finer) = FACTORS
        .iter()
        .filter(|f| comb::denser_means_more(times, span_ns, &best, **f, tests))
        .filter_map(|f| fitted(times, span_ns, best.comb.period_ns / f, tests))
        .find(|finer| finer.log_false_alarms < best.log_false_alarms)
    {
        best = finer;
    }
    Some(best)
}

/// The comb of about this period, if it is one by all criteria.
fn fitted(times: &[u64], span_ns: u64, period_ns: f64, tests: u32) -> Option<Found> {
    if period_ns < candidates::SHORTEST_NS as f64 {
        return None;
    }
    comb::fit(times, span_ns, period_ns, tests).filter(|found| {
        found.log_false_alarms <= FALSE_ALARMS.ln()
            && found.hits >= FEWEST_HITS
            && found.hits as f64 >= LEAST_SHARE * found.teeth as f64
    })
}

fn better(a: Option<Found>, b: Option<Found>) -> Option<Found> {
    match (a, b) {
        (Some(a), Some(b)) if a.log_false_alarms <= b.log_false_alarms => Some(a),
        (a, b) => b.or(a),
    }
}

/// Whether `new` is no component of its own but what is left of `known`: the
/// same teeth, or some of them.
fn same(known: &Component, new: &Component) -> bool {
    let (a, b): (Comb, Comb) = (known.found.comb, new.found.comb);
    let multiple = (b.period_ns / a.period_ns).round();
    if !(1.0..=MULTIPLES).contains(&multiple) {
        return false;
    }
    // Both grids stay together over the whole span, or they are two.
    let apart_ns = |tooth: f64| {
        let turns = (b.phase_ns + tooth * b.period_ns - a.phase_ns) / a.period_ns;
        (turns - turns.round()).abs() * a.period_ns
    };
    let near_ns = (known.found.reach_ns + new.found.reach_ns).max(a.period_ns / 16.0);
    let last = new.found.teeth.saturating_sub(1) as f64;
    let together = [0.0, 0.25, 0.5, 0.75, 1.0]
        .iter()
        .all(|share| apart_ns((share * last).round()) <= near_ns);
    let own = multiple > 1.0 && known.group != new.group && 2 * new.found.hits >= new.found.teeth;
    together && !own
}
