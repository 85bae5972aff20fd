//! What the stamps of packets say of one cell: what each layer adds, the far end's stay, the path,
//! and what became of the probes.

use std::collections::{BTreeMap, BTreeSet};

use tompion_model::{MissingStamps, RoundTrips, Trial, TrialData, printable};
use tompion_path::stamps::{
    Loss, Missing, Outcome, Packets, Stamp, StayBy, Values, ipdv, lateness, layers, pdv, recorded,
    rest, round_trips, stays, vantages,
};
use tompion_stats::{Distribution, MeanDistribution};

/// What is shown of one cell: its trials together, each of which weighs the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketsView {
    /// Times of each kind in their order, from the program outwards.
    pub times: Vec<Times>,
    /// What became of the probes, added up; what is told in words is that of the first trial.
    pub probes: RoundTrips,
    /// Most that were lost in a row within a trial.
    pub longest_loss: u64,
    /// Replies of which the far end told when its kernel sent them.
    pub followed_up: u64,
    /// What has to be known, each sentence once.
    pub remarks: BTreeSet<String>,
    /// Trials whose table cannot be read, and why for the first of them.
    pub unread: Option<(u32, String)>,
    /// Trials whose stamps found no room, and whether there were more kinds of times than are told.
    pub no_room: u32,
    pub more_kinds: bool,
    places: BTreeMap<String, usize>,
    missing: BTreeMap<(String, String), usize>,
}

/// Distinct values that the times of all cells of a run keep together: 64 MiB.
const MOST_KEPT: usize = 1 << 22;
/// Distinct values of the times of one kind of a trial, at first and at least.
const MOST_EACH: usize = 1 << 16;
const LEAST_EACH: usize = 1 << 8;
/// What a distribution takes beside its values, as so many of them.
const BESIDE: usize = 8;
/// Kinds of times that are told of a cell. Between eight vantage points there are 29.
const MOST_KINDS: usize = 64;
/// Kinds of missing stamps that are told of a cell.
const MOST_MISSING: usize = 32;

/// How many values the times of a run may have: a stranger's packets could take any memory.
#[derive(Debug)]
pub(crate) struct Room {
    kept: usize,
    /// What one distribution may have.
    each: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            kept: 0,
            each: MOST_EACH,
        }
    }
}

impl Room {
    fn is_full(&self) -> bool {
        self.kept > MOST_KEPT
    }

    /// Makes room in all that is kept, as far as that goes.
    pub(crate) fn make<'v>(&mut self, views: impl Iterator<Item = &'v mut PacketsView>) {
        if !self.is_full() || self.each <= LEAST_EACH {
            return;
        }
        let mut views: Vec<&mut PacketsView> = views.collect();
        while self.is_full() && self.each > LEAST_EACH {
            self.each /= 2;
            self.kept = views.iter_mut().map(|view| view.bound(self.each)).sum();
        }
    }
}

/// Times of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// What they are, for example `user and qdisc`.
    pub name: String,
    /// Whether they are a part of those before them.
    pub is_part: bool,
    blocks: Vec<Distribution>,
}

/// What a distribution takes.
fn taken_by(distribution: &Distribution) -> usize {
    distribution.pairs().len() + BESIDE
}

impl Times {
    /// Their distribution in nanoseconds, in which each trial weighs the same.
    pub(crate) fn distribution(&self) -> MeanDistribution {
        MeanDistribution::of(&self.blocks)
    }
}

impl PacketsView {
    /// Takes in one trial, as far as there is room.
    pub(crate) fn add(&mut self, trial: &Trial, data: &TrialData, room: &mut Room) {
        if let Some(told) = &trial.findings.round_trips {
            self.count(told);
        }
        let Some(table) = data.tables.get(recorded::TABLE) else {
            return;
        };
        if room.is_full() {
            self.no_room += 1;
            return;
        }
        match recorded::of_table(table) {
            Ok(packets) => self.add_packets(&without_late(packets), room),
            Err(why) => {
                // It may quote a column's name, which whoever wrote the file chose.
                let why = || (0, printable(&why.to_string()).into_owned());
                let unread = self.unread.get_or_insert_with(why);
                unread.0 += 1;
            }
        }
    }

