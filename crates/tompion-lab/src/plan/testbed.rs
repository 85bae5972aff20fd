//! The network of a plan: a path on this machine to another machine, of which the platforms' host has one end.

use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use tompion_load::LoadSpec;
use tompion_model::{InvalidValue, format_duration, parse_bits_per_second, parse_with_suffix};
use tompion_platforms::keys::{Source, Table, text};
use tompion_platforms::{Network, PlatformPlan};
use tompion_testbed::{LINK_HEADER, MOST_MACHINES, Settings, TokenBucket};

use super::{LabPlan, PlacementPlan, ProbePlan, Role};

/// What a plan calls the machine at the other end of its testbed.
pub const FAR_END: &str = "far-end";
/// Where that one serves loads.
pub(crate) const PEER_PORT: u16 = 5210;
/// What the tap at the host's own device is called, as a vantage point.
pub const TAP: &str = "host";

/// Packets that a device of Linux has room for where nothing else is said (`txqueuelen`).
const USUAL_QUEUE: u64 = 1000;
/// Longer ones are a typing error rather than a wish.
const LONGEST_RTT_NS: u64 = 10_000_000_000;

/// `[testbed]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestbedPlan {
    /// The round-trip time of the path, in nanoseconds.
    pub rtt_ns: u64,
    /// Its rate each way in bits a second, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// The rate of the host's own device in bits a second, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_rate_bps: Option<u64>,
    /// Bytes that may wait before that device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_queue_bytes: Option<u64>,
}

impl TestbedPlan {
    /// Reads it.
    pub(super) fn read(table: Table<'_, '_>) -> Self {
        let rate = |key| table.read(key, |value| text(value).and_then(parse_bits_per_second));
        let plan = Self {
            rtt_ns: table.time_ns("rtt").unwrap_or(0),
            rate_bps: rate("rate"),
            own_rate_bps: rate("own_rate"),
            own_queue_bytes: table.read("own_queue", |value| text(value).and_then(queue)),
        };
        if plan.rtt_ns > LONGEST_RTT_NS {
            table.wrong(table.at_key("rtt"), "rtt: 10s at most");
        }
        if plan.own_queue_bytes.is_some() && plan.own_rate_bps.is_none() {
            let text = "own_queue: nothing waits before a device without own_rate";
            table.wrong(table.at_key("own_queue"), text);
        }
        if plan
            .own_rate_bps
            .is_some_and(|bps| !TokenBucket::RATES.contains(&bps))
        {
            let text = "own_rate: from 8K to 100G, which is what the kernel takes";
            table.wrong(table.at_key("own_rate"), text);
        }
        if let Err(why) = plan.settings().plan.validate() {
            table.wrong(table.at(), why.to_string());
        }
        table.finish();
        plan
    }

    /// The path.
    pub(crate) fn settings(&self) -> Settings {
        Settings::symmetric(Duration::from_nanos(self.rtt_ns), self.rate_bps)
    }

    /// The host's own device, where it has a rate.
    pub(crate) fn bucket(&self) -> Option<TokenBucket> {
        let rate_bps = self.own_rate_bps?;
        let largest = self.settings().mtu + LINK_HEADER;
        let queue = self.own_queue_bytes;
        let queue = queue.unwrap_or(USUAL_QUEUE * u64::from(largest));
        Some(TokenBucket::of_rate(rate_bps, largest, queue))
    }

    /// What it is, for people to read.
    pub fn in_words(&self) -> Vec<String> {
        let rate = |bps: u64| format!("{} Mbit/s", bps as f64 / 1e6);
        let mut words = vec![format!("round trips of {}", format_duration(self.rtt_ns))];
        words.extend(self.rate_bps.map(|bps| format!("a path of {}", rate(bps))));
        if let Some(bucket) = self.bucket() {
            let (own, queue) = (rate(bucket.rate_bps), bucket.limit_bytes);
            words.push(format!(
                "a device of the host's of {own}, before which {queue} bytes may wait"
            ));
        }
        words
    }
}

fn queue(text: &str) -> Result<u64, InvalidValue> {
    let bytes = parse_with_suffix(text, 1024);
    let room = 3_028..=u64::from(u32::MAX);
    let wrong = || format!("`{text}` is no queue; write bytes from 3028 on, such as 64K or 1M");
    bytes
        .filter(|bytes| room.contains(bytes))
        .ok_or_else(|| wrong().into())
}

/// Where a plan says what could go to the far end.
pub(super) struct Places {
    pub testbed: Range<usize>,
    pub loads: Range<usize>,
    pub placements: Range<usize>,
    pub probes: Vec<Range<usize>>,
}

