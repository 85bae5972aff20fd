//! What is named twice, as it was named.

use tompion_probe::Policy;
use tompion_record::format_duration;

use super::PlanOptions;

impl PlanOptions {
    /// What the user named twice, for example ``target `100us` ``.
    pub(super) fn named_twice(&self) -> Option<String> {
        fn twice<T: PartialEq>(
            what: &str,
            all: &[T],
            name: impl Fn(&T) -> String,
        ) -> Option<String> {
            let mut later = all.iter().enumerate();
            let found = later.find_map(|(i, item)| all[..i].contains(item).then_some(item));
            found.map(|item| format!("{what} `{}`", name(item)))
        }
        let events = self.timer_events.as_ref();
        let methods = events.map_or(&[][..], |e| &e.methods);
        let forms = events.map_or(&[][..], |e| &e.forms);
        let periods = events.map_or(&[][..], |e| &e.periods_ns);
        twice("target", &self.targets, |t| format_duration(t.0))
            .or_else(|| twice("method", &self.read_methods, |m| m.name().to_owned()))
            .or_else(|| twice("method", &self.wake_methods, |m| m.name().to_owned()))
            .or_else(|| twice("method", methods, |m| m.name().to_owned()))
            .or_else(|| twice("form", forms, |f| f.name().to_owned()))
            .or_else(|| twice("period", periods, |ns| format_duration(*ns)))
            .or_else(|| twice("slack", &self.slacks, |s| s.level()))
            .or_else(|| twice("policy", &self.policies, Policy::to_string))
    }
}
