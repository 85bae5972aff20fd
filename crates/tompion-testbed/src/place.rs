//! A place of a testbed: where programs run, under which addresses.

use std::io;
use std::path::PathBuf;

use crate::TestbedError;
use crate::addresses::Pair;
use crate::namespace::Namespace;
use crate::netlink::TokenBucket;
use crate::queue;
use crate::tap::Tap;

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

    /// What goes through its device, both ways, with the kernel's stamps: room for so many frames
    /// of up to `mtu` bytes.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn tap(&self, mtu: u32, frames: usize) -> Result<Tap, TestbedError> {
        Tap::open(&self.namespace, self.device, mtu, frames)
    }
}
