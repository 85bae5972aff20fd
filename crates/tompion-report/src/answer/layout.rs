//! What both kinds of answer have on their screen, and what gives way where there is no room.

use tompion_assess::verdict::Outcome;

use super::lines::{LINES, LateLine, PLACES, alerts, head, joined, trust};
use super::steps::{Step, to_do};
use crate::data::ReportData;
use crate::figures::plural;
use crate::screen::{Paint, wrap};

/// Uses that have a line before anything else gives way.
const USES: usize = 9;

/// Lines of the table of uses: its heading, a use, and how many more there are.
const FEWEST: usize = 3;

/// What the figures of both tables are, in one line at 80 columns.
const LATE_BY: &str =
    "Late by: how late a sleep ends at a random moment; each use at its own period.";
/// The same where a range stands for the figures of blocks that disagree.
const LATE_FROM_TO: &str =
    "Late by: how late a sleep ends at a random moment; from-to: its blocks disagree.";

/// Where a screen has no room for all sleeps.
fn late_by(is_range: bool, left_out: usize) -> String {
    let noun = plural(left_out as u64, "more row", "more rows");
    match (is_range, left_out) {
        (false, 0) => LATE_BY.to_owned(),
        (true, 0) => LATE_FROM_TO.to_owned(),
        (false, n) => {
            format!("Late by: how late a sleep ends at a random moment; {n} {noun} in the report.")
        }
        (true, n) => {
            format!("Late by: from-to where its blocks disagree; {n} {noun} in the report.")
        }
    }
}

/// Where it has room for none.
const NONE_LATE: &str = "How late sleeps end is in the report.";

/// What a screen says between its opening and its end.
pub struct Body<'a> {
    /// The parts of one machine, a line each.
    pub parts: Vec<String>,
    /// How late sleeps are: a heading and rows.
    pub late: Vec<LateLine>,
    /// How many uses there are.
    pub uses: usize,
    /// A heading and the uses, in so many lines at most.
    pub fit: Box<dyn Fn(usize) -> Vec<String> + 'a>,
    /// What to do.
    pub steps: &'a [Step],
    /// What is said where there is nothing to do.
    pub nothing: &'a str,
    /// How much is decided, and what is left out.
    pub end: Vec<String>,
    /// What its words mean, as many lines as there is room for.
    pub legend: Vec<String>,
    /// How many lines more follow beside the places of page and run.
    pub below: usize,
}

/// The screen, in at most [`LINES`] lines with what follows it: where these do not hold all of it, first what steps gain gives way,
/// then remedies in the table of latencies, then uses.
pub fn lay_out(mut opening: Vec<String>, body: Body<'_>, width: usize, paint: &Paint) -> String {
    let Body {
        parts,
        mut late,
        uses,
        fit,
        steps,
        nothing,
        end,
        mut legend,
        below,
    } = body;
    let after = PLACES + below;
    let last = usize::from(!late.is_empty()) + end.len() + 1;
    let to_do = |room| to_do(steps, nothing, width, room, paint);
    // Uses that are required have a line each below, even where that leaves none for the parts and for what to do.
    let n = steps.len() as u64;
    let in_short = format!("Do now: {n} {}, in the report", plural(n, "step", "steps"));
    let in_short = vec![String::new(), in_short];
    let is_beyond = |lines: usize| below > 0 && opening.len() + lines + last + after > LINES;
    let rows = usize::from(!parts.is_empty()) + parts.len();
    let is_crowded = n > 0 && is_beyond(rows + to_do(0).len());
    let has_parts = rows > 0 && !(is_crowded && is_beyond(rows + in_short.len()));
    let to_do = |room| match is_crowded {
        true => in_short.clone(),
        false => to_do(room),
    };
    if has_parts {
        opening.push(String::new());
        opening.extend(parts);
    }
    let least = to_do(0).len();
    // An empty line precedes each of the tables and the end.
    let room = |late: &[LateLine]| {
        let late = late.len() + usize::from(!late.is_empty());
        let taken = opening.len() + late + least + last + after;
        LINES.saturating_sub(taken + 1)
    };
    let needed = 1 + uses.min(USES) + usize::from(uses > USES);
    // Words give way before figures.
    while room(&late) < needed + legend.len() && legend.pop().is_some() {}
    let last = last + legend.len();
    let rows = late.len();
    while room(&late) < needed && late.len() > 2 {
        late.pop();
    }
    if below > 0 && room(&late) < needed {
        late.clear();
    }
    let room_left = room(&late) - legend.len();
    let explained = match (rows, late.len()) {
        (0, _) => None,
        (_, 0) => Some(NONE_LATE.to_owned()),
        (all, left) => {
            let is_range = late.iter().any(|line| line.has_range);
            Some(late_by(is_range, all - left))
        }
    };
    let explained = explained.map(|words| paint.dim(&words));
    let late = late.into_iter().map(|line| line.text).collect();
    // Uses that are required have a line each below.
    let fit = match below > 0 && room_left < FEWEST {
        true => Vec::new(),
        false => fit(room_left.max(FEWEST)),
    };
    let mut lines = opening;
    for table in [late, fit] {
        if !table.is_empty() {
            lines.push(String::new());
            lines.extend(table);
        }
    }
    let room = LINES.saturating_sub(lines.len() + last + after);
    // What steps gain says more than an empty line.
    let whole = to_do(usize::MAX).len();
    let is_tight = whole == room + 1;
    let room = room + usize::from(is_tight);
    lines.extend(to_do(room));
    if !is_tight {
        lines.push(String::new());
    }
    lines.extend(explained);
    lines.extend(legend.iter().map(|words| paint.dim(words)));
    lines.extend(end);
    joined(lines)
}

