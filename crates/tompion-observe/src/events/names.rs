//! Names of threads, as they were when they ran.

use std::collections::HashMap;

use tompion_cause::Task;
use tompion_model::printable;

/// A thread's name as the kernel keeps it: up to 15 bytes and a zero.
pub(super) type Comm = [u8; 16];

/// A thread of which no more is known than that it is outside the PID namespace, or idle.
pub(super) const OUTSIDE: i32 = i32::MIN;

/// How many names are kept before unused ones are thrown away together.
const KEPT: usize = 16_384;

/// What is known of threads' names.
pub(super) struct Names {
    known: HashMap<i32, (Comm, String)>,
    /// Asks the system for a name that no record has told; absent when a thread
    /// is gone.
    ask: Box<dyn FnMut(i32) -> Option<String> + Send>,
}

impl Names {
    pub(super) fn new(ask: impl FnMut(i32) -> Option<String> + Send + 'static) -> Self {
        Self {
            known: HashMap::new(),
            ask: Box::new(ask),
        }
    }

    /// Notes what a record says.
    pub(super) fn learn(&mut self, tid: i32, comm: Option<Comm>) {
        let Some(comm) = comm else { return };
        if self
            .known
            .get(&tid)
            .is_some_and(|(known, _)| *known == comm)
        {
            return;
        }
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        let text = comm.split(|b| *b == 0).next().unwrap_or_default();
        // Whoever runs a thread calls it as he likes.
        let name = printable(&String::from_utf8_lossy(text)).into_owned();
        self.known.insert(tid, (comm, name));
    }

    /// The thread with its name.
    pub(super) fn task(&mut self, tid: i32) -> Task {
        let name = if tid == 0 {
            Some("idle".to_owned())
        } else if tid == OUTSIDE {
            None
        } else if let Some((_, name)) = self.known.get(&tid) {
            Some(name.clone())
        } else {
            let name = (self.ask)(tid);
            let comm = name.as_deref().map(to_comm);
            self.learn(tid, comm);
            name.map(|name| printable(&name).into_owned())
        };
        Task { tid, name }
    }
}

/// A name as the kernel keeps it, cut to its length.
pub(super) fn to_comm(name: impl AsRef<[u8]>) -> Comm {
    let mut comm = [0; 16];
    let bytes = name.as_ref();
    let length = bytes.len().min(15);
    comm[..length].copy_from_slice(&bytes[..length]);
    comm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_acts_on_a_terminal() {
        let evil = "\u{1b}[2Ja\n\u{202e}b";
        let mut names = Names::new(move |_| Some(evil.to_owned()));
        names.learn(7, Some(to_comm(evil)));
        for tid in [7, 8, 8] {
            assert_eq!(names.task(tid).name.as_deref(), Some(" [2Ja  b"));
        }
    }
}
