//! One Parquet file, as it lies there.

use crate::Target;
use crate::{one_line, scratch};

pub static ENTRY: Target = Target {
    name: "parquet-file",
    about: "a Parquet file with any footer and any pages",
    parser: &[
        "tompion-store/src/parquet_file.rs",
        "tompion-store/src/pages.rs",
        "tompion-store/src/footer.rs",
        "tompion-store/src/thrift.rs",
    ],
    most_bytes: 8192,
    run,
};

fn run(bytes: &[u8]) {
    let place = scratch::directory();
    let path = place.path().join("t.parquet");
    std::fs::write(&path, bytes).expect("a file");
    if let Err(error) = tompion_store::fuzz::parquet_file(&path) {
        one_line(&error.to_string());
    }
}
