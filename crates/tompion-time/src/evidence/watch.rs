//! The look at the evidence that every anchor takes while the clock runs.

use std::fs::{self, File};
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::clocksource::{self, Current};
use super::sys;
use super::vmclock::{Vmclock, VmclockState};

/// What one look saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// What the kernel keeps time by.
    pub clocksource: Current,
    /// The value of vmclock's disruption marker; `None` where there is no such
    /// device. A change means that the counter may have jumped or changed its
    /// rate.
    pub disruption_marker: Option<u64>,
}

/// Keeps `current_clocksource` open and the vmclock page mapped, for repeated
/// cheap looks by any thread.
///
/// [`Watch::poll`] takes no lock and allocates nothing: one `pread` and one
/// read of shared memory. (Where the clocksource cannot be opened at all, each
/// poll tries to open it again, which costs a system call or two.)
///
/// A daemon may close our descriptor behind our back, and its number may come
/// to belong to another file. So content that is no known clocksource's name
/// makes `poll` compare the open file with the path, and open the path anew if
/// they differ; until that succeeds the answer is [`Current::Unknown`].
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    kept: AtomicU64,
    vmclock: Result<Vmclock, VmclockState>,
}

/// A descriptor and the number of times it was replaced, as one word, so that
/// two threads never both take themselves for the one that replaced it.
#[derive(Clone, Copy)]
struct Kept {
    fd: RawFd,
    generation: u32,
}

impl Kept {
    fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.fd as u32)
    }

    fn unpack(word: u64) -> Self {
        Self {
            fd: word as u32 as RawFd,
            generation: (word >> 32) as u32,
        }
    }
}

/// What a file's content says.
enum Content {
    Name(Current),
    /// Readable, but no name that we know.
    Foreign,
    Unreadable,
}

fn content(fd: RawFd) -> Content {
    // The kernel's names have at most 31 bytes, and a newline follows.
    let mut bytes = [0; 64];
    match sys::read_at_start(fd, &mut bytes) {
        Some(n) => match Current::recognise(&bytes[..n]) {
            Some(current) => Content::Name(current),
            None => Content::Foreign,
        },
        None => Content::Unreadable,
    }
}

impl Watch {
    /// Starts to watch the sysfs and the devices below `root` (normally `/`).
    /// Whatever is missing is reported by [`Watch::poll`] as not known.
    pub fn open(root: &Path) -> Self {
        let path = clocksource::current_path(root);
        let fd = File::open(&path).map_or(-1, sys::keep_high);
        Self {
            path,
            kept: AtomicU64::new(Kept { fd, generation: 0 }.pack()),
            vmclock: Vmclock::open(root),
        }
    }

    /// Looks.
    pub fn poll(&self) -> Watched {
        Watched {
            clocksource: self.clocksource(),
            disruption_marker: self.disruption_marker(),
        }
    }

    /// The value of vmclock's disruption marker alone: one read of shared memory.
    pub fn disruption_marker(&self) -> Option<u64> {
        self.vmclock.as_ref().ok().map(Vmclock::disruption_marker)
    }

    /// Whether the vmclock device is watched, and if not, why.
    pub fn vmclock(&self) -> VmclockState {
        match &self.vmclock {
            Ok(_) => VmclockState::Mapped,
            Err(why) => *why,
        }
    }

    fn clocksource(&self) -> Current {
        let kept = Kept::unpack(self.kept.load(Ordering::Acquire));
        match content(kept.fd) {
            Content::Name(current) => current,
            other => self.doubt(kept, other),
        }
    }

