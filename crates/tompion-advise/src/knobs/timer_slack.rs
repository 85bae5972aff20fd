//! The least timer slack.

use tompion_assess::verdict::remedies::TIMER_SLACK;
use tompion_model::format_ns;
use tompion_probe::ThreadSettings;

use super::Remedy;
use crate::{Knob, Reach, Ready, Setup, State, Surroundings};

/// What asks for no delay; 0 would ask for the default.
const LEAST_NS: u64 = 1;

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(TimerSlack)],
    writes: &[],
};

struct TimerSlack;

impl Knob for TimerSlack {
    fn name(&self) -> String {
        "timer-slack".to_owned()
    }

    fn title(&self) -> String {
        "a timer slack of 1 ns".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::OwnProcess
    }

    fn state(&self, here: &Surroundings) -> State {
        if here.policy.is_real_time() {
            return State::Already("real-time processes have no timer slack".to_owned());
        }
        let Some(now) = here.slack_ns else {
            return State::Absent("the system does not tell its timer slack".to_owned());
        };
        if now <= LEAST_NS {
            return State::Already(format!("it is {} here", format_ns(now as f64)));
        }
        let with = |ns| Setup {
            thread: ThreadSettings {
                slack_ns: Some(ns),
                ..ThreadSettings::default()
            },
            ..Setup::default()
        };
        State::ready(Ready {
            from: format_ns(now as f64),
            to: format_ns(LEAST_NS as f64),
            off: with(now),
            on: with(LEAST_NS),
            apply: vec![
                TIMER_SLACK.how.to_owned(),
                "for a service: TimerSlackNSec=1 in its unit".to_owned(),
            ],
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        TIMER_SLACK.price
    }

    fn source(&self) -> &'static str {
        "practice: prctl(2), PR_SET_TIMERSLACK"
    }
}
