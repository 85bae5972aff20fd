//! Prints the JSON Schema of `run.json`.

fn main() {
    print!("{}", tompion_model::json_schema());
}
