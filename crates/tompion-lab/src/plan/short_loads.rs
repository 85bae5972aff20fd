//! Loads as plans write them.

use tompion_load::LoadSpec;
use tompion_model::InvalidValue;

/// The longest load: as a level of a run it can have no more.
const MOST_BYTES: usize = 1024;

/// A load; `cpu:2` is short for `cpu:threads=2`.
pub(super) fn load(text: Option<&str>) -> Result<LoadSpec, InvalidValue> {
    let text = text.ok_or("a load in quotes is wanted, such as \"cpu:1\"")?;
    if text.len() > MOST_BYTES {
        return Err(format!("a load of {} bytes; {MOST_BYTES} at most", text.len()).into());
    }
    let long = match text.split_once(':') {
        Some((name, n)) if n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty() => {
            format!("{name}:threads={n}")
        }
        _ => text.to_owned(),
    };
    long.parse::<LoadSpec>().map_err(|e| e.to_string().into())
}
