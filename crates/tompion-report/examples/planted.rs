//! Writes a page from planted samples and prints its summary, for looking at:
//! `cargo run -p tompion-report --example planted -- DIR [BLOCKS [SAMPLES [PLATFORMS [LOAD...]]]]`.

#[path = "../tests/all/common/mod.rs"]
#[allow(dead_code, unused_imports, reason = "made for the tests, all of it")]
mod common;

use std::path::Path;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("name a directory for the run");
    let mut number = |or: usize| {
        arguments
            .next()
            .map_or(or, |a| a.parse().expect("a number"))
    };
    let (blocks, samples, platforms) = (number(8), number(2_000), number(0));
    let named: Vec<String> = arguments.collect();
    let mut loads: Vec<&str> = named.iter().map(String::as_str).collect();
    if loads.is_empty() {
        loads = vec!["idle", "cpu", "network"];
    }
    let run = common::realistic(
        Path::new(&directory),
        blocks as u32,
        &loads,
        platforms,
        samples,
    );
    let begun = Instant::now();
    let data = common::gather(&run);
    let gathered = begun.elapsed();
    let page = tompion_report::html(&data);
    eprintln!(
        "gathered in {gathered:?}, page of {} bytes in {:?}",
        page.len(),
        begun.elapsed() - gathered
    );
    run.directory()
        .put(tompion_report::REPORT_FILE, page.as_bytes())
        .expect("the page can be written");
    print!("{}", tompion_report::terminal(&data, 100, false));
}
