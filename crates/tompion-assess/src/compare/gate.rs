//! Gates for continuous integration: a limit on a change, judged on its interval.

use std::str::FromStr;
use tompion_model::InvalidValue;

use tompion_model::{Factors, factor, parse_duration_ns};

use crate::compare::comparison::one;
use crate::compare::{Error, Figure, Result, Settings, Side, Verdict};

/// `wake-up/usleep/100us/idle p99 > +20%`: fail if that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    text: String,
    wanted: Vec<Wanted>,
    figure: Figure,
    above: bool,
    limit: Limit,
}

/// One part of a selector.
#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    /// A level of the probe, the method, the target or the load.
    Bare(String),
    /// A level of the factor of that name.
    Named(String, String),
}

/// How large a change may be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Relative, as a ratio: 1.2 for `+20%`.
    Ratio(f64),
    /// In the figure's unit: nanoseconds, or a share of 1 for `pp`.
    Shift(f64),
}

/// What a gate says of a cell or of all of them; the later the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// The whole interval is within the limit.
    Pass,
    /// The interval spans the limit, or nothing could be decided.
    Inconclusive,
    /// The whole interval is beyond the limit.
    Fail,
}

/// A gate held against one cell of one side.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The gate as it was written.
    pub gate: String,
    /// The cell.
    pub cell: Factors,
    /// The figure.
    pub figure: Figure,
    /// Place of the side that is held against the first.
    pub side: usize,
    /// What it says.
    pub judgement: Judgement,
    /// The change that was judged: a ratio where the limit is in per cent, else in the
    /// figure's unit; estimate, low and high. `None` where nothing could be decided.
    pub change: Option<(f64, f64, f64)>,
    /// Whether `change` is a ratio.
    pub relative: bool,
    /// What the comparison came to.
    pub verdict: Verdict,
}

impl FromStr for Gate {
    type Err = InvalidValue;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidValue> {
        let wrong = |why: &str| {
            InvalidValue::from(format!(
                "`{text}`: {why}; write SELECTOR STATISTIC > +CHANGE, for example \
                 'wake-up/usleep/100us/idle p99 > +20%', '... median > +5us' or '... missed > +1pp'"
            ))
        };
        let at = text
            .find(['>', '<'])
            .ok_or_else(|| wrong("there is no > or <"))?;
        let (subject, limit) = (&text[..at], &text[at + 1..]);
        let words: Vec<&str> = subject.split_whitespace().collect();
        let [selector, figure] = words[..] else {
            return Err(wrong(match words.len() {
                0 => "there is no cell",
                1 => "there is no statistic",
                _ => "there are more words than a cell and a statistic",
            }));
        };
        let figure: Figure = figure
            .parse()
            .map_err(|e: InvalidValue| wrong(&e.to_string()))?;
        let wanted = selector.split('/').map(|part| match part.split_once('=') {
            _ if part.is_empty() => Err(wrong("a part of the cell is empty")),
            Some((name, level)) => Ok(Wanted::Named(name.to_owned(), level.to_owned())),
            None => Ok(Wanted::Bare(part.to_owned())),
        });
        Ok(Self {
            text: text.trim().to_owned(),
            wanted: wanted.collect::<std::result::Result<_, _>>()?,
            figure,
            above: text.as_bytes()[at] == b'>',
            limit: limit_of(limit.trim(), figure).map_err(|e| wrong(&e.to_string()))?,
        })
    }
}

fn limit_of(text: &str, figure: Figure) -> std::result::Result<Limit, InvalidValue> {
    let (sign, size) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = size.trim();
    let number = |digits: &str| {
        let value = digits.trim().parse::<f64>().ok();
        value.filter(|v| v.is_finite() && *v >= 0.0)
    };
    let unclear = || format!("`{text}` is no change");
    if let Some(digits) = size.strip_suffix('%') {
        let ratio = 1.0 + sign * number(digits).ok_or_else(unclear)? / 100.0;
        return match ratio > 0.0 {
            true => Ok(Limit::Ratio(ratio)),
            false => Err(format!("`{text}`: nothing falls by 100 % or more").into()),
        };
    }
    if let Some(digits) = size.strip_suffix("pp") {
        let points = number(digits).ok_or_else(unclear)?;
        return match figure.is_share() {
            true => Ok(Limit::Shift(sign * points / 100.0)),
            false => Err(format!("{figure} is a time: give a time or per cent").into()),
        };
    }
    if figure.is_share() {
        return Err(format!("{figure} is a share: give % or percentage points (pp)").into());
    }
    if number(size) == Some(0.0) {
        return Ok(Limit::Shift(0.0));
    }
    let ns = parse_duration_ns(size).map_err(|_| unclear())?;
    Ok(Limit::Shift(sign * ns as f64))
}

