//! How to repeat the run, and the sources of what it measures.

use super::{Machine, Question, Section};
use crate::blocks::{Block, Content, Media};
use crate::data::ReportData;
use crate::figures::shell_words;

pub(super) static ENTRY: Section = Section {
    name: "again",
    title: "Run it again",
    question: Some(Question::Trust),
    probe: None,
    blocks,
    // Machines find it in the header.
    machine: Machine::Keys(|_, _| {}),
};

const SOURCES: [&str; 7] = [
    "Kirova et al. 2019, Future Internet 11(8):179: read cost, wake-up latency, the form of both plots, equation 1 for packet pacing.",
    "Korniichuk et al. 2017: the same measures on Xen and VirtualBox.",
    "Perneel et al. 2015: stalls of a busy loop (clock tick processing duration), their lengths in binary bins.",
    "Adamczyk and Chydzinski 2015, PLOS ONE 10(7): periodic timer events, their mean and standard deviation.",
    "ITU-T G.810 (1996) and Riley, NIST SP 1065: MTIE and TDEV.",
    "Hyndman and Fan 1996, The American Statistician 50(4): quantiles, definition 7.",
    "Davison and Hinkley 1997, Bootstrap Methods and their Application: intervals from whole blocks.",
];

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let header = &data.record().header;
    let note = format!(
        "{}, {}, seed {}. Times differ from run to run; the order of trials repeats with the seed.",
        header.tool, header.design.order, header.design.seed
    );
    vec![
        Content::Code(shell_words(&header.command_line)).on(Media::NOT_SCREEN),
        Content::Note(note).on(Media::NOT_SCREEN),
        Content::Heading("Sources".to_owned()).on(Media::PAGE),
        Content::List(SOURCES.map(str::to_owned).into()).on(Media::PAGE),
    ]
}
