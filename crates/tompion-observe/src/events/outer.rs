//! Which numbers trace events have for threads of this process within a PID namespace.
//!
//! They carry those of the first namespace, of which nothing tells here. A signal does: the event of its making says, in the
//! ring of whoever sends it, whom it is for. The one that is sent is ignored by every program that has not asked for it, and
//! where this one has, none is sent.

use std::ffi::CString;
use std::path::Path;

use tompion_model::Unavailable;

use super::decode::{Decoder, Role, tracepoints};
use super::format::Format;
use super::open::{Beside, Channel};
use super::record::Origin;
use super::tracefs::Tracefs;
use crate::sys;

/// Its making.
const EVENT: &str = "signal/signal_generate";

/// The kernel's number and ours of each of these threads, and of the others of this process.
///
/// # Errors
/// Why they are not to be had, in a few words.
pub(super) fn numbers(tids: &[i32]) -> Result<Vec<(i32, i32)>, Unavailable> {
    let is_own = |tid: &&i32| Path::new(&format!("/proc/self/task/{tid}")).exists();
    if let Some(tid) = tids.iter().find(|tid| !is_own(tid)) {
        return Err(
            format!("within a PID namespace, and thread {tid} is of another program").into(),
        );
    }
    if !sys::is_ignored(libc::SIGURG) {
        return Err("within a PID namespace, in a program that wants SIGURG".into());
    }
    let format = Tracefs::open()?
        .format(EVENT)
        .and_then(|text| Format::parse(&text));
    let unlike = || format!("{EVENT}: not described by this kernel");
    let format = format.ok_or_else(unlike)?;
    let pid = format.field("pid").ok_or_else(unlike)?;
    let own = CString::new(format!("sig=={}", libc::SIGURG)).expect("made of names and numbers");
    // Nothing of it is decoded as the other records are.
    let mut decoder = Decoder::default();
    let origin = Origin::Thread(sys::own_tid());
    let mut channel = Channel::open(origin, Beside::default(), RING_BYTES, &mut decoder)?;
    channel.add_tracepoint(format.id, Some(&own), Role::Beside, &mut decoder)?;
    channel.enable()?;
    let all = own_threads();
    let mut known = Vec::with_capacity(all.len());
    let mut bytes = Vec::new();
    for ours in all {
        bytes.clear();
        channel.ring.take(&mut bytes);
        bytes.clear();
        // A thread that has ended meanwhile has no number any more.
        if sys::signal(ours, libc::SIGURG).is_err() {
            continue;
        }
        channel.ring.take(&mut bytes);
        let told: Vec<i32> = tracepoints(&bytes)
            .filter_map(|raw| i32::try_from(pid.number(raw)?).ok())
            .collect();
        match told[..] {
            [kernels] => known.push((kernels, ours)),
            _ => return Err("within a PID namespace, and the kernel does not tell numbers".into()),
        }
    }
    match tids
        .iter()
        .all(|tid| known.iter().any(|(_, ours)| ours == tid))
    {
        true => Ok(known),
        false => Err("within a PID namespace, and a thread has ended".into()),
    }
}

const RING_BYTES: usize = 4096;

fn own_threads() -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let number =
        |task: std::io::Result<std::fs::DirEntry>| task.ok()?.file_name().to_str()?.parse().ok();
    tasks.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the first namespace both numbers are the same: then it is right.
    #[test]
    fn a_thread_is_told_by_a_signal_that_nobody_hears() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (told, tid) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            told.send(sys::own_tid()).unwrap();
            let _ = stopped.recv();
        });
        let tids = [sys::own_tid(), tid.recv().unwrap()];
        match numbers(&tids) {
            Ok(known) if super::super::procfs::initial_pid_namespace() => {
                assert!(
                    known.iter().all(|(kernels, ours)| kernels == ours),
                    "{known:?}"
                );
                assert!(
                    tids.iter()
                        .all(|tid| known.iter().any(|(_, ours)| ours == tid))
                );
            }
            Ok(known) => assert!(known.len() >= tids.len()),
            Err(why) => eprintln!("skipped: {why}"),
        }
        drop(stop);
        other.join().unwrap();
    }

    #[test]
    fn threads_of_others_are_not_signalled() {
        let why = numbers(&[1]).unwrap_err().to_string();
        assert!(why.contains("another program"), "{why}");
    }
}
