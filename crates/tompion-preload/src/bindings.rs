//! Takes a function of ours out of the program's way again.
//!
//! Where a call is not replaced after all, the jump through this library is small, but it
//! is not nothing: `time` takes 2.5 ns, and 2.7 that way. So the loader's work is undone.
//! Slots that it filled with our function get the one that they would have got without us,
//! and our symbol loses its value, by which the loader passes over it whatever is bound
//! later. What cannot be undone keeps the way through us, which is right, if longer.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{Dl_info, Elf64_Phdr, Elf64_Sym, dl_phdr_info};

/// One line of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// One relocation (ELF-64, with addend).
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

// System V ABI, "Dynamic Section".
const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
/// How many relocations at the head of DT_RELA name no symbol.
const DT_RELACOUNT: i64 = 0x6fff_fff9;

/// Relocations whose place is a slot of the loader's: R_X86_64_GLOB_DAT and
/// R_X86_64_JUMP_SLOT, R_AARCH64_GLOB_DAT and R_AARCH64_JUMP_SLOT.
const SLOTS: Range<u32> = if cfg!(target_arch = "aarch64") {
    1025..1027
} else {
    6..8
};

/// Everything that was bound to `ours` is bound to `theirs` from now on. Once, at the
/// start: it takes the dynamic loader's lock.
pub fn hand_over(ours: *const c_void, theirs: *const c_void) {
    let mut change = Change {
        ours: ours.addr(),
        theirs: theirs.addr(),
    };
    // SAFETY: the callback has this type and `change` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(in_object), (&raw mut change).cast()) };
    withdraw(ours);
}

struct Change {
    ours: usize,
    theirs: usize,
}

/// Changes the slots of one object.
unsafe extern "C" fn in_object(info: *mut dl_phdr_info, _: usize, change: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and what `hand_over` gave.
    let (info, change) = unsafe { (&*info, &*change.cast::<Change>()) };
    let object = Object::new(info);
    for table in object.relocations().into_iter().flatten() {
        for relocation in table {
            if !SLOTS.contains(&(relocation.info as u32)) {
                continue;
            }
            let at = object.base.wrapping_add(relocation.offset);
            // SAFETY: the loader wrote to this place, which has a pointer's alignment.
            let slot = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(at) };
            if slot.load(Ordering::Relaxed) == change.ours {
                object.while_writable(at, || slot.store(change.theirs, Ordering::Relaxed));
            }
        }
    }
    0
}

