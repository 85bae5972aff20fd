//! From one table of stamps to a trial for each vantage point.

use std::collections::HashMap;

use tompion_model::{
    Findings, Mark, Measurement, MissingStamps, Recorder, RoundTrips, Sample, Storage, TrialData,
};
use tompion_net::TransmitStamps;
use tompion_packets::{FarEnd, Measured, Protocol};
use tompion_path::stamps::{
    Key, Loss, Missing, Outcome as Fate, Packets, Reordering, Stamp, Values, Vantage, recorded,
};
use tompion_probe::{Limits, Outcome};

use super::asked::Asked;
use super::held_up::HeldUp;
use super::seen::Seen;
use crate::probes::Part;

/// When a measurement began, by the clock of the runner and by that of the stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub mono_ns: u64,
    /// The same moment by `CLOCK_REALTIME`.
    pub utc_ns: i64,
}

/// A part for each of `all`; the first has the table of all stamps. `remark` is what has to
/// be said of the measurement beyond what its table tells.
pub(super) fn parts(
    measured: &Measured,
    asked: &Asked,
    all: &[Seen],
    limits: &Limits,
    began: Began,
    remark: Option<String>,
    keys: &[Key],
) -> Vec<Part> {
    let packets = &measured.packets;
    let common = counted(measured, asked, remark);
    let held_up = HeldUp::of(measured);
    let part = |(place, &seen): (usize, &Seen)| {
        let trips = round_trips(packets, seen.vantage(), began.utc_ns);
        let (trips, left_out) = match seen {
            Seen::From(vantage) => (marked(trips, &held_up.marks(vantage)), None),
            Seen::Path => {
                let (path, left_out) = held_up.path();
                (along(trips, &path), Some(left_out))
            }
        };
        let observation = held_up.observation(trips.iter().map(|trip| trip.mark));
        let with_value = trips.len() as u64 + left_out.unwrap_or(0);
        let found = RoundTrips {
            without_value: common.answered.saturating_sub(with_value),
            left_out,
            missing: missing(packets, seen.vantage()),
            ..common.clone()
        };
        let is_cut = measured.tally.due < limits.samples;
        let mut outcome = outcome(trips, seen, limits, began, is_cut);
        if place == 0 {
            let table = recorded::table(packets);
            let keys = recorded::keys_table(keys);
            let marks = held_up.table();
            let tables = [
                (recorded::TABLE, table),
                (recorded::KEYS, keys),
                (recorded::MARKS, marks),
            ];
            let named = tables.map(|(name, table)| (name.to_owned(), table));
            outcome.data.tables.extend(named);
        }
        Part {
            outcome,
            findings: Findings::from(found),
            observation,
        }
    };
    all.iter().enumerate().map(part).collect()
}

/// The rows whose probes were answered in time.
fn answered(packets: &Packets) -> impl Iterator<Item = usize> + '_ {
    let probes = packets.probes().enumerate();
    probes
        .filter(|(_, p)| p.outcome == Fate::Answered)
        .map(|(row, _)| row)
}

/// A round trip as a place sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    /// When it ended, in nanoseconds since the measurement began.
    pub at_ns: u64,
    /// How long it was.
    pub length_ns: i64,
    /// The row of its probe.
    pub row: usize,
    pub mark: Mark,
}

fn marked(trips: Vec<Trip>, marks: &HashMap<usize, Mark>) -> Vec<Trip> {
    let with_mark = |trip: Trip| Trip {
        mark: marks.get(&trip.row).copied().unwrap_or(trip.mark),
        ..trip
    };
    trips.into_iter().map(with_mark).collect()
}

/// The same with the path of those that have one.
fn along(trips: Vec<Trip>, path: &Values) -> Vec<Trip> {
    let of_path = |trip: Trip| {
        let length_ns = path.get(trip.row)?;
        Some(Trip { length_ns, ..trip })
    };
    trips.into_iter().filter_map(of_path).collect()
}

/// The round trips of those that were answered, since `began_ns`, in the order of their ends.
pub(super) fn round_trips(packets: &Packets, vantage: Vantage, began_ns: i64) -> Vec<Trip> {
    let trip = |row: usize| {
        let end = packets.get(row, vantage.homeward())?;
        let length = end.checked_sub(packets.get(row, vantage.outward())?)?;
        let at_ns = match vantage {
            // Of another clock: where the program saw it end stands in.
            Vantage::Hardware | Vantage::Tap(_) => packets.get(row, Stamp::UserReceived)?,
            _ => end,
        };
        // A clock that was set back meanwhile must not lead before the beginning.
        let at_ns = at_ns.saturating_sub(began_ns).max(0).cast_unsigned();
        Some(Trip {
            at_ns,
            length_ns: length,
            row,
            mark: Mark::None,
        })
    };
    let mut trips: Vec<Trip> = answered(packets).filter_map(trip).collect();
    trips.sort_by_key(|trip| trip.at_ns);
    trips
}

