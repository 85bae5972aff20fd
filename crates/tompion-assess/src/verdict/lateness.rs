//! How late sleeps are as they are and with remedies, side by side, and where a remedy helps.

use serde::Serialize;
use tompion_model::{AT_REST, Cell, factor, parse_duration_ns};

use crate::verdict::basis::{self, Comparison};
use crate::verdict::choose::Field;
use crate::verdict::remedies::Remedy;
use crate::verdict::{Limit, Profile};

/// The quantile by which remedies are compared: that of most uses.
pub const QUANTILE: f64 = 0.99;

/// The period at which sleeps are compared where it was measured: that of the closest loops.
const PERIOD_NS: f64 = 1e6;

/// How late sleeps are at one period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// The period, in nanoseconds.
    pub period_ns: u64,
    /// Which quantile, 0 to 1; missed periods count.
    pub quantile: f64,
    /// The loads: rest first, then by name.
    pub loads: Vec<String>,
    /// The sleep as it is, then remedies.
    pub rows: Vec<LatenessRow>,
}

/// One way of sleeping.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatenessRow {
    /// `as it is`, or the remedy.
    pub name: String,
    /// How the remedy is applied; nothing for the sleep as it is.
    pub how: Option<&'static str>,
    /// What it costs.
    pub price: Option<&'static str>,
    /// Under each load.
    pub by_load: Vec<Option<LateUnder>>,
}

/// Under one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LateUnder {
    /// The quantile, in nanoseconds; absent where the samples do not support it.
    pub late_ns: Option<f64>,
    /// The least and the largest of single blocks, in nanoseconds, where blocks disagree: no number stands for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_ns: Option<[f64; 2]>,
    /// The sleep as it is divided by this, with its 95 % interval over blocks; absent without blocks that
    /// can be paired.
    pub gain: Option<[f64; 3]>,
    /// Whether it is shown to be better by a fifth and more, however many remedies and loads are looked at.
    pub helps: bool,
}

impl LateUnder {
    /// Whether its blocks disagree.
    pub fn is_range(&self) -> bool {
        self.late_ns.is_some() && self.range_ns.is_some()
    }
}

/// How late sleeps are in these cells of one machine; `None` where none has a period.
pub fn lateness(cells: &[Cell]) -> Option<Lateness> {
    lateness_of(&cells.iter().collect::<Vec<_>>())
}

/// The same of those of many.
pub fn lateness_of(cells: &[&Cell]) -> Option<Lateness> {
    // Any use that is judged by sleeps: what is asked for is the sleep as it is and its remedies.
    let profile = Profile {
        name: String::new(),
        title: String::new(),
        group: None,
        rate: None,
        probe: "wake-up".to_owned(),
        quantile: QUANTILE,
        period_ns: PERIOD_NS,
        limit: Limit::Time { ns: 1.0 },
        source: String::new(),
        why: String::new(),
    };
    let field = Field::new(cells, &profile);
    let as_it_is = field.as_it_is.as_ref()?;
    let period_ns = field.periods().min_by(|a, b| {
        let far = |ns: &u64| (*ns as f64 / PERIOD_NS).ln().abs();
        far(a).total_cmp(&far(b))
    })?;
    // As verdicts have them.
    let mut loads = field.loads.clone();
    loads.sort_by_key(|load| (*load != AT_REST, *load));
    let at = |way, load: &str| {
        field
            .of(way, load)
            .find(|(_, ns)| *ns == period_ns)
            .map(|f| f.0)
    };
    // One of as many that are looked at here would look better by chance.
    let looked_at = field.remedies.len() * loads.len();
    let under = |way, load: &&str| {
        let cell = at(way, load)?;
        let before = at(as_it_is, load).filter(|b| b.factors != cell.factors);
        let compare = |number| {
            let (before, after) = (basis::numbered(before?), basis::numbered(cell));
            Comparison::among(number, before, after, QUANTILE)
        };
        let supported = basis::samples(cell) as f64 * (1.0 - QUANTILE) >= 1.0 - 1e-6;
        Some(LateUnder {
            late_ns: basis::quantile_ns(basis::blocks(cell), QUANTILE).filter(|_| supported),
            range_ns: basis::range_ns(basis::blocks(cell), QUANTILE).map(|r| [r.low, r.high]),
            gain: compare(1).and_then(|c| {
                let interval = c.interval?;
                Some([c.ratio, interval.low, interval.high])
            }),
            helps: compare(looked_at).is_some_and(|c| c.is_notably_larger()),
        })
    };
    let row = |remedy: Option<&'static Remedy>, way| LatenessRow {
        name: remedy.map_or("as it is", |r| r.name).to_owned(),
        how: remedy.map(|r| r.words.how),
        price: remedy.map(|r| r.words.price),
        by_load: loads.iter().map(|load| under(way, load)).collect(),
    };
    let first = row(None, as_it_is);
    let others = field
        .remedies
        .iter()
        .map(|(remedy, way)| row(Some(remedy), way));
    let mut rows: Vec<LatenessRow> = std::iter::once(first).chain(others).collect();
    rows.retain(|row| row.by_load.iter().any(Option::is_some));
    Some(Lateness {
        period_ns,
        quantile: QUANTILE,
        loads: loads.iter().map(|l| (*l).to_owned()).collect(),
        rows,
    })
}

