//! How much loads may write beside a run.

use std::time::Duration;

use tompion_load::{LoadSpec, least_write_bytes, longest_write_time};
use tompion_model::format_duration;

/// What a load is on beside its trials, at most.
pub const BESIDE_TRIALS: Duration = Duration::from_secs(10);

/// Refuses a run so long that its loads would have to write more than `most` bytes.
pub fn require_few_writes(loads: &[LoadSpec], duration: Duration, most: u64) -> anyhow::Result<()> {
    let needed = |time: Duration| least_write_bytes(loads, time + BESIDE_TRIALS);
    if needed(duration) <= most {
        return Ok(());
    }
    let writing = loads.iter().filter(|l| l.is_paced());
    let names: Vec<String> = writing.map(LoadSpec::level).collect();
    let longest = longest_write_time(loads, most).and_then(|time| time.checked_sub(BESIDE_TRIALS));
    let shorter = longest
        .filter(|time| !time.is_zero())
        .map_or(String::new(), |time| {
            format!("shorten it to {}, ", in_option(time))
        });
    anyhow::bail!(
        "--duration {}: beside a check loads write at most {:.0} MB, and over so long {} would \
         need {:.0} MB (100 writes of 4 KiB a second); {shorter}leave {} out, or use `tompion \
         measure`",
        in_option(duration),
        most as f64 / 1e6,
        names.join(" and "),
        (needed(duration) as f64 / 1e6).ceil(),
        if names.len() == 1 { "it" } else { "them" },
    )
}

/// A time as an option takes it, in the largest unit that divides it: `90s`, `10m`, `1h`.
pub fn in_option(time: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3600, "h"), (60, "m")];
    let seconds = time.as_secs();
    let whole = |(unit, _): &&(u64, &str)| seconds > 0 && seconds.is_multiple_of(*unit);
    match UNITS.iter().find(whole) {
        Some((unit, name)) if time.subsec_nanos() == 0 => format!("{}{name}", seconds / unit),
        _ => format_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use tompion_load::write_budget;

    use super::super::session::load_time;
    use super::*;

    fn loads(names: &str) -> Vec<LoadSpec> {
        names.split(',').map(|n| n.parse().unwrap()).collect()
    }

    #[test]
    fn a_run_too_long_for_its_writes_is_refused_with_what_would_be_right() {
        let most = 140_000_000;
        let refused = |names, seconds| {
            let time = Duration::from_secs(seconds);
            require_few_writes(&loads(names), time, most).map_err(|e| e.to_string())
        };
        for (names, seconds) in [
            ("idle,cpu,disk-read", 86_400),
            ("idle,io,hd,file-server", 105),
            ("io", 263),
        ] {
            assert_eq!(refused(names, seconds), Ok(()));
        }
        assert_eq!(
            refused("idle,io", 600).unwrap_err(),
            "--duration 10m: beside a check loads write at most 140 MB, and over so long io would \
             need 313 MB (100 writes of 4 KiB a second); shorten it to 263s, leave it out, or use \
             `tompion measure`"
        );
        let error = refused("io+hd+file-server,hd", 90).unwrap_err();
        assert!(
            error.contains("io+hd") || error.contains("and hd"),
            "{error}"
        );
        assert!(
            error.contains("leave them out") && !error.contains('\n'),
            "{error}"
        );
    }

    #[test]
    fn loads_that_write_may_do_so_for_an_hour() {
        let loads = loads("idle,cpu,io,hd,file-server");
        let hour = Duration::from_secs(3600);
        let time = load_time(hour);
        let least = least_write_bytes(&loads, time);
        assert!(write_budget(&loads, time) >= least && least > 1_800_000_000);
        assert!(time > hour);
    }

    #[test]
    fn times_are_told_as_they_are_typed() {
        for text in ["1h", "10m", "90s", "2d", "500us", "1500ms", "7ns"] {
            let ns = tompion_model::parse_duration_ns(text).unwrap();
            assert_eq!(in_option(Duration::from_nanos(ns)), text);
        }
    }
}
