//! Counters of one thread, read right before and right after something.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use tompion_model::Unavailable;

use tompion_cause::Counters;
use tompion_time::os::{ClockId, now_ns};

use crate::cgroup::Throttling;
use crate::kept::{Kept, numbers};
use crate::sys;

/// Counters of a thread, with all files kept open.
///
/// Reading takes some microseconds when the thread reads its own (CPU clock,
/// `getrusage`, one small file for the run delay and one for each quota), and
/// several times as long for another thread, whose switches and faults stand in
/// longer files. The example `observe_cost` prints it.
///
/// # What it does not see
/// The CPU time of another process's thread is exact when it is that process's only
/// one; otherwise it comes from `schedstat`, which lags by up to one tick of the
/// scheduler while the thread runs. A quota that is set after the opening, on a
/// group without one before, is not seen.
#[derive(Debug)]
pub struct ThreadCounters {
    tid: i32,
    place: Place,
    schedstat: Option<Kept>,
    status: Option<Kept>,
    stat: Option<Kept>,
    throttling: Result<Throttling, Unavailable>,
    smi: Result<File, Unavailable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    ThisProcess,
    /// The only thread of another process.
    Alone,
    /// One of several.
    OneOfSeveral,
}

/// Which system management interrupts a CPU has seen (Intel, MSR_SMI_COUNT).
const MSR_SMI_COUNT: u64 = 0x34;

impl ThreadCounters {
    /// Opens the counters of a thread of this or another process.
    ///
    /// # Errors
    /// One line, when there is no such thread.
    pub fn open(tid: i32) -> Result<Self, Unavailable> {
        let dir = format!("/proc/{tid}/task/{tid}");
        let status = fs::read_to_string(format!("{dir}/status"))
            .map_err(|e| Unavailable::refused(format!("thread {tid} cannot be watched"))(e))?;
        let of = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|l| l.strip_prefix(name)?.trim().parse::<u32>().ok())
        };
        let place = match (of("Tgid:"), of("Threads:")) {
            (Some(pid), _) if pid == std::process::id() => Place::ThisProcess,
            (Some(pid), Some(1)) if pid as i32 == tid => Place::Alone,
            _ => Place::OneOfSeveral,
        };
        let open = |name: &str| Kept::open(&format!("{dir}/{name}"));
        Ok(Self {
            tid,
            place,
            schedstat: open("schedstat"),
            status: open("status"),
            stat: open("stat"),
            throttling: Throttling::of(tid),
            smi: Err("not asked for".into()),
        })
    }

    /// Counts the system management interrupts of that CPU, too.
    ///
    /// # Errors
    /// One line: why they cannot be counted here.
    pub fn watch_smi_of(&mut self, cpu: u32) -> Result<(), Unavailable> {
        self.smi = smi_of(&format!("/dev/cpu/{cpu}/msr"));
        self.smi.as_ref().map(drop).map_err(Clone::clone)
    }

    /// Which counters there are; each `Err` says why not, as a run keeps it.
    pub fn access(&self) -> Vec<(String, Result<(), String>)> {
        let had = |there: bool| match there {
            true => Ok(()),
            false => Err("this kernel does not tell".to_owned()),
        };
        let throttling = self
            .throttling
            .as_ref()
            .map(drop)
            .map_err(ToString::to_string);
        vec![
            (
                "run delay of the thread".to_owned(),
                had(self.schedstat.is_some()),
            ),
            (
                "switches and faults of the thread".to_owned(),
                had(self.status.is_some()),
            ),
            ("throttling of its control group".to_owned(), throttling),
            (
                "system management interrupts".to_owned(),
                self.smi.as_ref().map(drop).map_err(ToString::to_string),
            ),
        ]
    }

    /// Reads them.
    pub fn read(&mut self) -> Counters {
        let mut counters = Counters {
            // First, so that all counts are at least as new.
            at_ns: now_ns(ClockId::Monotonic),
            ..Counters::default()
        };
        let schedstat = self.schedstat.as_mut().and_then(|f| pair(f.read()?));
        counters.run_delay_ns = schedstat.map(|s| s.1);
        let exact = match self.place {
            Place::ThisProcess => sys::thread_cpu_ns(self.tid),
            Place::Alone => sys::process_cpu_ns(self.tid),
            Place::OneOfSeveral => None,
        };
        counters.cpu_time_ns = exact.or(schedstat.map(|s| s.0)).unwrap_or(0);
        if self.place == Place::ThisProcess && self.tid == sys::own_tid() {
            self.read_own(&mut counters);
        } else {
            self.read_of_another(&mut counters);
        }
        counters.throttled_ns = self
            .throttling
            .as_mut()
            .ok()
            .and_then(Throttling::throttled_ns);
        counters.smi = self.smi.as_ref().ok().and_then(read_msr);
        counters
    }

    fn read_own(&self, counters: &mut Counters) {
        let usage = sys::own_usage();
        counters.voluntary_switches = usage.as_ref().map(|u| u.voluntary_switches);
        counters.involuntary_switches = usage.as_ref().map(|u| u.involuntary_switches);
        counters.minor_faults = usage.as_ref().map(|u| u.minor_faults);
        counters.major_faults = usage.as_ref().map(|u| u.major_faults);
    }

    fn read_of_another(&mut self, counters: &mut Counters) {
        let switches = self.status.as_mut().and_then(|f| switches(f.read()?));
        counters.voluntary_switches = switches.map(|s| s.0);
        counters.involuntary_switches = switches.map(|s| s.1);
        let faults = self.stat.as_mut().and_then(|f| faults(f.read()?));
        counters.minor_faults = faults.map(|f| f.0);
        counters.major_faults = faults.map(|f| f.1);
    }
}

