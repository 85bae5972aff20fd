//! A testbed by itself: `testbed RTT_MS RATE_MBIT [--kernel] [-- COMMAND]`, 0 for no rate. The tests run it, to
//! kill it and to see what is left; `tompion testbed` is for everything else.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tompion_testbed::{BottleneckKind, Programs, Settings, Verdict, run};

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let end = arguments.iter().position(|a| a == "--");
    let command = end.map(|end| arguments.split_off(end).split_off(1));
    let number = |place: usize| {
        let word = arguments.get(place).and_then(|word| word.to_str());
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
    };
    let rate = Some(number(1) * 1_000_000).filter(|rate| *rate > 0);
    let mut settings = Settings::symmetric(Duration::from_millis(number(0)), rate);
    if arguments.iter().any(|a| a == "--kernel") {
        settings.bottleneck = BottleneckKind::Kernel;
        settings.plan.homeward.bottleneck = None;
    }
    let programs = Programs {
        command,
        far_end: Vec::new(),
    };
    let stop = AtomicBool::new(false);
    let mut ready = |testbed: &tompion_testbed::Testbed, measured: &_| {
        println!(
            "{} {}",
            testbed.sender().path().display(),
            testbed.far_end().path().display()
        );
        eprintln!("{measured:#?}");
    };
    match run(&settings, &programs, &mut ready, &stop) {
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
        Ok(outcome) => {
            eprintln!("{:#?}\n{:#?}", outcome.after, outcome.summary);
            let code = outcome.status.and_then(|status| status.code());
            match (outcome.verdict(), code) {
                (Verdict::AsPlanned, Some(code)) => ExitCode::from(code as u8),
                (verdict, code) => {
                    eprintln!("{verdict:?} {code:?}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}