impl Gate {
    /// Holds the gate against every cell that it selects, on every side after the first.
    pub fn judge(&self, sides: &[Side], settings: &Settings) -> Result<Vec<Judged>> {
        let Some((first, others)) = sides.split_first() else {
            return Ok(Vec::new());
        };
        let selected: Vec<&Factors> = first.cells.keys().filter(|c| self.selects(c)).collect();
        if selected.is_empty() {
            let example = first.cells.keys().next();
            return Err(Error::Wish(format!(
                "`{}`: no cell of {} fits; cells are named such as {}",
                self.text,
                first.name,
                example.map(ToString::to_string).unwrap_or_default(),
            )));
        }
        let mut found = Vec::new();
        for cell in selected {
            for (at, other) in others.iter().enumerate() {
                let Some(theirs) = other.cells.get(cell) else {
                    return Err(Error::Wish(format!(
                        "`{}`: {} has no cell {cell}, which {} has",
                        self.text, other.name, first.name
                    )));
                };
                let both = (&first.cells[cell], theirs);
                if ![both.0, both.1]
                    .iter()
                    .all(|r| self.figure.suits(&r.trials))
                {
                    return Err(Error::Wish(format!(
                        "`{}`: {cell} has no figure `{}`, which only {} have; narrow the selector",
                        self.text,
                        self.figure,
                        match self.figure {
                            Figure::Lost => "stalls",
                            _ => "methods that sleep to a grid",
                        }
                    )));
                }
                let (_, verdict) = one(both, self.figure, settings, 1);
                let change = self.change(&verdict);
                found.push(Judged {
                    gate: self.text.clone(),
                    cell: cell.clone(),
                    figure: self.figure,
                    side: at + 1,
                    judgement: self.decide(change),
                    change,
                    relative: matches!(self.limit, Limit::Ratio(_)),
                    verdict,
                });
            }
        }
        Ok(found)
    }

    fn selects(&self, cell: &Factors) -> bool {
        const BARE: [&str; 4] = [factor::PROBE, factor::METHOD, factor::TARGET, factor::LOAD];
        self.wanted.iter().all(|wanted| match wanted {
            Wanted::Bare(level) => BARE.iter().any(|f| cell.get(f) == Some(level)),
            Wanted::Named(name, level) => cell.get(name) == Some(level),
        })
    }

    fn change(&self, verdict: &Verdict) -> Option<(f64, f64, f64)> {
        let Verdict::Found(found) = verdict else {
            return None;
        };
        let (estimate, interval) = match self.limit {
            Limit::Ratio(_) => found.ratio?,
            Limit::Shift(_) => (found.shift, found.interval),
        };
        Some((estimate, interval.low, interval.high))
    }

