//! Prints the JSON Schema of `tompion report --format verdict-json`.

fn main() {
    print!("{}", tompion_report::verdict_schema());
}