impl Field<'_> {
    /// The periods that the sleep as it is was measured at.
    fn periods(&self) -> impl Iterator<Item = u64> {
        let here = self.loads.iter().flat_map(move |load| {
            let way = self.as_it_is.as_ref();
            way.into_iter().flat_map(move |way| self.of(way, load))
        });
        here.filter_map(|(cell, _)| parse_duration_ns(cell.factors.level(factor::TARGET)).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::planted::{Planted, drifting_ns};

    fn sleep(slack: Option<&str>, method: &str, target: &str, load: &str, centre: i64) -> Cell {
        let planted = Planted::wake_up(method, target, load);
        let planted = match slack {
            Some(slack) => planted.slack(slack),
            None => planted,
        };
        planted.each_block(drifting_ns(centre, 8, 50))
    }

    #[test]
    fn remedies_stand_beside_the_sleep_as_it_is() {
        let abs = "clock-nanosleep-abs";
        let cells = [
            sleep(Some("default"), abs, "1ms", "idle", 200_000),
            sleep(Some("default"), abs, "20ms", "idle", 900_000),
            sleep(Some("1ns"), abs, "1ms", "idle", 90_000),
            sleep(None, "tompion-hybrid", "1ms", "idle", 195_000),
            sleep(Some("default"), abs, "1ms", "cpu", 400_000),
            sleep(None, "tompion-hybrid", "1ms", "cpu", 60_000),
        ];
        let found = lateness(&cells).unwrap();
        assert_eq!((found.period_ns, found.loads.len()), (1_000_000, 2));
        let names: Vec<&str> = found.rows.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["as it is", "slack 1 ns", "hybrid sleep"]);
        let late = |row: usize, load: usize| {
            let found = found.rows[row].by_load[load]?;
            Some((found.late_ns?.round() / 1000.0, found.helps))
        };
        let [idle, cpu] = ["idle", "cpu"].map(|l| found.loads.iter().position(|x| x == l).unwrap());
        assert!(late(0, idle).is_some_and(|(us, helps)| (195.0..=210.0).contains(&us) && !helps));
        assert!(late(1, idle).unwrap().1, "more than twice as good");
        assert!(!late(2, idle).unwrap().1, "hardly better");
        assert!(late(2, cpu).unwrap().1);
        assert_eq!(late(1, cpu), None);
        let gain = found.rows[1].by_load[idle].unwrap().gain.unwrap();
        assert!(gain[1] <= gain[0] && gain[0] <= gain[2] && (2.0..2.5).contains(&gain[0]));
    }

    #[test]
    fn without_sleeps_there_is_none() {
        assert_eq!(lateness(&[]), None);
        let clock = Planted::read_cost("rdtsc", "idle").blocks(8, &[14; 100]);
        assert_eq!(lateness(&[clock]), None);
    }
}
