//! Read cost of one clock.

use std::time::Duration;

use tompion_probe::read_cost::{self, Method};

use super::{BASE, Context, Form, InPlan, Parameter, Preset, Probe, Probing, Room, Values, Way};
use crate::{Observe, PlannedCell};

pub(super) static ENTRY: Probe = Probe {
    name: read_cost::NAME,
    title: "read cost",
    about: "How long one read of a clock takes",
    overview: &["tompion measure read-cost"],
    examples: &[
        "tompion measure read-cost",
        "tompion measure read-cost --methods rdtsc,clock-monotonic --loads idle,cpu",
    ],
    parameters: &[
        Parameter::new(
            "methods",
            "METHOD",
            Form::names::<Method>("method"),
            Preset::Here(|| Method::available().map(|m| m.to_string()).collect()),
            "Methods, comma-separated; see `tompion list` [default: all]",
        ),
        Parameter {
            in_plan: InPlan::Preset("100000"),
            ..Parameter::new(
                "samples",
                "N",
                Form::Count,
                Preset::Text("1000000"),
                "Samples per method when idle, over all blocks; a tenth as many under each load",
            )
        },
    ],
    cells,
    ..BASE
};

fn cells(values: &Values, context: &Context<'_>) -> Vec<PlannedCell> {
    let samples = values.count("samples");
    let of_cell = if context.spec.is_idle() {
        samples
    } else {
        samples / 10
    };
    let cell = |method: Method| {
        let key = context.key(read_cost::NAME, method.name());
        PlannedCell {
            samples: context.samples(of_cell / method.sample_divisor()),
            ..context.cell(&key, None, ReadCost { method })
        }
    };
    values.parsed("methods").into_iter().map(cell).collect()
}

/// Read cost of one clock.
#[derive(Clone, Debug)]
pub struct ReadCost {
    /// The clock.
    pub method: Method,
}

impl Probing for ReadCost {
    fn way(&self) -> Way<'_> {
        let method = self.method;
        Way::OnThread(Box::new(move |rate, limits| {
            read_cost::measure(method, rate, limits)
        }))
    }

    fn watched(&self) -> Observe {
        Observe::Threads
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn least_time(&self, _: u64) -> Duration {
        Duration::ZERO
    }

    fn bytes(&self, room: &Room) -> u64 {
        const ROW: u64 = 2;
        room.of_samples(ROW)
    }
}
