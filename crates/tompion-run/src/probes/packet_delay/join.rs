//! The stamps of taps joined with a run of round trips: further vantage points for its trials.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use tompion_model::{
    Factors, Findings, Measurement, RoundTrips, Storage, Trial, TrialData, TrialDraft, factor,
};
use tompion_packets::{CaptureError, JoinedCapture, join_capture};
use tompion_path::Way;
use tompion_path::stamps::recorded::{self, LONGEST_TAP_NAME, RecordError};
use tompion_path::stamps::{
    Clock, Key, Missing, Outcome, Packets, PacketsError, Stamp, TapId, Values, Vantage, layers,
    round_trips as round_trips_at,
};
use tompion_store::{Directory, Run, RunWriter};

use super::seen::Seen;
use super::trials::{missing, round_trips, samples, technique};

/// Probes of a run that can be joined: they are in memory at once, a hundred bytes each.
const MOST_PROBES: u64 = 1 << 22;

/// Round trips of two taps that differ by less, in nanoseconds and by what two clocks may go apart, do not tell which is nearer.
const SAME_NS: f64 = 1_000.0;
const SAME_SHARE: f64 = 2e-4;

/// A tap by its name, and its capture.
#[derive(Debug)]
pub struct TapCapture<R> {
    /// The level of the factor `vantage` that its trials get.
    pub name: String,
    /// pcapng or pcap.
    pub capture: R,
}

