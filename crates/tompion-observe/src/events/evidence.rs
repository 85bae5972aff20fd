//! What was to be had and what was lost (pure).

use super::record::Origin;
use super::sources::Had;
use super::{Loss, item};

/// How many losses are remembered; of more, the latest are.
const LOSSES: usize = 4096;

const NO_ROOM: &str = "some were lost for want of room";

/// As a run keeps it: had, or why not.
type Recorded = Result<(), String>;

/// What was asked for, and what became of it.
#[derive(Default)]
pub(super) struct Evidence {
    items: Vec<Item>,
    losses: Vec<Loss>,
}

struct Item {
    name: &'static str,
    asked: usize,
    refused: usize,
    /// The first refusal, which says most.
    why: String,
}

impl Item {
    /// A refusal for one CPU stands for all; of threads it is told how many.
    fn had(&self) -> Recorded {
        let each = matches!(self.name, item::THREAD_SWITCHES | item::PAGE_FAULTS);
        match self.refused {
            0 => Ok(()),
            refused if each && refused < self.asked => Err(format!(
                "{}, for {refused} of {} threads",
                self.why, self.asked
            )),
            _ => Err(self.why.clone()),
        }
    }
}

impl Evidence {
    /// Notes what became of an item, for one thread or CPU.
    pub(super) fn note(&mut self, name: &'static str, had: Had) {
        let at = self.items.iter().position(|i| i.name == name);
        let at = at.unwrap_or_else(|| {
            self.items.push(Item {
                name,
                asked: 0,
                refused: 0,
                why: String::new(),
            });
            self.items.len() - 1
        });
        let item = &mut self.items[at];
        item.asked += 1;
        if let Err(why) = had {
            if item.refused == 0 {
                item.why = why.to_string();
            }
            item.refused += 1;
        }
    }

    pub(super) fn got(&self, name: &str) -> bool {
        self.items.iter().any(|i| i.name == name && i.refused == 0)
    }

    pub(super) fn was_refused(&self, name: &str) -> bool {
        self.items.iter().any(|i| i.name == name && i.refused > 0)
    }

    pub(super) fn lose(&mut self, lost: &[Loss]) {
        self.losses.extend_from_slice(lost);
        let excess = self.losses.len().saturating_sub(LOSSES);
        self.losses.drain(..excess);
    }

    /// Whose records were lost in that time.
    pub(super) fn lost_between(&self, from_ns: u64, until_ns: u64) -> Lost {
        let within = |l: &&Loss| l.from_ns < until_ns && from_ns < l.until_ns;
        let mut lost = Lost::default();
        self.losses
            .iter()
            .filter(within)
            .for_each(|l| lost.add(l.origin));
        lost
    }

    /// The items as they are told, with what was lost named.
    pub(super) fn items(&self, lost: Lost) -> Vec<(String, Recorded)> {
        let mut items: Vec<(String, Recorded)> = self
            .items
            .iter()
            .map(|i| {
                let lossy = match i.name {
                    item::PAGE_FAULTS => lost.faults,
                    item::THREAD_SWITCHES => lost.threads,
                    _ => false,
                };
                let had = i.had().and_then(|()| match lossy {
                    true => Err(NO_ROOM.to_owned()),
                    false => Ok(()),
                });
                (i.name.to_owned(), had)
            })
            .collect();
        // All events of a CPU share a ring: one line for all.
        if lost.cpus && !self.was_refused(item::CPU_EVENTS) {
            items.push((item::CPU_EVENTS.to_owned(), Err(NO_ROOM.to_owned())));
        }
        items
    }
}

/// Of which kinds records were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    pub cpus: bool,
    pub threads: bool,
    pub faults: bool,
}

impl Lost {
    pub(super) fn add(&mut self, origin: Origin) {
        match origin {
            Origin::Cpu(_) => self.cpus = true,
            Origin::Thread(_) => self.threads = true,
            Origin::Faults(_) => self.faults = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(evidence: &Evidence, from_ns: u64, until_ns: u64) -> Vec<(String, Recorded)> {
        evidence.items(evidence.lost_between(from_ns, until_ns))
    }

    #[test]
    fn losses_are_named_where_they_fell() {
        let mut evidence = Evidence::default();
        for name in [item::SCHEDULER, item::THREAD_SWITCHES, item::PAGE_FAULTS] {
            evidence.note(name, Ok(()));
        }
        for origin in [Origin::Cpu(1), Origin::Thread(7)] {
            evidence.lose(&[Loss {
                origin,
                from_ns: 100,
                until_ns: 200,
                records: 3,
            }]);
        }
        assert!(told(&evidence, 0, 100).iter().all(|i| i.1.is_ok()));
        let lossy: Vec<_> = told(&evidence, 150, 300)
            .into_iter()
            .filter_map(|(name, had)| Some((name, had.err()?)))
            .collect();
        let of = |name: &str| (name.to_owned(), NO_ROOM.to_owned());
        assert_eq!(lossy, [of(item::THREAD_SWITCHES), of(item::CPU_EVENTS)]);
    }

    #[test]
    fn of_threads_it_is_told_how_many_were_refused() {
        let mut evidence = Evidence::default();
        let refused = || Err("too many open files".into());
        evidence.note(item::THREAD_SWITCHES, Ok(()));
        evidence.note(item::THREAD_SWITCHES, refused());
        evidence.note(item::THREAD_SWITCHES, refused());
        evidence.note(item::INTERRUPTS, Ok(()));
        evidence.note(item::INTERRUPTS, refused());
        let whys: Vec<_> = told(&evidence, 0, 1)
            .into_iter()
            .map(|i| i.1.unwrap_err())
            .collect();
        assert_eq!(
            whys,
            [
                "too many open files, for 2 of 3 threads",
                "too many open files"
            ]
        );
        assert!(!evidence.got(item::THREAD_SWITCHES) && !evidence.got(item::WAKES));
    }
}
