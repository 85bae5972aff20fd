//! What a report is made of, gathered in one pass over the samples.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tompion_assess::verdict::Assessment;
use tompion_model::{
    Blocks, Cell, Factors, RunRecord, Storage, Summary, Trial, TrialData, factor, format_ns,
};
use tompion_probe::timer_events;
use tompion_stats::{Distribution, Interval, MeanDistribution};
use tompion_store::{Result, Run};

use crate::ccdf;
use crate::changes::{Looked, Track, look};
use crate::dependence::{CellDependence, interval_within};
use crate::disturbed::Disturbed;
use crate::evidence::Evidence;
use crate::figures::supported;
use crate::over_blocks::{OverBlocks, no_interval};
use crate::packet_delay::{PacketsView, Room};
use crate::precision::ns_within;
use crate::series::TrialSeries;
use crate::stalls::{Bin, StallsView, binary_bins, searched_of_cell};
use crate::tails::{Largest, Tail};
use crate::timer_events::{TimerEvents, TimerRoom};

/// So many cells are drawn over time as finely as an eye can see.
const CELLS_WHOLE: usize = 150;

/// Everything that a report shows of one run. Memory is bounded by the number
/// of trials and of distinct values, not by the number of samples.
#[derive(Debug)]
pub struct ReportData {
    record: Arc<RunRecord>,
    cells: Vec<Cell>,
    /// The places of cells of several threads that slept at once, by their keys but for how many these were.
    in_company: HashMap<Factors, usize>,
    views: Vec<CellView>,
    assessment: Assessment,
    evidence: Evidence,
    evidence_of: BTreeMap<Option<String>, Evidence>,
    changes: Vec<Looked>,
    sha256: String,
}

/// What is shown of one cell, computed once.
#[derive(Debug)]
pub(crate) struct CellView {
    /// Single operations as measured.
    pub measured: Option<Summary>,
    /// The same with missed periods filled in.
    pub filled: Option<Summary>,
    /// The same as measured, without disturbed samples; only where
    /// disturbances were looked for.
    pub undisturbed: Option<Summary>,
    /// Operations timed in batches.
    pub batched: Option<Summary>,
    /// Interval of the plotted median over blocks, or over stretches of the only
    /// one, in nanoseconds.
    pub median_interval: Option<Interval>,
    /// Why the plotted median has none, in words.
    pub no_median_interval: Option<String>,
    /// Quantiles of the plotted values over blocks.
    pub over_blocks: OverBlocks,
    /// The same with missed periods filled in.
    pub filled_over_blocks: OverBlocks,
    /// Quantiles of operations timed in batches over blocks.
    pub batched_over_blocks: OverBlocks,
    /// What lies beyond the samples; absent where they tell all that is asked for.
    pub tail: Option<Tail>,
    /// Steps of the plotted values' CCDF.
    pub ccdf: Vec<(f64, f64)>,
    /// The plotted samples over time, block by block.
    pub series: Vec<TrialSeries>,
    /// Samples that a logarithmic axis cannot show (zero or less).
    pub not_positive: u64,
    /// Samples left out of every summary, as warm-up or otherwise.
    pub left_out: u64,
    /// How much samples depend on one another.
    pub dependence: CellDependence,
    /// Disturbed samples, which count.
    pub disturbed: Disturbed,
    /// Trials that keep only their largest samples one by one.
    pub tail_trials: u32,
    /// Figures of periodic events; only for timer events.
    pub timer: Option<TimerEvents>,
    /// Where the time went; only for stalls.
    pub stalls: Option<StallsView>,
    /// Lengths in binary bins; only for stalls.
    pub bins: Vec<Bin>,
    /// What stamps of packets say; only for round trips.
    pub packets: Option<PacketsView>,
}

impl CellView {
    /// The summary of the values that are plotted: single operations, or
    /// batches where nothing else was taken.
    pub(crate) fn plotted(&self) -> Option<&Summary> {
        self.measured.as_ref().or(self.batched.as_ref())
    }

    /// The median of single operations, to as many digits as its interval supports; where blocks
    /// disagree, from which of theirs to which.
    pub(crate) fn median(&self) -> Option<String> {
        self.measured.as_ref()?;
        self.plotted_median()
    }

    /// The same of the plotted values.
    pub(crate) fn plotted_median(&self) -> Option<String> {
        let median_ns = self.plotted()?.median_ns;
        let number = || ns_within(median_ns, self.median_interval);
        Some(self.over_blocks.or_range(0.5, number))
    }

    /// The median of operations timed in batches, where there are any, else of single ones.
    pub(crate) fn read_median(&self) -> Option<String> {
        match &self.batched {
            Some(batched) => Some(
                self.batched_over_blocks
                    .or_range(0.5, || format_ns(batched.median_ns)),
            ),
            None => self.median(),
        }
    }

