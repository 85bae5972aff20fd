//! `busy`: CPUs as a program that does its work leaves them, neither at rest nor overrun.

use std::sync::Arc;

use tompion_model::Unavailable;

use super::cpu::{PERIOD_NS, at_level, at_level_makes_wait};
use crate::job::{Budget, Plan};
use crate::load::{Load, Parse, Work};

pub(super) static ENTRY: Load = Load {
    name: "busy",
    about: "one thread per CPU, computing for 70 % of each 10 ms, the same as cpu:level=70",
    in_check: true,
    parse: Parse::Options(&[], |_| Ok(Arc::new(Busy))),
};

/// Part of each period in percent.
const PERCENT: u32 = 70;

#[derive(Debug)]
struct Busy;

impl Work for Busy {
    fn makes_wait(&self) -> bool {
        at_level_makes_wait(PERCENT)
    }

    fn moves_bytes(&self) -> bool {
        false
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        Ok(at_level(PERCENT, PERIOD_NS))
    }
}
