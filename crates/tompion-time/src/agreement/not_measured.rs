//! Why counters were not compared.

use std::fmt;

/// Why nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMeasured {
    /// The calling thread may run on one CPU only.
    OneCpu,
    /// This architecture has no counter that programs can read.
    NoCounter,
    /// The kernel forbids this thread to read the counter.
    CounterRefused,
    /// The kernel does not tell which CPUs may be used (error number).
    CpusUnknown(i32),
    /// The kernel does not let threads be pinned (error number).
    PinningRefused(i32),
    /// No thread could be started.
    NoThread,
    /// Within the time limit no two CPUs ran at the same time for long enough.
    NoTime,
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = |f: &mut fmt::Formatter<'_>, what, errno: &i32| {
            write!(f, "{what}: {}", std::io::Error::from_raw_os_error(*errno))
        };
        match self {
            Self::OneCpu => f.write_str("this thread may run on one CPU only"),
            Self::NoCounter => {
                f.write_str("this architecture has no counter that programs can read")
            }
            Self::CounterRefused => {
                f.write_str("the kernel forbids this thread to read the counter")
            }
            Self::CpusUnknown(e) => refused(f, "the kernel does not tell the allowed CPUs", e),
            Self::PinningRefused(e) => refused(f, "the kernel does not let threads be pinned", e),
            Self::NoThread => f.write_str("no thread could be started"),
            Self::NoTime => f.write_str("no two CPUs ran at the same time within the time limit"),
        }
    }
}

impl std::error::Error for NotMeasured {}
