//! Prints the JSON Schema of `run.json`.

fn main() {
    print!("{}", tompion_record::json_schema());
}
