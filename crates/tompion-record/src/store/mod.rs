//! A run directory on disk.

mod atomic;
mod reader;
mod reserve;
mod stall_table;
mod tables;
mod writer;

pub use reader::Run;
pub use writer::RunWriter;

/// Writes a file whole or not at all: what stood there before survives a failure.
/// Symbolic links are followed; a device or a pipe is written to as it stands.
pub fn write_whole(path: &std::path::Path, content: &[u8]) -> crate::Result<()> {
    atomic::write(path, |out| {
        out.write_all(content)
            .map_err(crate::Error::io(path, "writing"))
    })
}

/// Name of the run's description inside its directory.
const RUN_FILE: &str = "run.json";

/// Name of the directory of sample files.
const SAMPLES: &str = "samples";

/// Bins of a trial that outgrew its limit stand beside its sample file.
fn bins_file(sample_file: &str) -> String {
    sample_file.replace(".parquet", ".bins.parquet")
}

/// The stalls of a trial by cause stand there too.
fn stalls_file(sample_file: &str) -> String {
    sample_file.replace(".parquet", ".stalls.parquet")
}

/// Opens a regular file; anything else, such as a pipe, which would keep a
/// reader waiting for ever, is refused.
fn open_file(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::File::open(path)
    } else {
        Err(std::io::Error::other("not a regular file"))
    }
}