    /// A quantile of single operations as measured, with at least one sample beyond it.
    pub(crate) fn quantile(&self, q: f64, of: fn(&Summary) -> f64) -> Option<String> {
        let summary = self.measured.as_ref()?;
        let value_ns = supported(summary, q, of(summary))?;
        Some(self.over_blocks.or_range(q, || format_ns(value_ns)))
    }

    /// The p99 with missed periods filled in.
    pub(crate) fn corrected_p99(&self) -> Option<String> {
        let summary = self.filled.as_ref()?;
        let value_ns = supported(summary, 0.99, summary.p99_ns)?;
        Some(
            self.filled_over_blocks
                .or_range(0.99, || format_ns(value_ns)),
        )
    }

    /// Whether the plots show batches.
    pub(crate) fn plots_batches(&self) -> bool {
        self.measured.is_none() && self.batched.is_some()
    }

    fn new(number: usize, cell: &Cell, extra: Extra) -> Self {
        let blocks = match cell.blocks.have_no_values() {
            true => &cell.batched_blocks,
            false => &cell.blocks,
        };
        let plotted = MeanDistribution::of(blocks);
        let over_blocks = OverBlocks::of(blocks);
        let median_interval = match over_blocks.interval(0.5) {
            Some(Ok(interval)) => Some(Ok(interval)),
            Some(Err(why)) => Some(match extra.median_interval {
                Some(ps) => Ok(ps.scaled(1e-3)),
                None => Err(no_interval(&why.to_string())),
            }),
            None => None,
        };
        let not_above_zero = |b: &Distribution| b.len() - b.count_above(0);
        let mut series = extra.series;
        series.sort_by_key(|s| s.block);
        let measured = cell.summary();
        // What is the same is not reckoned twice.
        let same = |other: &Blocks| other.share_memory(&cell.blocks);
        let undisturbed = extra
            .disturbed
            .observed
            .then(|| match same(&cell.undisturbed_blocks) {
                true => measured.clone(),
                false => cell.undisturbed_summary(),
            });
        let nothing_missed = same(&cell.filled_blocks);
        let mut timer = extra.timer;
        if let Some(t) = &mut timer {
            t.series.sort_by_key(|s| s.block);
        }
        let mut stalls = extra.stalls;
        if let Some(s) = &mut stalls {
            s.traces.sort_by_key(|t| t.block);
        }
        Self {
            filled: match nothing_missed {
                true => measured.clone(),
                false => cell.filled_summary(),
            },
            measured,
            batched: cell.batched_summary(),
            median_interval: median_interval.clone().and_then(|found| found.ok()),
            no_median_interval: median_interval.and_then(|found| found.err()),
            tail: extra.largest.tail(cell, number, &over_blocks),
            filled_over_blocks: match nothing_missed {
                true => over_blocks.clone(),
                false => OverBlocks::of(&cell.filled_blocks),
            },
            batched_over_blocks: OverBlocks::of(&cell.batched_blocks),
            over_blocks,
            ccdf: ccdf::steps(&plotted),
            series,
            not_positive: blocks.iter().map(not_above_zero).sum(),
            undisturbed: undisturbed.flatten(),
            left_out: extra.left_out,
            dependence: extra.dependence,
            disturbed: extra.disturbed,
            tail_trials: extra.tail_trials,
            timer,
            bins: if stalls.is_some() {
                binary_bins(blocks)
            } else {
                Vec::new()
            },
            stalls,
            packets: extra.packets,
        }
    }
}

/// What one pass over the trials adds to a cell.
#[derive(Default)]
struct Extra {
    series: Vec<TrialSeries>,
    left_out: u64,
    dependence: CellDependence,
    median_interval: Option<Interval>,
    disturbed: Disturbed,
    tail_trials: u32,
    timer: Option<TimerEvents>,
    stalls: Option<StallsView>,
    packets: Option<PacketsView>,
    track: Track,
    largest: Largest,
}

/// What the trials of a run may take: a stranger's may take any memory and time.
struct Rooms {
    packets: Room,
    timers: TimerRoom,
    /// Stalls of a cell that are searched for patterns.
    stalls: usize,
}

impl Extra {
    fn add(&mut self, trial: &Trial, data: &TrialData, blocks: usize, rooms: &mut Rooms) {
        if trial.factors.level(factor::PROBE) == timer_events::NAME {
            let timer = self.timer.get_or_insert_default();
            timer.add(trial, data, blocks, &rooms.timers);
        }
        if trial.findings.stalls.is_some() {
            let stalls = self.stalls.get_or_insert_default();
            stalls.add(trial, data, blocks, rooms.stalls);
        }
        if trial.findings.round_trips.is_some() {
            let packets = self.packets.get_or_insert_default();
            packets.add(trial, data, &mut rooms.packets);
        }
        self.series.push(TrialSeries::of(trial, data, blocks));
        self.left_out += data.samples.iter().filter(|s| s.mark.is_left_out()).count() as u64;
        self.dependence.add(data);
        self.track.add(trial, data);
        self.largest.add(trial, data);
        if blocks == 1 {
            self.median_interval = interval_within(data);
        }
        self.disturbed.add(trial, data);
        self.tail_trials += u32::from(matches!(trial.storage, Storage::Tail { .. }));
    }
}

