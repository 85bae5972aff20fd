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

/// The longest line that may be a sign, in bytes.
const LINE: usize = 4096;

/// What was heard of an instance so far: of whatever it says, a line and the last sign are kept.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The line that has not ended yet.
    begun: Vec<u8>,
    /// The last of its signs.
    pub last: Option<Sign>,
    /// How many it has given.
    pub signs: usize,
}

impl Heard {
    /// Hears what comes next.
    pub fn hear(&mut self, words: &[u8]) {
        let mut lines = words.split_inclusive(|byte| *byte == b'\n');
        lines.by_ref().for_each(|piece| {
            let room = LINE - self.begun.len();
            self.begun.extend(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                if let Some(sign) = sign(&String::from_utf8_lossy(&self.begun)) {
                    self.last = Some(sign);
                    self.signs += 1;
                }
                self.begun.clear();
            }
        });
    }
}

/// What a line of an instance says of its neighbour, if it does. A console puts other
/// things before it.
fn sign(line: &str) -> Option<Sign> {
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

    #[test]
    fn of_a_flood_a_line_and_the_last_sign_are_kept() {
        let mut heard = Heard::default();
        let line = format!("{MARK}{{\"cpu_ns\":5,\"at_ns\":7}}\n");
        // As pipes may give it.
        let (one, two) = line.as_bytes().split_at(20);
        heard.hear(one);
        assert_eq!(heard.signs, 0);
        heard.hear(two);
        assert_eq!((heard.signs, heard.last.map(|s| s.at_ns)), (1, Some(7)));
        for _ in 0..1_000 {
            heard.hear(&[b'x'; 4096]);
        }
        assert_eq!((heard.begun.len(), heard.signs), (LINE, 1));
        heard.hear(format!("\n{line}{line}").as_bytes());
        assert_eq!((heard.begun.len(), heard.signs), (0, 3));
    }
}
