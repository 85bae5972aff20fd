//! Tracepoints kept in use between recordings.

use super::assemble::Assembler;
use super::decode::{Decoder, Role};
use super::format::Format;
use super::names::Names;
use super::open::{Beside, Channel};
use super::record::Origin;
use super::sources::Tracepoints;
use super::tracefs::Tracefs;
use super::turns;
use tompion_model::Unavailable;

/// Keeps the kernel's tracepoints in use, so that events on them open and close at once:
/// closing the last one of a tracepoint waits for all CPUs, 20 to 50 ms. The price is a
/// call in the kernel each time one of them is passed, some nanoseconds.
pub struct Keeper {
    _channel: Channel,
}

impl Keeper {
    /// Those of [`CpuEvents::Turns`](super::CpuEvents::Turns). Opened on one CPU; they
    /// never record.
    ///
    /// # Errors
    /// In a few words.
    pub fn of_turns(cpu: u32) -> Result<Self, Unavailable> {
        let tracefs = Tracefs::open()?;
        let number = |event: &&str| Format::parse(&tracefs.format(event)?).map(|f| f.id);
        let events = turns::SCHEDULER.iter().chain(&turns::FAULTS);
        Self::open(cpu, events.filter_map(number))
    }

    /// Those of [`CpuEvents::All`](super::CpuEvents::All).
    ///
    /// # Errors
    /// In a few words.
    pub fn of_all(cpu: u32) -> Result<Self, Unavailable> {
        let tracefs = Tracefs::open()?;
        // Of the names and labels that come along nothing is wanted.
        let mut assembler = Assembler::new(Names::new(|_| None));
        let all = Tracepoints::read(&tracefs, &mut assembler, &mut Decoder::default());
        Self::open(cpu, all.numbers())
    }

    fn open(cpu: u32, numbers: impl Iterator<Item = u64>) -> Result<Self, Unavailable> {
        let mut decoder = Decoder::default();
        let (origin, beside) = (Origin::Cpu(cpu), Beside::default());
        let mut channel = Channel::open(origin, beside, 1, &mut decoder)?;
        for number in numbers {
            // One that is refused is not recorded either, and costs nothing to close.
            let _ = channel.add_tracepoint(number, None, Role::Beside, &mut decoder);
        }
        Ok(Self { _channel: channel })
    }
}
