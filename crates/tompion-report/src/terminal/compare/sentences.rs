//! What the tables of a comparison come to, and what its gates say.

use tompion_compare::{Basis, Comparison, Judgement, Row, Verdict};

use super::{Paint, heading, wrap};
use crate::compare::{CompareView, words};
use crate::figures::{count, plain, plural};

/// Sentences printed; `--json` has one for each row.
const MOST: usize = 12;

pub(super) fn sentences(out: &mut String, all: &Comparison, width: usize, paint: Paint) {
    let mut differing: Vec<&Row> = all.rows.iter().filter(|r| r.differs(all.level)).collect();
    let size = |r: &Row| match &r.verdict {
        Verdict::Found(f) => f.ratio.map_or(f64::INFINITY, |(ratio, _)| ratio.ln().abs()),
        _ => 0.0,
    };
    differing.sort_by(|a, b| size(b).total_cmp(&size(a)));
    heading(out, "In words", paint);
    for row in differing.iter().take(MOST) {
        out.push_str(&wrap(&plain(&words::sentence(all, row)), width, "· ", "  "));
        out.push('\n');
    }
    if differing.len() > MOST {
        let more = format!("and {} more, in --json.", differing.len() - MOST);
        out.push_str(&wrap(&more, width, "· ", "  "));
        out.push('\n');
    }
    let alike = |r: &&Row| matches!(r.verdict, Verdict::Found(_)) && !r.differs(all.level);
    let n = all.rows.iter().filter(alike).count() as u64;
    if n > 0 {
        let text = format!(
            "No difference was found in {} {}; their intervals tell how large one could still be.",
            count(n),
            plural(n, "comparison", "comparisons")
        );
        out.push_str(&wrap(&text, width, "· ", "  "));
        out.push('\n');
    }
    let mut without_answer = |is: fn(&Verdict) -> bool, one: &str, several: &str| {
        let rows: Vec<&Row> = all.rows.iter().filter(|r| is(&r.verdict)).collect();
        if let Some(row) = rows.first() {
            let n = rows.len() as u64;
            let text = format!(
                "{} {}, for example: {}",
                count(n),
                plural(n, one, several),
                words::sentence(all, row)
            );
            out.push_str(&wrap(&plain(&text), width, "· ", "  "));
            out.push('\n');
        }
    };
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
    let n = all.rows.iter().filter(|r| r.leaves_out_trials()).count() as u64;
    if n > 0 {
        let text = format!(
            "{} {} trials without the figure: those with too few samples for it, which tend to \
             be the slow ones{}. --json has the counts.",
            count(n),
            plural(n, "comparison leaves out", "comparisons leave out"),
            if all.paired {
                ", and those without a partner in their block"
            } else {
                ""
            },
        );
        out.push_str(&paint.warn(&wrap(&text, width, "! ", "  ")));
        out.push('\n');
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
        out.push_str(&paint.dim(&wrap(&text, width, "· ", "  ")));
        out.push('\n');
    }
}

pub(super) fn gates(
    out: &mut String,
    view: &CompareView,
    sides: &[String],
    width: usize,
    paint: Paint,
) {
    heading(out, "Gates", paint);
    let mut last = "";
    for judged in &view.gates {
        if judged.gate != last {
            out.push_str(&wrap(
                &plain(&format!("fail if {}", judged.gate)),
                width,
                "",
                "  ",
            ));
            out.push('\n');
            last = &judged.gate;
        }
        let sign = match judged.judgement {
            Judgement::Pass => "✓ pass",
            Judgement::Fail => "✗ fail",
            Judgement::Inconclusive => "? inconclusive",
        };
        let text = format!("{sign}  {}", words::gate_sentence(sides, judged));
        let text = wrap(&plain(&text), width, "  ", "    ");
        out.push_str(&match judged.judgement {
            Judgement::Pass => paint.good(&text),
            _ => paint.warn(&text),
        });
        out.push('\n');
    }
}