/// Round trips as samples, at most so many rows.
pub(super) fn samples(trips: Vec<Trip>, most_rows: usize) -> (TrialData, Storage) {
    let mut recorder = Recorder::new(most_rows.min(trips.len()), None);
    for trip in trips {
        if recorder.is_full() {
            // Nothing is measured any more: the samples that follow bear no mark for it.
            recorder.make_room();
        }
        recorder.push(Sample {
            at_ns: trip.at_ns,
            value_ps: trip.length_ns.saturating_mul(1000),
            n: 1,
            missed: 0,
            mark: trip.mark,
        });
    }
    recorder.finish()
}

fn outcome(trips: Vec<Trip>, seen: Seen, limits: &Limits, began: Began, is_cut: bool) -> Outcome {
    let (data, storage) = samples(trips, limits.rows);
    Outcome {
        data,
        storage,
        measurement: Measurement {
            technique: match seen {
                Seen::Path => format!(
                    "{}, less the far end's stay; probes that were held up at either end are left out",
                    between(Vantage::Kernel)
                ),
                Seen::From(vantage) => between(vantage),
            },
            clock: match seen.vantage() {
                Vantage::Hardware => "clock of the device",
                _ => "CLOCK_REALTIME",
            }
            .to_owned(),
            blind_spots: "what lies beyond these stamps; a clock that is set meanwhile".to_owned(),
            wanted_samples: limits.samples,
            ended_by_time: is_cut,
            timer_slack_ns: tompion_time::os::timer_slack_ns().ok(),
            ..Measurement::default()
        },
        missed_periods: None,
        began_ns: began.mono_ns,
    }
}

fn between(vantage: Vantage) -> String {
    technique(vantage.outward().name(), vantage.homeward().name())
}

/// How a round trip is measured between two places.
pub(super) fn technique(outward: &str, homeward: &str) -> String {
    format!("round trip of a packet, from its stamp `{outward}` to that of its reply, `{homeward}`")
}

/// What became of all probes, whoever sees them.
fn counted(measured: &Measured, asked: &Asked, remark: Option<String>) -> RoundTrips {
    let packets = &measured.packets;
    let loss = Loss::of(packets);
    let host = match asked.host.contains(':') && !asked.host.starts_with('[') {
        true => format!("[{}]", asked.host),
        false => asked.host.clone(),
    };
    let mut remarks: Vec<String> = remark.into_iter().collect();
    if asked.has_kernel && matches!(measured.capability.transmit, TransmitStamps::User { .. }) {
        remarks.push(
            "The kernel gives no stamps here: what this machine itself delays counts as the \
             network's."
                .to_owned(),
        );
    }
    let odd = measured.odd.iter();
    remarks.extend(odd.map(|(oddity, count)| format!("In {count} replies: {oddity}.")));
    if measured.refused > 0 {
        remarks.push(format!(
            "{} stamps or replies were left out, since nothing here can hold them.",
            measured.refused
        ));
    }
    if measured.errors.count > 0 {
        remarks.push(format!("{} ICMP errors came.", measured.errors.count));
    }
    RoundTrips {
        to: match asked.protocol {
            Protocol::Stamp => format!("{host}:{}", asked.port),
            Protocol::Icmp => host,
        },
        schedule: match asked.is_poisson {
            true => "poisson",
            false => "periodic",
        }
        .to_owned(),
        interval_ns: asked.interval_ns,
        timeout_ns: asked.timeout_ns,
        bytes: packets.probe(0).map_or(0, |p| p.bytes),
        due: measured.tally.due,
        not_sent: measured.tally.not_sent + measured.tally.skipped,
        answered: loss.counted - loss.lost,
        lost: loss.lost,
        late_replies: measured.late,
        duplicates: loss.duplicates,
        reordered: Reordering::of(packets).reordered.len() as u64,
        without_value: 0,
        left_out: None,
        missing: Vec::new(),
        far_end: far_end(&measured.far),
        remarks,
    }
}

/// What a far end said of itself, each thing in a few words.
fn far_end(far: &FarEnd) -> Vec<String> {
    let mut said = Vec::new();
    if let Some((major, minor)) = far.tompion {
        said.push(format!("tompion {major}.{minor}"));
    }
    said.extend(far.receives_by.map(|who| format!("receive stamps: {who}")));
    said.extend(far.sends_by.map(|who| format!("transmit stamps: {who}")));
    if far.follows_up {
        said.push("transmit stamps of its kernel follow".to_owned());
    }
    said
}

/// Which stamps of this vantage point answered probes lack, and why.
pub(super) fn missing(packets: &Packets, vantage: Vantage) -> Vec<MissingStamps> {
    let mut all = Vec::new();
    for place in [vantage.outward(), vantage.homeward()] {
        let mut reasons: Vec<(Missing, u64)> = Vec::new();
        for why in answered(packets).filter_map(|row| packets.missing(row, place)) {
            match reasons.iter_mut().find(|r| r.0 == why) {
                Some(reason) => reason.1 += 1,
                None => reasons.push((why, 1)),
            }
        }
        let told = |(why, probes): (Missing, u64)| MissingStamps {
            place: place.name().to_owned(),
            why: why.name().to_owned(),
            probes,
        };
        all.extend(reasons.into_iter().map(told));
    }
    all
}
