//! What the processor, or the hypervisor in its name, says through CPUID.

/// Registers that one leaf returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// Something that answers CPUID: the processor or a test.
pub trait Cpuid {
    /// The answer for a leaf (EAX) and subleaf (ECX).
    fn leaf(&self, leaf: u32, subleaf: u32) -> Leaf;
}

/// The processor; `None` on processors that have no CPUID.
pub fn native() -> Option<&'static dyn Cpuid> {
    #[cfg(any(
        target_arch = "x86_64",
        all(target_arch = "x86", target_feature = "sse")
    ))]
    {
        struct Native;
        impl Cpuid for Native {
            fn leaf(&self, leaf: u32, subleaf: u32) -> Leaf {
                let r = raw_cpuid::native_cpuid::cpuid_count(leaf, subleaf);
                Leaf {
                    eax: r.eax,
                    ebx: r.ebx,
                    ecx: r.ecx,
                    edx: r.edx,
                }
            }
        }
        return Some(&Native);
    }
    #[allow(unreachable_code, reason = "reached on other processors")]
    None
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuidFacts {
    /// Whether the processor says that it runs under a hypervisor.
    pub hypervisor_present: bool,
    /// Signatures of hypervisors with their leaves. There can be several: KVM
    /// and Xen may show themselves as Hyper-V first, and as themselves further up.
    pub signatures: Vec<(u32, String)>,
    /// Features for timing that the hypervisor offers.
    pub features: Vec<String>,
    /// Whether the hypervisor says that it intercepts reads of the counter.
    pub tsc_intercepted: Option<bool>,
    /// Whether the counter runs at a constant rate in all power states.
    pub tsc_invariant: Option<bool>,
    /// Rate of the counter as stated, with the leaf that states it.
    pub tsc_stated: Option<(u64, &'static str)>,
}

const HYPERVISOR_BASE: u32 = 0x4000_0000;
const KVM: &str = "KVMKVMKVM";
const XEN: &str = "XenVMMXenVMM";
const HYPER_V: &str = "Microsoft Hv";

impl CpuidFacts {
    /// Asks all leaves of interest.
    pub fn read(cpuid: &dyn Cpuid) -> Self {
        let mut facts = Self {
            hypervisor_present: cpuid.leaf(1, 0).ecx & (1 << 31) != 0,
            tsc_invariant: invariant(cpuid),
            tsc_stated: stated_by_processor(cpuid),
            ..Self::default()
        };
        // Without the bit, Intel processors answer these leaves with those of
        // the highest basic leaf: numbers that mean nothing here.
        if facts.hypervisor_present {
            facts.read_hypervisor(cpuid);
        }
        facts
    }

    fn read_hypervisor(&mut self, cpuid: &dyn Cpuid) {
        for base in (0..4).map(|i| HYPERVISOR_BASE + i * 0x100) {
            let answer = cpuid.leaf(base, 0);
            let text = signature(answer);
            if text.is_empty() || self.signatures.iter().any(|s| s.1 == text) {
                continue;
            }
            // KVM once answered 0 where it meant base + 1.
            let highest = answer.eax.max(base + 1);
            self.features.extend(features(cpuid, base, highest, &text));
            if text == XEN {
                self.tsc_intercepted = Some(cpuid.leaf(base + 3, 0).eax & 1 != 0);
            }
            self.signatures.push((base, text));
        }
        let highest = cpuid.leaf(HYPERVISOR_BASE, 0).eax;
        if self.tsc_stated.is_none() && (0x4000_0010..0x4001_0000).contains(&highest) {
            // VMware's leaf, taken over by KVM and others.
            let khz = cpuid.leaf(0x4000_0010, 0).eax;
            self.tsc_stated = (khz > 0).then_some((u64::from(khz) * 1000, "0x40000010"));
        }
    }
}

/// The twelve letters of EBX, ECX and EDX; empty where they are no letters.
fn signature(leaf: Leaf) -> String {
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
    if text.len() >= 8 && text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        text.to_owned()
    } else {
        String::new()
    }
}

fn invariant(cpuid: &dyn Cpuid) -> Option<bool> {
    let highest = cpuid.leaf(0x8000_0000, 0).eax;
    (highest >= 0x8000_0007).then(|| cpuid.leaf(0x8000_0007, 0).edx & (1 << 8) != 0)
}

