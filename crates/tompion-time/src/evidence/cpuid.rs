//! What the processor says about its counter (x86-64; aarch64 guarantees a
//! constant one by its architecture and says nothing more).
//!
//! Leaves: Intel SDM vol. 2A "CPUID"; AMD APM vol. 3 appendix E; the range from
//! 0x40000000 is the hypervisors' own (Linux `Documentation/virt/kvm/x86/cpuid.rst`,
//! VMware KB 1009458, Xen `public/arch-x86/cpuid.h`).

use super::{HintOrigin, RateHint};

/// Name of a hypervisor: the twelve bytes of leaf 0x40000000.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hypervisor {
    signature: [u8; 12],
}

impl Hypervisor {
    /// The signature without its padding, for instance `KVMKVMKVM`; bytes
    /// outside printable ASCII appear as `?`.
    pub fn name(&self) -> String {
        let text = self.signature.map(|b| match b {
            0 | b' '..=b'~' => b as char,
            _ => '?',
        });
        String::from_iter(text)
            .trim_matches(['\0', ' '])
            .replace('\0', "?")
    }

    /// Whether this is an emulator, whose counter is a computation: QEMU's TCG.
    /// VirtualBox, KVM, Xen, Hyper-V, VMware, bhyve and others are not.
    pub fn is_emulator(&self) -> bool {
        self.signature == *b"TCGTCGTCGTCG"
    }
}

impl std::fmt::Debug for Hypervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hypervisor({:?})", self.name())
    }
}

/// Properties of the processor, or what the hypervisor shows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// The counter runs at one rate in all power states ("invariant TSC").
    pub invariant: bool,
    /// RDTSCP exists (x86-64).
    pub rdtscp: bool,
    /// TPAUSE, UMONITOR and UMWAIT exist (x86-64).
    pub waitpkg: bool,
    /// The hypervisor that answers first; `None` on bare metal, or where it hides.
    pub hypervisor: Option<Hypervisor>,
    /// Reads of the counter trap into the hypervisor. Known under Xen alone.
    pub counter_emulated: Option<bool>,
}

/// Registers after one CPUID instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Leaf {
    eax: u32,
    ebx: u32,
    ecx: u32,
    edx: u32,
}

const KVM: &[u8; 12] = b"KVMKVMKVM\0\0\0";
const XEN: &[u8; 12] = b"XenVMMXenVMM";
const HYPER_V: &[u8; 12] = b"Microsoft Hv";

