//! The table of probes: one row a probe, one column a stamp.

use crate::Way;
use crate::stamps::column::{Column, Missing, is_in_range};
use crate::stamps::place::{Clock, Stamp, TapId};
use crate::stamps::probe::{Arrival, MOST_PROBES, MOST_TAPS, Outcome, PacketsError, Probe};

/// No place in the order of arrival.
const NO_PLACE: u32 = u32::MAX;

/// Probes in the order of sending, with their stamps.
///
/// Stamps are signed nanoseconds since the zero of their clock. The sender's and the far
/// end's clocks count from the Unix epoch in practice, but nothing here depends on it.
/// A stamp takes 8 bytes, a probe 13 more; a column without any stamp takes no memory.
#[derive(Clone, Debug)]
pub struct Packets {
    bytes: Vec<u32>,
    outcomes: Vec<Outcome>,
    duplicates: Vec<u32>,
    arrivals: Vec<u32>,
    next_arrival: u32,
    columns: Vec<Column>,
    clocks: Vec<Clock>,
    taps: Vec<Tap>,
}

#[derive(Clone, Debug)]
struct Tap {
    name: String,
    /// Whether it is at the sender's own device.
    is_own: bool,
}

impl Default for Packets {
    fn default() -> Self {
        Self::new()
    }
}

