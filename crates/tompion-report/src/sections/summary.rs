//! The first sheet of a page below its answer, for those to whom one sends it: the machine,
//! verdicts with a picture, who takes the time, what to do, and how it was measured.

use tompion_assess::parts::{Seen, parts as four};
use tompion_model::{Environment, format_ns};

use super::opening::{facts, tiles};
use super::{Machine, Section};
use crate::answer::Said;
use crate::blocks::{Block, Column, Content, Entry, Item, Items, Layout, Media, Row, Table};
use crate::clock_right::clocks;
use crate::data::ReportData;
use crate::environment::memory;
use crate::figures::{percent, plural, quantile_name, shell_words};
use crate::grid::all_loads;
use crate::summary::{PANELS, verdicts};
use crate::time_lost::{Kind, Lost, ranked};

pub(super) static ENTRY: Section = Section {
    name: "summary",
    title: "Summary",
    question: None,
    probe: None,
    blocks,
    // What it says stands in the other sections, too.
    machine: Machine::Keys(|_, _| {}),
};

/// Causes, and pieces of advice, that a sheet has room for.
const MOST: usize = 5;

/// Steps of a remedy that a sheet has room for.
const STEPS: usize = 2;

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let mut cards: Vec<(String, Vec<Block<'_>>)> = Vec::new();
    cards.extend(fit(data));
    cards.push(("What to do".to_owned(), remedies(data)));
    cards.push(("Who takes the time".to_owned(), causes(data)));
    cards.push(("How it was measured".to_owned(), measured(data)));
    let contents = [
        Content::Pairs(parts(data)),
        Content::Cards(cards),
        Content::Tiles(tiles(data)),
    ];
    contents.map(|content| content.on(Media::PAGE)).into()
}

/// What the machine is, part by part: a row with an answer for each.
fn parts(data: &ReportData) -> Vec<(String, String)> {
    let environment = &data.record().header.environment;
    let mut rows = vec![
        ("Machine", machine(environment)),
        ("Kernel", kernel(environment)),
        ("Clocksource", clocksource(environment)),
    ];
    match Seen::of_run(data.record()) {
        Some(seen) => rows.extend(four(&seen).map(|part| {
            let name = match part.name {
                "Kernel" => "Kernel costs",
                "Host" => "Host takes",
                name => name,
            };
            (name, format!("{}: {}", part.state.word(), part.sentence))
        })),
        None => rows.push(("Clock", clocks(data).answer())),
    }
    let known = rows.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(label, value)| (label.to_owned(), value))
        .collect()
}

