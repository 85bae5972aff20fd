//! What the host takes: steal, and pauses that nothing within the machine explains.

use tompion_cause::Cause;
use tompion_model::{Stalls, format_ns};

use super::fault::Fault;
use super::part::{Part, State};
use super::programs::WORTH_SAYING;
use super::seen::Seen;
use super::taken::Taken;
use super::taker::Taker;
use super::words::percent;

/// From these shares of the time on.
const MUCH: f64 = 0.01;
const TOO_MUCH: f64 = 0.05;
/// From this length on a pause is worth a warning: no control loop bears it.
const LONG_NS: u64 = 1_000_000;
/// The loosest use, VoIP, has this much time: pauses that are longer and take 1 % of it are for
/// none.
const TOO_LONG_NS: u64 = 5_000_000;

/// Causes that lie below the kernel: the hypervisor's, by its own word and by what is missing, and
/// the firmware's.
pub(crate) const BELOW: [Cause; 3] = [Cause::Stolen, Cause::Unseen, Cause::Smi];

pub(super) fn part(seen: &Seen<'_>) -> Part {
    let mut clauses = Vec::new();
    let mut details = Vec::new();
    let (at_rest, stalls) = seen.stalls();
    // What is at fault is told by the same figures.
    let taken = in_all(&stalls, seen);
    let known = Taken::by(&stalls, &BELOW);
    let accounted = seen.steal_is_accounted();
    let is_guest = seen.is_guest();
    let stolen = stolen_share(seen);
    let stolen = stolen.filter(|share| *share > 0.0 || accounted == Some(true));
    let by_steal = |share: f64| match share {
        s if s >= TOO_MUCH => State::Fail,
        s if s >= MUCH => State::Warn,
        _ => State::Ok,
    };
    if taken.watched_ns > 0 {
        let state = match (known.share(), known.longest_ns) {
            (share, _) if share >= TOO_MUCH => State::Fail,
            (share, longest) if share >= MUCH && longest >= TOO_LONG_NS => State::Fail,
            (share, longest) if share >= MUCH || longest >= LONG_NS => State::Warn,
            _ => State::Ok,
        };
        let longest = match taken.longest_ns {
            0 => String::new(),
            ns => format!(", longest {}", format_ns(ns as f64)),
        };
        let beside = if at_rest { "" } else { " beside load" };
        let watched = format_ns(taken.watched_ns as f64);
        let share = percent(taken.share());
        let unknown = unexplained(&stalls, seen);
        let unknown = unknown.map(|taken| format!("{} unexplained", percent(taken.share())));
        let interrupt = within_interrupt(&stalls, seen)
            .map(|ns| format!("{} within an interrupt", format_ns(ns as f64)));
        let likely: Vec<String> = unknown.into_iter().chain(interrupt).collect();
        let (state, of_it) = match likely.is_empty() {
            true => (state, String::new()),
            false => (state.max(State::Warn), format!(" ({})", likely.join(", "))),
        };
        // Where steal is more than that, who takes the CPU is told by it: it comes first then.
        let state = state.max(stolen.map_or(State::Ok, by_steal));
        let more = stolen.filter(|stolen| state > State::Ok && *stolen > taken.share());
        let took = match more {
            Some(stolen) => format!(
                "took {} of CPU time over all trials (steal), {share} in {watched}{beside}",
                percent(stolen)
            ),
            None => format!("took {share} of CPU time in {watched}{beside}"),
        };
        clauses.push((state, format!("{took}{of_it}{longest}")));
        if let Some(stolen) = stolen.filter(|_| more.is_none()) {
            details.push(format!(
                "By the kernel's count, steal took {} of the CPUs' time over all trials.",
                percent(stolen)
            ));
        }
    } else if let Some(share) = stolen {
        let clause = format!("steal {} over all trials", percent(share));
        clauses.push((by_steal(share), clause));
    }
    let is_measured = !clauses.is_empty();
    if taken.watched_ns == 0 {
        let state = if is_measured {
            State::Ok
        } else {
            State::NotMeasured
        };
        clauses.push((state, "pauses were not looked for".to_owned()));
    }
    match (is_guest, accounted) {
        (false, _) if is_measured => {
            clauses.push((State::Ok, "no hypervisor seen".to_owned()));
        }
        (true, Some(true)) => clauses.push((State::Ok, "steal accounted".to_owned())),
        (true, Some(false)) => clauses.push((State::Ok, "steal not accounted".to_owned())),
        _ => {}
    }
    details.extend(by_cause(&stalls));
    if let Some(how) = &seen.environment.virtualization.emulated {
        details.push(format!("The processor is imitated by {how}."));
    }
    let mut part = Part::of("Host", clauses, details);
    if !is_measured {
        part.state = State::NotMeasured;
    }
    // What is no more than usual is not at fault.
    let wrong = (part.state > State::Ok).then(|| {
        let (took, is_likely) = taker(seen);
        let fault = Fault::Host {
            took,
            is_guest,
            is_likely,
        };
        (part.state, fault)
    });
    part.by(wrong.into_iter().collect())
}