/// Crystal times ratio (leaf 0x15); the crystal may have to be derived from the
/// base frequency (leaf 0x16). Source: Intel SDM, volume 3B, 20.7.3.
fn stated_by_processor(cpuid: &dyn Cpuid) -> Option<(u64, &'static str)> {
    let highest = cpuid.leaf(0, 0).eax;
    if highest < 0x15 {
        return None;
    }
    let Leaf {
        eax: denominator,
        ebx: numerator,
        ecx: crystal_hz,
        ..
    } = cpuid.leaf(0x15, 0);
    if denominator == 0 || numerator == 0 {
        return None;
    }
    if crystal_hz > 0 {
        let hz = u64::from(crystal_hz) * u64::from(numerator) / u64::from(denominator);
        return Some((hz, "0x15"));
    }
    let base_mhz = (highest >= 0x16).then(|| cpuid.leaf(0x16, 0).eax & 0xffff)?;
    (base_mhz > 0).then_some((u64::from(base_mhz) * 1_000_000, "0x16"))
}

/// Bits of a feature leaf with names for those that bear on timing.
fn features(cpuid: &dyn Cpuid, base: u32, highest: u32, signature: &str) -> Vec<String> {
    // Linux: arch/x86/include/uapi/asm/kvm_para.h.
    const KVM_EAX: [(u32, &str); 5] = [
        (0, "kvm-clock (old)"),
        (3, "kvm-clock"),
        (5, "kvm-steal-time"),
        (7, "kvm-pv-unhalt"),
        (24, "kvm-clock stable"),
    ];
    // Microsoft, Hypervisor Top Level Functional Specification, feature discovery.
    const HYPER_V_EAX: [(u32, &str); 6] = [
        (1, "hyper-v reference counter"),
        (3, "hyper-v synthetic timers"),
        (9, "hyper-v reference TSC page"),
        (11, "hyper-v frequency registers"),
        (13, "hyper-v reenlightenment"),
        (15, "hyper-v invariant TSC control"),
    ];
    // Xen: xen/include/public/arch-x86/cpuid.h, time leaf.
    const XEN_EAX: [(u32, &str); 3] = [
        (0, "xen TSC intercepted"),
        (1, "xen host TSC reliable"),
        (2, "xen rdtscp"),
    ];
    let (leaf, bits): (u32, &[(u32, &str)]) = match signature {
        KVM => (base + 1, &KVM_EAX),
        HYPER_V => (base + 3, &HYPER_V_EAX),
        XEN => (base + 3, &XEN_EAX),
        _ => return Vec::new(),
    };
    if leaf > highest {
        return Vec::new();
    }
    let eax = cpuid.leaf(leaf, 0).eax;
    let set = bits.iter().filter(|(bit, _)| eax & (1 << bit) != 0);
    set.map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
pub mod fake {
    //! A processor made of a table.

    use std::collections::HashMap;

    use super::{Cpuid, Leaf};

    /// Answers from a table, zero for leaves not in it.
    #[derive(Default)]
    pub struct FakeCpuid(HashMap<u32, Leaf>);

    impl Cpuid for FakeCpuid {
        fn leaf(&self, leaf: u32, _subleaf: u32) -> Leaf {
            self.0.get(&leaf).copied().unwrap_or_default()
        }
    }

    impl FakeCpuid {
        /// A processor under the hypervisor of that signature.
        pub fn guest(signature: &str) -> Self {
            Self::default()
                .with(
                    1,
                    Leaf {
                        ecx: 1 << 31,
                        ..Leaf::default()
                    },
                )
                .signature(0x4000_0000, signature)
        }

        /// The same with one more answer.
        pub fn with(mut self, leaf: u32, answer: Leaf) -> Self {
            self.0.insert(leaf, answer);
            self
        }

        /// The same with a signature at `base` that claims ten leaves.
        pub fn signature(self, base: u32, text: &str) -> Self {
            let mut bytes = [0u8; 12];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            let word =
                |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
            let answer = Leaf {
                eax: base + 0x10,
                ebx: word(0),
                ecx: word(4),
                edx: word(8),
            };
            self.with(base, answer)
        }
    }
}

#[cfg(test)]
mod unit {
    use super::fake::FakeCpuid;
    use super::*;

    fn eax(value: u32) -> Leaf {
        Leaf {
            eax: value,
            ..Leaf::default()
        }
    }

    #[test]
    fn kvm_and_its_clock_are_recognised() {
        let cpu = FakeCpuid::guest(KVM).with(0x4000_0001, eax(1 << 3 | 1 << 5 | 1 << 24));
        let facts = CpuidFacts::read(&cpu);
        assert_eq!(facts.signatures, [(0x4000_0000, KVM.to_owned())]);
        assert_eq!(
            facts.features,
            ["kvm-clock", "kvm-steal-time", "kvm-clock stable"]
        );
    }

    #[test]
    fn a_second_signature_behind_hyper_v_is_found() {
        let cpu = FakeCpuid::guest(HYPER_V)
            .with(0x4000_0003, eax(1 << 9))
            .signature(0x4000_0100, KVM)
            .with(0x4000_0101, eax(1 << 3));
        let facts = CpuidFacts::read(&cpu);
        let names: Vec<&str> = facts.signatures.iter().map(|s| s.1.as_str()).collect();
        assert_eq!(names, [HYPER_V, KVM]);
        assert_eq!(facts.features, ["hyper-v reference TSC page", "kvm-clock"]);
    }

    #[test]
    fn without_the_hypervisor_bit_its_leaves_mean_nothing() {
        let cpu = FakeCpuid::default().signature(0x4000_0000, KVM);
        let facts = CpuidFacts::read(&cpu);
        assert!(facts.signatures.is_empty() && facts.tsc_stated.is_none());
    }

    #[test]
    fn a_stated_rate_is_taken_from_the_best_leaf() {
        let skylake = FakeCpuid::default().with(0, eax(0x16)).with(
            0x15,
            Leaf {
                eax: 2,
                ebx: 250,
                ecx: 24_000_000,
                edx: 0,
            },
        );
        assert_eq!(
            CpuidFacts::read(&skylake).tsc_stated,
            Some((3_000_000_000, "0x15"))
        );
        let no_crystal = FakeCpuid::default()
            .with(0, eax(0x16))
            .with(
                0x15,
                Leaf {
                    eax: 2,
                    ebx: 250,
                    ..Leaf::default()
                },
            )
            .with(0x16, eax(2700));
        assert_eq!(
            CpuidFacts::read(&no_crystal).tsc_stated,
            Some((2_700_000_000, "0x16"))
        );
        let guest = FakeCpuid::guest("VMwareVMware").with(0x4000_0010, eax(2_600_000));
        assert_eq!(
            CpuidFacts::read(&guest).tsc_stated,
            Some((2_600_000_000, "0x40000010"))
        );
        let silent = FakeCpuid::guest(KVM).with(0, eax(0x16));
        assert_eq!(CpuidFacts::read(&silent).tsc_stated, None);
    }

    #[test]
    fn xen_says_whether_it_intercepts_the_counter() {
        let xen = |bits| FakeCpuid::guest(XEN).with(0x4000_0003, eax(bits));
        assert_eq!(CpuidFacts::read(&xen(0b001)).tsc_intercepted, Some(true));
        assert_eq!(CpuidFacts::read(&xen(0b110)).tsc_intercepted, Some(false));
        assert_eq!(
            CpuidFacts::read(&FakeCpuid::guest(KVM)).tsc_intercepted,
            None
        );
    }

    #[test]
    fn an_invariant_counter_needs_the_leaf() {
        assert_eq!(CpuidFacts::read(&FakeCpuid::default()).tsc_invariant, None);
        let with = |edx| {
            FakeCpuid::default()
                .with(0x8000_0000, eax(0x8000_0008))
                .with(
                    0x8000_0007,
                    Leaf {
                        edx,
                        ..Leaf::default()
                    },
                )
        };
        assert_eq!(CpuidFacts::read(&with(1 << 8)).tsc_invariant, Some(true));
        assert_eq!(CpuidFacts::read(&with(0)).tsc_invariant, Some(false));
    }
}
