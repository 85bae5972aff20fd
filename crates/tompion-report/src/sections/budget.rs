//! What a packet may cost.

use serde_json::{Map, Value, json};
use tompion_model::format_ns;

use super::{Machine, Question, Section};
use crate::blocks::{Block, Column, Content, Entry, Label, Media, Row, Style, Table};
use crate::data::ReportData;
use crate::figures::NONE;
use crate::over_blocks::no_interval;
use crate::packet_budget::{Budget, Measured, RATES, READS_PER_PACKET, bit_rate, budgets};
use crate::precision::interval;

pub(super) static ENTRY: Section = Section {
    name: "budget",
    title: "Packet budget",
    question: Some(Question::Fit),
    probe: None,
    blocks,
    machine: Machine::Keys(keys),
};

fn blocks(data: &ReportData) -> Vec<Block<'_>> {
    let budgets = budgets(data);
    if budgets.is_empty() {
        return Vec::new();
    }
    let number = |m: Measured| Entry::Text(m.in_words());
    let fits = |b: &Budget| {
        let of_rate = |(_, ns): (&str, f64)| {
            let sleep = b.packets_per_sleep(ns).map_or(Entry::None, number);
            [number(b.reads_that_fit(ns)), sleep]
        };
        Row::new(label(b), RATES.into_iter().flat_map(of_rate).collect())
    };
    let rate = |b: &Budget| {
        let rate = b.packets_per_second()?;
        let of_rate = match &rate.interval {
            Ok(ends) => Entry::Text(interval(*ends)),
            Err(why) => Entry::Remarked(NONE.to_owned(), no_interval(why)),
        };
        let bits = Entry::Text(bit_rate(&rate));
        let entries = vec![number(rate), of_rate, bits];
        Some(Row::new(label(b), entries))
    };
    let head = || "Load, functions".to_owned();
    let rows: Vec<Row> = budgets.iter().filter_map(rate).collect();
    let mut blocks = vec![
        Content::Lead(
            "How often a program can look at the clock and sleep for each packet of 1500 bytes. Reads: packet time by the median cost of a read. \
             Sleeps: packets that fall due within one median wake-up latency; below 1 a sleep for every packet keeps the rate, \
             at 5 a program must send five packets after each. Medians of all blocks; no more digits than their 95 % interval supports."
                .to_owned(),
        )
        .on(Media::NOT_SCREEN),
        Content::Table(Table {
            head: head(),
            by: "rate",
            groups: RATES
                .map(|(rate, ns)| format!("{rate},\n{}", format_ns(ns)))
                .into(),
            columns: Column::all(["reads", "packets\na sleep"]),
            rows: budgets.iter().map(fits).collect(),
            style: Style::Numbers,
        })
        .into(),
    ];
    if !rows.is_empty() {
        let heading = format!("With {READS_PER_PACKET} reads and one sleep a packet");
        blocks.push(Content::Heading(heading).into());
        blocks.push(
            Content::Lead(
                "So many Kirova et al. 2019 count for each packet of a bandwidth estimator (Korniichuk et al. 2017: 187). \
                 Packets a second = 1 / (reads × read cost + wake-up latency), of medians; the packets themselves cost nothing here, so this is a bound."
                    .to_owned(),
            )
            .on(Media::PAGE),
        );
        blocks.push(
            Content::Table(Table::of(
                head(),
                Column::all(["packets/s", "95 % interval", "at 1500 bytes"]),
                rows,
            ))
            .into(),
        );
    }
    blocks
}

fn label(b: &Budget) -> Label {
    let functions: Vec<&str> = std::iter::once(b.clock.as_str())
        .chain(b.sleep.as_deref())
        .collect();
    Label {
        name: b.place(),
        variant: b.way.to_string(),
        short: b.way.to_string(),
        notes: vec![functions.join(", ")],
    }
}

fn keys(data: &ReportData, keys: &mut Map<String, Value>) {
    let measured = |m: &Measured| {
        let interval = m.interval.as_ref();
        json!({
            "value": m.value,
            "low": interval.ok().map(|i| i.low),
            "high": interval.ok().map(|i| i.high),
            "no_interval": interval.err(),
            "range_of_blocks": m.range.map(|r| json!({ "low": r.low, "high": r.high })),
        })
    };
    let budget = |b: &Budget| {
        json!({
            "platform": b.platform,
            "load": b.load,
            "way": b.way,
            "clock": b.clock,
            "sleep": b.sleep,
            "read_cost_ns": measured(&b.read_ns),
            "wake_up_latency_ns": b.late_ns.as_ref().map(measured),
            "packets_per_second": b.packets_per_second().as_ref().map(measured),
            "rates": RATES.iter().map(|(rate, ns)| json!({
                "rate": rate,
                "packet_ns": ns,
                "reads_that_fit": measured(&b.reads_that_fit(*ns)),
                "packets_per_sleep": b.packets_per_sleep(*ns).as_ref().map(measured),
            })).collect::<Vec<_>>(),
        })
    };
    let value = json!({
        "reads_per_packet": READS_PER_PACKET,
        "budgets": budgets(data).iter().map(budget).collect::<Vec<_>>(),
    });
    keys.insert("packet_budget".to_owned(), value);
}
