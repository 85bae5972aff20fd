//! The table of what was measured.

use comfy_table::{Cell, ContentArrangement, LineStyle, Table, TableStyle};

use tompion_assess::verdict::Outcome;

use super::numbers::{change, from_to, share};
use crate::advice::{Advice, Effect, KnobAdvice, Status};
use crate::effect::NO_EFFECT;
use crate::knob::Quantity;

/// A rule below the headings is all the frame a table has.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Every remedy that was measured, the best first.
pub(super) fn measured(out: &mut String, advice: &Advice, width: usize) {
    let rows: Vec<&KnobAdvice> = advice.measured().collect();
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width as u16)
        .set_header(["", "Remedy", "Here", &advice.quantile, "Median"]);
    for (rank, knob) in rows.into_iter().enumerate() {
        let rank = match knob.status {
            Status::Helps | Status::Mixed => (rank + 1).to_string(),
            _ => String::new(),
        };
        table.add_row([
            Cell::new(rank),
            Cell::new(name(knob)),
            Cell::new(here(knob)),
            Cell::new(cell(knob, true)),
            Cell::new(cell(knob, false)),
        ]);
    }
    out.push('\n');
    for line in table.to_string().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str(&super::wrap(
        &format!(
            "Each cell: without and with the remedy, and the change, pair by pair, with its {:.0} % \
             interval. Lower is better. \"Here\" goes by {}: \"no effect\" where the interval lies within \
             {:.0} % on both sides. All tests together are one family (Holm).",
            100.0 * advice.level,
            advice.quantile,
            100.0 * NO_EFFECT
        ),
        width,
        "",
        "",
    ));
    out.push('\n');
}

/// Its name, and what was measured where that is not the wake-up latency.
fn name(knob: &KnobAdvice) -> String {
    // Broken here rather than somewhere in the clocksource's name.
    let name = knob.name.replace('=', "=\n");
    match knob.quantity {
        Quantity::WakeUp | Quantity::WallClock => name,
        Quantity::ReadCost => format!("{name}\n(read cost)"),
        Quantity::ProgramWakeUp => format!("{name}\n(a program)"),
    }
}

fn here(knob: &KnobAdvice) -> &'static str {
    match knob.status {
        Status::Helps => "helps",
        Status::Mixed => "helps,\nmedian\nworse",
        Status::Harms => "harms",
        Status::NoEffect => "no effect",
        _ => Outcome::Inconclusive.in_words(),
    }
}

/// The effect on the quantile that is judged, or on the median.
fn cell(knob: &KnobAdvice, judged: bool) -> String {
    let effect: Option<&Effect> = knob.effects.iter().find(|e| e.judged == judged);
    let changed = |e: &Effect| match judged {
        true => share(e.low_share, e.change_share, e.high_share),
        false => change(e.change_ns, e.low_ns, e.high_ns),
    };
    effect.map_or_else(
        || "too few pairs".to_owned(),
        |e| format!("{}\n{}", from_to(e.off_ns, e.on_ns), changed(e)),
    )
}