    /// The kept descriptor does not read as it should.
    #[cold]
    fn doubt(&self, kept: Kept, seen: Content) -> Current {
        if matches!(seen, Content::Foreign) && self.is_ours(kept.fd) {
            // A clocksource that we have no name for.
            return Current::Other;
        }
        // The old descriptor is gone or another's: closing it would be wrong.
        let Ok(file) = File::open(&self.path) else {
            return Current::Unknown;
        };
        let fresh = Kept {
            fd: sys::keep_high(file),
            generation: kept.generation.wrapping_add(1),
        };
        let current = match content(fresh.fd) {
            Content::Name(current) => current,
            Content::Foreign => Current::Other,
            Content::Unreadable => Current::Unknown,
        };
        if self
            .kept
            .compare_exchange(
                kept.pack(),
                fresh.pack(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_err()
        {
            // Another thread was faster; this one is surely ours.
            sys::close(fresh.fd);
        }
        current
    }

    /// Whether the descriptor is open on the file that the path names now.
    fn is_ours(&self, fd: RawFd) -> bool {
        let named = fs::metadata(&self.path).ok().map(|m| (m.dev(), m.ino()));
        named.is_some() && sys::identity(fd) == named
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let fd = Kept::unpack(*self.kept.get_mut()).fd;
        // Better to leave a descriptor open than to close another's.
        if fd >= 0 && self.is_ours(fd) {
            sys::close(fd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, vmclock_page};
    use super::*;
    use crate::evidence::COUNTER_CLOCKSOURCE;

    const COUNTER: Watched = Watched {
        clocksource: Current::Counter,
        disruption_marker: None,
    };

    fn fd(watch: &Watch) -> RawFd {
        Kept::unpack(watch.kept.load(Ordering::Relaxed)).fd
    }

    /// Closes the kept descriptor, and moves it to a number that is never open:
    /// tests that run beside could take the freed one.
    fn lose(watch: &Watch) {
        let kept = Kept::unpack(watch.kept.load(Ordering::Relaxed));
        sys::close(kept.fd);
        let lost = Kept {
            fd: RawFd::MAX,
            ..kept
        };
        watch.kept.store(lost.pack(), Ordering::Relaxed);
    }

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.clocksource(&format!("{COUNTER_CLOCKSOURCE}\n"));
        tree
    }

    #[test]
    fn a_switch_of_the_clocksource_is_noticed_and_so_is_the_return() {
        let tree = tree();
        let watch = Watch::open(tree.root());
        assert_eq!(watch.vmclock(), VmclockState::Absent);
        assert_eq!(watch.poll(), COUNTER);
        assert_eq!(watch.poll(), COUNTER);
        for other in ["hpet\n", "kvm-clock\n", "a-clocksource-of-the-year-2040\n"] {
            tree.clocksource(other);
            assert_eq!(watch.poll().clocksource, Current::Other, "{other}");
        }
        tree.clocksource(&format!("{COUNTER_CLOCKSOURCE}\n"));
        assert_eq!(watch.poll(), COUNTER);
        // All that without a new descriptor.
        assert_eq!(
            Kept::unpack(watch.kept.load(Ordering::Relaxed)).generation,
            0
        );
    }

    #[test]
    fn a_changed_marker_is_noticed() {
        let tree = tree();
        tree.write("dev/vmclock0", vmclock_page(7));
        let watch = Watch::open(tree.root());
        assert_eq!(watch.vmclock(), VmclockState::Mapped);
        assert_eq!(watch.poll().disruption_marker, Some(7));
        tree.overwrite("dev/vmclock0", &vmclock_page(8));
        assert_eq!(watch.poll().disruption_marker, Some(8));
    }

    #[test]
    fn a_closed_descriptor_is_replaced() {
        let tree = tree();
        let watch = Watch::open(tree.root());
        lose(&watch);
        assert_eq!(watch.poll(), COUNTER);
        tree.clocksource("hpet\n");
        assert_eq!(watch.poll().clocksource, Current::Other);
    }

    #[test]
    fn a_descriptor_that_became_another_file_is_neither_believed_nor_closed() {
        let tree = tree();
        tree.write("foreign", "some text\n");
        let watch = Watch::open(tree.root());
        let old = fd(&watch);
        // Other tests run beside: put the foreign file there in one step.
        let foreign = File::open(tree.root().join("foreign")).unwrap();
        sys::replace(&foreign, old);
        assert_eq!(watch.poll(), COUNTER);
        assert_ne!(fd(&watch), old);
        let mut bytes = [0; 4];
        assert_eq!(sys::read_at_start(old, &mut bytes), Some(4));
        assert_eq!(&bytes, b"some");
        // Nor when nobody polled in between.
        let unaware = fd(&watch);
        sys::replace(&foreign, unaware);
        drop(watch);
        for theirs in [old, unaware] {
            assert_eq!(sys::read_at_start(theirs, &mut bytes), Some(4));
            sys::close(theirs);
        }
    }

    #[test]
    fn without_the_file_nothing_is_claimed_until_it_is_there() {
        let tree = Tree::new();
        let watch = Watch::open(tree.root());
        assert_eq!(watch.poll().clocksource, Current::Unknown);
        tree.clocksource(&format!("{COUNTER_CLOCKSOURCE}\n"));
        assert_eq!(watch.poll(), COUNTER);
        // Descriptor closed and the path out of reach, as in a chroot.
        lose(&watch);
        tree.remove_clocksource();
        assert_eq!(watch.poll().clocksource, Current::Unknown);
    }

    #[test]
    fn dropping_closes_what_is_ours() {
        let tree = tree();
        let watch = Watch::open(tree.root());
        let (kept, id) = (fd(&watch), sys::identity(fd(&watch)));
        assert!(id.is_some());
        drop(watch);
        // The number may be another test's by now, but the file is not open there.
        assert_ne!(sys::identity(kept), id);
    }

    #[test]
    fn threads_that_find_it_closed_together_agree_and_leak_nothing() {
        let tree = tree();
        let watch = Watch::open(tree.root());
        let id = sys::identity(fd(&watch)).unwrap();
        for _ in 0..50 {
            // A foreign file in its place: every thread must doubt.
            let null = File::open("/dev/null").unwrap();
            let old = fd(&watch);
            sys::replace(&null, old);
            std::thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| assert_eq!(watch.poll(), COUNTER));
                }
            });
            sys::close(old);
        }
        let open = (0..4096)
            .filter(|fd| sys::identity(*fd) == Some(id))
            .count();
        assert_eq!(open, 1);
    }

    #[test]
    fn the_pair_of_descriptor_and_generation_survives_packing() {
        for (fd, generation) in [(-1, 0), (0, u32::MAX), (i32::MAX, 5), (200, 1)] {
            let k = Kept::unpack(Kept { fd, generation }.pack());
            assert_eq!((k.fd, k.generation), (fd, generation));
        }
    }
}