    fn count(&mut self, told: &RoundTrips) {
        self.remarks.extend(told.remarks.iter().cloned());
        for more in &told.missing {
            self.count_missing(more);
        }
        if self.probes.due == 0 {
            let missing = std::mem::take(&mut self.probes.missing);
            self.probes = RoundTrips {
                missing,
                ..told.clone()
            };
            return;
        }
        let sum = &mut self.probes;
        let pairs = [
            (&mut sum.due, told.due),
            (&mut sum.not_sent, told.not_sent),
            (&mut sum.answered, told.answered),
            (&mut sum.lost, told.lost),
            (&mut sum.late_replies, told.late_replies),
            (&mut sum.duplicates, told.duplicates),
            (&mut sum.reordered, told.reordered),
            (&mut sum.without_value, told.without_value),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        sum.left_out = match (sum.left_out, told.left_out) {
            (Some(left_out), Some(more)) => Some(left_out.saturating_add(more)),
            (left_out, more) => left_out.or(more),
        };
    }

    fn count_missing(&mut self, more: &MissingStamps) {
        let mut more = more.clone();
        let mut key = (more.place.clone(), more.why.clone());
        if self.missing.len() >= MOST_MISSING && !self.missing.contains_key(&key) {
            key = ("elsewhere".to_owned(), "for other reasons".to_owned());
            (more.place, more.why) = key.clone();
        }
        let known = &mut self.probes.missing;
        let at = *self.missing.entry(key).or_insert(known.len());
        match known.get_mut(at) {
            Some(known) => known.probes = known.probes.saturating_add(more.probes),
            None => known.push(more),
        }
    }

    fn add_packets(&mut self, packets: &Packets, room: &mut Room) {
        let mut push =
            |name: &str, is_part, values: &Values| self.push(name, is_part, values, room);
        for layer in layers(packets) {
            let (upper, lower) = (layer.upper.name(packets), layer.lower.name(packets));
            let name = format!("{upper} and {lower}");
            push(&name, false, &layer.added(packets));
            let ways = [
                ("out", layer.outward(packets)),
                ("home", layer.homeward(packets)),
            ];
            // Where two vantage points have one stamp in common, only the other way is there.
            let is_zero = |values: &Values| values.present().all(|ns| ns == 0);
            let is_one_way = ways.iter().any(|(_, of)| of.as_ref().is_none_or(is_zero));
            for (way, of) in ways.iter().filter(|_| !is_one_way) {
                if let Some(of) = of {
                    push(&format!("{name}, on the way {way}"), true, of);
                }
            }
        }
        let stays = stays(packets, StayBy::Best);
        push("far end's stay", false, &stays.values);
        let beyond = rest(packets, &stays);
        if let Some(&outermost) = vantages(packets).last() {
            let name = outermost.name(packets);
            push(&format!("path beyond {name}"), false, &beyond);
            // Where the far end tells nothing of its stay, that is in the variation too.
            let is_told = beyond.missing() < beyond.len();
            let (of, varies) = match is_told {
                true => ("of the path", beyond),
                false => ("with the far end's stay", round_trips(packets, outermost)),
            };
            push(&format!("PDV {of}"), false, &pdv(&varies));
            push(&format!("IPDV {of}"), false, &ipdv(&varies));
        }
        push("sent late by", false, &lateness(packets));
        self.longest_loss = self.longest_loss.max(Loss::of(packets).longest_streak());
        let rows = 0..packets.len();
        let told = rows.filter(|row| packets.get(*row, Stamp::FarSentKernel).is_some());
        self.followed_up += told.count() as u64;
    }

    /// Bounds what it has to some `most` values each; says how many that are.
    fn bound(&mut self, most: usize) -> usize {
        let all = self.times.iter_mut().flat_map(|times| &mut times.blocks);
        all.map(|one| {
            *one = one.clustered(most);
            taken_by(one)
        })
        .sum()
    }

    /// Within which share of all values a quantile of the times is right, where not all of these were kept one by one.
    pub(crate) fn rounded_to(&self) -> Option<f64> {
        let all = self.times.iter().flat_map(|times| &times.blocks);
        let coarse = all.filter(|one| one.is_coarse());
        let fewest = coarse.map(|one| one.pairs().len()).min()?;
        Some(std::f64::consts::FRAC_PI_2 / (fewest.div_ceil(2)) as f64)
    }

    fn push(&mut self, name: &str, is_part: bool, values: &Values, room: &mut Room) {
        let distribution = values.distribution().clustered(room.each);
        if distribution.is_empty() {
            return;
        }
        if self.times.len() >= MOST_KINDS && !self.places.contains_key(name) {
            self.more_kinds = true;
            return;
        }
        room.kept += taken_by(&distribution);
        let place = *self
            .places
            .entry(name.to_owned())
            .or_insert(self.times.len());
        if place == self.times.len() {
            self.times.push(Times {
                name: name.to_owned(),
                is_part,
                blocks: Vec::new(),
            });
        }
        self.times[place].blocks.push(distribution);
    }

    /// The share of probes that were lost, 0 to 1; `None` where none went.
    pub(crate) fn lost_share(&self) -> Option<f64> {
        let counted = self.probes.answered.saturating_add(self.probes.lost);
        (counted > 0).then(|| self.probes.lost as f64 / counted as f64)
    }
}

/// Without the stamps of replies that came too late: they are no samples either.
fn without_late(mut packets: Packets) -> Packets {
    for row in 0..packets.len() {
        let is_late = packets
            .probe(row)
            .is_ok_and(|p| p.outcome != Outcome::Answered && p.arrival.is_some());
        if is_late {
            let home = Stamp::FIXED.into_iter().filter(|s| s.comes_with_reply());
            for stamp in home {
                // The row is there.
                let _ = packets.set_missing(row, stamp, Missing::TooLate);
            }
        }
    }
    packets
}

#[cfg(test)]
mod tests;
