//! The platforms of a lab by the statistics of Perneel 2015 (Sections IV.B.2 and VI): the
//! greatest value of all replicates, what it adds to that of the bare machine, whether it
//! is bounded, one platform over another, and a ranking; each only as far as replicates
//! carry it.

use std::sync::Arc;

use tompion_model::InvalidValue;
use tompion_model::{Factors, PlatformRecord, RunRecord};
use tompion_stats::{Interval, Maxima};

use crate::compare::pair::in_common_blocks;
use crate::compare::{
    Comparison, Error, Figure, Result, Row, Settings, Side, Verdict, compare, mismatches,
};

/// The platform that others are held against where no other is named.
const USUAL_REFERENCE: &str = "host";

/// What comes behind the name of an emulated platform in its level, as it begins.
const EMULATED: &str = " (emulated";
/// How records call this machine, and others that are reached over the network.
const HOST: &str = "host";
const ELSEWHERE: &str = "ssh";

/// A wish for the ratio of one platform to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatioWish {
    /// The platform above the line: the paravirtual one, say.
    pub over: String,
    /// The platform below it: the fully virtualized one.
    pub under: String,
}

impl std::str::FromStr for RatioWish {
    type Err = InvalidValue;

    fn from_str(text: &str) -> std::result::Result<Self, InvalidValue> {
        match text.split_once('/') {
            Some((over, under)) if !over.is_empty() && !under.is_empty() => Ok(Self {
                over: over.to_owned(),
                under: under.to_owned(),
            }),
            _ => Err(format!("`{text}`: two platforms are wanted, A/B for A over B").into()),
        }
    }
}

/// The platforms of a lab's run.
#[derive(Clone, Debug)]
pub struct PlatformSummary {
    /// The bare machine, or what was named in its place; `None` where the run has none.
    pub reference: Option<String>,
    /// Level of the tests, and 1 minus the confidence of the intervals.
    pub level: f64,
    /// Platforms of the plan that were absent, each with the reason.
    pub absent: Vec<(String, String)>,
    /// What makes platforms other than alike, beside what they are, in sentences.
    pub cautions: Vec<String>,
    /// One for each cell: placement, load, probe and its settings.
    pub groups: Vec<PlatformGroup>,
    /// The ratios that were asked for, cell by cell.
    pub ratios: Vec<PairRatio>,
}

/// One cell on every platform.
#[derive(Clone, Debug)]
pub struct PlatformGroup {
    /// The cell, without the platform.
    pub cell: Factors,
    /// The platforms by rank, the lowest median of the maxima first within a rank.
    pub platforms: Vec<PlatformMaxima>,
}

/// The maxima of one platform in one cell, in nanoseconds.
#[derive(Clone, Debug)]
pub struct PlatformMaxima {
    /// Level of the factor `platform`.
    pub platform: String,
    /// Whether its processor is imitated: no evidence about hardware.
    pub emulated: bool,
    /// The maxima of its replicates.
    pub maxima: Maxima,
    /// What it adds to the reference; `None` for the reference itself and without one.
    pub added: Option<Added>,
    /// Where it stands among the platforms.
    pub rank: Ranks,
}

/// What a platform adds to the reference, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added {
    /// The paper's figure: the greatest maximum less the reference's greatest, of the
    /// replicates that both have. It has no interval.
    pub greatest: f64,
    /// The middle of the differences of maxima within replicates with its interval, and
    /// its p adjusted for all pairs of platforms in the cell; `None` where replicates are too few.
    pub shift: Option<(f64, Interval, f64)>,
}

/// The ranks that a platform may have, from 1; both are the same where it is told apart
/// from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ranks {
    /// One more than the platforms that are told apart as lower.
    pub best: usize,
    /// All platforms but those that are told apart as higher.
    pub worst: usize,
}

/// One platform over another in one cell.
#[derive(Clone, Debug)]
pub struct PairRatio {
    /// The two.
    pub wish: RatioWish,
    /// The cell.
    pub cell: Factors,
    /// The paper's figure: what the one adds to the reference over what the other adds;
    /// `None` where one adds nothing. It has no interval.
    pub of_added: Option<f64>,
    /// The ratio of the maxima within replicates with its interval; `None` where
    /// replicates are too few.
    pub of_maxima: Option<(f64, Interval)>,
}

/// Summarises the run of a lab. `reference` is the bare machine; `host` where none is named
/// and the run has one.
///
/// # Errors
/// A run without the factor `platform`, a name that none of its platforms has.
pub fn platform_summary(
    record: &RunRecord,
    reference: Option<&str>,
    ratios: &[RatioWish],
    level: f64,
) -> Result<PlatformSummary> {
    let sides = Side::of_platforms(record);
    summary_of(&sides, &record.platforms, reference, ratios, level)
}

