//! Data rates: Equation (1) and the figures of sections 1 and 3.3.

use crate::book::{Book, effect, least, most, sig};
use crate::grid::{FOUR, Grid};

/// Bits of a packet of 1500 bytes.
const PACKET_BIT: f64 = 8.0 * 1500.0;

/// Equation (1): data rate in Gbit/s of packets that leave `gap_ns` apart.
fn gbps(gap_ns: f64) -> f64 {
    PACKET_BIT / gap_ns
}

pub fn decide(book: &mut Book) {
    rates_and_reads(book);
    sleeps(book);
    estimates(book);
}

fn rates_and_reads(book: &mut Book) {
    let reads = Grid::reads();
    let cheapest = least(Grid::cells().map(|(p, l)| reads.median("tsc", p, l)));
    let (spent, gap) = (200.0 * cheapest, PACKET_BIT / 8.9);
    book.holds(
        "reads-per-packet-and-rate-agree",
        spent <= gap,
        format!(
            "200 reads of {} ns take {} us, the gap at 8.9 Gbit/s is {} us; 200 reads alone allow {} Gbit/s.",
            sig(cheapest),
            sig(spent / 1e3),
            sig(gap / 1e3),
            sig(gbps(spent))
        ),
        vec![
            effect("200 of the cheapest median counter reads", spent, "ns"),
            effect("gap between packets of 1500 bytes at 8.9 Gbit/s", gap, "ns"),
            effect("packets a second that 200 such reads allow", 1e9 / spent, "1/s"),
        ],
    );
    let (slow, fast) = (1e3 * gbps(100_000.0), 1e3 * gbps(40_000.0));
    book.holds(
        "rate-limit-of-usleep",
        (slow - 120.0).abs() < 0.5 && (fast - 320.0).abs() < 0.5,
        format!(
            "100 us between packets are {} Mbit/s, 40 us are {} Mbit/s.",
            sig(slow),
            sig(fast)
        ),
        vec![
            effect("data rate at 40 us", fast, "Mbit/s"),
            effect("data rate at 100 us", slow, "Mbit/s"),
        ],
    );
    book.holds(
        "rate-at-40-us",
        (fast - 300.0).abs() < 0.5,
        format!("40 us between packets are {} Mbit/s.", sig(fast)),
        vec![effect("data rate at 40 us", fast, "Mbit/s")],
    );
    let miss = least(FOUR.map(|p| Grid::sleeps().median("hptsleep", p, "idle")));
    book.open(
        "capacity-120-gbps",
        format!(
            "A packet each 100 ns is {} Gbit/s, and a wake-up latency of {} ns alone would allow {}; 200 reads of {} ns a packet allow {}, and the largest rate reported is 8.9 Gbit/s.",
            sig(gbps(100.0)),
            sig(miss),
            sig(gbps(miss)),
            sig(cheapest),
            sig(gbps(spent))
        ),
        vec![
            effect("bound set by a gap of 100 ns", gbps(100.0), "Gbit/s"),
            effect("bound set by the least median wake-up latency", gbps(miss), "Gbit/s"),
            effect("bound set by 200 reads a packet", gbps(spent), "Gbit/s"),
            effect("largest rate reported", 8.9, "Gbit/s"),
        ],
    );
}

