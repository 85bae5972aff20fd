//! The methods, one a file, and the list of them.

mod chirp;
mod fit;
mod kite2;
mod ours;
mod yaz;

use super::method::{Begin, MethodEntry};

/// All methods, the default first.
pub static METHODS: [&MethodEntry; 5] = [
    &ours::ENTRY,
    &yaz::ENTRY,
    &yaz::SMALL_GAPS,
    &kite2::ENTRY,
    &chirp::ENTRY,
];

/// What begins the method of this name.
pub fn method(name: &str) -> Option<Begin> {
    let named = METHODS.iter().find(|entry| entry.name == name)?;
    Some(named.begin)
}

#[cfg(test)]
mod tests {
    use super::super::method::{Asked, Step};
    use super::*;

    #[test]
    fn methods_are_told_apart_and_keep_their_budget() {
        let names: std::collections::BTreeSet<_> = METHODS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), METHODS.len());
        assert!(method("tompion").is_some() && method("igi").is_none());
        for entry in METHODS {
            let asked = Asked {
                most_bytes: 100_000,
                ..Asked::default()
            };
            let mut begun = (entry.begin)(&asked);
            let (mut spent, mut last) = (0, None);
            // Of a path that carries everything at once.
            while let Step::Send(plan) = begun.next(last.as_ref()) {
                spent += plan.all_bytes();
                assert!(spent <= asked.most_bytes, "{}: {spent}", entry.name);
                last = Some(super::super::simulate::at_once(plan));
            }
        }
    }
}
