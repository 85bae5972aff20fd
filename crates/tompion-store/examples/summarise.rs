//! Summarises values in picoseconds, one a line on standard input, as JSON.

use std::io::Read;

use tompion_model::Summary;
use tompion_stats::Distribution;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let values: Vec<i64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    let summary = Summary::of_ps(&Distribution::from_values(values));
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}
