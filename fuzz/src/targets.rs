//! The targets, one file each.

use crate::Target;

tompion_model::entries! {
    /// All of them, in the order in which they are shown.
    pub static ALL: [Target] =
        run_raw,
        run_repaired,
        parquet_file,
        report,
        redaction,
        lab_plan,
        result_archive,
        guest_frame,
        perf_records,
        tracefs_format,
        elf,
        ld_cache,
        peer,
        chronyd,
        ntpd,
        journal_advise,
        journal_lab,
        interval_log,
        stamp_packets,
        pcapng,
}