/// Why taps cannot be joined with a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinRunError {
    /// The run has nothing to join with.
    #[error("the run has no round trips: `tompion measure packet-delay` records them")]
    NoPackets,
    /// A run of a version that kept no keys.
    #[error("trial {trial} does not say by what its packets are known again")]
    NoKeys {
        /// Its number.
        trial: u32,
    },
    /// A table of stamps or of keys that is none.
    #[error("trial {trial}: a table of packets cannot be read: {source}")]
    Table {
        /// Its number.
        trial: u32,
        /// What is wrong with it.
        source: RecordError,
    },
    /// More than are taken into memory.
    #[error("the run has {probes} probes, of which {MOST_PROBES} can be joined at once")]
    TooMany {
        /// How many.
        probes: u64,
    },
    /// A name that is taken, or that no tap may have.
    #[error(
        "no tap can be called {name:?}: write up to {LONGEST_TAP_NAME} letters, digits, dots and \
         hyphens that name no other vantage point"
    )]
    Name {
        /// As it was given.
        name: String,
    },
    /// A tap that is named behind one that is farther away.
    #[error(
        "tap {near} is nearer to the sender than tap {far}, which stands before it: name taps in the order from the sender"
    )]
    Order {
        /// Which saw the longer round trips.
        near: String,
        /// The other.
        far: String,
    },
    /// A capture that is damaged, or of other packets.
    #[error("tap {name}: {source}")]
    Capture {
        /// The tap.
        name: String,
        /// What is wrong.
        source: CaptureError,
    },
    /// More probes than a table holds.
    #[error(transparent)]
    Packets(#[from] PacketsError),
    /// The run cannot be read or written.
    #[error(transparent)]
    Store(#[from] tompion_store::Error),
}

/// What came of a tap.
#[derive(Clone, Debug)]
pub struct JoinedTap {
    /// Its name.
    pub name: String,
    /// Probes that were sent, of all trials.
    pub probes: u64,
    /// What it saw of them.
    pub found: JoinedCapture,
}

/// Where the probes of a trial stand among those of all.
struct Place {
    /// The trial's first row in the table of all, and for each of its rows whether it is there.
    first: usize,
    was_sent: Vec<bool>,
}

/// Joins taps, the nearest to the sender first, with a run, and writes it with a further vantage
/// point for each of them to another directory, which must be absent or empty. The tables of
/// stamps get the taps' columns; for each trial of the program's own vantage point there is a
/// trial of each tap behind all others.
///
/// # Errors
/// A run without round trips or without what its packets are known by; a capture that is damaged,
/// of another time or of other packets; whatever the store refuses. Nothing is written then unless
/// writing failed.
pub fn join<R: Read>(
    run: &Run,
    taps: impl IntoIterator<Item = TapCapture<R>>,
    directory: &Path,
) -> Result<(Vec<JoinedTap>, Directory), JoinRunError> {
    let mut all = All::gather(run)?;
    let mut joined = Vec::new();
    for TapCapture { name, capture } in taps {
        all.require_name(&name)?;
        let found = join_capture(&mut all.packets, &all.keys, &name, capture);
        let found = found.map_err(|source| JoinRunError::Capture {
            name: name.clone(),
            source,
        })?;
        joined.push(JoinedTap {
            name,
            probes: all.packets.len() as u64,
            found,
        });
    }
    all.require_order()?;
    let change = |trial: &Trial, mut data: TrialData| {
        if let Some(packets) = all.joined(trial, &data)? {
            let table = recorded::table(&packets);
            data.tables.insert(recorded::TABLE.to_owned(), table);
        }
        Ok(data)
    };
    let further = |trial: &Trial| {
        if !trial.tables.contains_key(recorded::TABLE) {
            return Ok(Vec::new());
        }
        let data = run.data(trial)?;
        let Some(packets) = all.joined(trial, &data)? else {
            return Ok(Vec::new());
        };
        let new = packets
            .taps()
            .filter(|(_, name)| all.packets.tap(name).is_some());
        let one = |(tap, name)| trial_of_tap(trial, &data, &packets, tap, name);
        Ok::<_, JoinRunError>(new.map(one).collect())
    };
    let directory = RunWriter::copy_changed(run, directory, change, further)?;
    Ok((joined, directory))
}

/// Whether a trial is that of the program's own vantage point, which has the stamps of all.
pub fn is_of_program(key: &Factors) -> bool {
    key.get(factor::VANTAGE) == Some(&Seen::From(Vantage::User).to_string())
}

/// The keys of the trials that a tap adds to those of a run.
pub fn keys_of_tap(keys: &[Factors], tap: &str) -> Vec<Factors> {
    let own = keys.iter().filter(|key| is_of_program(key));
    own.map(|key| key.clone().with(factor::VANTAGE, tap))
        .collect()
}

/// The probes of all trials, in one table.
struct All {
    packets: Packets,
    keys: Vec<Key>,
    places: BTreeMap<u32, Place>,
    /// Names of taps that were joined before.
    taken: BTreeSet<String>,
}

impl All {
    fn require_name(&self, name: &str) -> Result<(), JoinRunError> {
        let is_taken = self.taken.contains(name) || self.packets.tap(name).is_some();
        match recorded::is_tap_name(name) && !is_taken {
            true => Ok(()),
            false => Err(JoinRunError::Name {
                name: name.to_owned(),
            }),
        }
    }

    /// Refuses taps in the wrong order: who is nearer to the sender sees the longer round trips, whatever the clocks.
    fn require_order(&self) -> Result<(), JoinRunError> {
        let median = |values: &Values| values.distribution().quantile(0.5).unwrap_or(0.0);
        let name = |vantage: Vantage| vantage.name(&self.packets);
        for layer in layers(&self.packets) {
            let are_taps = [layer.upper, layer.lower]
                .into_iter()
                .all(|vantage| matches!(vantage, Vantage::Tap(_)));
            let slack_ns =
                SAME_NS + SAME_SHARE * median(&round_trips_at(&self.packets, layer.lower));
            if are_taps && median(&layer.added(&self.packets)) < -slack_ns {
                return Err(JoinRunError::Order {
                    near: name(layer.lower),
                    far: name(layer.upper),
                });
            }
        }
        Ok(())
    }

    fn gather(run: &Run) -> Result<Self, JoinRunError> {
        let mut all = Self {
            packets: Packets::new(),
            keys: Vec::new(),
            places: BTreeMap::new(),
            taken: BTreeSet::new(),
        };
        let has_stamps = |trial: &&Trial| {
            is_of_program(&trial.factors) && trial.tables.contains_key(recorded::TABLE)
        };
        let trials = || run.record().trials.iter().filter(has_stamps);
        let rows = trials().filter_map(|trial| trial.tables.get(recorded::TABLE));
        let probes = rows.map(|at| at.rows).fold(0, u64::saturating_add);
        if probes > MOST_PROBES {
            return Err(JoinRunError::TooMany { probes });
        }
        for trial in trials() {
            all.add(trial, &run.data(trial)?)?;
        }
        match all.packets.is_empty() {
            true => Err(JoinRunError::NoPackets),
            false => Ok(all),
        }
    }

    fn add(&mut self, trial: &Trial, data: &TrialData) -> Result<(), JoinRunError> {
        let Some(packets) = packets_of(trial, data)? else {
            return Ok(());
        };
        let keys = keys_of(trial, data, packets.len())?;
        self.taken
            .extend(packets.taps().map(|(_, name)| name.to_owned()));
        let mut place = Place {
            first: self.packets.len(),
            was_sent: Vec::with_capacity(packets.len()),
        };
        for (row, key) in keys.into_iter().enumerate() {
            let probe = packets.probe(row)?;
            let was_sent = probe.outcome != Outcome::NotSent;
            place.was_sent.push(was_sent);
            if !was_sent {
                continue;
            }
            let into = self.packets.push_probe(probe)?;
            // Between these the tap's stamps have to lie.
            for stamp in [Stamp::UserSent, Stamp::UserReceived] {
                if let Some(at_ns) = packets.get(row, stamp) {
                    self.packets.set(into, stamp, at_ns)?;
                }
            }
            self.keys.push(key);
        }
        self.places.insert(trial.id, place);
        Ok(())
    }

    /// The packets of a trial with the stamps of all taps.
    fn joined(&self, trial: &Trial, data: &TrialData) -> Result<Option<Packets>, JoinRunError> {
        let (Some(place), Some(mut packets)) =
            (self.places.get(&trial.id), packets_of(trial, data)?)
        else {
            return Ok(None);
        };
        for (tap, name) in self.packets.taps() {
            // Behind those that were joined before.
            let number = packets.taps().len();
            let own = packets.add_tap(name, Clock::other(number as u8))?;
            for way in Way::BOTH {
                let (from, to) = (Stamp::Tap(tap, way), Stamp::Tap(own, way));
                let mut row_of_all = place.first;
                for (row, was_sent) in place.was_sent.iter().enumerate() {
                    if !was_sent {
                        packets.set_missing(row, to, Missing::Lost)?;
                        continue;
                    }
                    match self.packets.get(row_of_all, from) {
                        Some(at_ns) => packets.set(row, to, at_ns)?,
                        None => {
                            let why = self.packets.missing(row_of_all, from);
                            packets.set_missing(row, to, why.unwrap_or(Missing::NotSeen))?;
                        }
                    }
                    row_of_all += 1;
                }
            }
        }
        Ok(Some(packets))
    }
}

fn packets_of(trial: &Trial, data: &TrialData) -> Result<Option<Packets>, JoinRunError> {
    let table = data.tables.get(recorded::TABLE).map(recorded::of_table);
    table.transpose().map_err(|source| JoinRunError::Table {
        trial: trial.id,
        source,
    })
}

/// By what each probe is known again.
fn keys_of(trial: &Trial, data: &TrialData, probes: usize) -> Result<Vec<Key>, JoinRunError> {
    let trial = trial.id;
    let table = data.tables.get(recorded::KEYS);
    let table = table.filter(|table| table.rows() == probes);
    let table = table.ok_or(JoinRunError::NoKeys { trial })?;
    recorded::keys_of(table).map_err(|source| JoinRunError::Table { trial, source })
}

/// A trial as it is seen from a tap: the one of the program's own vantage point, with the round
/// trips of the tap.
fn trial_of_tap(
    trial: &Trial,
    data: &TrialData,
    packets: &Packets,
    tap: TapId,
    name: &str,
) -> (TrialDraft, TrialData) {
    let vantage = Vantage::Tap(tap);
    let rows = 0..packets.len();
    let sent = rows.filter_map(|row| packets.get(row, Stamp::UserSent));
    // The trial began some milliseconds earlier, by a clock that the table does not have.
    let trips = round_trips(packets, vantage, sent.min().unwrap_or(0));
    let common = trial.findings.round_trips.clone().unwrap_or_default();
    let found = RoundTrips {
        without_value: common.answered.saturating_sub(trips.len() as u64),
        missing: missing(packets, vantage),
        ..common
    };
    let most_rows = match trial.storage {
        Storage::Tail { .. } => data.samples.len(),
        _ => trips.len(),
    };
    let (samples, storage) = samples(trips, most_rows);
    let measurement = Measurement {
        technique: technique("outward at the tap", "homeward there"),
        clock: "CLOCK_REALTIME of the machine with the tap".to_owned(),
        ..trial.measurement.clone()
    };
    let draft = TrialDraft::from(trial.clone());
    let draft = TrialDraft {
        factors: draft.factors.with(factor::VANTAGE, name),
        measurement,
        findings: Findings::from(found),
        storage,
        missed_periods: None,
        // Of the threads here.
        observation: None,
        ..draft
    };
    (draft, samples)
}

#[cfg(test)]
mod tests;
