//! One claim and what its fields may say.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What part a claim plays in its paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What the paper is about, in its abstract or introduction.
    Headline,
    /// Drawn from results, in discussion or conclusion.
    Conclusion,
    /// What readers should do.
    Recommendation,
    /// A number or an observation among the results.
    Figure,
}

/// What a verdict rests on, or would have to rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Figures that the papers print, in tables or text, and arithmetic on them.
    PublishedTable,
    /// Runs on machines, virtual ones included, that execute on the hardware itself.
    Measurement,
    /// Runs on an emulated machine: good for logic and order, not for speed.
    Emulation,
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The evidence is for it.
    Supported,
    /// The evidence is against it.
    Contradicted,
    /// What would decide it (hardware, software, unpublished data) is not to be had here.
    NotDecidableHere,
    /// The probe, or a recorded run of the plan, that would decide it is still to come.
    NotYetImplemented,
}

impl Status {
    /// All of them, in the order of printing.
    pub const ALL: [Self; 4] = [
        Self::Supported,
        Self::Contradicted,
        Self::NotDecidableHere,
        Self::NotYetImplemented,
    ];
}

/// What would carry out the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// No probe: the published figures themselves.
    PublishedTable,
    /// `tompion measure read-cost`.
    ReadCost,
    /// `tompion measure wake-up`.
    WakeUp,
    /// `tompion measure timer-events`.
    TimerEvents,
    /// `tompion measure stalls`.
    Stalls,
    /// What a machine or a hypervisor says of itself; no timing.
    Environment,
    /// `tompion measure packet-delay`.
    PacketDelay,
    /// Available bandwidth; still to come.
    AvailableBandwidth,
}

impl Probe {
    /// Whether Tompion has it.
    pub fn is_present(self) -> bool {
        self != Self::AvailableBandwidth
    }
}

/// Which probe and plan decide a claim here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decides {
    /// The probe.
    pub probe: Probe,
    /// The plan: a command and what is read from it, or which published figures.
    pub plan: String,
}

/// One falsifiable sentence or number of a paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name: the paper's and its own, `kirova-2019/rate-at-40-us`.
    pub id: String,
    /// The sections that make it, as the paper names them; repeats are places too.
    pub places: Vec<String>,
    /// Its part in the paper.
    pub kind: Kind,
    /// What is claimed, in our words.
    pub claim: String,
    /// What would decide it; for published figures the criterion.
    pub decided_by: String,
    /// Which probe and plan decide it here.
    pub decides: Decides,
    /// What the verdict rests on.
    pub basis: Basis,
    /// Whether it is about how fast hardware is. Must be said where the basis is
    /// emulation, which cannot decide such a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_speed: Option<bool>,
    /// How it stands.
    pub status: Status,
    /// File in `claims/evidence` that holds the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Where we differ from the paper: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Claim {
    /// The name of its paper.
    pub fn paper(&self) -> &str {
        self.id
            .split_once('/')
            .map_or(&*self.id, |(paper, _)| paper)
    }

    /// Its own name, without the paper's.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(&*self.id, |(_, name)| name)
    }

    /// How it stands and on what that rests, as it is printed.
    pub fn standing(&self) -> Standing {
        match (self.status, self.basis) {
            (Status::Supported, Basis::Measurement) => Standing::Reproduced,
            (Status::Supported, Basis::PublishedTable) => Standing::FitsFigures,
            (Status::Supported, Basis::Emulation) => Standing::HoldsEmulated,
            (Status::Contradicted, Basis::Measurement) => Standing::Refuted,
            (Status::Contradicted, Basis::PublishedTable) => Standing::ContradictsFigures,
            (Status::Contradicted, Basis::Emulation) => Standing::FailsEmulated,
            (Status::NotDecidableHere, _) => Standing::NotDecidableHere,
            (Status::NotYetImplemented, _) => Standing::NotYetImplemented,
        }
    }
}

/// A status together with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Supported by measurement.
    Reproduced,
    /// Supported by the papers' own figures.
    FitsFigures,
    /// Supported by emulation, which is enough where speed plays no part.
    HoldsEmulated,
    /// Contradicted by measurement.
    Refuted,
    /// Contradicted by the papers' own figures.
    ContradictsFigures,
    /// Contradicted by emulation.
    FailsEmulated,
    /// As the status.
    NotDecidableHere,
    /// As the status.
    NotYetImplemented,
}

impl Standing {
    /// All of them, in the order of printing.
    pub const ALL: [Self; 8] = [
        Self::Reproduced,
        Self::Refuted,
        Self::FitsFigures,
        Self::ContradictsFigures,
        Self::HoldsEmulated,
        Self::FailsEmulated,
        Self::NotDecidableHere,
        Self::NotYetImplemented,
    ];
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced: supported by measurement",
            Self::FitsFigures => "supported by the published figures",
            Self::HoldsEmulated => "supported in emulation",
            Self::Refuted => "contradicted by measurement",
            Self::ContradictsFigures => "contradicted by the published figures",
            Self::FailsEmulated => "contradicted in emulation",
            Self::NotDecidableHere => "not decidable here",
            Self::NotYetImplemented => "not yet implemented",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

/// The name that the data files have for a unit variant.
fn name(value: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Formatter is a serde serializer for unit variants.
    value.serialize(f)
}
