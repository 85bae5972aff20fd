//! Daemons that keep time and answer whatever they like.

use std::cell::{Cell, RefCell};

use tompion_model::{TimeKeeper, TimeKeeping};

use crate::input::Input;
use crate::one_line;

/// More than a keeper is asked for: once how it stands, once for the list of its sources, and for
/// each of these.
const MOST_QUESTIONS: u32 = 1 + 1 + 16;
/// What the answer of a datagram holds at most.
const MOST_BYTES: usize = 2048;

/// The answers that an input has, one after the other: how each is made, its length in two bytes, and
/// its bytes. Those made right have the header that `made_right` puts before them.
struct Answers<'a> {
    input: RefCell<Input<'a>>,
    asked: Cell<u32>,
    /// Whether the first answer was one to its question.
    is_believable: Cell<bool>,
}

/// How one protocol's answers begin.
pub struct Protocol {
    pub port: u16,
    /// The answer with this content to a question.
    pub made_right: fn(question: &[u8], content: &[u8]) -> Vec<u8>,
    /// Whether an answer is one to a question, by its header.
    pub is_right: fn(question: &[u8], answer: &[u8]) -> bool,
}

/// Tries a protocol with the answers in `bytes`. Some daemon is found only where the first answer is
/// to its question.
pub fn tried(protocol: &Protocol, names: &[&str], bytes: &[u8]) {
    let answers = Answers {
        input: RefCell::new(Input::new(bytes)),
        asked: Cell::new(0),
        is_believable: Cell::new(false),
    };
    let found = tompion_host::fuzz::time_keeping(|port, question| {
        (port == protocol.port).then_some(())?;
        answers.next(protocol, question)
    });
    let asked = answers.asked.get();
    assert!(asked <= MOST_QUESTIONS, "{asked} questions");
    let keepers = found.as_ref().map_or(&[][..], |found| &found.keepers);
    assert!(keepers.len() <= 1, "{keepers:?}");
    for keeper in keepers {
        assert!(answers.is_believable.get(), "an answer to something else");
        assert!(names.contains(&keeper.name.as_str()), "{keeper:?}");
        sound(keeper);
    }
    if let Some(found) = found {
        let written = serde_json::to_string(&found).expect("JSON");
        let read: TimeKeeping = serde_json::from_str(&written).expect("what was written");
        assert_eq!(read, found);
    }
}

/// Refuses what could not be shown, or contradicts itself.
fn sound(keeper: &TimeKeeper) {
    let is_in_step = keeper.in_step == Some(true);
    assert_eq!(keeper.error_at_most_ns.is_some(), is_in_step, "{keeper:?}");
    assert_eq!(keeper.offset_ns.is_some(), is_in_step, "{keeper:?}");
    if let (Some(most), Some(offset)) = (keeper.error_at_most_ns, keeper.offset_ns) {
        assert!(offset.unsigned_abs() <= most, "{keeper:?}");
        // More no run holds.
        assert!(most <= 1 << 62, "{keeper:?}");
    }
    assert!(keeper.sources.len() <= 16, "{keeper:?}");
    for source in &keeper.sources {
        one_line(&source.name);
        assert!(source.name.chars().count() <= 64, "{source:?}");
        let states = ["selected", "usable", "unreachable", "not usable"];
        assert!(states.contains(&source.state.as_str()), "{source:?}");
    }
    keeper.note.iter().for_each(|note| one_line(note));
}

impl Answers<'_> {
    fn next(&self, protocol: &Protocol, question: &[u8]) -> Option<Vec<u8>> {
        let is_first = self.asked.replace(self.asked.get() + 1) == 0;
        let mut input = self.input.borrow_mut();
        if input.is_empty() {
            return None;
        }
        let (how, length) = (input.byte(), usize::from(input.u16()));
        let content = input.bytes(length.min(MOST_BYTES));
        let answer = match how % 4 {
            0 => return None,
            1 => content.to_vec(),
            _ => (protocol.made_right)(question, content),
        };
        if is_first {
            self.is_believable
                .set((protocol.is_right)(question, &answer));
        }
        Some(answer)
    }
}
