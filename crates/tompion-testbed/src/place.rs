//! A place of a testbed: where programs run, under which addresses.

use std::io;
use std::path::PathBuf;

use nix::net::if_::if_nametoindex;

use crate::TestbedError;
use crate::addresses::Pair;
use crate::namespace::Namespace;
use crate::netlink::TokenBucket;
use crate::queue;
use crate::sys::{Ring, Seen};

/// The sender or the far end.
#[derive(Debug)]
pub struct Place {
    pub(crate) namespace: Namespace,
    pub(crate) device: &'static str,
    pub(crate) addresses: Pair,
}

impl Place {
    pub(crate) fn new(device: &'static str, addresses: Pair) -> Result<Self, TestbedError> {
        Ok(Self {
            namespace: Namespace::new()?,
            device,
            addresses,
        })
    }

    /// Its addresses.
    pub fn addresses(&self) -> Pair {
        self.addresses
    }

    /// The name of its device, which no other namespace sees.
    pub fn device(&self) -> &'static str {
        self.device
    }

    /// The path by which `nsenter --net=` enters it while this process is there.
    pub fn path(&self) -> PathBuf {
        self.namespace.path()
    }

    /// Does `work` there, on a thread of its own: sockets made there stay there.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.namespace.inside(work)
    }

    /// Moves the calling thread there.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn enter(&self) -> io::Result<()> {
        self.namespace.enter()
    }

    /// Has its own device send through a token bucket, so that packets wait below the socket, on this
    /// machine.
    ///
    /// # Errors
    /// If the kernel has none, or refuses these figures.
    pub fn shape(&self, bucket: TokenBucket) -> Result<(), TestbedError> {
        queue::shape(&self.namespace, self.device, bucket)
    }

    /// What goes through its device, both ways, with the kernel's stamps.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn tap(&self, mtu: u32, frames: usize) -> Result<Tap, TestbedError> {
        let open = || -> io::Result<Ring> {
            Ring::open(if_nametoindex(self.device)?, mtu, frames, Seen::Both)
        };
        let ring = self.inside(open).and_then(|ring| ring);
        let ring = ring.map_err(TestbedError::system("tap a device"))?;
        Ok(Tap { ring })
    }
}

/// A frame that a tap saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tapped {
    /// The kernel's stamp by `CLOCK_REALTIME`, in nanoseconds.
    pub at_ns: u64,
    /// Whether the place sent it.
    pub outgoing: bool,
    /// The frame, Ethernet's header included.
    pub frame: Vec<u8>,
}

/// A tap on a place's device: the witness of what a path does, independent of the relay.
#[derive(Debug)]
pub struct Tap {
    ring: Ring,
}

impl Tap {
    /// All frames since it was last asked, in the order in which the kernel gave them.
    pub fn drain(&mut self) -> Vec<Tapped> {
        let mut seen = Vec::new();
        while let Some(frame) = self.ring.take(|frame| Tapped {
            at_ns: frame.stamp_ns,
            outgoing: frame.outgoing,
            frame: frame.bytes.to_vec(),
        }) {
            seen.push(frame);
        }
        seen
    }

    /// How many frames found no room since this was last asked.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn dropped(&self) -> Result<u32, TestbedError> {
        let told = self.ring.dropped();
        told.map_err(TestbedError::system("ask a tap for its losses"))
    }
}
