//! Prints the JSON Schema of `tompion advise --json`.

fn main() {
    print!("{}", tompion_advise::json_schema());
}
