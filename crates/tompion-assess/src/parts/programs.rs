//! Which other programs took CPU time.

use tompion_model::CpuUse;

use super::words::percent;

/// From this share of the CPUs' time on, other programs are named.
pub(crate) const WORTH_SAYING: f64 = 0.05;

/// A name stands beside it from this share on.
const NAMED: f64 = 0.01;
/// Longer names are cut short; the kernel's own have 15 bytes.
const NAME: usize = 20;

/// `cc1 41 %, make 12 %`, of at most so many; nothing where none took much.
pub(crate) fn named(cpu_use: &CpuUse, at_most: usize) -> Option<String> {
    let with_share = |(name, share)| format!("{name} {}", percent(share));
    let named: Vec<String> = most(cpu_use).take(at_most).map(with_share).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// Those without their shares.
pub(crate) fn names(cpu_use: &CpuUse) -> Vec<String> {
    most(cpu_use).map(|(name, _)| name).collect()
}

/// Those that took most, each with its share.
fn most(cpu_use: &CpuUse) -> impl Iterator<Item = (String, f64)> {
    let most = cpu_use.most.iter().take(CpuUse::MOST);
    let shares = most.map(|p| (short(bare(&p.name)), cpu_use.share(p.cpu_time_ns)));
    shares.filter(|(_, share)| *share >= NAMED)
}

/// The same, or what all of them took together.
pub(crate) fn named_or_all(cpu_use: &CpuUse) -> String {
    named(cpu_use, CpuUse::MOST).unwrap_or_else(|| percent(cpu_use.share(cpu_use.programs_ns)))
}

/// A name that stands in brackets needs none of its own, as `(sd-pam)` has them.
fn bare(name: &str) -> &str {
    let inner = name.strip_prefix('(').and_then(|n| n.strip_suffix(')'));
    inner.filter(|n| !n.is_empty()).unwrap_or(name)
}

fn short(name: &str) -> String {
    match name.chars().count() > NAME {
        true => name.chars().take(NAME - 1).chain(['\u{2026}']).collect(),
        false => name.to_owned(),
    }
}
