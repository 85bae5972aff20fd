//! Gates for continuous integration: a limit on a change, judged on its interval.

use std::str::FromStr;
use tompion_model::InvalidValue;

use tompion_model::{Factors, factor, parse_duration_ns};
use tompion_stats::{Answer, Interval, Margin};

use crate::compare::comparison::of_runs;
use crate::compare::drift::Drift;
use crate::compare::found::{Basis, Found, Verdict};
use crate::compare::pair::Pair;
use crate::compare::{Error, Figure, Result, Settings, Side};

/// `wake-up/usleep/100us/idle p99 > +20%`: fail if that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    text: String,
    wanted: Vec<Wanted>,
    figure: Figure,
    condition: Condition,
}

/// `wake-up/usleep/100us/idle p99 within 10%`: fail unless that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Required(pub Gate);

/// What a gate asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    /// It fails if the change is beyond the limit.
    Beyond { above: bool, limit: Limit },
    /// It fails if the ratio is beyond the margin, and passes if that is shown to be kept.
    Kept(Margin),
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
    /// What `change` is of the true one, and how sure its interval; `None` without a change.
    pub estimate: Option<Estimate>,
    /// Whether `change` is a ratio.
    pub relative: bool,
    /// What the comparison came to.
    pub verdict: Verdict,
    /// Why a change that is known was not decided on; `None` where its interval spans the limit with
    /// drift and without.
    pub undecided: Option<Undecided>,
    /// Replicates on each side with which a margin would be shown to be kept in 80 % of cases, if
    /// there were no difference; `None` for other gates, and beyond 10 000.
    pub needed: Option<usize>,
    /// Whether the gate fails unless its condition is shown to hold.
    pub is_required: bool,
}

/// How a change was estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// By what.
    pub estimator: Estimator,
    /// Confidence of the interval, 0 to 1.
    pub confidence: f64,
}

/// What a change is estimated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The middle of all differences between two replicates, or of all their ratios.
    HodgesLehmann,
    /// The ratio of the geometric means of the replicates.
    GeometricMeans,
}

/// Why nothing is decided though there is an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undecided {
    /// There is one run a side: what two runs differ in is more than what their settings do.
    OneRun,
    /// Drift explains the change as well.
    Drift(Drift),
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
        if text[at + 1..].starts_with('=') {
            return Err(wrong("a change is held to > or <, not to >= or <="));
        }
        let (wanted, figure) = subject(&text[..at]).map_err(|e| wrong(&e.to_string()))?;
        let limit = limit_of(text[at + 1..].trim(), figure).map_err(|e| wrong(&e.to_string()))?;
        let above = text.as_bytes()[at] == b'>';
        Ok(Self {
            text: text.trim().to_owned(),
            wanted,
            figure,
            condition: Condition::Beyond { above, limit },
        })
    }
}

impl FromStr for Required {
    type Err = InvalidValue;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidValue> {
        const WITHIN: &str = " within ";
        const NO_WORSE: &str = " no worse than ";
        let wrong = |why: &str| {
            InvalidValue::from(format!(
                "`{text}`: {why}; write SELECTOR STATISTIC within PERCENT, for example \
                 'wake-up/usleep/100us/idle p99 within 10%', or '... p99 no worse than 10%'"
            ))
        };
        let (at, words) = [WITHIN, NO_WORSE]
            .into_iter()
            .find_map(|words| Some((text.find(words)?, words)))
            .ok_or_else(|| wrong("there is no `within` and no `no worse than`"))?;
        let (wanted, figure) = subject(&text[..at]).map_err(|e| wrong(&e.to_string()))?;
        let size = text[at + words.len()..].trim();
        let digits = size.strip_suffix('%').map(str::trim);
        let share = digits.and_then(|digits| digits.parse::<f64>().ok());
        let share = share.map(|percent| percent / 100.0);
        let share = share
            .filter(|share| *share > 0.0 && share.is_finite())
            .ok_or_else(|| wrong(&format!("`{size}` is no share above 0 %")))?;
        Ok(Self(Gate {
            text: text.trim().to_owned(),
            wanted,
            figure,
            condition: Condition::Kept(match words {
                WITHIN => Margin::Within(share),
                _ => Margin::NoWorse(share),
            }),
        }))
    }
}

