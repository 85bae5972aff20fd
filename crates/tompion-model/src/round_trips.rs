//! What became of the probes of a trial of round trips.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The probes of one trial of round trips, and what is missing at its vantage point. Trials that
/// were made of one measurement differ in `without_value`, `left_out` and `missing` alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrips {
    /// Who was asked: host and port as they were given.
    #[schemars(extend("privacy" = "who"))]
    pub to: String,
    /// When probes were due: `periodic`, or `poisson` for random times.
    #[schemars(extend("privacy" = "harmless"))]
    pub schedule: String,
    /// Mean time between two probes, in nanoseconds.
    pub interval_ns: u64,
    /// How long a reply was waited for, in nanoseconds.
    pub timeout_ns: u64,
    /// Length of a probe as an IP packet, in bytes.
    pub bytes: u32,
    /// Probes that became due.
    pub due: u64,
    /// Those of them that did not go.
    pub not_sent: u64,
    /// Those that were answered in time.
    pub answered: u64,
    /// Those that went and were not.
    pub lost: u64,
    /// Lost ones whose reply came too late.
    pub late_replies: u64,
    /// Replies beyond the first of a probe.
    pub duplicates: u64,
    /// Replies that came after one to a later probe (RFC 4737).
    pub reordered: u64,
    /// Probes that were answered and have no sample here, since a stamp is missing.
    pub without_value: u64,
    /// Answered probes that have no sample here because they were held up at one of the two ends; absent where none is left
    /// out for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// The stamps that answered probes lack at this vantage point, by place and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingStamps>,
    /// What the far end said of itself; empty where it said nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("privacy" = "harmless"))]
    pub far_end: Vec<String>,
    /// What has to be known of the measurement, each in one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("privacy" = "harmless"))]
    pub remarks: Vec<String>,
}

/// Stamps of one place that are missing for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingStamps {
    /// The place.
    #[schemars(extend("privacy" = "text", "anyOf" = or_any(&Self::PLACES)))]
    pub place: String,
    /// The reason.
    #[schemars(extend("privacy" = "text", "anyOf" = or_any(&Self::REASONS)))]
    pub why: String,
    /// Of how many probes.
    pub probes: u64,
}

impl MissingStamps {
    /// The places that Tompion writes, as `tompion-path` calls them.
    pub const PLACES: [&str; 13] = [
        "due",
        "user-sent",
        "scheduled",
        "sent",
        "sent-hardware",
        "outward",
        "far-received",
        "far-sent",
        "far-sent-kernel",
        "homeward",
        "received-hardware",
        "received",
        "user-received",
    ];

    /// The reasons.
    pub const REASONS: [&str; 10] = [
        "not-taken",
        "refused",
        "overflowed",
        "too-late",
        "lost",
        "tap-dropped",
        "not-seen",
        "not-given",
        "implausible",
        "unknown",
    ];
}

/// A text that is one of these or any other: those that a schema lists tell nothing of anybody, whatever becomes of the
/// rest.
fn or_any(words: &[&str]) -> serde_json::Value {
    serde_json::json!([{ "enum": words }, { "type": "string" }])
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn of_places_and_reasons_only_words_of_ours_are_nobodys() {
        let schema: Value = serde_json::from_str(&crate::json_schema()).unwrap();
        let fields = &schema["$defs"]["MissingStamps"]["properties"];
        let words = |field: &str| {
            assert_eq!(fields[field]["privacy"], "text", "{field}");
            assert_eq!(fields[field]["anyOf"][1]["type"], "string", "{field}");
            fields[field]["anyOf"][0]["enum"].clone()
        };
        assert_eq!(words("place"), serde_json::json!(MissingStamps::PLACES));
        assert_eq!(words("why"), serde_json::json!(MissingStamps::REASONS));
    }
}
