//! What every method is.

use super::ending::Ending;
use super::train::{TrainPlan, TrainSeen};

/// What an estimate is to be like.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Bytes of a packet, IP header included.
    pub bytes: u32,
    /// What all trains may have together, in bytes.
    pub most_bytes: u64,
    /// No train is to be faster, in bits a second; none is where the sender does what it can.
    pub most_bps: Option<f64>,
    /// No train is to have more packets: there is no room for the stamps of more.
    pub most_packets: u32,
}

impl Default for Asked {
    /// Packets of 1500 bytes, and two megabytes of them.
    fn default() -> Self {
        Self {
            bytes: 1_500,
            most_bytes: 2_000_000,
            most_bps: None,
            most_packets: 4_096,
        }
    }
}

/// What a method wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This train.
    Send(TrainPlan),
    /// Nothing more.
    Done(Ending),
}

/// A way to find the available bandwidth of a path.
pub trait Method {
    /// What comes after the train that was sent last; at first there is none.
    fn next(&mut self, last: Option<&TrainSeen>) -> Step;

    /// What it would say now, where its time is up; nothing where that is no answer.
    fn finish(&mut self) -> Option<Ending> {
        None
    }
}

/// Begins a method anew.
pub type Begin = fn(&Asked) -> Box<dyn Method + Send>;

/// A method in the list.
#[derive(Clone, Copy, Debug)]
pub struct MethodEntry {
    /// As options and factors name it.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Begins it anew.
    pub begin: Begin,
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u32,
    left: u64,
    most_packets: usize,
}

impl Budget {
    pub(super) fn new(asked: &Asked) -> Self {
        Self {
            bytes: asked.bytes.max(1),
            left: asked.most_bytes,
            most_packets: asked.most_packets as usize,
        }
    }

    /// Packets that are left.
    pub(super) fn packets(&self) -> u32 {
        u32::try_from(self.left / u64::from(self.bytes)).unwrap_or(u32::MAX)
    }

    /// A train of no more packets than there is room for, paid for; `None` where it is more than is left.
    pub(super) fn pay(&mut self, mut train: TrainPlan) -> Option<TrainPlan> {
        train.due_ns.truncate(self.most_packets);
        self.left = self.left.checked_sub(train.all_bytes())?;
        Some(train)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_train_is_longer_than_there_is_room_for_nor_dearer_than_what_is_left() {
        let asked = Asked {
            most_bytes: 200_000,
            most_packets: 100,
            ..Asked::default()
        };
        let mut budget = Budget::new(&asked);
        let train = budget.pay(TrainPlan::even(400, 1_500, 1e9)).unwrap();
        assert_eq!((train.due_ns.len(), budget.packets()), (100, 33));
        assert_eq!(budget.pay(TrainPlan::at_once(400, 1_500)), None);
        assert_eq!(
            budget
                .pay(TrainPlan::at_once(33, 1_500))
                .unwrap()
                .due_ns
                .len(),
            33
        );
    }
}
