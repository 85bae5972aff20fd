//! Prints the JSON Schema of the files in `claims/evidence`.

fn main() {
    print!("{}", tompion_papers::claims::json_schema());
}
