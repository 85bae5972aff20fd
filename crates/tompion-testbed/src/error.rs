//! What can go wrong with a testbed: one line each.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use tompion_path::model::PathPlanError;

/// Why there is no testbed, or no result of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// The caller may not make network namespaces.
    #[error(
        "testbed: network namespaces are refused ({source}); it takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
    )]
    Rights {
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel lacks something that this path is made of.
    #[error("testbed: this kernel has no {what} ({source})")]
    Kernel {
        /// What it lacks.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// Whatever else the system refuses.
    #[error("testbed: cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Behind a router no machine can be joined.
    #[error("testbed: machines are joined to the sender only where the relay is the whole path")]
    Routed,
    /// No address is left for a further machine.
    #[error("testbed: no more than {0} machines can be joined to the sender")]
    Full(usize),
    /// A tap that is refused.
    #[error("testbed: {0}")]
    Tap(#[from] tompion_net::NetError),
    /// A path that cannot be.
    #[error("testbed: {0}")]
    Settings(#[from] SettingsError),
    /// A program cannot be started.
    #[error("testbed: cannot start {}: {source}", .program.display())]
    Start {
        /// Its name, as given.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// A program of the far end ended before the command did.
    #[error("testbed: {} at the far end ended early, with {status}", .program.display())]
    FarEnd {
        /// Its name, as given.
        program: OsString,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// The file of packets cannot be written or read.
    #[error("{}: {what} failed: {source}", .path.display())]
    Truth {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A line of a file of packets that is none.
    #[error("{}: line {line} is no packet", .path.display())]
    TruthLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// A thread of the testbed ended by a panic.
    #[error("testbed: the {0} ended unexpectedly")]
    Thread(&'static str),
}

impl TestbedError {
    /// For `map_err`.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// What is wrong with a description of a path.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Neither a packet of Ethernet's least nor what a ring can hold.
    #[error("an MTU of {0} bytes; 1280 (the least of IPv6) to 9000 can be had")]
    Mtu(u32),
    /// A rate that the kernel's queue cannot have.
    #[error("a rate of {0} bit/s; 8000 to 100000000000 can be had of the kernel")]
    Rate(u64),
    /// Nothing is left of the link.
    #[error("cross traffic of {cross} bit/s leaves nothing of {rate} bit/s")]
    Cross {
        /// Cross traffic, in bit/s.
        cross: u64,
        /// The link's rate, in bit/s.
        rate: u64,
    },
    /// The kernel's queue is one of a rate.
    #[error("the kernel's queue needs a rate")]
    NoRate,
    /// Packets that cannot be sent.
    #[error("cross traffic in packets of {bytes} bytes; {least} to {most} can be sent")]
    CrossPackets {
        /// What was asked for.
        bytes: u32,
        /// The least that an empty datagram takes.
        least: u32,
        /// The most that the MTU lets through.
        most: u32,
    },
    /// The model of the path says why it cannot be.
    #[error(transparent)]
    Path(#[from] PathPlanError),
}
