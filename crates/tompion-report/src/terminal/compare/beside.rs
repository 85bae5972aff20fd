//! A run beside published figures.

use tompion_compare::Beside;
use tompion_record::format_ns;

use super::{Line, Paint, heading, table, wrap};
use crate::figures::{NONE, plain, times};
use crate::sections::factors_in_words;

pub(super) fn published(out: &mut String, beside: &Beside, width: usize, paint: Paint) {
    let title = format!("{} beside {}", beside.run, beside.published);
    heading(out, &wrap(&plain(&title), width, "", ""), paint);
    out.push_str(&paint.dim(&wrap(&beside.citation, width, "", "")));
    out.push('\n');
    let titles = ["Cell and figure", "here", "published", "here / it"].map(str::to_owned);
    let mut marks: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for row in &beside.rows {
        lines.push(Line {
            label: plain(&format!(
                "{}: {}",
                factors_in_words(&row.cell),
                row.statistic.trim_end_matches("_ns").replace('_', " ")
            )),
            numbers: vec![Some(format_ns(row.own_ns)), None, None],
        });
        for p in &row.published {
            let mark = p.marked.as_deref().map_or_else(String::new, |why| {
                let at = marks.iter().position(|m| *m == why).unwrap_or_else(|| {
                    marks.push(why);
                    marks.len() - 1
                });
                format!(" [{}]", at + 1)
            });
            let near = if p.same { "" } else { " ~" };
            lines.push(Line {
                label: format!("  {}{near}{mark}", plain(&p.label)),
                numbers: vec![
                    Some(String::new()),
                    Some(format_ns(p.ns)),
                    Some(if p.ns > 0.0 {
                        times(row.own_ns / p.ns)
                    } else {
                        NONE.to_owned()
                    }),
                ],
            });
        }
    }
    table(out, &titles, &lines, width);
    let mut line = |text: &str, first: &str| {
        out.push_str(&wrap(&plain(text), width, first, "  "));
        out.push('\n');
    };
    for (i, why) in marks.iter().enumerate() {
        line(why, &format!("[{}] ", i + 1));
    }
    let mut notes: Vec<&str> = Vec::new();
    for note in beside.rows.iter().flat_map(|r| &r.notes) {
        if !notes.contains(note) {
            notes.push(note);
        }
    }
    for note in notes {
        line(note, "~ ");
    }
    for caveat in &beside.caveats {
        line(caveat, "· ");
    }
}
