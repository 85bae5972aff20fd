//! The hypervisor's notice that the counter was disturbed: the vmclock device.
//!
//! Layout, from Linux `include/uapi/linux/vmclock-abi.h` (all little-endian):
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic, "VCLK" |
//! | 4 | 4 | size of the region |
//! | 8 | 2 | version, 1 |
//! | 10 | 1 | which counter: 0 Arm virtual count, 1 x86 TSC, 255 none |
//! | 11 | 1 | type of time |
//! | 12 | 4 | sequence count, odd during an update |
//! | 16 | 8 | disruption marker |
//! | 24 | 8 | flags |
//! | 32 | 2 | padding |
//! | 34 | 1 | status: 2 synchronised, 3 free-running |
//! | 35 | 4 | leap seconds and TAI |
//! | 39 | 1 | shift of the period |
//! | 40 | 8 | counter value |
//! | 48 | 8 | counter period, in 2^-(64 + shift) s |
//!
//! The marker takes another value whenever the counter may have jumped or
//! changed its rate: live migration, or a restore from a snapshot.

use std::fs::File;
use std::io;
use std::path::Path;

use super::sys::SharedPage;
use super::{HintOrigin, RateHint};

const DEVICE: &str = "dev/vmclock0";
const MAGIC: u32 = u32::from_le_bytes(*b"VCLK");
const SEQUENCE: usize = 12;
const MARKER: usize = 16;
/// Up to and with the flags: what the kernel's driver demands as well.
const SMALLEST: u32 = 32;
/// Up to and with the period.
const WITH_PERIOD: u32 = 56;

/// The number of this architecture's counter in the device's terms.
const OUR_COUNTER: u32 = if cfg!(target_arch = "x86_64") {
    1
} else if cfg!(target_arch = "aarch64") {
    0
} else {
    u32::MAX
};

/// Whether the device is there, and if not used, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmclockState {
    /// No such device: the common case.
    Absent,
    /// There, but not open to this process.
    Refused(io::ErrorKind),
    /// There, but not of a form that we know.
    Malformed,
    /// In use.
    Mapped,
}

/// The device's page.
#[derive(Debug)]
pub(crate) struct Vmclock(SharedPage);

impl Vmclock {
    /// Maps `dev/vmclock0` below `root`.
    pub fn open(root: &Path) -> Result<Self, VmclockState> {
        let state = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => VmclockState::Absent,
            kind => VmclockState::Refused(kind),
        };
        let file = File::open(root.join(DEVICE)).map_err(state)?;
        let about = file.metadata().map_err(state)?;
        // Past the end of a short file a read would raise a signal. (A device
        // has no length; its driver maps exactly one page.)
        if about.is_file() && about.len() < SharedPage::BYTES as u64 {
            return Err(VmclockState::Malformed);
        }
        let page = Self(SharedPage::map(&file).map_err(state)?);
        if page.is_well_formed() {
            Ok(page)
        } else {
            Err(VmclockState::Malformed)
        }
    }

    fn is_well_formed(&self) -> bool {
        self.0.u32_at(0) == MAGIC && self.0.u32_at(4) >= SMALLEST && self.0.u32_at(8) & 0xffff == 1
    }

    /// Reads under the sequence count, up to a bound; then as it stands.
    fn consistent<T>(&self, read: impl Fn(&SharedPage) -> T) -> (T, bool) {
        const TRIES: u32 = 16;
        let mut tries = 0;
        loop {
            let before = self.0.u32_at(SEQUENCE);
            SharedPage::read_barrier();
            let value = read(&self.0);
            SharedPage::read_barrier();
            let whole = before.is_multiple_of(2) && before == self.0.u32_at(SEQUENCE);
            tries += 1;
            if whole || tries == TRIES {
                return (value, whole);
            }
        }
    }

    /// The marker. While an update goes on for long it is returned as it
    /// stands: one aligned word, hence the old value or the new one.
    pub fn disruption_marker(&self) -> u64 {
        self.consistent(|page| page.u64_at(MARKER)).0
    }

    /// The rate of the counter, where the host measures it.
    pub fn rate_hint(&self) -> Option<RateHint> {
        let (found, whole) = self.consistent(|page| {
            let counter = page.u32_at(8) >> 16 & 0xff;
            let status = page.u32_at(32) >> 16 & 0xff;
            let shift = page.u32_at(36) >> 24;
            let known =
                page.u32_at(4) >= WITH_PERIOD && counter == OUR_COUNTER && matches!(status, 2 | 3);
            known.then(|| (page.u64_at(48), shift))
        });
        let (period, shift) = found.filter(|_| whole)?;
        let seconds = period as f64 * 2f64.powi(-64 - shift as i32);
        RateHint::plausible(1.0 / seconds, HintOrigin::Vmclock)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, vmclock_page};
    use super::*;

    fn opened(page: &[u8]) -> Result<Vmclock, VmclockState> {
        let tree = Tree::new();
        tree.write(DEVICE, page);
        Vmclock::open(tree.root())
    }

    #[test]
    fn absence_and_nonsense_are_told_apart() {
        assert_eq!(
            Vmclock::open(Tree::new().root()).unwrap_err(),
            VmclockState::Absent
        );
        let mut page = vmclock_page(1);
        assert!(opened(&page).is_ok());
        assert_eq!(opened(&page[..100]).unwrap_err(), VmclockState::Malformed);
        page[8] = 2;
        assert_eq!(opened(&page).unwrap_err(), VmclockState::Malformed);
        assert_eq!(opened(&[0; 4096]).unwrap_err(), VmclockState::Malformed);
    }

    #[test]
    fn the_marker_is_read_even_during_an_endless_update() {
        let mut page = vmclock_page(0x0123_4567_89ab_cdef);
        assert_eq!(
            opened(&page).unwrap().disruption_marker(),
            0x0123_4567_89ab_cdef
        );
        page[12] |= 1;
        let stuck = opened(&page).unwrap();
        assert_eq!(stuck.disruption_marker(), 0x0123_4567_89ab_cdef);
        assert_eq!(stuck.rate_hint(), None);
    }

    #[test]
    fn the_rate_is_taken_from_a_valid_period_alone() {
        let mut page = vmclock_page(1);
        page[10] = OUR_COUNTER as u8;
        page[34] = 2;
        // 2.5 GHz: a period of 2^64 / 2.5e9, times 2^8 for the shift.
        let period = (2f64.powi(72) / 2.5e9) as u64;
        page[39] = 8;
        page[48..56].copy_from_slice(&period.to_le_bytes());
        let hint = opened(&page).unwrap().rate_hint().unwrap();
        assert_eq!((hint.hz, hint.origin), (2_500_000_000, HintOrigin::Vmclock));
        let mut foreign = page.clone();
        foreign[10] = 255;
        assert_eq!(opened(&foreign).unwrap().rate_hint(), None);
        let mut unsure = page.clone();
        unsure[34] = 4;
        assert_eq!(opened(&unsure).unwrap().rate_hint(), None);
        page[48..56].fill(0);
        assert_eq!(opened(&page).unwrap().rate_hint(), None);
    }
}