/// What does not go together.
pub(super) fn check(
    source: &Source<'_>,
    plan: &LabPlan,
    probes: &[Option<ProbePlan>],
    at: &Places,
) {
    let going: Vec<_> = going(plan, probes, at);
    for (place, ports) in &going {
        let served = PEER_PORT.to_string();
        for port in ports.iter().filter(|port| **port != served) {
            let joint = if port.is_empty() { "" } else { ":" };
            let text = format!(
                "{FAR_END}{joint}{port}: the far end of a testbed serves loads on port {PEER_PORT}"
            );
            source.wrong(place.clone(), text);
        }
    }
    let platforms = || plan.platforms.iter().filter(|p| p.setup.can_be_here());
    let joined = |p: &&PlatformPlan| !p.network().is_none();
    if plan.testbed.is_none() {
        for (place, _) in going {
            let text = format!("{FAR_END} is the other end of a [testbed], and the plan has none");
            source.wrong(place, text);
        }
        // A virtual machine's tap leads somewhere without one, too.
        let lost = platforms().filter(|p| joined(p) && p.network() != Network::Tap);
        for platform in lost {
            let text =
                "network: what a platform is joined to is a [testbed], and the plan has none";
            source.wrong(platform.network_at.clone(), text);
        }
        return;
    }
    let machine = |p: &PlatformPlan| !matches!(p.network(), Network::None | Network::Host);
    if platforms().any(machine) {
        let guests = plan.placements.iter().map(|of| 1 + of.neighbours());
        if let Some(most) = guests.max().filter(|most| *most > MOST_MACHINES) {
            let text = format!(
                "{most} guests in one network, which has room for {MOST_MACHINES} machines"
            );
            source.wrong(at.placements.clone(), text);
        }
    }
    if !platforms().any(|p| joined(&p)) {
        let text = "no platform is joined to the testbed: give one a network, such as network = \"bridge\"";
        source.wrong(at.testbed.clone(), text);
    } else if !going.is_empty() {
        for platform in platforms().filter(|p| !joined(p)) {
            let text = format!(
                "a platform without a network does not reach {FAR_END}: give it one, or take it out"
            );
            source.wrong(platform.network_at.clone(), text);
        }
    }
}

/// All that goes to the far end: where it is said, and the ports there where it is a load.
fn going(
    plan: &LabPlan,
    probes: &[Option<ProbePlan>],
    at: &Places,
) -> Vec<(Range<usize>, Vec<String>)> {
    let of_loads = plan.loads.iter().map(|load| (at.loads.clone(), load));
    let of_placements = plan.placements.iter().flat_map(PlacementPlan::loads_beside);
    let of_placements = of_placements.map(|load| (at.placements.clone(), load));
    let loads = of_loads.chain(of_placements);
    let loads = loads.map(|(place, load)| (place, ports_at_far_end(load)));
    let loads = loads.filter(|(_, ports)| !ports.is_empty());
    let probes = probes.iter().zip(&at.probes);
    let probes = probes.filter(|(probe, _)| {
        probe
            .as_ref()
            .is_some_and(|probe| probe.selection.has_value(FAR_END))
    });
    loads
        .chain(probes.map(|(_, place)| (place.clone(), Vec::new())))
        .collect()
}

/// The ports of the far end that go with a load, one for each of its parts that goes there.
fn ports_at_far_end(load: &LoadSpec) -> Vec<String> {
    let of_part = |part: LoadSpec| {
        let text = part.to_string();
        let (_, rest) = text.split_once(&format!(":peer={FAR_END}"))?;
        // `far-end.example` is another machine.
        if !rest.is_empty() && !rest.starts_with(':') {
            return None;
        }
        let port = rest.trim_start_matches(':').chars();
        Some(port.take_while(char::is_ascii_digit).collect())
    };
    load.parts().filter_map(of_part).collect()
}

/// How a load's part names it, up to the port.
fn named() -> String {
    format!(":peer={FAR_END}:")
}

/// A load that goes to the far end at this address.
fn load_at(load: &LoadSpec, far_end: IpAddr) -> LoadSpec {
    if ports_at_far_end(load).is_empty() {
        return load.clone();
    }
    let at = |part: LoadSpec| {
        let there = format!(":peer={far_end}:");
        part.to_string().replacen(&named(), &there, 1)
    };
    let parts: Vec<String> = load.parts().map(at).collect();
    parts
        .join("+")
        .parse()
        .expect("an address is as good as a name")
}

impl LabPlan {
    /// The same plan with the address of its testbed's far end.
    pub(crate) fn at(&self, far_end: IpAddr) -> Self {
        let mut plan = self.clone();
        let load = |load: &mut LoadSpec| *load = load_at(load, far_end);
        plan.loads.iter_mut().for_each(load);
        for placement in &mut plan.placements {
            placement.host_load.iter_mut().for_each(load);
            let roles = placement.guests.iter_mut().map(|guest| &mut guest.role);
            roles.for_each(|role| {
                if let Role::Load(own) = role {
                    load(own);
                }
            });
        }
        for probe in &mut plan.probes {
            let replaced = probe.selection.replacing(FAR_END, &far_end.to_string());
            // Only the name of a host can be called so.
            if let Ok(selection) = replaced {
                probe.selection = selection;
            }
        }
        plan
    }
}
