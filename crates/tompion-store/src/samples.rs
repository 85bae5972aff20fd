//! The tables that every probe may have: samples, bins, histograms.

use crate::error::Fault;
use std::collections::BTreeMap;

use parquet::data_type::ByteArray;
use tompion_stats::{Bins, Distribution};

use super::column::{Column, Data, Kind};
use super::limits;
use tompion_model::{Mark, Sample};

/// The columns of samples.
pub(super) const SAMPLES: [(&str, Kind); 5] = [
    ("at_ns", Kind::Int64),
    ("value_ps", Kind::Int64),
    ("n", Kind::UInt32),
    ("missed", Kind::UInt32),
    ("mark", Kind::Text),
];

/// The same for a schema: by name and kind, and whether every row has a value.
pub(super) fn described() -> impl Iterator<Item = (String, Kind, bool)> {
    let column = |(name, kind): (&str, _)| (name.to_owned(), kind, name != "mark");
    SAMPLES.into_iter().map(column)
}

/// The columns of bins.
pub(super) const BINS: [(&str, Kind); 4] = [
    ("low_ps", Kind::Int64),
    ("high_ps", Kind::Int64),
    ("count", Kind::Int64),
    ("filled", Kind::Boolean),
];

/// The columns of histograms.
pub(super) const HISTOGRAMS: [(&str, Kind); 4] = [
    ("view", Kind::Text),
    ("low_ps", Kind::Int64),
    ("high_ps", Kind::Int64),
    ("count", Kind::Int64),
];

/// Samples as columns.
pub(super) fn of_samples(samples: &[Sample]) -> Vec<Column> {
    let wide = |name, pick: fn(&Sample) -> i64| {
        Column::whole(name, Data::Int64(samples.iter().map(pick).collect()))
    };
    let narrow = |name, pick: fn(&Sample) -> u32| {
        let values = samples.iter().map(|s| pick(s).cast_signed());
        Column::whole(name, Data::UInt32(values.collect()))
    };
    vec![
        wide("at_ns", |s| s.at_ns.cast_signed()),
        wide("value_ps", |s| s.value_ps),
        narrow("n", |s| s.n),
        narrow("missed", |s| s.missed),
        Column::text("mark", samples.iter().map(|s| s.mark.name())),
    ]
}

/// Samples from their columns.
pub(super) fn to_samples(columns: &[Column]) -> Result<Vec<Sample>, Fault> {
    let [at, value, n, missed, mark] = columns else {
        return Err("columns are missing".into());
    };
    let (at, value) = (wide(at)?, wide(value)?);
    let (n, missed) = (narrow(n)?, narrow(missed)?);
    let rows = at.iter().zip(value).zip(n.iter().zip(missed));
    let mut samples: Vec<Sample> = rows
        .map(|((at, value), (n, missed))| Sample {
            at_ns: at.cast_unsigned(),
            value_ps: *value,
            n: n.cast_unsigned(),
            missed: missed.cast_unsigned(),
            mark: Mark::None,
        })
        .collect();
    if at.iter().any(|&at| at < 0) {
        return Err("a time is negative".into());
    }
    if n.contains(&0) {
        return Err("a value is the average of no operation".into());
    }
    let names = texts(mark)?;
    let every: Vec<i16>;
    let levels = match &mark.levels {
        Some(levels) => levels,
        None => {
            every = vec![1; names.len()];
            &every
        }
    };
    let mut names = names.iter();
    let mut last: Option<(&ByteArray, Mark)> = None;
    for (sample, _) in samples.iter_mut().zip(levels).filter(|(_, l)| **l != 0) {
        let name = names.next().ok_or("a mark is missing")?;
        sample.mark = match last {
            Some((same, mark)) if same == name => mark,
            _ => {
                let text = name.as_utf8().map_err(|_| "a mark is not UTF-8")?;
                Mark::from_name(text).ok_or_else(|| format!("unknown mark `{text}`"))?
            }
        };
        last = Some((name, sample.mark));
    }
    Ok(samples)
}

/// Both sets of bins as columns: as measured, and standing for missed periods.
pub(super) fn of_bins(measured: &Bins, filled: &Bins) -> Vec<Column> {
    let rows: Vec<(i64, i64, u64, bool)> = [(measured, false), (filled, true)]
        .into_iter()
        .flat_map(|(bins, filled)| {
            let occupied = bins.occupied().into_iter();
            occupied.map(move |(low, high, n)| (low, high, n, filled))
        })
        .collect();
    vec![
        Column::whole("low_ps", Data::Int64(rows.iter().map(|r| r.0).collect())),
        Column::whole("high_ps", Data::Int64(rows.iter().map(|r| r.1).collect())),
        counts(rows.iter().map(|r| r.2)),
        Column::whole("filled", Data::Boolean(rows.iter().map(|r| r.3).collect())),
    ]
}