fn summary_of(
    sides: &[Side],
    records: &[PlatformRecord],
    reference: Option<&str>,
    wishes: &[RatioWish],
    level: f64,
) -> Result<PlatformSummary> {
    if sides.is_empty() {
        return Err(Error::Wish(match records.is_empty() {
            true => "no factor `platform` here: this is no run of a lab".to_owned(),
            false => "no cell of this lab has been measured yet; go on with it: tompion lab run \
                      --resume"
                .to_owned(),
        }));
    }
    let reference = match reference {
        Some(name) => Some(named(sides, name)?),
        None => usual_reference(sides, records),
    };
    let mut pairs = Vec::new();
    for wish in wishes {
        let pair = (named(sides, &wish.over)?, named(sides, &wish.under)?);
        if pair.0 == pair.1 {
            let text = format!("{}/{}: the same platform twice", wish.over, wish.under);
            return Err(Error::Wish(text));
        }
        pairs.push((wish, pair));
    }
    let mut cells: Vec<&Factors> = sides.iter().flat_map(|s| s.cells.keys()).collect();
    cells.sort_unstable();
    cells.dedup();
    let (mut groups, mut ratios) = (Vec::new(), Vec::new());
    for cell in cells {
        let rows = rows(sides, cell, level)?;
        let group = group(sides, records, cell, reference, &rows, level);
        let found = pairs.iter().flat_map(|(wish, pair)| {
            let of_row = |row| ratio(row, *pair, sides, &group, wish);
            rows.iter().filter_map(of_row)
        });
        ratios.extend(found);
        groups.push(group);
    }
    Ok(PlatformSummary {
        reference: reference.map(|i| sides[i].name.clone()),
        level,
        absent: records
            .iter()
            .filter_map(|p| Some((p.level.clone(), p.absent.clone()?)))
            .collect(),
        cautions: cautions(sides, records, reference),
        groups,
        ratios,
    })
}

/// The platforms of one cell in pairs. Each cell is a family of its own: a ranking is
/// made within a placement, load and probe.
fn rows(sides: &[Side], cell: &Factors, level: f64) -> Result<Vec<Row>> {
    let (places, of_cell): (Vec<usize>, Vec<Side>) = sides
        .iter()
        .enumerate()
        .filter_map(|(i, side)| {
            let replicates = side.cells.get(cell)?.clone();
            let side = Side {
                name: side.name.clone(),
                header: Arc::clone(&side.header),
                remarks: Arc::default(),
                cells: [(cell.clone(), replicates)].into(),
            };
            Some((i, side))
        })
        .unzip();
    if of_cell.len() < 2 {
        return Ok(Vec::new());
    }
    let settings = Settings {
        figures: Some(vec![Figure::Max]),
        level,
        paired: true,
        within_run: true,
    };
    let mut rows = compare(&of_cell, &settings)?.rows;
    for row in &mut rows {
        row.sides = (places[row.sides.0], places[row.sides.1]);
    }
    Ok(rows)
}

/// The bare machine: what its record calls so, whatever its name.
fn usual_reference(sides: &[Side], records: &[PlatformRecord]) -> Option<usize> {
    let host = records.iter().find(|r| r.kind == HOST);
    let name = host.map_or(USUAL_REFERENCE, |r| r.level.as_str());
    sides.iter().position(|s| s.name == name)
}

/// The medians of a lab's platforms in pairs, as `compare --by platform` holds them against
/// each other, and which side is the bare machine; `None` where there are less than two.
pub fn platform_medians(record: &RunRecord, level: f64) -> Option<(Comparison, Option<usize>)> {
    let sides = Side::of_platforms(record);
    let settings = Settings {
        figures: Some(vec![Figure::Median]),
        level,
        paired: true,
        within_run: true,
    };
    let several = sides.len() > 1;
    let found = several.then(|| compare(&sides, &settings).ok()).flatten()?;
    let reference = usual_reference(&sides, &record.platforms);
    Some((found, reference))
}

/// What else differs between platforms.
fn cautions(sides: &[Side], records: &[PlatformRecord], reference: Option<usize>) -> Vec<String> {
    let kind = |side: &Side| {
        let record = records.iter().find(|r| r.level == side.name);
        record.map(|r| r.kind.as_str())
    };
    let reference = reference.map(|i| &sides[i]);
    let mut all = Vec::new();
    if let Some(reference) = reference.filter(|r| kind(r) == Some(HOST)) {
        let others = sides.iter().filter(|s| kind(s) == Some(ELSEWHERE));
        let names: Vec<&str> = others.map(|s| s.name.as_str()).collect();
        if !names.is_empty() {
            all.push(format!(
                "{}: on another machine than {}: what is added there is not what a platform costs.",
                names.join(", "),
                reference.name
            ));
        }
    }
    let mut different: Vec<(&str, String)> = Vec::new();
    for found in mismatches(sides) {
        let pair = format!("{} and {}", found.sides.0, found.sides.1);
        if !different.contains(&(found.what, pair.clone())) {
            all.push(format!(
                "{pair} were measured differently ({}: {}, {}), in {} for example.",
                found.what, found.values.0, found.values.1, found.cell
            ));
            different.push((found.what, pair));
        }
    }
    all
}

