//! Timer events: the paper's figures and stability, load by load.

use super::numbers::{Line, table};
use super::tables::label;
use super::{Paint, heading, wrap};
use crate::data::ReportData;
use crate::figures::plain;
use crate::holds;
use crate::sections::{Section, load_title};
use crate::timer_events::columns;

/// One table a section: a row a mechanism and form, below its load.
pub(super) fn figures(out: &mut String, section: &Section<'_>, width: usize, paint: Paint) {
    let columns = columns(section);
    if columns.is_empty() {
        return;
    }
    let title = format!("{}: intervals and time error, in µs", section.title());
    heading(out, &wrap(&plain(&title), width, "", ""), paint);
    let mut titles = vec!["\nMechanism".to_owned()];
    titles.extend(columns.iter().map(|c| on_two_lines(&c.title)));
    let mut lines = Vec::new();
    for (i, load) in section.loads.iter().enumerate() {
        lines.push(Line::heading(plain(load_title(load))));
        lines.extend(section.rows.iter().filter_map(|row| {
            let shown = row.by_load[i].as_ref()?;
            Some(Line {
                label: format!("  {}", label(row)),
                numbers: columns.iter().map(|c| (c.of)(shown)).collect(),
            })
        }));
    }
    table(out, &titles, &lines, width);
}

/// What the searches found.
pub(super) fn holds(out: &mut String, data: &ReportData, width: usize, paint: Paint) {
    let rows = holds::rows(data);
    if rows.is_empty() {
        return;
    }
    heading(out, "Smallest period held", paint);
    let titles = ["Mechanism", "load", "held", "not held", "tried"].map(str::to_owned);
    let lines: Vec<Line> = rows
        .into_iter()
        .map(|row| Line {
            label: plain(&row.mechanism),
            numbers: vec![
                Some(plain(&row.load)),
                Some(row.smallest),
                Some(row.not_held),
                Some(row.tried.to_string()),
            ],
        })
        .collect();
    table(out, &titles, &lines, width);
    out.push_str(&wrap(holds::NOTE, width, "", ""));
    out.push('\n');
}

/// A heading as wide as the numbers below it: broken at its first space.
fn on_two_lines(title: &str) -> String {
    match title.split_once(' ') {
        Some((name, rest)) if name != "99" => format!("{name}\n{rest}"),
        _ => format!("\n{title}"),
    }
}

/// How to read the tables, once.
pub(super) const NOTE: &str = "Timer events: sd (n) is the standard deviation as Adamczyk 2015 prints it. On a grid the mean is the period as long \
     as none is missed; lateness and missed periods tell. TIE is the time error against the ideal grid, MTIE and TDEV are its \
     largest change within and its deviation over the time named (ITU-T G.810). Trials are pooled: moments merged, the largest \
     TIE and MTIE of any trial (one shorter than the time named counts with what it holds), TDEV as root mean square.";