/// Both sets of bins from their columns.
pub(super) fn to_bins(columns: &[Column]) -> Result<(Bins, Bins), Fault> {
    let [low, high, count, filled] = columns else {
        return Err("columns are missing".into());
    };
    let (low, high, count) = (wide(low)?, wide(high)?, wide(count)?);
    let Data::Boolean(filled) = &filled.data else {
        return Err("column `filled` has another type".into());
    };
    if filled.len() != low.len() {
        return Err("a value is missing".into());
    }
    let mut sets = (Bins::new(), Bins::new());
    let mut total = 0u64;
    for i in 0..low.len() {
        let set = if filled[i] { &mut sets.1 } else { &mut sets.0 };
        let count = u64::try_from(count[i]).map_err(|_| "a count is negative")?;
        total = total.saturating_add(count);
        if total > limits::COUNT {
            return Err(format!("they count more than {} values", limits::COUNT).into());
        }
        if low[i] > high[i] {
            return Err("a bin ends before it begins".into());
        }
        set.record_many(low[i], count).map_err(|e| e.to_string())?;
    }
    Ok(sets)
}

/// Bins of a trial's distribution under each view as columns.
pub(super) fn of_histograms(rows: &[(&'static str, (i64, i64, u64))]) -> Vec<Column> {
    let bin = |pick: fn(&(i64, i64, u64)) -> i64| {
        Data::Int64(rows.iter().map(|row| pick(&row.1)).collect())
    };
    vec![
        Column::text("view", rows.iter().map(|r| Some(r.0.into()))),
        Column::whole("low_ps", bin(|b| b.0)),
        Column::whole("high_ps", bin(|b| b.1)),
        counts(rows.iter().map(|r| r.1.2)),
    ]
}

/// From these columns the distribution of each view, all values in the middles of their
/// bins.
pub(super) fn to_histograms(columns: &[Column]) -> Result<BTreeMap<String, Distribution>, Fault> {
    let [view, low, high, count] = columns else {
        return Err("columns are missing".into());
    };
    let (low, high, count) = (wide(low)?, wide(high)?, wide(count)?);
    let views = texts(view)?;
    if views.len() != low.len() {
        return Err("a view is missing".into());
    }
    let mut bins: BTreeMap<String, (u64, Vec<(i64, u64)>)> = BTreeMap::new();
    for (i, view) in views.iter().enumerate() {
        let view = view.as_utf8().map_err(|_| "a view is not UTF-8")?;
        let width = high[i].checked_sub(low[i]).filter(|w| *w >= 0);
        let width = width.ok_or("a bin ends before it begins")?;
        let count = u64::try_from(count[i]).map_err(|_| "a count is negative")?;
        if !bins.contains_key(view) {
            bins.insert(view.to_owned(), Default::default());
        }
        let (total, bins) = bins.get_mut(view).expect("just put there");
        *total = total.saturating_add(count);
        if *total > limits::COUNT {
            return Err(format!("they count more than {} values", limits::COUNT).into());
        }
        bins.push((low[i] + width / 2, count));
    }
    let distribution = |(view, (_, bins))| (view, Distribution::from_pairs(bins));
    Ok(bins.into_iter().map(distribution).collect())
}

fn counts(counts: impl Iterator<Item = u64>) -> Column {
    Column::whole("count", Data::Int64(counts.map(u64::cast_signed).collect()))
}

fn wide(column: &Column) -> Result<&[i64], Fault> {
    match (&column.data, &column.levels) {
        (Data::Int64(values), None) => Ok(values),
        _ => Err(format!("a value of column `{}` is missing", column.name).into()),
    }
}

fn narrow(column: &Column) -> Result<&[i32], Fault> {
    match (&column.data, &column.levels) {
        (Data::UInt32(values), None) => Ok(values),
        _ => Err(format!("a value of column `{}` is missing", column.name).into()),
    }
}

fn texts(column: &Column) -> Result<&[ByteArray], Fault> {
    match &column.data {
        Data::Text(values) => Ok(values),
        _ => Err(format!("column `{}` has another type", column.name).into()),
    }
}
