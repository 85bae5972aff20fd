//! Which threads a process has, and how many files may be open to watch them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::Dir;
use rustix::process::{Resource, getrlimit, setpriority_process, setrlimit};
use tompion_model::printable;

/// A process by files that were opened once: looking again takes no further
/// descriptor, and a number that is given to another process does not mislead.
pub struct Process {
    stat: File,
    tasks: Dir,
    known: Vec<i32>,
}

impl Process {
    /// Opens what is known of process `pid`.
    pub fn open(pid: i32) -> io::Result<Self> {
        let stat = File::open(format!("/proc/{pid}/stat"))?;
        let tasks = Dir::new(File::open(format!("/proc/{pid}/task"))?)?;
        Ok(Self {
            stat,
            tasks,
            known: Vec::new(),
        })
    }

    /// Numbers of its threads; absent when it has ended. Where they cannot be listed
    /// for another reason those known before are taken to live on.
    pub fn threads(&mut self) -> Option<&[i32]> {
        if self.has_ended() {
            return None;
        }
        self.tasks.rewind();
        let mut tids = Vec::new();
        while let Some(entry) = self.tasks.read() {
            let Ok(entry) = entry else {
                return Some(&self.known);
            };
            tids.extend(
                entry
                    .file_name()
                    .to_str()
                    .ok()
                    .and_then(|n| n.parse::<i32>().ok()),
            );
        }
        self.known = tids;
        Some(&self.known)
    }

    fn has_ended(&self) -> bool {
        let mut stat = [0; 512];
        match self.stat.read_at(&mut stat, 0) {
            Ok(bytes) => is_dead(&stat[..bytes]),
            Err(e) => matches!(
                e.raw_os_error().map(rustix::io::Errno::from_raw_os_error),
                Some(rustix::io::Errno::SRCH | rustix::io::Errno::NOENT)
            ),
        }
    }
}

/// A zombie has its files still, and nothing more to run. Its threads may live on
/// after the first one has ended: that one is a zombie, too.
fn is_dead(stat: &[u8]) -> bool {
    let after = stat
        .iter()
        .rposition(|b| *b == b')')
        .map(|at| &stat[at + 1..]);
    let fields = after.unwrap_or_default().split(|b| *b == b' ');
    let mut fields = fields.filter(|f| !f.is_empty());
    let state = fields.next();
    // Field 20: how many threads there are.
    let threads = fields.nth(16).unwrap_or_default();
    matches!(state, None | Some(b"Z" | b"X")) && matches!(threads, b"" | b"0" | b"1")
}

/// Lets this process open as many files as it is allowed to: watching takes some
/// ten for each thread.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let wanted = rustix::process::Rlimit {
            current: limit.maximum,
            ..limit
        };
        // Refused only where the kernel's own limit is lower: then the threads
        // that cannot be watched are counted.
        let _ = setrlimit(Resource::Nofile, wanted);
    }
}

/// Beside a hundred busy threads an ordinary thread gets its turn so rarely that
/// records are lost meanwhile. Not real-time: that would hold the program up more.
pub fn be_prompt() {
    // Refused without the right to it; then losses are told where there are any.
    let _ = setpriority_process(None, -20);
}

/// A thread's name, without what acts on a terminal; empty when it has ended.
pub fn name_of(tid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
    printable(name.trim()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_without_further_threads_has_ended() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) R 1) {state} 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 {threads} 0 99 0")
        };
        assert!(!is_dead(stat("S", 1).as_bytes()));
        assert!(is_dead(stat("Z", 1).as_bytes()));
        assert!(!is_dead(stat("Z", 2).as_bytes()), "only its first thread");
        assert!(is_dead(b""));
    }

    #[test]
    fn a_process_has_threads_until_it_ends() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        let mut process = Process::open(pid).unwrap();
        assert_eq!(process.threads(), Some(&[pid][..]));
        assert_eq!(process.threads(), Some(&[pid][..]), "again");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process.threads(), None);
    }
}
