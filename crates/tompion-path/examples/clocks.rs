//! What is made of a far end's clock, for `benches/clocks.py`. A line of the input is a probe and its reply: when it was sent, when it
//! came there, when the reply left and when it came home, in nanoseconds, divided by commas. A line of the output is
//!
//!     clock FROM RATE_PPM LEAST_PPM MOST_PPM STEP_NS     a stretch in which it kept its rate, from that probe (0 is the first) on
//!     off NS                                             by how much delays may be off
//!     delay ROW OUTWARD_NS HOMEWARD_NS                   those of a probe that fits

use std::error::Error;
use std::io::stdin;

use tompion_path::clocks::{ClockFit, Exchange};

fn main() -> Result<(), Box<dyn Error>> {
    let of_line = |(row, line): (usize, String)| -> Result<Exchange, Box<dyn Error>> {
        let stamps: Vec<i64> = line.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [sent_ns, far_received_ns, far_sent_ns, received_ns] = stamps[..] else {
            return Err(format!("line {}: four stamps are wanted", row + 1).into());
        };
        Ok(Exchange {
            row,
            sent_ns,
            far_received_ns,
            far_sent_ns,
            received_ns,
        })
    };
    let lines = stdin().lines().collect::<Result<Vec<_>, _>>()?;
    let exchanges: Vec<Exchange> = lines
        .into_iter()
        .enumerate()
        .map(of_line)
        .collect::<Result<_, _>>()?;
    let fit = ClockFit::of(&exchanges, exchanges.len())?;
    let steps = std::iter::once(0.0).chain(fit.changes().map(|change| match change.is_step() {
        true => change.step_ns,
        false => 0.0,
    }));
    for (piece, step) in fit.pieces.iter().zip(steps) {
        let from = exchanges
            .iter()
            .position(|exchange| exchange.received_ns >= piece.from_ns);
        let [rate, least, most] =
            [piece.line.rate, *piece.rates.start(), *piece.rates.end()].map(|rate| 1e6 * rate);
        println!("clock {} {rate} {least} {most} {step}", from.unwrap_or(0));
    }
    println!("off {}", fit.may_be_off_ns);
    for (row, (out, home)) in fit.outward.iter().zip(fit.homeward.iter()).enumerate() {
        if let (Some(out), Some(home)) = (out, home) {
            println!("delay {row} {out} {home}");
        }
    }
    Ok(())
}