/// Steal by the kernel's own count, over loads too: a host takes more from a machine that wants more.
fn stolen_share(seen: &Seen<'_>) -> Option<f64> {
    let cpu_use = seen.cpu_use()?;
    Some(cpu_use.share(cpu_use.stolen_ns?))
}

/// A long pause of a busy loop of which nothing is known, where nobody else ran who could have
/// caused it: then it came from outside.
fn unexplained(stalls: &[&Stalls], seen: &Seen<'_>) -> Option<Taken> {
    let unknown = Taken::by(stalls, &[Cause::Unknown]);
    let is_it = seen.is_guest() && is_alone(seen) && unknown.longest_ns >= LONG_NS;
    is_it.then_some(unknown)
}

/// What the busy loops missed that the host most likely took: by its own account, by what is missing, and what nobody
/// else can have taken.
fn in_all(stalls: &[&Stalls], seen: &Seen<'_>) -> Taken {
    let mut all = Taken::by(stalls, &BELOW);
    if let Some(unknown) = unexplained(stalls, seen) {
        all.ns += unknown.ns;
        all.longest_ns = all.longest_ns.max(unknown.longest_ns);
    }
    if let Some(ns) = within_interrupt(stalls, seen) {
        all.ns += ns;
        all.longest_ns = all.longest_ns.max(ns);
    }
    all
}

/// No handler of an interrupt takes so long by itself.
const LONG_HANDLER_NS: u64 = 10_000_000;

/// A pause that fell into a handler is told as the handler's: the longest, if it is one. Softirqs count where nobody else ran alone:
/// those of what other programs send are added up within a stall, in which these had the CPU, too.
fn within_interrupt(stalls: &[&Stalls], seen: &Seen<'_>) -> Option<u64> {
    let handlers = [Cause::Tick, Cause::HardInterrupt, Cause::Softirq];
    let handlers = match is_alone(seen) {
        true => &handlers[..],
        false => &handlers[..2],
    };
    let longest_ns = Taken::by(stalls, handlers).longest_ns;
    (seen.is_guest() && longest_ns >= LONG_HANDLER_NS).then_some(longest_ns)
}

/// Whether nobody else ran who could have caused anything.
fn is_alone(seen: &Seen<'_>) -> bool {
    let others = seen.cpu_use().map(|u| u.share(u.programs_ns));
    others.is_some_and(|share| share <= WORTH_SAYING)
}

/// What it took of the CPUs, by its own account, by what is missing, and, where these say less, by what nobody else
/// can have taken. Whether the last says it comes second.
fn taker(seen: &Seen<'_>) -> (Taker, bool) {
    let (_, stalls) = seen.stalls();
    let known = Taken::by(&stalls, &BELOW);
    let all = in_all(&stalls, seen);
    let stolen = stolen_share(seen).unwrap_or(0.0);
    let taker = match stolen > all.share() {
        // Nobody saw for how long at once.
        true => Taker {
            share: stolen,
            longest_ns: None,
        },
        false => Taker {
            share: all.share(),
            longest_ns: Some(all.longest_ns),
        },
    };
    (taker, known.share().max(stolen) < taker.share / 2.0)
}

/// What each cause took.
fn by_cause(stalls: &[&Stalls]) -> Vec<String> {
    let words = [
        (Cause::Stolen, "Steal, by the hypervisor's own account,"),
        (
            Cause::Unseen,
            "Pauses in which nothing happened within the machine",
        ),
        (Cause::Smi, "Interrupts of the firmware"),
    ];
    let sentence = |(cause, what): (Cause, &str)| Taken::by(stalls, &[cause]).sentence(what);
    words.into_iter().filter_map(sentence).collect()
}
