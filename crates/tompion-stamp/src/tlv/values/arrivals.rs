//! When packets of a train arrived: Tompion's second private value. One request asks for many, so that a train itself needs no
//! reply; the answer is as long as the request, which decides by its length how many it can have.

use crate::bytes::{put, u32_at, u64_at};

/// As the other value has it, and a name of its own.
const WHOSE: [u8; 8] = *b"\0\0\0\0TMPA";
const VERSION: u8 = 1;

/// An answer, and what it says of all of its arrivals.
const ANSWERED: u8 = 0x01;
const BY_KERNEL: u8 = 0x02;

/// Bytes before the arrivals.
const HEAD: usize = 24;
/// Bytes of each.
const EACH: usize = 4;

/// It arrived with a mark of congestion (ECN).
const MARKED: u32 = 1 << 31;
/// It did not arrive, as far as is remembered, or too long after the first.
const MISSING: u32 = MARKED - 1;

/// One packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainArrival {
    /// Nanoseconds since 1970, UTC, by the reflector's clock.
    pub utc_ns: i64,
    /// Whether the kernel or the device took that stamp.
    pub is_by_kernel: bool,
    /// Whether a router on the way marked it, as one whose queue grows.
    pub is_marked: bool,
}

/// The value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainArrivals;

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldArrivals {
    /// Of each packet from the one that was asked for on; nothing where it did not arrive.
    pub arrivals: Vec<Option<TrainArrival>>,
}

impl TrainArrivals {
    /// Bytes of a value that has room for so many arrivals.
    pub const fn bytes(arrivals: usize) -> usize {
        HEAD + EACH * arrivals
    }

    /// For how many arrivals a value of so many bytes has room.
    pub const fn room(bytes: usize) -> usize {
        bytes.saturating_sub(HEAD) / EACH
    }

    /// Whether a private value is one of these, of this version or a later one.
    pub fn is_ours(value: &[u8]) -> bool {
        value.len() >= HEAD + EACH && value.starts_with(&WHOSE) && value[8] >= VERSION
    }

    /// Writes what asks for arrivals from the packet of that sequence number on, as many as the value has room for. False where
    /// that is for none.
    pub fn ask(value: &mut [u8], first: u32) -> bool {
        if Self::room(value.len()) == 0 {
            return false;
        }
        value.fill(0);
        put(value, 0, &WHOSE);
        value[8] = VERSION;
        put(value, 12, &first.to_be_bytes());
        true
    }

    /// From which packet on a value asks.
    pub fn first(value: &[u8]) -> u32 {
        u32_at(value, 12)
    }

    /// Writes the answer into the request's value: `of` tells of a packet by its sequence number.
    pub fn answer(value: &mut [u8], of: impl Fn(u32) -> Option<TrainArrival>) {
        let first = Self::first(value);
        let room = Self::room(value.len());
        let sequence = |at: usize| first.wrapping_add(at as u32);
        let told = || (0..room).map(|at| of(sequence(at)));
        let base_ns = told().flatten().map(|a| a.utc_ns).min().unwrap_or(0);
        let is_by_kernel = told().flatten().all(|a| a.is_by_kernel);
        value[9] = ANSWERED | if is_by_kernel { BY_KERNEL } else { 0 };
        put(value, 16, &base_ns.cast_unsigned().to_be_bytes());
        for at in 0..room {
            let word = of(sequence(at)).and_then(|arrival| {
                let after = u32::try_from(arrival.utc_ns.checked_sub(base_ns)?).ok()?;
                let mark = if arrival.is_marked { MARKED } else { 0 };
                (after < MISSING).then_some(after | mark)
            });
            put(
                value,
                HEAD + EACH * at,
                &word.unwrap_or(MISSING).to_be_bytes(),
            );
        }
    }

    /// What an answer to "from `first` on" says; nothing where it is none.
    pub fn read(value: &[u8], first: u32) -> Option<ToldArrivals> {
        if !Self::is_ours(value) || value[9] & ANSWERED == 0 || Self::first(value) != first {
            return None;
        }
        let base_ns = u64_at(value, 16).cast_signed();
        let is_by_kernel = value[9] & BY_KERNEL != 0;
        let arrival = |at: usize| {
            let word = u32_at(value, HEAD + EACH * at);
            let after = word & !MARKED;
            (after != MISSING).then(|| TrainArrival {
                utc_ns: base_ns.saturating_add(after.into()),
                is_by_kernel,
                is_marked: word & MARKED != 0,
            })
        };
        Some(ToldArrivals {
            arrivals: (0..Self::room(value.len())).map(arrival).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrival(utc_ns: i64, is_marked: bool) -> TrainArrival {
        TrainArrival {
            utc_ns,
            is_by_kernel: true,
            is_marked,
        }
    }

    #[test]
    fn arrivals_come_back_by_their_numbers() {
        let mut value = [7; TrainArrivals::bytes(4)];
        assert!(TrainArrivals::ask(&mut value, u32::MAX - 1));
        assert!(
            TrainArrivals::is_ours(&value) && TrainArrivals::read(&value, u32::MAX - 1).is_none()
        );
        let base = 1_700_000_000_000_000_000;
        TrainArrivals::answer(&mut value, |sequence| match sequence {
            0xFFFF_FFFE => Some(arrival(base + 5, false)),
            0xFFFF_FFFF => Some(arrival(base, true)),
            // The numbers wrap; the third was lost, and the fourth came too late to be told.
            1 => Some(arrival(base + (1 << 40), false)),
            _ => None,
        });
        let told = TrainArrivals::read(&value, u32::MAX - 1).unwrap().arrivals;
        assert_eq!(
            told,
            [
                Some(arrival(base + 5, false)),
                Some(arrival(base, true)),
                None,
                None
            ]
        );
        assert_eq!(TrainArrivals::read(&value, 0), None);
    }

    #[test]
    fn one_stamp_of_the_program_is_told_of_all() {
        let mut value = [0; TrainArrivals::bytes(2)];
        assert!(TrainArrivals::ask(&mut value, 0));
        TrainArrivals::answer(&mut value, |sequence| {
            Some(TrainArrival {
                utc_ns: 9,
                is_by_kernel: sequence == 0,
                is_marked: false,
            })
        });
        let told = TrainArrivals::read(&value, 0).unwrap().arrivals;
        assert!(told.iter().flatten().all(|a| !a.is_by_kernel) && told.len() == 2);
        assert!(!TrainArrivals::ask(&mut [0; HEAD], 0) && !TrainArrivals::is_ours(&[0; 64]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200), first in any::<u32>()) {
            if let Some(told) = TrainArrivals::read(&bytes, first) {
                prop_assert_eq!(told.arrivals.len(), TrainArrivals::room(bytes.len()));
            }
        }

        #[test]
        fn whatever_arrived_when_the_answer_can_be_read(
            times in prop::collection::vec(prop::option::of(any::<i64>()), 1..40), first in any::<u32>()) {
            let mut value = vec![0; TrainArrivals::bytes(times.len())];
            prop_assert!(TrainArrivals::ask(&mut value, first));
            let of = |sequence: u32| {
                let at = sequence.wrapping_sub(first) as usize;
                times.get(at).copied().flatten().map(|ns| arrival(ns, false))
            };
            TrainArrivals::answer(&mut value, of);
            let told = TrainArrivals::read(&value, first).unwrap().arrivals;
            prop_assert_eq!(told.len(), times.len());
            for (told, was) in told.iter().zip(&times) {
                if let Some(told) = told {
                    prop_assert_eq!(Some(told.utc_ns), *was);
                }
            }
        }
    }
}
