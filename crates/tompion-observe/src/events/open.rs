//! Opening the kernel's events: what is asked for, and why it may be refused.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use tompion_model::Unavailable;

use perf_event_open_sys::bindings as abi;
use perf_event_open_sys::bindings::perf_event_attr;

use super::decode::{Decoder, Role};
use super::record::Origin;
use crate::sys::{self, Ring};

/// Events that write into one ring.
pub(super) struct Channel {
    pub origin: Origin,
    /// The first owns the ring.
    events: Vec<OwnedFd>,
    /// What its events' records carry.
    ids: Vec<u64>,
    pub ring: Ring,
    /// Time of the latest record taken from it.
    pub last_ns: u64,
    /// When it was found full, if nothing has been written to it since.
    pub full_since_ns: Option<u64>,
}

/// What the first event of a channel tells beside samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    pub switches: bool,
    pub names: bool,
}

impl Channel {
    /// Opens a ring with an event that takes no samples.
    ///
    /// # Errors
    /// In a few words.
    pub(super) fn open(
        origin: Origin,
        beside: Beside,
        ring_bytes: usize,
        decoder: &mut Decoder,
    ) -> Result<Self, Unavailable> {
        let mut attr = plain(abi::PERF_TYPE_SOFTWARE, abi::PERF_COUNT_SW_DUMMY.into());
        attr.set_context_switch(beside.switches.into());
        attr.set_comm(beside.names.into());
        let event = open(attr, origin).map_err(explained)?;
        let ring = map(&event, ring_bytes)?;
        let id = sys::event_id(&event).map_err(explained)?;
        decoder.roles.insert(id, Role::Beside);
        Ok(Self {
            origin,
            events: vec![event],
            ids: vec![id],
            ring,
            last_ns: 0,
            full_since_ns: None,
        })
    }

    /// Adds a tracepoint; the filter restricts it.
    pub(super) fn add_tracepoint(
        &mut self,
        number: u64,
        filter: Option<&CStr>,
        role: Role,
        decoder: &mut Decoder,
    ) -> Result<(), Unavailable> {
        let mut attr = plain(abi::PERF_TYPE_TRACEPOINT, number);
        attr.sample_period = 1;
        attr.sample_type |= u64::from(abi::PERF_SAMPLE_RAW);
        self.add(attr, filter, role, decoder)
    }

    /// Adds a software event of the kernel, recorded each time.
    pub(super) fn add_software(
        &mut self,
        config: u32,
        role: Role,
        decoder: &mut Decoder,
    ) -> Result<(), Unavailable> {
        let mut attr = plain(abi::PERF_TYPE_SOFTWARE, config.into());
        attr.sample_period = 1;
        self.add(attr, None, role, decoder)
    }

    fn add(
        &mut self,
        attr: perf_event_attr,
        filter: Option<&CStr>,
        role: Role,
        decoder: &mut Decoder,
    ) -> Result<(), Unavailable> {
        let added = || -> io::Result<(OwnedFd, u64)> {
            let event = open(attr, self.origin)?;
            if let Some(filter) = filter {
                sys::filter(&event, filter)?;
            }
            sys::redirect(&event, &self.events[0])?;
            let id = sys::event_id(&event)?;
            Ok((event, id))
        };
        let (event, id) = added().map_err(explained)?;
        decoder.roles.insert(id, role);
        self.events.push(event);
        self.ids.push(id);
        Ok(())
    }

    /// Forgets what its records are about.
    pub(super) fn end(self, decoder: &mut Decoder) {
        self.ids.iter().for_each(|id| {
            decoder.roles.remove(id);
        });
    }

    /// Starts recording.
    pub(super) fn enable(&self) -> Result<(), Unavailable> {
        self.events
            .iter()
            .try_for_each(sys::enable)
            .map_err(explained)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // Together, before the descriptors go one by one.
        self.events.iter().for_each(sys::disable);
    }
}

/// Every record carries its event, thread, time and CPU.
fn plain(kind: u32, config: u64) -> perf_event_attr {
    let mut attr = perf_event_attr {
        type_: kind,
        config,
        sample_type: u64::from(
            abi::PERF_SAMPLE_IDENTIFIER
                | abi::PERF_SAMPLE_TID
                | abi::PERF_SAMPLE_TIME
                | abi::PERF_SAMPLE_CPU,
        ),
        clockid: libc::CLOCK_MONOTONIC,
        ..Default::default()
    };
    attr.set_disabled(1);
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr
}

/// With what happens in the kernel where that is allowed, else without.
fn open(mut attr: perf_event_attr, origin: Origin) -> io::Result<OwnedFd> {
    let (tid, cpu) = match origin {
        Origin::Thread(tid) | Origin::Faults(tid) => (Some(tid), None),
        Origin::Cpu(cpu) => (None, Some(cpu)),
    };
    match sys::open_event(attr, tid, cpu) {
        Err(e) if tid.is_some() && is_refusal(&e) => {
            attr.set_exclude_kernel(1);
            attr.set_exclude_hv(1);
            sys::open_event(attr, tid, cpu)
        }
        result => result,
    }
}

/// As large as is allowed: the memory of all rings of a user is limited.
fn map(event: &OwnedFd, bytes: usize) -> Result<Ring, Unavailable> {
    let mut pages = bytes.div_ceil(sys::page_bytes()).next_power_of_two();
    loop {
        match Ring::map(event, pages) {
            Ok(ring) => return Ok(ring),
            Err(e) if pages > 1 && (is_refusal(&e) || e.kind() == io::ErrorKind::OutOfMemory) => {
                pages /= 2;
            }
            Err(e) => return Err(format!("its ring of records: {}", in_words(&e)).into()),
        }
    }
}

fn is_refusal(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::PermissionDenied
}

/// An answer of `perf_event_open(2)` and its like, with what it means.
fn explained(e: io::Error) -> Unavailable {
    Unavailable::explained(in_words(&e), e)
}

/// Why the kernel refused.
fn in_words(e: &io::Error) -> String {
    match e.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            match level {
                Ok(level) => format!(
                    "not permitted (needs CAP_PERFMON or root; kernel.perf_event_paranoid is {})",
                    level.trim()
                ),
                Err(_) => "not permitted".to_owned(),
            }
        }
        Some(libc::ENOSYS) => "this kernel or sandbox does not offer it".to_owned(),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => "this kernel lacks it".to_owned(),
        Some(libc::ESRCH) => "no such thread".to_owned(),
        Some(libc::EMFILE | libc::ENFILE) => "too many open files".to_owned(),
        _ => e.to_string(),
    }
}
