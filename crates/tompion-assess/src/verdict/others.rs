//! Whether a use fails at rest only where other programs ran.
//!
//! That is judged once more, without the samples that they held up, and may only take a failure back: leaving late
//! samples out shows nothing of a machine that is left alone, so no use passes by it, and both answers are wrong as
//! seldom as before.

use tompion_model::{Cell, CpuUse};

use crate::parts::programs::{WORTH_SAYING, named_or_all};
use crate::verdict::Outcome;

/// CPU time goes in ticks of up to 10 ms: of fewer than five nothing is to be said, in cells of short trials.
const LEAST_NS: u64 = 50_000_000;

/// What others have to do with a failure.
pub(super) enum Others {
    /// Nothing that is known.
    Nothing,
    /// They took the CPUs for more than a little, and nobody saw which samples they held up.
    Unseen(String),
    /// Without the samples that they held up it does not fail.
    Alone(String),
}

/// What others have to do with the failure of a cell; `without` judges it without the samples that they held up, where
/// any are left.
pub(super) fn others(cell: &Cell, without: impl FnOnce() -> Option<Outcome>) -> Others {
    let took_much =
        |u: &&CpuUse| u.share(u.programs_ns) > WORTH_SAYING && u.programs_ns >= LEAST_NS;
    let Some(cpu_use) = cell.cpu_use.as_ref().filter(took_much) else {
        return Others::Nothing;
    };
    match cell.is_at_rest() {
        false => Others::Nothing,
        true if !cell.watched => Others::Unseen(format!(
            "other programs ran meanwhile ({}), and nothing watched which samples they held up",
            named_or_all(cpu_use)
        )),
        true if without() == Some(Outcome::Fail) => Others::Nothing,
        true => Others::Alone(format!(
            "fails only where other programs ran ({})",
            named_or_all(cpu_use)
        )),
    }
}

#[cfg(test)]
mod tests;
