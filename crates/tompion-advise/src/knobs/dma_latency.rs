//! Keeping CPUs out of deep idle states while a program asks for it.

use super::Remedy;
use crate::{Knob, Reach, Ready, State, Surroundings};

const DEVICE: &str = "/dev/cpu_dma_latency";

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(DmaLatency)],
    writes: &[],
};

struct DmaLatency;

impl Knob for DmaLatency {
    fn name(&self) -> String {
        "cpu-dma-latency".to_owned()
    }

    fn title(&self) -> String {
        "/dev/cpu_dma_latency held at 0 µs".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        if !here.root.has(DEVICE) {
            return State::Absent(format!("there is no {DEVICE}"));
        }
        // Four bytes in the machine's order, where it may be read.
        let now = here.root.bytes(DEVICE).unwrap_or_default();
        let now = now.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
        if now == Some(0) {
            return State::Already("another program holds it at 0 µs".to_owned());
        }
        let setup = here.setup();
        /// What the kernel answers while nobody asks for less.
        const NO_LIMIT_US: i32 = 2_000_000_000;
        State::ready(Ready {
            from: match now {
                Some(us) if us < NO_LIMIT_US => format!("{us} µs"),
                _ => "no limit".to_owned(),
            },
            to: "0 µs".to_owned(),
            off: setup.clone(),
            on: setup,
            held: Some((DEVICE.into(), 0i32.to_ne_bytes().to_vec())),
            apply: vec![
                format!(
                    "exec 3>{DEVICE}; printf '\\0\\0\\0\\0' >&3   (as long as the shell keeps \
                     descriptor 3)"
                ),
                format!("int fd = open(\"{DEVICE}\", O_WRONLY); write(fd, &(int){{0}}, 4);"),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "power: no CPU sleeps deeply, and the others may turn slower for want of it"
    }

    fn source(&self) -> &'static str {
        "practice: cyclictest does so; Linux Documentation/power/pm_qos_interface.rst"
    }
}