/// Asks this processor. The hints come most trusted first.
pub(super) fn ask() -> (Cpu, Vec<RateHint>) {
    #[cfg(target_arch = "x86_64")]
    {
        interpret(|leaf, sub_leaf| {
            let r = core::arch::x86_64::__cpuid_count(leaf, sub_leaf);
            Leaf {
                eax: r.eax,
                ebx: r.ebx,
                ecx: r.ecx,
                edx: r.edx,
            }
        })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let hint = RateHint::plausible(
            super::sys::stated_rate_hz() as f64,
            HintOrigin::GenericTimer,
        );
        let cpu = Cpu {
            invariant: true,
            ..Cpu::default()
        };
        (cpu, hint.into_iter().collect())
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    (Cpu::default(), Vec::new())
}

/// Pure part: the meaning of the leaves. Leaves beyond the highest of a range
/// answer with unrelated numbers, so each is asked for only when it exists.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
fn interpret(cpuid: impl Fn(u32, u32) -> Leaf) -> (Cpu, Vec<RateHint>) {
    let bit = |register: u32, n: u32| register & (1 << n) != 0;
    let highest = cpuid(0, 0).eax;
    let highest_extended = cpuid(0x8000_0000, 0).eax;
    let mut cpu = Cpu {
        invariant: highest_extended >= 0x8000_0007 && bit(cpuid(0x8000_0007, 0).edx, 8),
        rdtscp: highest_extended >= 0x8000_0001 && bit(cpuid(0x8000_0001, 0).edx, 27),
        waitpkg: highest >= 7 && bit(cpuid(7, 0).ecx, 5),
        ..Cpu::default()
    };
    let mut hints = Vec::new();
    if highest >= 1 && bit(cpuid(1, 0).ecx, 31) {
        hypervisor(&cpuid, &mut cpu, &mut hints);
    }
    // Last: under a hypervisor this may be the host's crystal and not ours.
    if highest >= 0x15 {
        let Leaf { eax, ebx, ecx, .. } = cpuid(0x15, 0);
        hints.extend(RateHint::plausible(
            f64::from(ecx) * f64::from(ebx) / f64::from(eax),
            HintOrigin::CpuidCrystal,
        ));
    }
    (cpu, hints)
}

/// Finds the interfaces of the hypervisor: KVM and Xen may stand behind those
/// of Hyper-V, each at a multiple of 0x100.
fn hypervisor(cpuid: &impl Fn(u32, u32) -> Leaf, cpu: &mut Cpu, hints: &mut Vec<RateHint>) {
    const FIRST: u32 = 0x4000_0000;
    for base in (FIRST..FIRST + 0x400).step_by(0x100) {
        let top = cpuid(base, 0);
        let mut signature = [0; 12];
        for (to, register) in signature
            .chunks_exact_mut(4)
            .zip([top.ebx, top.ecx, top.edx])
        {
            to.copy_from_slice(&register.to_le_bytes());
        }
        if base == FIRST && signature != [0; 12] {
            cpu.hypervisor = Some(Hypervisor { signature });
        }
        // Outside a hypervisor's range processors repeat other leaves.
        let exists = |leaf| leaf <= top.eax && top.eax < base + 0x100;
        let khz = match &signature {
            XEN if exists(base + 3) => {
                let time = cpuid(base + 3, 0);
                cpu.counter_emulated = Some(time.eax & 1 != 0);
                Some((time.ecx, HintOrigin::XenLeaf))
            }
            HYPER_V | XEN => None,
            // A convention of VMware's that KVM (QEMU), ACRN and others follow
            // in their first range.
            _ if (base == FIRST || &signature == KVM) && exists(base + 0x10) => {
                Some((cpuid(base + 0x10, 0).eax, HintOrigin::HypervisorLeaf))
            }
            _ => None,
        };
        if let Some((khz, origin)) = khz {
            hints.extend(RateHint::plausible(f64::from(khz) * 1e3, origin));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor with these leaves; others answer with noise, as real ones do.
    fn processor(leaves: &[(u32, [u32; 4])]) -> (Cpu, Vec<RateHint>) {
        interpret(|leaf, _| {
            let [eax, ebx, ecx, edx] = leaves
                .iter()
                .find(|(l, _)| *l == leaf)
                .map_or([0xdead_beef; 4], |(_, r)| *r);
            Leaf { eax, ebx, ecx, edx }
        })
    }

    fn guest_of(
        signature: &[u8; 12],
        highest: u32,
        more: &[(u32, [u32; 4])],
    ) -> (Cpu, Vec<RateHint>) {
        let [b, c, d] =
            [0, 4, 8].map(|i| u32::from_le_bytes(signature[i..i + 4].try_into().unwrap()));
        let mut leaves = vec![
            (0, [7, 0, 0, 0]),
            (1, [0, 0, 1 << 31, 0]),
            (7, [0; 4]),
            (0x8000_0000, [0x8000_0008, 0, 0, 0]),
            (0x8000_0001, [0, 0, 0, 1 << 27]),
            (0x8000_0007, [0, 0, 0, 1 << 8]),
            (0x4000_0000, [highest, b, c, d]),
        ];
        leaves.extend_from_slice(more);
        processor(&leaves)
    }

    #[test]
    fn a_bare_processor_with_a_crystal() {
        // Numbers of a Skylake server: 25 MHz * 168 / 2.
        let (cpu, hints) = processor(&[
            (0, [0x16, 0, 0, 0]),
            (1, [0; 4]),
            (7, [0, 0, 1 << 5, 0]),
            (0x15, [2, 168, 25_000_000, 0]),
            (0x8000_0000, [0x8000_0008, 0, 0, 0]),
            (0x8000_0001, [0; 4]),
            (0x8000_0007, [0, 0, 0, 1 << 8]),
        ]);
        assert!(cpu.invariant && cpu.waitpkg && !cpu.rdtscp);
        assert_eq!(cpu.hypervisor, None);
        assert_eq!(
            hints,
            [RateHint {
                hz: 2_100_000_000,
                origin: HintOrigin::CpuidCrystal
            }]
        );
    }

    #[test]
    fn leaves_that_do_not_exist_are_not_believed() {
        let (cpu, hints) = processor(&[(0, [0, 0, 0, 0]), (0x8000_0000, [0, 0, 0, 0])]);
        assert_eq!(cpu, Cpu::default());
        assert!(hints.is_empty());
        // Leaf 0x15 of zeros, as on AMD: no division, no hint.
        let (_, hints) = processor(&[
            (0, [0x15, 0, 0, 0]),
            (1, [0; 4]),
            (7, [0; 4]),
            (0x15, [0; 4]),
        ]);
        assert!(hints.is_empty());
    }

    #[test]
    fn the_timing_leaf_of_vmware_and_kvm() {
        let timing = (0x4000_0010, [2_596_134, 1_000_000, 0, 0]);
        for signature in [b"VMwareVMware", KVM] {
            let (cpu, hints) = guest_of(signature, 0x4000_0010, &[timing]);
            assert!(cpu.invariant && cpu.rdtscp);
            assert_eq!(
                hints,
                [RateHint {
                    hz: 2_596_134_000,
                    origin: HintOrigin::HypervisorLeaf
                }]
            );
        }
        // KVM that ends at its feature leaf, as by default.
        assert!(guest_of(KVM, 0x4000_0001, &[timing]).1.is_empty());
        // Hyper-V has no such leaf whatever its highest.
        assert!(guest_of(HYPER_V, 0x4000_0082, &[timing]).1.is_empty());
    }

    #[test]
    fn xen_behind_hyper_v_tells_rate_and_emulation() {
        let leaf = |emulated| {
            [
                (
                    0x4000_0100,
                    [0x4000_0105, 0x566e_6558, 0x6558_4d4d, 0x4d4d_566e],
                ),
                (0x4000_0103, [emulated, 0, 2_400_000, 0]),
            ]
        };
        let (cpu, hints) = guest_of(HYPER_V, 0x4000_0005, &leaf(1));
        assert_eq!(cpu.hypervisor.unwrap().name(), "Microsoft Hv");
        assert_eq!(cpu.counter_emulated, Some(true));
        assert_eq!(
            hints,
            [RateHint {
                hz: 2_400_000_000,
                origin: HintOrigin::XenLeaf
            }]
        );
        let (cpu, _) = guest_of(HYPER_V, 0x4000_0005, &leaf(6));
        assert_eq!(cpu.counter_emulated, Some(false));
    }

    #[test]
    fn an_emulator_is_told_from_a_hypervisor() {
        let who = |signature| guest_of(signature, 0x4000_0001, &[]).0.hypervisor.unwrap();
        assert!(who(b"TCGTCGTCGTCG").is_emulator());
        assert!(!who(b"VBoxVBoxVBox").is_emulator());
        assert!(!who(KVM).is_emulator());
        assert_eq!(who(KVM).name(), "KVMKVMKVM");
        assert_eq!(who(b"bhyve bhyve ").name(), "bhyve bhyve");
        assert_eq!(who(b"a\0b\x1b\xff6789012").name(), "a?b??6789012");
    }
}
