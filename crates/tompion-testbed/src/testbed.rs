//! A testbed at work: its places, its path, its programs.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tompion_time::os;

use crate::TestbedError;
use crate::addresses::Pair;
use crate::attached::{Attached, Attachment, Identity, On, switch_in};
use crate::cross::CrossSender;
use crate::measure::{Measurement, measure};
use crate::namespace::Namespace;
use crate::place::Place;
use crate::program::Program;
use crate::relay::{Relay, RelaySettings, Summary, TruthWriter};
use crate::settings::Settings;
use crate::tap::Tap;
use crate::topology::{Between, ROUTER_FAR, ROUTER_NEAR, Topology, has_ipv6};

/// How often it is looked whether packets are under way.
const SETTLE: Duration = Duration::from_millis(50);

/// A path between two places of this machine.
///
/// It is there as long as this is: dropped, or with the process, it goes without a trace.
#[derive(Debug)]
pub struct Testbed {
    // In the order in which they end.
    cross: Option<CrossSender>,
    relay: Option<Relay>,
    topology: Topology,
    attached: Attached,
    settings: Settings,
}

/// What the router's device towards the far end has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Bytes, Ethernet's headers counted.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that found no room in its queue.
    pub dropped: u64,
}

impl Testbed {
    /// Makes the places and starts the path between them. It takes the rights to make network namespaces
    /// and to administer them.
    ///
    /// # Errors
    /// Where the path cannot be as described, or the system refuses something.
    pub fn start(settings: &Settings) -> Result<Self, TestbedError> {
        let parts = settings.parts()?;
        // First of all, so that nothing is made where it cannot be written.
        let open = |path| TruthWriter::create(path, settings.open_truth);
        let truth = settings.truth.as_deref().map(open);
        let mut truth = truth.transpose()?;
        let topology = Topology::build(Between {
            router: parts.kernel.as_ref().map(|k| (k.bucket, k.cross.is_some())),
            relay: parts.relayed.is_some(),
            mtu: settings.mtu,
        })?;
        let mut relay = None;
        if let (Some(plan), Some(namespace)) = (&parts.relayed, &topology.relay) {
            let told = RelaySettings {
                plan,
                mtu: settings.mtu,
                truth: truth.take(),
                tolerance_ns: i64::try_from(settings.tolerance.as_nanos()).unwrap_or(i64::MAX),
            };
            relay = Some(Relay::start(namespace, told)?);
        }
        let traffic = parts.kernel.and_then(|kernel| kernel.cross);
        let mut cross = None;
        if let (Some(traffic), Some(namespace)) = (traffic, &topology.cross) {
            let seed = settings.plan.seed;
            cross = Some(CrossSender::start(
                namespace,
                topology.sink,
                &traffic,
                seed,
            )?);
        }
        Ok(Self {
            cross,
            relay,
            topology,
            attached: Attached::default(),
            settings: settings.clone(),
        })
    }

    /// Where packets go out.
    pub fn sender(&self) -> &Place {
        &self.topology.sender
    }

    /// Where they go to.
    pub fn far_end(&self) -> &Place {
        &self.topology.far_end
    }

    /// A further machine, whose packets leave by the sender's device. It is there as long as the place is.
    ///
    /// # Errors
    /// Where the kernel has no such devices, a router is part of the path, and where there are eleven machines
    /// already.
    pub fn attach(&self, how: Attachment) -> Result<Place, TestbedError> {
        self.attached.attach(&self.on(), how)
    }

