//! Signs that a program in an instance gives while it runs, a line each on standard error.

use serde::{Deserialize, Serialize};

/// What its lines begin with.
const MARK: &str = "tompion-neighbour ";

/// What a neighbour has done since it was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    /// CPU time that its load used, in nanoseconds.
    pub cpu_ns: u64,
    /// Time by its own clock since its load was switched on, in nanoseconds.
    pub at_ns: u64,
    /// What its load has done otherwise: operations and bytes, as far as it counts them.
    #[serde(default)]
    pub work: u64,
}

/// Gives a sign to whoever started this instance.
pub fn give(sign: Sign) {
    // Whoever does not listen any more has ended us, or will.
    eprintln!("{MARK}{}", serde_json::to_string(&sign).expect("numbers"));
}

/// What a line of an instance says of its neighbour, if it does. A console puts other
/// things before it.
pub(crate) fn sign(line: &str) -> Option<Sign> {
    let (_, json) = line.split_once(MARK)?;
    let mut values = serde_json::Deserializer::from_str(json).into_iter();
    values.next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_found_among_what_a_console_says() {
        let want = Sign {
            cpu_ns: 5,
            at_ns: 7,
            work: 0,
        };
        let line = format!("[    2.1] x{MARK}{{\"cpu_ns\":5,\"at_ns\":7}}\r");
        assert_eq!(sign(&line), Some(want));
        assert_eq!(sign("tompion-neighbour {\"cpu_ns\":5"), None);
        assert_eq!(sign("tompion: no"), None);
    }
}
