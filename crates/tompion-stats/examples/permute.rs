//! Tests groups of replicates given as JSON on standard input, a list of
//! `{"a": [...], "b": [...], "design": "independent" | "paired", "confidence": 0.95}`,
//! and answers one object each on standard output.

use serde_json::{Value, json};
use tompion_stats::{Design, permutation_test, shift_interval};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let requests: Vec<Value> = serde_json::from_reader(std::io::stdin())?;
    let answers: Vec<Value> = requests.iter().map(answer).collect::<Result<_, _>>()?;
    println!("{}", Value::from(answers));
    Ok(())
}

fn answer(request: &Value) -> Result<Value, Box<dyn std::error::Error>> {
    let group = |name: &str| -> Result<Vec<f64>, String> {
        let figures = request[name]
            .as_array()
            .and_then(|v| v.iter().map(Value::as_f64).collect());
        figures.ok_or_else(|| format!("{name}: expected a list of numbers"))
    };
    let (a, b) = (group("a")?, group("b")?);
    let design = match request["design"].as_str() {
        Some("independent") => Design::Independent,
        Some("paired") => Design::Paired,
        _ => return Err("design: expected \"independent\" or \"paired\"".into()),
    };
    let confidence = request["confidence"]
        .as_f64()
        .ok_or("confidence: expected a number")?;
    let test = permutation_test(&a, &b, design)?;
    let shift = shift_interval(&a, &b, design, confidence)?;
    let interval = shift.and_then(|s| s.interval);
    Ok(json!({
        "p": test.p,
        "least_p": test.least_p,
        "shift": shift.map(|s| s.estimate),
        "low": interval.map(|i| i.low),
        "high": interval.map(|i| i.high),
    }))
}