/// The side of that name; emulated ones may be named without saying so.
fn named(sides: &[Side], name: &str) -> Result<usize> {
    let is = |s: &Side| {
        let short = s.name.split_once(EMULATED).map(|(short, _)| short);
        s.name == name || short == Some(name)
    };
    sides.iter().position(is).ok_or_else(|| {
        let known: Vec<&str> = sides.iter().map(|s| &*s.name).collect();
        Error::Wish(format!(
            "no platform `{name}` was measured; there are {}",
            known.join(", ")
        ))
    })
}

fn group(
    sides: &[Side],
    records: &[PlatformRecord],
    cell: &Factors,
    reference: Option<usize>,
    rows: &[Row],
    level: f64,
) -> PlatformGroup {
    let maxima = |side: &Side| {
        let trials = &side.cells.get(cell)?.trials;
        let all: Vec<f64> = trials.iter().filter_map(|t| Figure::Max.of(t)).collect();
        Maxima::of(&all, 1.0 - level)
    };
    let all: Vec<Option<Maxima>> = sides.iter().map(maxima).collect();
    let present = all.iter().flatten().count();
    let platform = |i: usize| {
        let maxima = all[i]?;
        let added = reference.filter(|r| *r != i).and_then(|r| {
            // The greatest of more replicates is greater: both of the same ones.
            let both = sides[r].cells.get(cell).zip(sides[i].cells.get(cell))?;
            let (of_r, of_i) = in_common_blocks(both.0, both.1, Figure::Max);
            let greatest = |all: Vec<f64>| all.into_iter().reduce(f64::max);
            let greatest = greatest(of_i)? - greatest(of_r)?;
            let row = rows.iter().find(|row| row.sides == (r.min(i), r.max(i)));
            Some(Added {
                greatest,
                shift: row.and_then(|row| shift(row, r < i)),
            })
        });
        let apart = |lower: bool| {
            let told = |row: &&Row| {
                let Verdict::Found(f) = row.verdict else {
                    return false;
                };
                let i_is_second = row.sides.1 == i;
                let i_is_higher = (f.shift > 0.0) == i_is_second && f.shift != 0.0;
                (row.sides.0 == i || i_is_second) && row.differs(level) && i_is_higher == lower
            };
            rows.iter().filter(told).count()
        };
        let name = &sides[i].name;
        let of_record = records.iter().find(|p| p.level == *name);
        Some(PlatformMaxima {
            platform: name.clone(),
            emulated: of_record.is_some_and(|p| p.emulated.is_some()) || name.contains(EMULATED),
            maxima,
            added,
            rank: Ranks {
                best: 1 + apart(true),
                worst: present - apart(false),
            },
        })
    };
    let mut platforms: Vec<PlatformMaxima> = (0..sides.len()).filter_map(platform).collect();
    platforms.sort_by(|a, b| {
        let medians = a.maxima.median.total_cmp(&b.maxima.median);
        a.rank.cmp(&b.rank).then(medians)
    });
    PlatformGroup {
        cell: cell.clone(),
        platforms,
    }
}

/// The shift of a row, seen from its first side where `forward`.
fn shift(row: &Row, forward: bool) -> Option<(f64, Interval, f64)> {
    let Verdict::Found(f) = row.verdict else {
        return None;
    };
    let turned = Interval {
        low: -f.interval.high,
        high: -f.interval.low,
        ..f.interval
    };
    Some(match forward {
        true => (f.shift, f.interval, f.p_adjusted),
        false => (-f.shift, turned, f.p_adjusted),
    })
}

fn ratio(
    row: &Row,
    (over, under): (usize, usize),
    sides: &[Side],
    group: &PlatformGroup,
    wish: &RatioWish,
) -> Option<PairRatio> {
    if row.sides != (over.min(under), over.max(under)) {
        return None;
    }
    let of_maxima = match row.verdict {
        Verdict::Found(f) => f.ratio,
        _ => None,
    };
    // A row tells its second side over its first.
    let turned = |(ratio, i): (f64, Interval)| {
        let interval = Interval {
            low: 1.0 / i.high,
            high: 1.0 / i.low,
            ..i
        };
        (1.0 / ratio, interval)
    };
    let added = |side: usize| {
        let name = &sides[side].name;
        let platform = group.platforms.iter().find(|p| p.platform == *name)?;
        Some(platform.added?.greatest).filter(|ns| *ns > 0.0)
    };
    Some(PairRatio {
        wish: wish.clone(),
        cell: row.cell.clone(),
        of_added: added(over).zip(added(under)).map(|(a, b)| a / b),
        of_maxima: match under < over {
            true => of_maxima,
            false => of_maxima.map(turned),
        },
    })
}

#[cfg(test)]
mod tests;