impl ReportData {
    /// Reads the samples of `run`, trial by trial, and has `assess` say what
    /// its cells mean.
    ///
    /// # Errors
    /// A sample file that cannot be read or is damaged.
    pub fn gather(run: &Run, assess: impl FnOnce(&[Cell]) -> Assessment) -> Result<Self> {
        let record = run.shared_record();
        let blocks = record.trials.iter().map(|t| t.block as usize + 1).max();
        let cells: BTreeSet<&Factors> = record.trials.iter().map(|t| &t.factors).collect();
        // A page of many cells draws each of them more coarsely, and stays small.
        let sharing = blocks.unwrap_or(1) * cells.len().div_ceil(CELLS_WHOLE).max(1);
        let mut extras: BTreeMap<Factors, Extra> = BTreeMap::new();
        let mut evidence = Evidence::default();
        let mut evidence_of: BTreeMap<Option<String>, Evidence> = BTreeMap::new();
        let cells_of = |is_so: fn(&Trial) -> bool| {
            let trials = record.trials.iter().filter(|trial| is_so(trial));
            trials.map(|t| &t.factors).collect::<BTreeSet<_>>().len()
        };
        let has_timer = |t: &Trial| t.factors.level(factor::PROBE) == timer_events::NAME;
        let mut rooms = Rooms {
            packets: Room::default(),
            timers: TimerRoom::new(cells_of(has_timer)),
            stalls: searched_of_cell(cells_of(|t| t.findings.stalls.is_some())),
        };
        let cells = run.cells(|trial, data| {
            let extra = extras.entry(trial.factors.clone()).or_default();
            extra.add(trial, data, sharing, &mut rooms);
            let packets = extras
                .values_mut()
                .filter_map(|extra| extra.packets.as_mut());
            rooms.packets.make(packets);
            evidence.add(trial);
            let platform = trial.factors.get(factor::PLATFORM).map(str::to_owned);
            evidence_of.entry(platform).or_default().add(trial);
        })?;
        let mut tracks = Vec::new();
        let view = |(number, c): (usize, &Cell)| {
            let mut extra = extras.remove(&c.factors).unwrap_or_default();
            tracks.push(std::mem::take(&mut extra.track));
            CellView::new(number, c, extra)
        };
        let views = cells.iter().enumerate().map(view).collect();
        let changes = look(tracks);
        let assessment = assess(&cells);
        Ok(Self {
            record,
            in_company: by_key_without_company(&cells),
            cells,
            views,
            assessment,
            evidence,
            evidence_of,
            changes,
            sha256: run.sha256().to_owned(),
        })
    }

    /// What the run means.
    pub fn assessment(&self) -> &Assessment {
        &self.assessment
    }

    /// The cells of the run in the order of their keys.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell of that key.
    pub(crate) fn cell(&self, key: &Factors) -> Option<&Cell> {
        let at = self.cells.binary_search_by(|cell| cell.factors.cmp(key));
        at.ok().map(|at| &self.cells[at])
    }

    /// The first cell of that key but for how many threads slept at once.
    pub(crate) fn cell_in_company(&self, key: &Factors) -> Option<&Cell> {
        self.in_company.get(key).map(|at| &self.cells[*at])
    }

    /// The run's description.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// SHA-256 of the `run.json` that all of it is from.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Where levels changed, series by series.
    pub(crate) fn changes(&self) -> &[Looked] {
        &self.changes
    }

    /// What evidence of disturbances there was.
    pub(crate) fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The same by platform; what was measured on none has none.
    pub(crate) fn evidence_of(&self) -> &BTreeMap<Option<String>, Evidence> {
        &self.evidence_of
    }

    /// Whether the run has several platforms.
    pub(crate) fn has_platforms(&self) -> bool {
        self.evidence_of.len() > 1
    }

    /// Cells with what is shown of them.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        self.cells
            .iter()
            .zip(&self.views)
            .enumerate()
            .map(|(series, (cell, view))| Shown { series, cell, view })
    }
}

/// One cell with what is shown of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    /// Its number among the cells of the run.
    pub series: usize,
    /// What was measured.
    pub cell: &'a Cell,
    /// What is shown of it.
    pub view: &'a CellView,
}

fn by_key_without_company(cells: &[Cell]) -> HashMap<Factors, usize> {
    let mut found = HashMap::new();
    let has_company = |c: &Cell| c.factors.get(factor::COMPANY).is_some();
    for (at, cell) in cells.iter().enumerate().filter(|(_, c)| has_company(c)) {
        let key = cell.factors.clone().without(factor::COMPANY);
        found.entry(key).or_insert(at);
    }
    found
}