/// For example `KVM guest, Firecracker, 2 CPUs AMD EPYC, 4.00 GiB`.
fn machine(e: &Environment) -> String {
    let (machine, virtual_) = (&e.machine, &e.virtualization);
    let cpus = machine.cpus_online.map(|n| {
        let cpus = plural(u64::from(n), "CPU", "CPUs");
        format!(
            "{n} {cpus} {}",
            machine.cpu_model.as_deref().unwrap_or_default()
        )
    });
    let all = [
        virtual_
            .hypervisor
            .as_ref()
            .map(|name| format!("{name} guest")),
        virtual_.machine_monitor.clone(),
        e.container
            .kind
            .as_ref()
            .map(|kind| format!("{kind} container")),
        cpus.map(|cpus| cpus.trim_end().to_owned()),
        machine.memory_bytes.map(memory),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// For example `Linux 6.18.0, 250 Hz tick, preemption voluntary`.
fn kernel(e: &Environment) -> String {
    let kernel = &e.kernel;
    let all = [
        kernel
            .release
            .as_ref()
            .map(|release| format!("Linux {release}")),
        kernel.tick_rate_hz.map(|hz| format!("{hz} Hz tick")),
        kernel
            .preemption
            .as_ref()
            .map(|how| format!("preemption {how}")),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// For example `tsc (of tsc, kvm-clock)`.
fn clocksource(e: &Environment) -> String {
    let of = match e.clock.clocksources_available.as_slice() {
        [] | [_] => String::new(),
        several => format!(" (of {})", several.join(", ")),
    };
    let name = e.clock.clocksource.as_ref();
    name.map_or_else(String::new, |name| format!("{name}{of}"))
}

/// The verdicts as a table, and as a picture.
fn fit(data: &ReportData) -> Vec<(String, Vec<Block<'_>>)> {
    let Some(found) = verdicts(data) else {
        return Vec::new();
    };
    let (table, left_out) = found.table();
    let mut first = vec![Content::Table(table).into()];
    if left_out > 0 {
        let text = format!("Another {left_out} below, under “Is time good enough here?”.");
        first.push(Content::Note(text).into());
    }
    let mut pictures = found.pictures();
    let further = pictures.len().saturating_sub(1);
    pictures.truncate(1);
    let mut second = vec![Content::Figures(Layout::Below, pictures).into()];
    if further > 0 {
        let text = format!("The first {PANELS}; others below, under “Is time good enough here?”.");
        second.push(Content::Note(text).into());
    }
    vec![
        ("Fit for".to_owned(), first),
        ("How late, and how late it may be".to_owned(), second),
    ]
}

/// What took most of the time of a busy loop.
fn causes(data: &ReportData) -> Vec<Block<'_>> {
    let all = ranked(data);
    let lost: Vec<&Lost> = all.iter().filter(|l| l.kind == Kind::Running).collect();
    if lost.is_empty() {
        let none = match data.shown().any(|s| s.view.stalls.is_some()) {
            true => "Nothing took a ten-thousandth of the time of a busy loop.",
            false => "No busy loop was watched in this run; tompion measure stalls does that.",
        };
        return vec![Content::Text(none.to_owned()).into()];
    }
    let row = |l: &&Lost| {
        let entries = vec![
            Entry::Text(l.load.clone()),
            Entry::Text(percent(l.share)),
            Entry::Text(format_ns(l.longest_ns)),
            Entry::Text(format_ns(l.watched_ns)),
        ];
        Row::new(l.what.clone(), entries)
    };
    let table = Table::of(
        "Of a busy loop’s time",
        [Column::words("load")]
            .into_iter()
            .chain(Column::all(["share", "longest", "in"]))
            .collect(),
        lost.iter().take(MOST).map(row).collect(),
    );
    vec![Content::Table(table).into()]
}

/// What would help: the clock's remedy, the steps of the answer, and what else helped in this run.
fn remedies(data: &ReportData) -> Vec<Block<'_>> {
    let item = |figure: String, text: String, how: String| Item {
        figure,
        sure: true,
        text,
        how: Some(how),
        more: Vec::new(),
        media: Media::PAGE,
    };
    let clock = clocks(data).wall_clock.and_then(|c| c.remedy);
    let steps = Said::of(data).steps;
    let advice = &data.assessment().advice;
    let is_a_step = |how: &str| steps.iter().any(|step| step.what.contains(how));
    let helped = advice
        .iter()
        .filter(|a| a.effective && !is_a_step(&a.how))
        .map(|a| {
            item(
                format!(
                    "{} {} → {}",
                    quantile_name(a.quantile),
                    format_ns(a.before_ns),
                    format_ns(a.after_ns)
                ),
                a.sentence.clone(),
                a.how.clone(),
            )
        });
    // The screen names them by number.
    let numbered = steps.iter().zip(1..).map(|(step, number)| {
        let (text, how) = match &clock {
            Some(remedy) if step.is_for_the_clock() => {
                let commands: Vec<String> = remedy.steps.iter().take(STEPS).cloned().collect();
                (remedy.what.clone(), Some(commands.join("\n")))
            }
            _ => {
                let effect = (!step.is_not_measured()).then(|| step.effect.clone());
                (step.what.clone(), effect)
            }
        };
        Item {
            how,
            sure: !step.is_not_measured(),
            ..item(format!("step {number}"), text, String::new())
        }
    });
    let items: Vec<Item> = numbered.chain(helped).take(MOST).collect();
    if items.is_empty() {
        let none = match advice.is_empty() {
            true => "This run tried no remedy; tompion advise does that.",
            false => "Nothing that this run tried helped beyond noise.",
        };
        return vec![Content::Text(none.to_owned()).into()];
    }
    vec![Content::Items(Items::Ranked, items).into()]
}

/// When, how long, how, and the names by which the run is known.
fn measured(data: &ReportData) -> Vec<Block<'_>> {
    let record = data.record();
    let header = &record.header;
    let mut all = facts(record);
    let ends = record.trials.iter().map(|t| t.started_ns + t.duration_ns);
    all.extend(
        ends.max()
            .filter(|ns| *ns > 0)
            .map(|ns| format_ns(ns as f64)),
    );
    let mut loads = all_loads(data);
    loads.retain(|load| !load.is_empty());
    if !loads.is_empty() {
        all.push(format!("loads {}", loads.join(", ")));
    }
    all.push(format!("seed {}", header.design.seed));
    all.push(shell_words(&header.command_line));
    all.extend(record.run_id.as_ref().map(|id| format!("run {id}")));
    all.push(format!("SHA-256 of run.json {}", data.sha256()));
    vec![Content::Facts(all).into()]
}
