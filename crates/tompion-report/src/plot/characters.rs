//! A small complementary distribution in characters: a letter a curve, decades of
//! values across, decades of shares down.

use super::{share_tick, time_tick};
use crate::figures::plain;

/// Columns of a decade of values.
const DECADE: usize = 8;
/// Lines of a decade of shares.
const LINES: usize = 2;
/// Decades of shares shown.
const SHARES: usize = 4;
/// Curves in one plot.
const MOST: usize = 8;
/// Room for the shares at the left.
const LEFT: usize = 8;

/// Draws curves, each with its label, in at most `width` columns; steps are as in
/// [`ccdf::steps`](crate::ccdf::steps). Nothing where no value is above zero.
pub(crate) fn draw(curves: &[(String, &[(f64, f64)])], width: usize) -> Option<String> {
    let curves = &curves[..curves.len().min(MOST)];
    let values = || {
        curves
            .iter()
            .flat_map(|c| c.1)
            .map(|s| s.0)
            .filter(|v| *v > 0.0)
    };
    let low = values().reduce(f64::min)?.log10().floor() as i32;
    let high = (values().reduce(f64::max)?.log10().floor() as i32 + 1).max(low + 1);
    let decades = (high - low) as usize;
    let per = DECADE.min(width.saturating_sub(LEFT + 2) / decades).max(2);
    let (columns, lines) = (decades * per, SHARES * LINES);
    let mut cells = vec![vec![' '; columns + 1]; lines + 1];
    for (letter, (_, steps)) in ('a'..='z').zip(curves) {
        for (line, row) in cells.iter_mut().enumerate() {
            let share = 10f64.powf(-(line as f64) / LINES as f64);
            // The largest value that so large a share reaches.
            let reach = steps.iter().rev().find(|s| s.1 >= share * 0.999);
            let Some((value, _)) = reach else { continue };
            if line > 0 && steps.last().is_some_and(|s| s.1 > share) {
                continue; // Too few samples for so small a share.
            }
            let at = (value.max(10f64.powi(low)).log10() - f64::from(low)) * per as f64;
            let at = (at.round() as usize).min(columns);
            let cell = &mut row[at];
            *cell = if *cell == ' ' { letter } else { '+' };
        }
    }
    let mut out = String::new();
    for (line, row) in cells.iter().enumerate() {
        let label = match line % LINES {
            0 => share_tick(&10f64.powi(-((line / LINES) as i32))),
            _ => String::new(),
        };
        let text: String = row.iter().collect();
        out.push_str(&format!("{label:>6} │{}\n", text.trim_end()));
    }
    out.push_str(&format!("{:>6} └", ""));
    for i in 0..columns {
        out.push(if i % per == 0 { '┬' } else { '─' });
    }
    out.push_str("┬\n");
    out.push_str(&axis(low, decades, per));
    for (letter, (label, _)) in ('a'..='z').zip(curves) {
        out.push_str(&format!("{:LEFT$}{letter} {}\n", "", plain(label)));
    }
    if cells.iter().flatten().any(|c| *c == '+') {
        out.push_str(&format!("{:LEFT$}+ several\n", ""));
    }
    Some(out)
}

/// Decades below their ticks, as many as have room.
fn axis(low: i32, decades: usize, per: usize) -> String {
    let mut line = " ".repeat(LEFT - 1);
    for i in 0..=decades {
        let tick = time_tick(&10f64.powi(low + i as i32));
        let at = LEFT - 1 + i * per;
        let begin = at.saturating_sub(tick.chars().count() / 2);
        let used = line.chars().count();
        if begin > used || i == 0 {
            line.push_str(&" ".repeat(begin.saturating_sub(used)));
            line.push_str(&tick);
        }
    }
    line.push('\n');
    line
}