/// The cells and the figure that a gate is about.
fn subject(text: &str) -> std::result::Result<(Vec<Wanted>, Figure), InvalidValue> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [selector, figure] = words[..] else {
        return Err(InvalidValue::from(match words.len() {
            0 => "there is no cell",
            1 => "there is no statistic",
            _ => "there are more words than a cell and a statistic",
        }));
    };
    let figure: Figure = figure.parse()?;
    let wanted = selector.split('/').map(|part| match part.split_once('=') {
        _ if part.is_empty() => Err(InvalidValue::from("a part of the cell is empty")),
        Some((name, level)) => Ok(Wanted::Named(name.to_owned(), level.to_owned())),
        None => Ok(Wanted::Bare(part.to_owned())),
    });
    Ok((wanted.collect::<std::result::Result<_, _>>()?, figure))
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
        let of_runs = of_runs(sides);
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
                let pair = settings.pair(both, self.figure, 1);
                let mut judged = self.judge_one(&pair, cell, at + 1);
                let one_run = !settings.paired && !of_runs && !settings.within_run;
                if one_run && judged.change.is_some() {
                    judged.judgement = Judgement::Inconclusive;
                    judged.undecided = Some(Undecided::OneRun);
                }
                found.push(judged);
            }
        }
        Ok(found)
    }

    fn judge_one(&self, pair: &Pair<'_>, cell: &Factors, side: usize) -> Judged {
        let (_, verdict) = pair.compare();
        let mut judged = Judged {
            gate: self.text.clone(),
            cell: cell.clone(),
            figure: self.figure,
            side,
            judgement: Judgement::Inconclusive,
            change: None,
            estimate: None,
            relative: true,
            verdict,
            undecided: None,
            needed: None,
            is_required: matches!(self.condition, Condition::Kept(_)),
        };
        let Verdict::Found(found) = judged.verdict else {
            return judged;
        };
        match self.condition {
            Condition::Beyond { above, limit } => limit.judge(above, &found, &mut judged),
            Condition::Kept(margin) => keep(margin, pair, &found, &mut judged),
        }
        judged
    }

    fn selects(&self, cell: &Factors) -> bool {
        const BARE: [&str; 4] = [factor::PROBE, factor::METHOD, factor::TARGET, factor::LOAD];
        let is = |name: &str, level: &str| cell.get(name).is_some_and(|of| is_level(of, level));
        self.wanted.iter().all(|wanted| match wanted {
            Wanted::Bare(level) => BARE.iter().any(|f| is(f, level)),
            Wanted::Named(name, level) => is(name, level),
        })
    }
}

/// Whether a level is meant: by its name, or as the same time in another unit, `1000us` for `1ms`.
fn is_level(level: &str, meant: &str) -> bool {
    let ns = |text| parse_duration_ns(text).ok();
    level == meant || ns(level).is_some_and(|of| ns(meant) == Some(of))
}

impl Limit {
    /// Judges a change by the interval that allows for drift, whichever way: a drift may look like a
    /// change, and may hide one.
    fn judge(self, above: bool, found: &Found, judged: &mut Judged) {
        judged.relative = matches!(self, Self::Ratio(_));
        let change = self.change(&found.allowing_for_drift());
        judged.take(change, Estimator::HodgesLehmann);
        judged.judgement = self.decide(above, change);
        let is_drift = judged.judgement != self.decide(above, self.change(found));
        let drift = found.drift.filter(|_| is_drift);
        judged.undecided = drift.map(|d| Undecided::Drift(d.drift));
    }

    fn change(self, found: &Found) -> Option<(f64, Interval)> {
        match self {
            Self::Ratio(_) => found.ratio,
            Self::Shift(_) => Some((found.shift, found.interval)),
        }
    }

    fn decide(self, above: bool, change: Option<(f64, Interval)>) -> Judgement {
        let (Self::Ratio(limit) | Self::Shift(limit)) = self;
        let Some((_, Interval { low, high, .. })) = change else {
            return Judgement::Inconclusive;
        };
        match above {
            true if low > limit => Judgement::Fail,
            true if high <= limit => Judgement::Pass,
            false if high < limit => Judgement::Fail,
            false if low >= limit => Judgement::Pass,
            _ => Judgement::Inconclusive,
        }
    }
}

impl Judged {
    /// Takes a change with its interval.
    fn take(&mut self, change: Option<(f64, Interval)>, estimator: Estimator) {
        self.change = change.map(|(at, interval)| (at, interval.low, interval.high));
        self.estimate = change.map(|(_, interval)| Estimate {
            estimator,
            confidence: interval.level,
        });
    }
}

/// Judges a margin, by two one-sided tests.
fn keep(margin: Margin, pair: &Pair<'_>, found: &Found, judged: &mut Judged) {
    let (answer, change, estimator) = match found.basis {
        // Of single trials there is but the interval at the higher confidence.
        Basis::Stretches => {
            let Some((ratio, interval)) = found.ratio else {
                return;
            };
            let answer = margin.answer(&interval);
            (answer, (ratio, interval), Estimator::HodgesLehmann)
        }
        Basis::Trials | Basis::Runs => {
            let Some(same) = pair.same(margin) else {
                return;
            };
            judged.needed = same.needed;
            let drift = found.drift.filter(|_| same.is_drift);
            judged.undecided = drift.map(|d| Undecided::Drift(d.drift));
            let change = (same.ratio, same.interval);
            (same.answer, change, Estimator::GeometricMeans)
        }
    };
    judged.take(Some(change), estimator);
    judged.judgement = match answer {
        Answer::Holds => Judgement::Pass,
        Answer::Fails => Judgement::Fail,
        Answer::Undecided => Judgement::Inconclusive,
    };
}

#[cfg(test)]
mod tests;
