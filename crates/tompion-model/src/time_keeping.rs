//! What keeps the wall clock in step, as a run found it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Programs and devices that keep the wall clock in step, or could.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeKeeping {
    /// What corrects the clock, or is installed for it; what runs comes first.
    pub keepers: Vec<TimeKeeper>,
    /// Clocks of this machine that a keeper could follow.
    pub references: Vec<TimeReference>,
    /// The distribution, whose commands advice uses: `ID` of /etc/os-release and, after it,
    /// what that is like.
    pub distribution: Vec<String>,
    /// What starts services here: `systemd`, `openrc`, or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
}

/// Something that sets or corrects the wall clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeKeeper {
    /// Its name, for example `chrony`.
    pub name: String,
    /// Whether it runs; otherwise it is installed.
    pub running: bool,
    /// Whether it corrects the clock all the time. Otherwise it sets it when the machine
    /// starts or resumes, or not at all.
    pub keeps: bool,
    /// Whether the kernel hears of it where it corrects the clock.
    pub tells_kernel: bool,
    /// Whether it is in step, by its own word; absent where it cannot be asked.
    pub in_step: Option<bool>,
    /// How far off the clock may be by its word, in nanoseconds; absent where it gives no bound.
    pub error_at_most_ns: Option<u64>,
    /// By how much the clock is ahead, as it says, in nanoseconds.
    pub offset_ns: Option<i64>,
    /// How many servers stand between it and a reference clock, plus one.
    pub stratum: Option<u32>,
    /// Where it takes the time from.
    pub sources: Vec<TimeSource>,
    /// What else is to be known of it.
    pub note: Option<String>,
}

/// Where a keeper takes the time from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeSource {
    /// Address or name of the server, or name of the reference clock.
    #[schemars(extend("privacy" = "secret"))]
    pub name: String,
    /// `server` or `reference clock`.
    pub kind: String,
    /// `selected`, `usable`, `not usable`, `unreachable`; `configured` where it cannot be asked.
    pub state: String,
}

/// A clock of this machine that the wall clock could follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeReference {
    /// The device, for example `/dev/ptp0`.
    pub device: String,
    /// What its driver calls it, for example `KVM virtual PTP`.
    pub name: String,
    /// Whether it is the clock of the machine's host; otherwise it is a device's own.
    pub of_host: bool,
}