    fn decide(&self, change: Option<(f64, f64, f64)>) -> Judgement {
        let (Limit::Ratio(limit) | Limit::Shift(limit)) = self.limit;
        match change {
            None => Judgement::Inconclusive,
            Some((_, low, _)) if self.above && low > limit => Judgement::Fail,
            Some((_, _, high)) if self.above && high <= limit => Judgement::Pass,
            Some((_, _, high)) if !self.above && high < limit => Judgement::Fail,
            Some((_, low, _)) if !self.above && low >= limit => Judgement::Pass,
            Some(_) => Judgement::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::comparison::tests::{replicates, side};

    const BEFORE: [f64; 8] = [100.0, 101.0, 99.0, 102.0, 98.0, 103.0, 97.0, 100.5];

    fn judged(gate: &str, factor: f64) -> Judgement {
        let after: Vec<f64> = BEFORE.iter().map(|v| v * factor).collect();
        let sides = [side("a", &BEFORE), side("b", &after)];
        let gate: Gate = gate.parse().unwrap();
        let all = gate.judge(&sides, &Settings::usual()).unwrap();
        assert_eq!(all.len(), 1);
        all[0].judgement
    }

    #[test]
    fn intervals_are_held_against_the_limit() {
        let gate = "wake-up/usleep/100us/idle median > +20%";
        assert_eq!(judged(gate, 1.0), Judgement::Pass);
        assert_eq!(judged(gate, 1.2), Judgement::Inconclusive);
        assert_eq!(judged(gate, 1.4), Judgement::Fail);
        let gate = "usleep p99 > +20ns";
        assert_eq!(judged(gate, 1.0), Judgement::Pass);
        assert_eq!(judged(gate, 1.4), Judgement::Fail);
        let gate = "usleep/load=idle median < -10%";
        assert_eq!(judged(gate, 0.8), Judgement::Fail);
        assert_eq!(judged(gate, 1.0), Judgement::Pass);
        assert_eq!(judged(gate, 0.9), Judgement::Inconclusive);
        assert_eq!(judged("usleep median > 0", 1.5), Judgement::Fail);
    }

    #[test]
    fn what_cannot_be_decided_is_inconclusive() {
        let sides = [side("a", &BEFORE[..2]), side("b", &BEFORE[..2])];
        let gate: Gate = "idle median > +20%".parse().unwrap();
        let all = gate.judge(&sides, &Settings::usual()).unwrap();
        assert_eq!(all[0].judgement, Judgement::Inconclusive);
        assert_eq!(all[0].change, None);
    }

    #[test]
    fn a_selector_that_fits_several_cells_requires_all() {
        let after: Vec<f64> = BEFORE.iter().map(|v| v * 2.0).collect();
        let mut sides = [side("a", &BEFORE), side("b", &BEFORE)];
        for (side, figures) in sides.iter_mut().zip([&BEFORE[..], &after]) {
            let (cell, _) = side.cells.first_key_value().unwrap();
            let cell = cell.clone().with(factor::TARGET, "1ms");
            side.cells.insert(cell, replicates(figures));
        }
        let judged = |gate: &str| {
            let gate: Gate = gate.parse().unwrap();
            gate.judge(&sides, &Settings::usual()).unwrap()
        };
        let all = judged("usleep/idle median > +50%");
        let found: Vec<Judgement> = all.iter().map(|j| j.judgement).collect();
        assert_eq!(found, [Judgement::Pass, Judgement::Fail]);
        assert_eq!(judged("usleep/100us median > +50%").len(), 1);
    }

    #[test]
    fn a_selector_that_fits_nothing_is_an_error() {
        let sides = [side("a", &BEFORE), side("b", &BEFORE)];
        let gate: Gate = "wake-up/nanosleep median > +20%".parse().unwrap();
        let error = gate
            .judge(&sides, &Settings::usual())
            .unwrap_err()
            .to_string();
        assert!(error.contains("no cell of a fits"), "{error}");
        assert!(
            error.ends_with("such as wake-up/usleep/100us/idle"),
            "{error}"
        );
    }

    #[test]
    fn a_figure_that_a_cell_can_never_have_is_an_error() {
        let mut sides = [side("a", &BEFORE), side("b", &BEFORE)];
        let cells = sides.iter_mut().flat_map(|s| s.cells.values_mut());
        cells
            .flat_map(|c| &mut c.trials)
            .for_each(|t| t.missed = None);
        for gate in ["usleep missed > +1pp", "idle lost > +5%"] {
            let gate: Gate = gate.parse().unwrap();
            let error = gate.judge(&sides, &Settings::usual()).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("wake-up/usleep/100us/idle has no figure"),
                "{error}"
            );
        }
    }

    #[test]
    fn mistakes_are_told_in_one_line() {
        for (text, why) in [
            ("", "there is no > or <"),
            ("> +5%", "there is no cell"),
            ("idle > +5%", "there is no statistic"),
            ("idle p98 > +5%", "unknown statistic `p98`"),
            ("a b c > +5%", "more words than"),
            ("a//b p99 > +5%", "part of the cell is empty"),
            ("idle p99 > much", "`much` is no change"),
            ("idle p99 > +5", "`+5` is no change"),
            ("idle p99 > +1pp", "p99 is a time"),
            ("idle lost > +1us", "lost is a share"),
            ("idle p99 < -100%", "nothing falls by 100 %"),
        ] {
            let error = text.parse::<Gate>().unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }
}