fn smi_of(path: &str) -> Result<File, Unavailable> {
    let file = File::open(path).map_err(Unavailable::refused(path))?;
    match read_msr(&file) {
        Some(_) => Ok(file),
        None => Err(format!("{path}: this CPU does not count them, or hides it").into()),
    }
}

fn read_msr(file: &File) -> Option<u64> {
    let mut value = [0; 8];
    file.read_exact_at(&mut value, MSR_SMI_COUNT).ok()?;
    Some(u64::from_ne_bytes(value))
}

/// `schedstat`: CPU time and run delay, in ns.
pub(crate) fn pair(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = numbers(text);
    Some((numbers.next()?, numbers.next()?))
}

/// The last two lines of `status`: voluntary, then other switches.
pub(crate) fn switches(status: &[u8]) -> Option<(u64, u64)> {
    let of = |name: &[u8]| {
        let line = status
            .rsplit(|b| *b == b'\n')
            .find(|l| l.starts_with(name))?;
        numbers(line).next()
    };
    Some((
        of(b"voluntary_ctxt_switches:")?,
        of(b"nonvoluntary_ctxt_switches:")?,
    ))
}

/// Fields 10 and 12 of `stat`: minor and major faults.
pub(crate) fn faults(stat: &[u8]) -> Option<(u64, u64)> {
    // The name before may contain anything; the state's letter follows it.
    let after = stat.iter().rposition(|b| *b == b')')?;
    let mut fields = stat[after..].split(|b| *b == b' ').skip(8);
    let mut next = || numbers(fields.next()?).next();
    let minor = next()?;
    next()?;
    Some((minor, next()?))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn reads_the_fields_meant() {
        let stat = b"9 (a) b) S 1 2 3 4 5 6 777 8 999 10 11 12\n";
        assert_eq!(faults(stat), Some((777, 999)));
        let status = b"Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(switches(status), Some((150, 545)));
        assert_eq!(pair(b"100 200 3\n"), Some((100, 200)));
        assert_eq!(pair(b""), None);
    }

    #[test]
    fn management_interrupts_not_asked_for_and_refused_are_told_apart() {
        let why = |counters: &ThreadCounters| counters.access().last().unwrap().1.clone();
        let mut counters = ThreadCounters::open(sys::own_tid()).unwrap();
        assert_eq!(why(&counters), Err("not asked for".to_owned()));
        let refused = counters.watch_smi_of(1 << 20).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("/msr: "), "{refused}");
        assert_eq!(why(&counters), Err(refused));
    }

    #[test]
    fn own_cpu_time_grows_with_work_and_not_with_sleep() {
        let mut counters = ThreadCounters::open(sys::own_tid()).unwrap();
        let before = counters.read();
        let began = Instant::now();
        while counters.read().cpu_time_ns < before.cpu_time_ns + 20_000_000 {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "no CPU time in 20 s"
            );
        }
        let middle = counters.read();
        std::thread::sleep(Duration::from_millis(50));
        let after = counters.read();
        assert!(middle.at_ns - before.at_ns >= 19_000_000);
        assert!(after.cpu_time_ns - middle.cpu_time_ns < 25_000_000);
        assert!(after.voluntary_switches.unwrap() > middle.voluntary_switches.unwrap());
    }

    #[test]
    fn first_touch_counts_as_faults() {
        let mut counters = ThreadCounters::open(sys::own_tid()).unwrap();
        let before = counters.read().minor_faults.unwrap();
        let pages = 2000;
        let mut memory = vec![0u8; pages * 4096];
        for page in memory.chunks_mut(4096) {
            std::hint::black_box(&mut page[0]);
            page[0] = 1;
        }
        std::hint::black_box(&memory);
        let faults = counters.read().minor_faults.unwrap() - before;
        // Huge pages would need fewer; the kernel may have them here.
        assert!(faults >= 4 && faults < 4 * pages as u64, "{faults}");
    }

    #[test]
    fn another_process_is_read_from_its_files() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let mut counters = ThreadCounters::open(child.id() as i32).unwrap();
        // A child just begun may not have used the CPU yet.
        let began = Instant::now();
        let mut read = counters.read();
        while read.cpu_time_ns == 0 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
            read = counters.read();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read.voluntary_switches.is_some() && read.minor_faults.unwrap() > 0);
        assert!(read.cpu_time_ns > 0);
        let gone = counters.read();
        assert_eq!(gone.voluntary_switches, None, "the thread is gone");
        assert!(ThreadCounters::open(child.id() as i32).is_err());
    }
}