impl Packets {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            bytes: Vec::new(),
            outcomes: Vec::new(),
            duplicates: Vec::new(),
            arrivals: Vec::new(),
            next_arrival: 0,
            columns: vec![Column::new(); Stamp::FIXED.len()],
            clocks: Stamp::FIXED.map(usual_clock).to_vec(),
            taps: Vec::new(),
        }
    }

    /// An empty table with memory for so many probes with these stamps: filling it that far
    /// allocates nothing.
    ///
    /// # Errors
    /// Where that is more than a table holds or than there is memory for.
    pub fn with_capacity(probes: usize, stamps: &[Stamp]) -> Result<Self, PacketsError> {
        if probes > MOST_PROBES {
            return Err(PacketsError::TooManyProbes { probes });
        }
        let mut packets = Self::new();
        let no_memory = |_| PacketsError::NoMemory { probes };
        packets.bytes.try_reserve_exact(probes).map_err(no_memory)?;
        packets
            .outcomes
            .try_reserve_exact(probes)
            .map_err(no_memory)?;
        packets
            .duplicates
            .try_reserve_exact(probes)
            .map_err(no_memory)?;
        packets
            .arrivals
            .try_reserve_exact(probes)
            .map_err(no_memory)?;
        for &stamp in stamps {
            let column = packets.column(stamp)?;
            packets.columns[column].reserve(probes).map_err(no_memory)?;
        }
        Ok(packets)
    }

    /// For how many probes there is memory for this stamp: setting it allocates nothing up to that.
    pub fn capacity(&self, stamp: Stamp) -> usize {
        self.columns.get(stamp.column()).map_or(0, Column::capacity)
    }

    /// How many probes there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A further probe, whose IP packet has so many bytes; gives its row.
    ///
    /// # Errors
    /// Where the table is full.
    pub fn push(&mut self, bytes: u32) -> Result<usize, PacketsError> {
        self.push_probe(Probe {
            bytes,
            outcome: Outcome::Pending,
            duplicates: 0,
            arrival: None,
        })
    }

    /// A further probe of which all is known but its stamps; gives its row.
    ///
    /// # Errors
    /// Where the table is full.
    pub fn push_probe(&mut self, probe: Probe) -> Result<usize, PacketsError> {
        let row = self.len();
        if row >= MOST_PROBES {
            return Err(PacketsError::TooManyProbes { probes: row + 1 });
        }
        self.bytes.push(probe.bytes);
        self.outcomes.push(probe.outcome);
        self.duplicates.push(probe.duplicates);
        self.arrivals.push(probe.arrival.unwrap_or(NO_PLACE));
        if let Some(place) = probe.arrival {
            self.next_arrival = self.next_arrival.max(place.saturating_add(1));
        }
        for column in &mut self.columns {
            column.push();
        }
        Ok(row)
    }

    /// What is known of a probe besides its stamps.
    ///
    /// # Errors
    /// Where there is no such probe.
    pub fn probe(&self, probe: usize) -> Result<Probe, PacketsError> {
        self.row(probe)?;
        Ok(Probe {
            bytes: self.bytes[probe],
            outcome: self.outcomes[probe],
            duplicates: self.duplicates[probe],
            arrival: Some(self.arrivals[probe]).filter(|&p| p != NO_PLACE),
        })
    }

    /// All probes without their stamps, in the order of sending.
    pub fn probes(&self) -> impl ExactSizeIterator<Item = Probe> + '_ {
        (0..self.len()).map(|row| Probe {
            bytes: self.bytes[row],
            outcome: self.outcomes[row],
            duplicates: self.duplicates[row],
            arrival: Some(self.arrivals[row]).filter(|&p| p != NO_PLACE),
        })
    }

    /// Says what became of a probe.
    ///
    /// # Errors
    /// Where there is no such probe.
    pub fn set_outcome(&mut self, probe: usize, outcome: Outcome) -> Result<(), PacketsError> {
        self.row(probe)?;
        self.outcomes[probe] = outcome;
        Ok(())
    }

    /// A reply to a probe came: the first makes it answered, even if it counted as lost.
    ///
    /// # Errors
    /// Where there is no such probe.
    pub fn arrived(&mut self, probe: usize) -> Result<Arrival, PacketsError> {
        self.row(probe)?;
        if self.arrivals[probe] != NO_PLACE {
            self.duplicates[probe] = self.duplicates[probe].saturating_add(1);
            return Ok(Arrival::Duplicate(self.duplicates[probe]));
        }
        let place = self.next_arrival;
        self.next_arrival = place.saturating_add(1);
        self.arrivals[probe] = place;
        self.outcomes[probe] = Outcome::Answered;
        Ok(Arrival::First(place))
    }

    /// Sets a stamp, in nanoseconds since the zero of its clock.
    ///
    /// # Errors
    /// Where there is no such probe or tap, or where the stamp is out of range.
    pub fn set(&mut self, probe: usize, stamp: Stamp, at_ns: i64) -> Result<(), PacketsError> {
        self.row(probe)?;
        if !is_in_range(at_ns) {
            return Err(PacketsError::OutOfRange { at_ns });
        }
        let (rows, column) = (self.len(), self.column(stamp)?);
        self.columns[column].set(rows, probe, at_ns);
        Ok(())
    }

    /// Says why a stamp is missing; one that was there is taken away.
    ///
    /// # Errors
    /// Where there is no such probe or tap.
    pub fn set_missing(
        &mut self,
        probe: usize,
        stamp: Stamp,
        why: Missing,
    ) -> Result<(), PacketsError> {
        self.row(probe)?;
        let (rows, column) = (self.len(), self.column(stamp)?);
        self.columns[column].set_missing(rows, probe, why);
        Ok(())
    }

    /// Says why stamps of a place are missing where nothing else is known of them.
    ///
    /// # Errors
    /// Where there is no such tap.
    pub fn set_missing_otherwise(
        &mut self,
        stamp: Stamp,
        why: Missing,
    ) -> Result<(), PacketsError> {
        let column = self.column(stamp)?;
        self.columns[column].set_otherwise(why);
        Ok(())
    }

    /// A stamp in nanoseconds since the zero of its clock; `None` where it is missing, and
    /// where there is no such probe or tap.
    pub fn get(&self, probe: usize, stamp: Stamp) -> Option<i64> {
        self.columns.get(stamp.column())?.get(probe)
    }

    /// Why a stamp is missing; `None` where it is there, and where there is no such probe or
    /// tap. What comes with a reply is [`Missing::Lost`] where the probe is and nothing else
    /// is known.
    pub fn missing(&self, probe: usize, stamp: Stamp) -> Option<Missing> {
        let outcome = self.outcomes.get(probe)?;
        let why = self.columns.get(stamp.column())?.why(probe)?;
        let is_lost = *outcome == Outcome::Lost && stamp.comes_with_reply();
        Some(match why {
            Missing::Unknown if is_lost => Missing::Lost,
            other => other,
        })
    }

    /// Whether any probe has this stamp.
    pub fn has_any(&self, stamp: Stamp) -> bool {
        self.columns
            .get(stamp.column())
            .is_some_and(Column::has_any)
    }

    /// How many probes that were sent lack this stamp.
    pub fn count_missing(&self, stamp: Stamp) -> usize {
        let was_sent = |row: &usize| self.outcomes[*row] != Outcome::NotSent;
        let rows = (0..self.len()).filter(was_sent);
        rows.filter(|&row| self.get(row, stamp).is_none()).count()
    }

    /// A further tap, farther from the sender than those before, with its clock.
    ///
    /// # Errors
    /// Where the name is empty or there already, or where there are too many.
    pub fn add_tap(&mut self, name: &str, clock: Clock) -> Result<TapId, PacketsError> {
        self.push_tap(name, clock, false)
    }

    /// A tap at the sender's own device, by the sender's clock. The kernel serves it between the
    /// queueing discipline and the driver, so that a probe passes it before [`Stamp::Sent`], and
    /// a reply no later than [`Stamp::Received`].
    ///
    /// # Errors
    /// As [`add_tap`](Self::add_tap).
    pub fn add_own_tap(&mut self, name: &str) -> Result<TapId, PacketsError> {
        self.push_tap(name, Clock::SENDER, true)
    }

    fn push_tap(&mut self, name: &str, clock: Clock, is_own: bool) -> Result<TapId, PacketsError> {
        if name.is_empty() || self.tap(name).is_some() {
            return Err(PacketsError::TapName);
        }
        if self.taps.len() >= MOST_TAPS {
            return Err(PacketsError::TooManyTaps);
        }
        let tap = TapId::new(self.taps.len() as u8);
        let name = name.to_owned();
        self.taps.push(Tap { name, is_own });
        for _ in Way::BOTH {
            self.columns.push(Column::new());
            self.clocks.push(clock);
        }
        Ok(tap)
    }

    /// The tap of this name.
    pub fn tap(&self, name: &str) -> Option<TapId> {
        let place = self.taps.iter().position(|t| t.name == name)?;
        Some(TapId::new(place as u8))
    }

    /// The taps with their names, nearest to the sender first.
    pub fn taps(&self) -> impl ExactSizeIterator<Item = (TapId, &str)> + DoubleEndedIterator + '_ {
        let named = self.taps.iter().enumerate();
        named.map(|(i, tap)| (TapId::new(i as u8), tap.name.as_str()))
    }

    /// Calls taps otherwise, all at once: no old name stays. Of two that would be called alike the second is called by its
    /// number.
    pub fn rename_taps(&mut self, mut new: impl FnMut(&str) -> String) {
        let mut named: Vec<String> = Vec::with_capacity(self.taps.len());
        for (tap, number) in self.taps.iter().zip(1..) {
            let mut name = new(&tap.name);
            let mut numbers = number..;
            while name.is_empty() || named.contains(&name) {
                name = format!("tap-{}", numbers.next().unwrap_or(0_usize));
            }
            named.push(name);
        }
        for (tap, name) in self.taps.iter_mut().zip(named) {
            tap.name = name;
        }
    }

    /// Whether a tap is at the sender's own device; false where there is no such tap.
    pub fn is_own(&self, tap: TapId) -> bool {
        self.taps.get(tap.index()).is_some_and(|tap| tap.is_own)
    }

    /// The clock of a stamp; `None` where there is no such tap. Unless told otherwise the
    /// sender's, the device's and the far end's differ.
    pub fn clock(&self, stamp: Stamp) -> Option<Clock> {
        self.clocks.get(stamp.column()).copied()
    }

    /// Says which clock a stamp is of, such as the sender's for a far end on its machine.
    ///
    /// # Errors
    /// Where there is no such tap.
    pub fn set_clock(&mut self, stamp: Stamp, clock: Clock) -> Result<(), PacketsError> {
        let column = self.column(stamp)?;
        self.clocks[column] = clock;
        Ok(())
    }

    /// All places in the order in which a packet passes them, out and home; without `due`,
    /// which is a wish.
    pub fn places(&self) -> Vec<Stamp> {
        let taps = |is_own: bool, way: Way| {
            let those = self
                .taps()
                .filter(move |(tap, _)| self.is_own(*tap) == is_own);
            let places = those.map(move |(tap, _)| Stamp::Tap(tap, way));
            let mut places: Vec<Stamp> = places.collect();
            if way == Way::Homeward {
                places.reverse();
            }
            places
        };
        let mut places = vec![Stamp::UserSent, Stamp::Scheduled];
        places.extend(taps(true, Way::Outward));
        places.extend([Stamp::Sent, Stamp::SentHardware]);
        places.extend(taps(false, Way::Outward));
        places.extend([Stamp::FarReceived, Stamp::FarSent, Stamp::FarSentKernel]);
        places.extend(taps(false, Way::Homeward));
        places.push(Stamp::ReceivedHardware);
        places.extend(taps(true, Way::Homeward));
        places.extend([Stamp::Received, Stamp::UserReceived]);
        places
    }

    fn row(&self, probe: usize) -> Result<(), PacketsError> {
        let probes = self.len();
        match probe < probes {
            true => Ok(()),
            false => Err(PacketsError::NoSuchProbe { probe, probes }),
        }
    }

    fn column(&self, stamp: Stamp) -> Result<usize, PacketsError> {
        let column = stamp.column();
        match stamp {
            Stamp::Tap(tap, _) if column >= self.columns.len() => Err(PacketsError::NoSuchTap(tap)),
            _ => Ok(column),
        }
    }
}

fn usual_clock(stamp: Stamp) -> Clock {
    match stamp {
        Stamp::SentHardware | Stamp::ReceivedHardware => Clock::DEVICE,
        Stamp::FarReceived | Stamp::FarSent | Stamp::FarSentKernel => Clock::FAR_END,
        _ => Clock::SENDER,
    }
}

#[cfg(test)]
mod tests;