fn sleeps(book: &mut Book) {
    let sleeps = Grid::sleeps();
    let all = || Grid::cells().map(move |(p, l)| sleeps.median("usleep", p, l) / 1e3);
    let (low, high) = (least(all()), most(all()));
    book.holds(
        "usleep-median-40-to-100-us",
        low <= 44.0 && high <= 110.0,
        format!(
            "The medians lie between {} and {} us; {} of 15 are above 100 us.",
            sig(low),
            sig(high),
            all().filter(|m| *m > 100.0).count()
        ),
        vec![
            effect("least uSleep median", low, "us"),
            effect("largest uSleep median", high, "us"),
        ],
    );
    let of = |column| least(Grid::cells().map(|(p, l)| sleeps.at(column, "hptsleep", p, l)));
    let (median, min) = (of("median"), of("min"));
    book.holds(
        "wake-up-within-56-ns",
        min <= 56.0,
        format!(
            "The least minimum is {} ns, the least median {} ns.",
            sig(min),
            sig(median)
        ),
        vec![
            effect("least HPTSleep minimum", min, "ns"),
            effect("least HPTSleep median", median, "ns"),
        ],
    );
    // The second phase spins for one tick; 1000 Hz is the paper's upper limit of HZ.
    let shortest_ms = 1.0 / 0.015;
    book.open(
        "hybrid-takes-1-5-percent-cpu",
        format!(
            "Spinning for a tick of 1 ms is 1.5 % of a sleep of {} ms, and all of a sleep of 1 ms or less, such as the gaps between packets; the target is not given.",
            sig(shortest_ms)
        ),
        vec![
            effect("sleep of which one tick of 1 ms is 1.5 %", shortest_ms, "ms"),
            effect("share spun of a sleep of 40 us", 100.0, "%"),
        ],
    );
    let late = Grid::sleeps().median("usleep", "host", "idle");
    let gap = PACKET_BIT / 3.6;
    book.holds(
        "usleep-limits-to-3-6-gbps",
        gbps(late) >= 3.6,
        format!(
            "A sleep {} us too long at each packet of 1500 bytes allows {} Gbit/s; 3.6 Gbit/s are a packet each {} us.",
            sig(late / 1e3),
            sig(gbps(late)),
            sig(gap / 1e3)
        ),
        vec![
            effect("rate with one such sleep a packet", gbps(late), "Gbit/s"),
            effect("gap between packets at 3.6 Gbit/s", gap, "ns"),
        ],
    );
}

/// Figures of section 3.3, in Mbit/s.
fn estimates(book: &mut Book) {
    let (precise, standard, free) = (587.0f64, 620.0f64, 500.0f64);
    let (near, far) = ((precise - free).abs(), (standard - free).abs());
    book.holds(
        "1g-precise-nearer-truth",
        near < far,
        format!(
            "587 is {} Mbit/s off and 620 is {}; both overestimate, by {} and {} %.",
            sig(near),
            sig(far),
            sig(100.0 * near / free),
            sig(100.0 * far / free)
        ),
        vec![
            effect("error with precise functions", near, "Mbit/s"),
            effect("error with standard functions", far, "Mbit/s"),
        ],
    );
    // 10 Gbit/s less the cross traffic of 1 Gbit/s.
    let error = |rate: f64| 100.0 * (1.0 - rate / 9.0);
    book.holds(
        "3-6-gbps-is-60-percent-error",
        error(3.6) >= 60.0 - 1e-9,
        format!("At 3.6 of 9 Gbit/s the error is {} %.", sig(error(3.6))),
        vec![effect("error at 3.6 of 9 Gbit/s", error(3.6), "%")],
    );
    let implied = 9.0 * (1.0 - 0.82);
    book.open(
        "10g-guest-82-percent-error",
        format!(
            "1.9 of 9 Gbit/s is an error of {} %; 82 % is an estimate of {} Gbit/s, which 1.9 as a bound allows.",
            sig(error(1.9)),
            sig(implied)
        ),
        vec![
            effect("error at 1.9 of 9 Gbit/s", error(1.9), "%"),
            effect("estimate that is 82 % wrong", implied, "Gbit/s"),
        ],
    );
    let apart = 100.0 * (8922.0 - 8871.0) / 8922.0;
    book.holds(
        "10g-guest-median-near-host",
        apart < 1.0,
        format!("They differ by {} %.", sig(apart)),
        vec![effect("difference of the medians", apart, "%")],
    );
    let ratio = 197.16 / 20.82;
    book.holds(
        "10g-guest-mad-tenfold",
        (9.0..10.0).contains(&ratio),
        format!(
            "197.16 / 20.82 is {}; the text calls 20.82 a variance where it first gives it.",
            sig(ratio)
        ),
        vec![effect("guest over host", ratio, "1")],
    );
}
