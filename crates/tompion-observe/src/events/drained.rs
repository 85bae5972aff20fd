//! What a drain of the rings tells.

use tompion_cause::Span;

use super::{Loss, Turn};

/// What has ended since the last drain.
#[derive(Clone, Debug, Default)]
pub struct Drained {
    /// Spans of each watched thread: its own, and those of the CPU where it ran
    /// or wanted to run, as far as it did; in the order of their beginnings. A
    /// span is told when it has ended, hence may begin before the last drain.
    pub threads: Vec<(i32, Vec<Span>)>,
    /// Spans of each CPU, whole, the watched threads' turns among them.
    pub cpus: Vec<(u32, Vec<Span>)>,
    /// When the watched threads wanted to run and did not, where that was asked for.
    pub turns: Vec<(i32, Turn)>,
    /// All that ended before this moment has been told, as far as it was not lost.
    pub until_ns: u64,
    /// Records that the kernel could not keep.
    pub lost: Vec<Loss>,
}

impl Drained {
    /// Spans of one watched thread.
    pub fn thread(&self, tid: i32) -> &[Span] {
        let found = self.threads.iter().find(|t| t.0 == tid);
        found.map_or(&[], |t| &t.1)
    }

    /// Spans of one CPU.
    pub fn cpu(&self, cpu: u32) -> &[Span] {
        let found = self.cpus.iter().find(|c| c.0 == cpu);
        found.map_or(&[], |c| &c.1)
    }

    /// Adds what a later drain told.
    pub fn append(&mut self, later: Self) {
        merge(&mut self.threads, later.threads);
        merge(&mut self.cpus, later.cpus);
        self.turns.extend(later.turns);
        self.until_ns = self.until_ns.max(later.until_ns);
        self.lost.extend(later.lost);
    }
}

fn merge<K: PartialEq>(all: &mut Vec<(K, Vec<Span>)>, later: Vec<(K, Vec<Span>)>) {
    for (key, spans) in later {
        match all.iter_mut().find(|a| a.0 == key) {
            Some((_, known)) => {
                known.extend(spans);
                known.sort_by_key(|s| (s.from_ns, s.until_ns));
            }
            None => all.push((key, spans)),
        }
    }
}
