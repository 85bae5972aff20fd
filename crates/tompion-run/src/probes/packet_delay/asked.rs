//! What is asked of whom.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tompion_net::device::HardwareStamps;
use tompion_net::{Schedule, Stop, realtime_ns};
use tompion_packets::{Key, PacketError, Protocol, Settings, WAITED_FOR, measure, resolve};
use tompion_path::stamps::{Vantage, recorded};
use tompion_time::sleep::restore_timer_slack;

use super::seen::Seen;
use crate::probes::Values;

/// Probes, their interval in nanoseconds and their bytes: section 3.1 of Whiteaker 2011.
pub(super) const WHITEAKER: (u64, u64, usize) = (200, 250_000_000, 100);

/// What is asked of whom.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub host: String,
    pub port: u16,
    pub protocol: Protocol,
    pub interval_ns: u64,
    pub is_poisson: bool,
    pub bytes: Option<usize>,
    pub timeout_ns: u64,
    pub has_kernel: bool,
    pub has_heartbeat: bool,
    pub device: Option<String>,
    pub key: Option<String>,
}

impl Asked {
    /// With these values, at one of the intervals.
    pub fn of(values: &Values, interval_ns: u64) -> Self {
        let one = |name: &str| values.texts(name).first();
        let number = |name: &str| one(name).and_then(|text| text.parse().ok());
        let has_preset = one("preset").is_some();
        Self {
            host: one("to").cloned().unwrap_or_default(),
            port: number("port").unwrap_or(0),
            protocol: match values.is_set("icmp") {
                true => Protocol::Icmp,
                false => Protocol::Stamp,
            },
            interval_ns,
            is_poisson: values.is_set("poisson"),
            bytes: match has_preset {
                true => Some(WHITEAKER.2),
                false => number("size").map(usize::from),
            },
            timeout_ns: values.time_ns("timeout"),
            has_kernel: !values.is_set("user-stamps"),
            has_heartbeat: !values.is_set("no-heartbeat"),
            device: one("hardware-stamps").cloned(),
            key: one("key").cloned(),
        }
    }

    /// The level of the factor `method`.
    pub fn method(&self) -> &'static str {
        let [stamp, icmp] = recorded::METHODS;
        match self.protocol {
            Protocol::Stamp => stamp,
            Protocol::Icmp => icmp,
        }
    }

    /// The places that the round trip is seen from, whether or not they give stamps, and the path.
    pub fn seen(&self) -> Vec<Seen> {
        let kernel = [Vantage::Qdisc, Vantage::Kernel];
        let kernel = kernel.into_iter().filter(|_| self.has_kernel);
        let hardware = self.device.as_ref().map(|_| Vantage::Hardware);
        let vantages = [Vantage::User].into_iter().chain(kernel).chain(hardware);
        let waited_for = Duration::from_nanos(self.interval_ns) >= WAITED_FOR;
        let path = (self.has_kernel && waited_for).then_some(Seen::Path);
        vantages.map(Seen::From).chain(path).collect()
    }

    /// So many probes.
    pub fn settings(&self, count: u64) -> Result<Settings, PacketError> {
        let interval = Duration::from_nanos(self.interval_ns);
        let schedule = match self.is_poisson {
            true => Schedule::Poisson {
                mean: interval,
                // When each was due is in the table.
                seed: realtime_ns().cast_unsigned(),
            },
            false => Schedule::Periodic { interval },
        };
        let key = self.key.as_deref().map(|file| {
            let bytes = tompion_load::read_key(Path::new(file));
            let bytes = bytes.map_err(PacketError::key)?;
            Key::new(&bytes).map_err(PacketError::key)
        });
        let key = key.transpose()?;
        let to = SocketAddr::new(address_of(&self.host)?, self.port);
        Ok(Settings {
            schedule,
            count,
            bytes: self.bytes,
            timeout: Duration::from_nanos(self.timeout_ns),
            clock: tompion_host::clock_error(),
            kernel_stamps: self.has_kernel,
            hardware: self.device.is_some(),
            key,
            observed_cpus: tompion_host::usable_cpus(),
            heartbeat_cpus: match self.has_heartbeat {
                true => tompion_host::usable_cpus(),
                false => Vec::new(),
            },
            ..Settings::new(to, self.protocol)
        })
    }

    /// Asks a few times, before a run begins that would have nothing to show.
    pub fn is_answered(&self) -> Result<(), PacketError> {
        const PROBES: u64 = 3;
        const INTERVAL_NS: u64 = 20_000_000;
        let soon = Self {
            interval_ns: INTERVAL_NS,
            is_poisson: false,
            ..self.clone()
        };
        let settings = Settings {
            observed_cpus: Vec::new(),
            heartbeat_cpus: Vec::new(),
            ..soon.settings(PROBES)?
        };
        let stop = Stop::new()?;
        let _stamping = self.begin_stamping()?;
        let measured = measure(&settings, &stop, &mut |_| ());
        // Whoever sends has the least, and what this thread has is told as the machine's.
        restore_timer_slack();
        measured?.0.require(&settings)
    }

    /// Has the device stamp in hardware until that is dropped, if one is to.
    pub fn begin_stamping(&self) -> Result<Option<HardwareStamps>, PacketError> {
        let device = self.device.as_deref();
        Ok(device.map(HardwareStamps::begin).transpose()?)
    }
}

/// The address of a host: the same for all trials of a run, whatever a name server says meanwhile.
fn address_of(host: &str) -> Result<IpAddr, PacketError> {
    static FOUND: Mutex<BTreeMap<String, IpAddr>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(address) = found.get(host) {
        return Ok(*address);
    }
    let address = resolve(host, None)?;
    found.insert(host.to_owned(), address);
    Ok(address)
}
