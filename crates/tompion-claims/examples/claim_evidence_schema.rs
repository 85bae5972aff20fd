//! Prints the JSON Schema of the files in `claims/evidence`.

fn main() {
    print!("{}", tompion_claims::json_schema());
}