    /// By what the next machine is to be known that is joined with a device of its own making, as a virtual
    /// machine by a tap.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn announce(&self) -> Result<Identity, TestbedError> {
        self.attached.announce(&self.on())
    }

    /// Joins that device, which is in the sender's place and switched on.
    ///
    /// # Errors
    /// Where there is no such device, or the kernel refuses it.
    pub fn switch_in(&self, device: &str) -> Result<(), TestbedError> {
        switch_in(&self.on(), device)
    }

    fn on(&self) -> On<'_> {
        On {
            sender: self.sender(),
            far_end: self.far_end(),
            block: self.topology.block,
            mtu: self.settings.mtu,
            has_router: self.topology.router.is_some(),
        }
    }

    /// The path by which `nsenter --net=` enters the router while this process is there; `None` where the kernel
    /// is no part of the path. Its device towards the sender is `rs`, the one towards the far end `rf`.
    pub fn router(&self) -> Option<PathBuf> {
        self.topology.router.as_ref().map(Namespace::path)
    }

    /// What the relay has done so far, up to 20 ms behind; `None` where the kernel is the whole path.
    pub fn summary(&self) -> Option<Summary> {
        self.relay.as_ref().map(Relay::summary)
    }

    /// Whether the relay's thread is real-time; without that other programs make it late.
    pub fn is_real_time(&self) -> Option<bool> {
        self.relay.as_ref().map(Relay::is_real_time)
    }

    /// What the router has sent towards the far end, cross traffic counted; `None` without a router.
    ///
    /// # Errors
    /// Where its counters cannot be read.
    pub fn router_sent(&self) -> Result<Option<DeviceCounts>, TestbedError> {
        let Some(router) = &self.topology.router else {
            return Ok(None);
        };
        let table = router.inside(|| fs::read_to_string("/proc/thread-self/net/dev"));
        let what = "read the router's counters";
        let table = table.and_then(|t| t).map_err(TestbedError::system(what))?;
        Ok(counts_of(&table, ROUTER_FAR.name))
    }

    /// A tap on the router's device towards the sender, as [`Place::tap`]; `None` without a router.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn tap_router(&self, mtu: u32, frames: usize) -> Result<Option<Tap>, TestbedError> {
        let router = self.topology.router.as_ref();
        let tap = router.map(|router| Tap::open(router, ROUTER_NEAR.name, mtu, frames));
        tap.transpose()
    }

    /// Packets of real cross traffic that were not sent because they would have come too late.
    pub fn cross_left_out(&self) -> Option<u64> {
        self.cross.as_ref().map(CrossSender::left_out)
    }

    /// Waits until no packet is under way, but no longer than this: what is still in the queue would be in the
    /// way of a measurement.
    pub fn settle(&self, longest: Duration) {
        let begun = Instant::now();
        // The kernel's own queue cannot be seen from here.
        os::sleep(SETTLE.min(longest));
        let under_way = || self.relay.as_ref().map_or(0, Relay::under_way);
        let gone = || self.relay.as_ref().map_or(0, Relay::gone);
        // Beside cross traffic of real senders there is always something under way.
        let (before, gone_before) = (under_way(), gone());
        let is_left = || under_way() > 0 && gone() - gone_before < before;
        while is_left() && begun.elapsed() < longest {
            os::sleep(SETTLE);
        }
    }

    /// Measures what the path does. Traffic of others on it makes figures wrong.
    ///
    /// # Errors
    /// Where the system refuses a socket.
    pub fn measure(&self) -> Result<Measurement, TestbedError> {
        measure(&self.settings, self.sender(), self.far_end())
    }

    /// Starts a program at the sender, with the addresses of both places in its environment.
    ///
    /// # Errors
    /// As [`Program::start`].
    pub fn start_at_sender(&self, command: Command) -> Result<Program, TestbedError> {
        Program::start(self.sender(), self.tell(command))
    }

    /// Starts a program at the far end, with the addresses of both places in its environment.
    ///
    /// # Errors
    /// As [`Program::start`].
    pub fn start_at_far_end(&self, command: Command) -> Result<Program, TestbedError> {
        Program::start(self.far_end(), self.tell(command))
    }

    fn tell(&self, mut command: Command) -> Command {
        let places = [("FAR_END", self.far_end()), ("SENDER", self.sender())];
        for (name, place) in places {
            let Pair { v4, v6 } = place.addresses();
            command.env(name, v4.to_string());
            let name = OsString::from(format!("{name}_6"));
            if has_ipv6() {
                command.env(name, v6.to_string());
            } else {
                command.env_remove(name);
            }
        }
        command
    }

    /// Ends the path, and says what the relay did.
    ///
    /// # Errors
    /// Where the relay could not go on, or its file could not be written.
    pub fn stop(mut self) -> Result<Option<Summary>, TestbedError> {
        self.cross = None;
        self.relay.take().map(Relay::stop).transpose()
    }
}

/// A line of /proc/net/dev: the ninth to sixteenth number are of what was sent.
fn counts_of(table: &str, device: &str) -> Option<DeviceCounts> {
    let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, numbers) = lines.find(|(name, _)| *name == device)?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let sent = numbers.get(8..12)?;
    Some(DeviceCounts {
        bytes: sent[0],
        packets: sent[1],
        dropped: sent[3],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_what_was_sent() {
        let table = "Inter-|   Receive\n face |bytes\n    rs: 1 2 0 0 0 0 0 0 9 8 0 0 0 0 0 0\n\
                     rf: 5 6 0 0 0 0 0 0 1514 1 0 3 0 0 0 0\n";
        let counts = DeviceCounts {
            bytes: 1514,
            packets: 1,
            dropped: 3,
        };
        assert_eq!(counts_of(table, "rf"), Some(counts));
        assert_eq!(counts_of(table, "r0"), None);
        assert_eq!(counts_of("rf: 1", "rf"), None);
    }
}
