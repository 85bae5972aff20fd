//! The counter's rate from the paravirtual clock page that the kernel maps
//! into every process for its vDSO.
//!
//! On x86-64 two pages belong to hypervisors: that of KVM and Xen ("pvclock")
//! and that of Hyper-V (the reference TSC page). Since Linux 6.13 they are the
//! two pages of the mapping `[vvar_vclock]`; before that, pages 1 and 2 of
//! `[vvar]`. A page has memory behind it only once the kernel has kept time by
//! it (KVM guests do so at boot, before they turn to the TSC).
//!
//! Only these pages are looked at: others hold the kernel's own time data, in
//! which a plausible rate can be found by accident.

use std::fs;

use super::{HintOrigin, RateHint, sys};

/// What the page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The rate of the counter.
    pub hint: RateHint,
    /// pvclock alone: the host promises one counter for all virtual CPUs
    /// (`PVCLOCK_TSC_STABLE_BIT`).
    pub stable: Option<bool>,
}

/// Looks for the page in this process.
pub(super) fn look() -> Option<Page> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let (pvclock, reference) = addresses(&maps)?;
    read(pvclock, parse_pvclock).or_else(|| read(reference, parse_reference))
}

/// Copies and parses a page that the hypervisor may be writing: two equal
/// copies in succession are one whole state.
fn read(address: usize, parse: impl Fn(&[u8; 32]) -> Option<Page>) -> Option<Page> {
    let copy = || {
        let mut bytes = [0; 32];
        sys::copy_from(address, &mut bytes).then_some(bytes)
    };
    let mut last = copy()?;
    for _ in 0..8 {
        let next = copy()?;
        if next == last {
            return parse(&next);
        }
        last = next;
    }
    None
}

/// Addresses of the pvclock page and of the reference TSC page.
fn addresses(maps: &str) -> Option<(usize, usize)> {
    const PAGE: usize = 4096;
    let start_of = |name: &str| {
        let line = maps.lines().find(|l| l.ends_with(name))?;
        let (start, rest) = line.split_once('-')?;
        let end = rest.split_whitespace().next()?;
        let parse = |hex| usize::from_str_radix(hex, 16).ok();
        let start = parse(start)?;
        Some((start, parse(end)?.checked_sub(start)? / PAGE))
    };
    let (first, pages) = match (start_of(" [vvar_vclock]"), start_of(" [vvar]")) {
        (Some((start, pages)), _) => (start, pages),
        (None, Some((start, pages))) => (start + PAGE, pages.saturating_sub(1)),
        (None, None) => return None,
    };
    (pages >= 2).then_some((first, first + PAGE))
}

fn u32_at(page: &[u8; 32], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// `struct pvclock_vcpu_time_info`, an ABI of Xen and KVM: version (odd while
/// written) at 0, multiplier at 24, shift at 28, flags at 29. Nanoseconds are
/// ticks * 2^shift * multiplier / 2^32.
fn parse_pvclock(page: &[u8; 32]) -> Option<Page> {
    let multiplier = u32_at(page, 24);
    let shift = i32::from(page[28] as i8);
    if !u32_at(page, 0).is_multiple_of(2) || multiplier == 0 || shift.abs() > 31 {
        return None;
    }
    let ns_per_tick = f64::from(multiplier) * 2f64.powi(shift - 32);
    Some(Page {
        hint: RateHint::plausible(1e9 / ns_per_tick, HintOrigin::PvclockPage)?,
        stable: Some(page[29] & 1 != 0),
    })
}

/// The reference TSC page of Hyper-V's specification: sequence (0 is invalid)
/// at 0, scale at 8, offset at 16. Units of 100 ns are ticks * scale / 2^64.
fn parse_reference(page: &[u8; 32]) -> Option<Page> {
    let scale = u64::from(u32_at(page, 12)) << 32 | u64::from(u32_at(page, 8));
    if u32_at(page, 0) == 0 || scale == 0 {
        return None;
    }
    Some(Page {
        hint: RateHint::plausible(
            1e7 * 2f64.powi(64) / scale as f64,
            HintOrigin::ReferenceTscPage,
        )?,
        stable: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a KVM guest at 2596.135 MHz saw.
    const SEEN: [u8; 32] = [
        0x5e, 0, 0, 0, 0, 0, 0, 0, 0x10, 0xaa, 0x60, 0xd1, 0, 0, 0, 0, 0x79, 0xd8, 0x8c, 0x50, 0,
        0, 0, 0, 0xed, 0x5b, 0x37, 0xc5, 0xff, 0x01, 0, 0,
    ];

    #[test]
    fn a_page_of_kvm() {
        let page = parse_pvclock(&SEEN).unwrap();
        assert_eq!(page.hint.hz, 2_596_135_000);
        assert_eq!(page.hint.origin, HintOrigin::PvclockPage);
        assert_eq!(page.stable, Some(true));
        let mut unstable = SEEN;
        unstable[29] = 0;
        assert_eq!(parse_pvclock(&unstable).unwrap().stable, Some(false));
    }

    #[test]
    fn pages_in_the_making_or_beyond_belief_are_refused() {
        let with = |at: usize, value: u8| {
            let mut page = SEEN;
            page[at] = value;
            parse_pvclock(&page)
        };
        assert_eq!(with(0, 0x5f), None, "odd version");
        assert_eq!(with(28, 10), None, "a rate of 1.3 MHz");
        assert_eq!(with(28, 0x7f), None, "a shift out of range");
        assert_eq!(with(28, 0xf8), None, "a rate of 332 GHz");
        assert_eq!(parse_pvclock(&[0; 32]), None, "multiplier 0");
    }

    #[test]
    fn a_page_of_hyper_v() {
        let mut page = [0; 32];
        // 2.4 GHz: 2^64 / 240 ticks in 100 ns.
        page[8..16].copy_from_slice(&(u64::MAX / 240).to_le_bytes());
        assert_eq!(parse_reference(&page), None, "sequence 0");
        page[0] = 3;
        let parsed = parse_reference(&page).unwrap();
        assert_eq!(parsed.hint.hz, 2_400_000_000);
        assert_eq!(parsed.hint.origin, HintOrigin::ReferenceTscPage);
        page[8..16].fill(0);
        assert_eq!(parse_reference(&page), None, "scale 0");
    }

    #[test]
    fn the_pages_are_found_under_old_and_new_kernels() {
        let new = "7fff00000000-7fff00004000 r--p 00000000 00:00 0    [vvar]\n\
                   7fff00004000-7fff00006000 r--p 00000000 00:00 0    [vvar_vclock]\n\
                   7fff00006000-7fff00008000 r-xp 00000000 00:00 0    [vdso]\n";
        assert_eq!(addresses(new), Some((0x7fff_0000_4000, 0x7fff_0000_5000)));
        let old = "7ffe10000000-7ffe10004000 r--p 00000000 00:00 0    [vvar]\n";
        assert_eq!(addresses(old), Some((0x7ffe_1000_1000, 0x7ffe_1000_2000)));
        let tiny = "7ffe10000000-7ffe10001000 r--p 00000000 00:00 0   [vvar]\n";
        assert_eq!(addresses(tiny), None);
        assert_eq!(addresses("nonsense [vvar]\n"), None);
        assert_eq!(addresses(""), None);
    }
}
