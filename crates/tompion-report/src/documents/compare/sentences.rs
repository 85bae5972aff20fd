//! What the tables of a comparison come to.

use tompion_assess::compare::{Basis, Comparison, Row, Verdict};

use super::{warning, words};
use crate::blocks::{Block, Content};
use crate::figures::{count, plural};

/// Sentences shown; `--json` has one for each row.
const MOST: usize = 12;

pub(super) fn sentences<'a>(all: &Comparison) -> Vec<Block<'a>> {
    let mut differing: Vec<&Row> = all.rows.iter().filter(|r| r.differs(all.level)).collect();
    let size = |r: &Row| match &r.verdict {
        Verdict::Found(f) => f.ratio.map_or(f64::INFINITY, |(ratio, _)| ratio.ln().abs()),
        _ => 0.0,
    };
    differing.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let shown = differing.iter().take(MOST);
    let mut said: Vec<String> = shown.map(|row| words::sentence(all, row)).collect();
    if let more @ 1.. = differing.len().saturating_sub(MOST) {
        said.push(format!("and {more} more, in --json."));
    }
    let alike = |r: &&Row| matches!(r.verdict, Verdict::Found(_)) && !r.differs(all.level);
    let n = all.rows.iter().filter(alike).count() as u64;
    if n > 0 {
        said.push(format!(
            "No difference was found in {} {}; their intervals say how large one could still be{}.",
            count(n),
            plural(n, "comparison", "comparisons"),
            words::largest_missed(all),
        ));
    }
    let mut without_answer = |is: fn(&Verdict) -> bool, one: &str, several: &str| {
        let rows: Vec<&Row> = all.rows.iter().filter(|r| is(&r.verdict)).collect();
        if let Some(row) = rows.first() {
            let n = rows.len() as u64;
            said.push(format!(
                "{} {}, for example: {}",
                count(n),
                plural(n, one, several),
                words::sentence(all, row)
            ));
        }
    };
    without_answer(
        |v| matches!(v, Verdict::Drifts(..)),
        "comparison is not decidable for drift",
        "comparisons are not decidable for drift",
    );
    without_answer(
        |v| matches!(v, Verdict::TooFew { .. }),
        "comparison is not decidable",
        "comparisons are not decidable",
    );
    without_answer(
        |v| matches!(v, Verdict::NoFigure),
        "comparison has no figure",
        "comparisons have no figure",
    );
    let mut blocks = vec![
        Content::Heading("In words".to_owned()).into(),
        Content::List(said).into(),
    ];
    let n = all.rows.iter().filter(|r| r.leaves_out_trials()).count() as u64;
    if n > 0 {
        let text = format!(
            "{} {} {} without the figure: those with too few samples for it, which tend to \
             be the slow ones{}. --json has the counts.",
            count(n),
            plural(n, "comparison leaves out", "comparisons leave out"),
            if all.of_runs { "runs" } else { "trials" },
            if all.paired {
                ", and those without a partner in their block"
            } else {
                ""
            },
        );
        blocks.push(warning(text));
    }
    let stretches =
        |r: &&Row| matches!(&r.verdict, Verdict::Found(f) if f.basis == Basis::Stretches);
    let n = all.rows.iter().filter(stretches).count() as u64;
    if n > 0 {
        let text = format!(
            "{} {} on stretches of single trials instead, each longer than the measured \
             autocorrelation time. The figures are those of these trials: give --blocks 8 to compare \
             runs.",
            count(n),
            plural(n, "comparison rests", "comparisons rest")
        );
        blocks.push(Content::Note(text).into());
    }
    blocks
}
