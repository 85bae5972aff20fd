//! One load of a specification, and its canonical text.

use std::fmt;

use tompion_record::format_duration;

use super::NAMES;
use super::values::{Bits, Cpus, Irq, Size};

/// Threads of the `cpu` load in Kirova 2019, section 2.1.3.
pub const CPU_THREADS: u32 = 100;
/// Period in which a thread of the `cpu` load is busy for a part: that of a
/// program which works a hundred times a second.
pub const PERIOD_NS: u64 = 10_000_000;
/// File that `disk-read` reads: small enough for any write budget, as large as
/// several seconds of random reads on a slow disk.
pub const READ_BYTES: u64 = 16 << 20;
/// Rate of `udp`: felt by any machine, and within what most networks carry.
pub const UDP_BITS: u64 = 100_000_000;

/// One load, and the CPUs that its threads may use; absent for any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub kind: Kind,
    pub cpus: Option<Cpus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Idle,
    Cpu {
        /// Absent means one a CPU, which only a level does.
        threads: Option<u32>,
        level: Option<Level>,
    },
    Io,
    Hd,
    DiskRead {
        size_bytes: u64,
        irq: Option<Irq>,
    },
    FileServer {
        peer: Option<String>,
    },
    Nfs {
        dir: String,
    },
    /// Absent means by the machine: see `worker::memory`.
    Memory {
        threads: Option<u32>,
        size_bytes: Option<u64>,
    },
    MemoryBus,
    Network {
        peer: Option<String>,
    },
    Download {
        peer: Option<String>,
    },
    Udp {
        peer: Option<String>,
        bits_per_second: u64,
    },
    StressNg {
        options: Vec<(String, Option<String>)>,
    },
    Iperf3 {
        peer: Option<String>,
    },
}

/// How busy a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// Part of each period in percent, 1 to 100.
    pub percent: u32,
    /// Length of a period in nanoseconds.
    pub period_ns: u64,
}

impl Part {
    /// The name without options.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Idle => "idle",
            Kind::Cpu { .. } => "cpu",
            Kind::Io => "io",
            Kind::Hd => "hd",
            Kind::DiskRead { .. } => "disk-read",
            Kind::FileServer { .. } => "file-server",
            Kind::Nfs { .. } => "nfs",
            Kind::Memory { .. } => "memory",
            Kind::MemoryBus => "memory-bus",
            Kind::Network { .. } => "network",
            Kind::Download { .. } => "download",
            Kind::Udp { .. } => "udp",
            Kind::StressNg { .. } => "stress-ng",
            Kind::Iperf3 { .. } => "iperf3",
        }
    }

    /// Place in the order of names.
    pub fn rank(&self) -> usize {
        let name = self.name();
        NAMES
            .iter()
            .position(|n| n.0 == name)
            .unwrap_or(NAMES.len())
    }

    /// Whether a program other than this one produces the load.
    pub fn is_driven(&self) -> bool {
        matches!(self.kind, Kind::StressNg { .. } | Kind::Iperf3 { .. })
    }

    /// Whether it writes files to its directory, if only those that it reads.
    pub fn writes_files(&self) -> bool {
        matches!(
            self.kind,
            Kind::Io | Kind::Hd | Kind::DiskRead { .. } | Kind::FileServer { peer: None }
        )
    }

    /// Whether it writes files here or elsewhere, and so needs a budget.
    pub fn spends_budget(&self) -> bool {
        self.is_paced() || matches!(self.kind, Kind::DiskRead { .. })
    }

    /// Whether it writes for as long as it runs.
    pub fn is_paced(&self) -> bool {
        matches!(
            self.kind,
            Kind::Io | Kind::Hd | Kind::FileServer { .. } | Kind::Nfs { .. }
        )
    }

    /// Whether it needs a directory for its files.
    pub fn needs_directory(&self) -> bool {
        self.writes_files() || self.is_driven()
    }

    /// CPUs that it names by number: those it may use, and that of its interrupts.
    pub fn named_cpus(&self) -> impl Iterator<Item = u32> + '_ {
        let list = match &self.cpus {
            Some(Cpus::List(list)) => list.as_slice(),
            _ => &[],
        };
        let irq = match &self.kind {
            Kind::DiskRead {
                irq: Some(Irq::Cpu(cpu)),
                ..
            } => Some(*cpu),
            _ => None,
        };
        list.iter().copied().chain(irq)
    }

    /// The canonical text without the defaults.
    pub fn level(&self) -> String {
        self.text(false)
    }

    fn text(&self, with_defaults: bool) -> String {
        let mut text = Text(self.name().to_owned());
        // A fixed default is left out where it goes without saying.
        let shown = |is_default: bool| with_defaults || !is_default;
        match &self.kind {
            Kind::Idle | Kind::Io | Kind::Hd | Kind::MemoryBus => {}
            Kind::Cpu { threads, level } => {
                let is_default = level.is_none() && *threads == Some(CPU_THREADS);
                text.option("threads", threads.filter(|_| shown(is_default)));
                text.option("level", level.map(|l| l.percent));
                let period = level.map(|l| l.period_ns);
                let period = period.filter(|ns| shown(*ns == PERIOD_NS));
                text.option("period", period.map(format_duration));
            }
            Kind::DiskRead { size_bytes, irq } => {
                let size = shown(*size_bytes == READ_BYTES).then_some(Size(*size_bytes));
                text.option("size", size);
                text.option("irq", irq.as_ref());
            }
            Kind::Nfs { dir } => text.option("dir", Some(dir)),
            Kind::Memory {
                threads,
                size_bytes,
            } => {
                text.option("threads", *threads);
                text.option("size", size_bytes.map(Size));
            }
            Kind::FileServer { peer }
            | Kind::Network { peer }
            | Kind::Download { peer }
            | Kind::Iperf3 { peer } => text.option("peer", peer.as_ref()),
            Kind::Udp {
                peer,
                bits_per_second,
            } => {
                text.option("peer", peer.as_ref());
                let rate = shown(*bits_per_second == UDP_BITS).then_some(Bits(*bits_per_second));
                text.option("rate", rate);
            }
            Kind::StressNg { options } => {
                for (key, value) in options {
                    match value {
                        Some(value) => text.option(key, Some(value)),
                        None => text.0 += &format!(":{key}"),
                    }
                }
            }
        }
        text.option("cpus", self.cpus.as_ref());
        text.0
    }
}

struct Text(String);

impl Text {
    fn option(&mut self, key: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.0 += &format!(":{key}={value}");
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(true))
    }
}