/// What both begin with: the machine, whether time can be trusted, why not, and what must not be overlooked.
pub fn opening(
    data: &ReportData,
    (verdict, why): &(&str, String),
    cause: &str,
    width: usize,
    paint: &Paint,
) -> Vec<String> {
    let mut lines = head(data, width);
    lines.push(String::new());
    lines.extend(trust(verdict, why, width, paint));
    let cause = wrap(cause, width, "", "  ");
    lines.extend(cause.lines().map(|line| paint.bold(line)));
    let alerts = alerts(data, width);
    lines.extend(alerts.iter().map(|line| paint.warn(line)));
    lines
}

/// The uses in at most `room` lines with their heading: where these do not hold all, what fails first, then what is
/// open, and how many more there are.
pub fn uses_in<T>(
    heading: String,
    uses: &[T],
    room: usize,
    outcome: impl Fn(&T) -> Outcome,
    row: impl Fn(&T) -> String,
) -> Vec<String> {
    let mut lines = vec![heading];
    if uses.len() < room {
        lines.extend(uses.iter().map(row));
        return lines;
    }
    let mut sorted: Vec<&T> = uses.iter().collect();
    sorted.sort_by_key(|of_use| std::cmp::Reverse(outcome(of_use)));
    let shown = room.saturating_sub(2);
    lines.extend(sorted.iter().take(shown).map(|of_use| row(of_use)));
    let more = uses.len() - shown;
    let noun = plural(more as u64, "more use", "more uses");
    lines.push(format!("and {more} {noun} in the report"));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::steps::Mends;
    use super::*;

    const PAINT: Paint = Paint { color: false };

    fn laid_out(opening: usize, late: usize, uses: usize, steps: usize) -> Vec<String> {
        laid_out_before(0, opening, late, uses, steps)
    }

    /// With so many lines below.
    fn laid_out_before(
        below: usize,
        opening: usize,
        late: usize,
        uses: usize,
        steps: usize,
    ) -> Vec<String> {
        let of = |what: &str, n: usize| (0..n).map(|i| format!("{what} {i}")).collect::<Vec<_>>();
        // The last one has a range.
        let late_lines = of("late", late).into_iter().enumerate().map(|(i, text)| {
            let has_range = i + 1 == late;
            LateLine { text, has_range }
        });
        let all: Vec<usize> = (0..uses).collect();
        let steps: Vec<Step> = (0..steps).map(|_| Step::that(Mends::Clock)).collect();
        let body = Body {
            parts: of("part", 4),
            late: late_lines.collect(),
            uses,
            fit: Box::new(move |room| {
                let outcome = |i: &usize| match i % 2 {
                    0 => Outcome::Pass,
                    _ => Outcome::Fail,
                };
                uses_in("Fit".to_owned(), &all, room, outcome, |i| {
                    format!("use {i}")
                })
            }),
            steps: &steps,
            nothing: "nothing to do.",
            end: of("end", 1),
            legend: vec!["legend".to_owned()],
            below,
        };
        let text = lay_out(of("opening", opening), body, 80, &PAINT);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_many_required_uses_leave_no_room_for_is_in_the_report() {
        let of = |below| {
            let lines = laid_out_before(below, 7, 4, 9, 3);
            assert!(lines.len() + below + PLACES <= LINES, "{below}: {lines:#?}");
            let told = lines.contains(&"Do now: 3 steps, in the report".to_owned());
            (told, count(&lines, "part"))
        };
        assert_eq!(of(9), (false, 4));
        assert_eq!(of(20), (true, 4));
        assert_eq!(of(23), (true, 0));
    }

    fn count(lines: &[String], what: &str) -> usize {
        lines.iter().filter(|line| line.starts_with(what)).count()
    }

    #[test]
    fn what_steps_gain_gives_way_first_then_remedies_then_uses() {
        let roomy = laid_out(5, 4, 9, 1);
        assert_eq!(count(&roomy, "legend"), 1);
        assert!(roomy.len() + PLACES <= LINES && count(&roomy, "Late by") == 1);
        for (is_range, left_out) in [(false, 0), (false, 99), (true, 0), (true, 99)] {
            assert!(late_by(is_range, left_out).len() <= 80);
        }
        let tight = laid_out(7, 4, 9, 3);
        assert_eq!(count(&tight, "legend"), 1);
        assert!(tight.len() + PLACES <= LINES, "{tight:#?}");
        assert_eq!(
            [
                count(&tight, "Late by"),
                count(&tight, "late"),
                count(&tight, "use")
            ],
            [1, 4, 9]
        );
        assert!(tight.iter().any(|line| line == LATE_FROM_TO));
        let tighter = laid_out(10, 4, 9, 3);
        assert!(tighter.len() + PLACES <= LINES, "{tighter:#?}");
        assert_eq!(
            [
                count(&tighter, "Late by"),
                count(&tighter, "late"),
                count(&tighter, "use")
            ],
            [1, 2, 9]
        );
        assert!(
            tighter.iter().any(|line| *line == late_by(false, 2)),
            "no range is left to explain: {tighter:#?}"
        );
        for below in [1, 4, 9, 12, 18] {
            let lines = laid_out_before(below, 7, 4, 9, 2);
            assert!(lines.len() + below + PLACES <= LINES, "{below}: {lines:#?}");
            let is_gone = count(&lines, "late") == 0;
            assert_eq!(lines.iter().any(|line| line == NONE_LATE), is_gone);
        }
        let none = laid_out(9, 4, 9, 0);
        assert_eq!(count(&none, "Do now: nothing to do."), 1);
    }

    #[test]
    fn of_very_many_uses_those_that_fail_come_first_and_the_others_are_counted() {
        for uses in [10, 30, 60, 1_000] {
            let lines = laid_out(9, 4, uses, 2);
            assert!(lines.len() + PLACES <= LINES, "{lines:#?}");
            let shown: Vec<&String> = lines.iter().filter(|l| l.starts_with("use ")).collect();
            let more = format!("and {} more uses in the report", uses - shown.len());
            match uses {
                10 => assert_eq!(shown.len(), 10),
                _ => assert!(lines.contains(&more) && shown.len() >= 9, "{lines:#?}"),
            }
        }
        let lines = laid_out(9, 4, 60, 2);
        let shown: Vec<&String> = lines.iter().filter(|l| l.starts_with("use ")).collect();
        assert_eq!([shown[0].as_str(), shown[1].as_str()], ["use 1", "use 3"]);
    }
}