/// Takes the value from the symbol that `function` is exported by.
fn withdraw(function: *const c_void) {
    const RTLD_DL_SYMENT: c_int = 1;
    unsafe extern "C" {
        // Of glibc: as dladdr, and the symbol's entry.
        fn dladdr1(
            address: *const c_void,
            info: *mut Dl_info,
            entry: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    // SAFETY: all zeros are a valid `Dl_info`.
    let mut info: Dl_info = unsafe { std::mem::zeroed() };
    let mut entry = ptr::null_mut();
    // SAFETY: both are valid to write to; any address may be asked for.
    let found = unsafe { dladdr1(function, &mut info, &mut entry, RTLD_DL_SYMENT) };
    let symbol = entry.cast::<Elf64_Sym>();
    if found == 0 || symbol.is_null() {
        return;
    }
    // SAFETY: an entry of the object's table of symbols; the value has a word's
    // alignment (ELF-64).
    let value = unsafe { &*(&raw const (*symbol).st_value).cast::<AtomicUsize>() };
    let mut change = Withdrawal {
        base: info.dli_fbase.addr(),
        function: function.addr(),
        value,
    };
    // SAFETY: the callback has this type and `change` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(in_own_object), (&raw mut change).cast()) };
}

struct Withdrawal<'a> {
    base: usize,
    function: usize,
    value: &'a AtomicUsize,
}

unsafe extern "C" fn in_own_object(info: *mut dl_phdr_info, _: usize, with: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and what `withdraw` gave.
    let (info, with) = unsafe { (&*info, &*with.cast::<Withdrawal<'_>>()) };
    let object = Object::new(info);
    let exported = object.base.wrapping_add(with.value.load(Ordering::Relaxed));
    if object.base == with.base && exported == with.function {
        let at = ptr::from_ref(with.value).addr();
        object.while_writable(at, || with.value.store(0, Ordering::Relaxed));
    }
    0
}

/// What the loader has mapped of one file.
struct Object<'a> {
    base: usize,
    headers: &'a [Elf64_Phdr],
}

impl Object<'_> {
    fn new(info: &dl_phdr_info) -> Self {
        let headers = match info.dlpi_phdr.is_null() {
            true => &[][..],
            // SAFETY: the object's program headers, mapped as long as it is loaded,
            // which it is while the loader lists it.
            false => unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) },
        };
        Self {
            base: info.dlpi_addr as usize,
            headers,
        }
    }

    fn header(&self, kind: u32) -> Option<&Elf64_Phdr> {
        self.headers.iter().find(|header| header.p_type == kind)
    }

    /// The relocations that name a symbol: those of data, and those of calls.
    fn relocations(&self) -> [Option<&[Relocation]>; 2] {
        let mut found = [(0, 0); 2];
        let mut relative = 0;
        let Some(header) = self.header(libc::PT_DYNAMIC) else {
            return [None; 2];
        };
        let mut line = ptr::with_exposed_provenance::<Dynamic>(self.at(header));
        // SAFETY: the section is mapped, and ends with DT_NULL.
        unsafe {
            while (*line).tag != DT_NULL {
                let value = (*line).value;
                match (*line).tag {
                    DT_RELA => found[0].0 = value,
                    DT_RELASZ => found[0].1 = value,
                    DT_JMPREL => found[1].0 = value,
                    DT_PLTRELSZ => found[1].1 = value,
                    DT_RELACOUNT => relative = value,
                    _ => {}
                }
                line = line.add(1);
            }
        }
        let mut tables = found.map(|(address, size)| {
            if address == 0 || size == 0 {
                return None;
            }
            // The loader makes addresses of the offsets, unless it cannot write there.
            let address = match address < self.base {
                true => self.base.wrapping_add(address),
                false => address,
            };
            let table = ptr::with_exposed_provenance(address);
            // SAFETY: the object's own table, mapped as it is.
            Some(unsafe { std::slice::from_raw_parts(table, size / size_of::<Relocation>()) })
        });
        tables[0] = tables[0].map(|table: &[_]| &table[relative.min(table.len())..]);
        tables
    }

    fn at(&self, header: &Elf64_Phdr) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    /// Runs `write`, which writes to the page at `at`, where that is allowed or can be
    /// for a moment. Not on pages of code: somebody may be running there.
    fn while_writable(&self, at: usize, write: impl FnOnce()) {
        // SAFETY: only looks the value up.
        let page = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
        let floor = |address: usize| address & !(page - 1);
        let Some(segment) = self.headers.iter().find(|header| {
            let start = self.at(header);
            header.p_type == libc::PT_LOAD && (start..start + header.p_memsz as usize).contains(&at)
        }) else {
            return;
        };
        // Read-only after relocation: whole pages, as the loader counts them.
        let sealed = self.header(libc::PT_GNU_RELRO).is_some_and(|header| {
            let start = self.at(header);
            (floor(start)..floor(start + header.p_memsz as usize)).contains(&at)
        });
        if segment.p_flags & libc::PF_X != 0 {
            return;
        }
        if segment.p_flags & libc::PF_W != 0 && !sealed {
            return write();
        }
        let protect = |how| {
            // SAFETY: a page of this object's data, which stays readable throughout.
            unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(floor(at)), page, how) == 0 }
        };
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            write();
            protect(libc::PROT_READ);
        }
    }
}
