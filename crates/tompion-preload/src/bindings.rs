//! Takes a function of ours out of the program's way again.
//!
//! Where a call is not replaced after all, the jump through this library is small, but it
//! is not nothing: `time` takes 2.5 ns, and 2.7 that way. So the loader's work is undone.
//! Places that it filled with our function get the one that they would have got without us,
//! and our symbol gets a type that the loader passes over, whatever is bound later. What
//! cannot be undone keeps the way through us, which is right, if longer; so does all of it
//! where the process has a second thread, which may be in the loader at this moment.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use libc::{Dl_info, Elf64_Phdr, Elf64_Sym, dl_phdr_info};

use crate::next::symbol;

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

/// Relocations whose place holds a symbol's address: R_X86_64_64, R_X86_64_GLOB_DAT and
/// R_X86_64_JUMP_SLOT; R_AARCH64_ABS64, R_AARCH64_GLOB_DAT and R_AARCH64_JUMP_SLOT.
const ADDRESSES: [u32; 3] = if cfg!(target_arch = "aarch64") {
    [257, 1025, 1026]
} else {
    [1, 6, 7]
};

type Visit = unsafe extern "C" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;
type IteratePhdr = unsafe extern "C" fn(Option<Visit>, *mut c_void) -> c_int;

/// Everything that was bound to `ours` is bound to `theirs` from now on. Once, at the
/// start: it takes the dynamic loader's lock.
pub fn hand_over(ours: *const c_void, theirs: *const c_void) {
    unsafe extern "C" {
        // Of glibc: whether no thread was ever started, or all have ended.
        static __libc_single_threaded: c_char;
    }
    // SAFETY: no other thread writes to it while it says that there is none.
    if unsafe { (&raw const __libc_single_threaded).read_volatile() } == 0 {
        return;
    }
    // Not that of the program, which may have one and has not started.
    // SAFETY: null, which is `None`, or the function of this name.
    let iterate = unsafe {
        std::mem::transmute::<*mut c_void, Option<IteratePhdr>>(symbol(c"dl_iterate_phdr", None))
    };
    let Some(iterate) = iterate else { return };
    let mut change = Change {
        ours: ours.addr(),
        theirs: theirs.addr(),
    };
    // SAFETY: the callback has this type and `change` outlives the call.
    unsafe { iterate(Some(in_object), (&raw mut change).cast()) };
    withdraw(ours, iterate);
}

struct Change {
    ours: usize,
    theirs: usize,
}

/// Changes one object.
unsafe extern "C" fn in_object(info: *mut dl_phdr_info, _: usize, change: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and what `hand_over` gave.
    let (info, change) = unsafe { (&*info, &*change.cast::<Change>()) };
    let object = Object::new(info);
    for table in object.relocations().into_iter().flatten() {
        for relocation in table {
            let at = object.base.wrapping_add(relocation.offset);
            let is_address =
                ADDRESSES.contains(&(relocation.info as u32)) && relocation.addend == 0;
            if !is_address || !at.is_multiple_of(align_of::<AtomicUsize>()) || !object.holds(at, 8)
            {
                continue;
            }
            // SAFETY: a place in the object, to which the loader wrote; aligned.
            let slot = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(at) };
            if slot.load(Ordering::Relaxed) == change.ours {
                object.while_writable(at, || slot.store(change.theirs, Ordering::Relaxed));
            }
        }
    }
    0
}

/// Has the loader pass over the symbol that `function` is exported by. Its value stays:
/// whoever looks it up at this moment reads that twice.
fn withdraw(function: *const c_void, iterate: IteratePhdr) {
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
    // SAFETY: an entry of the object's table of symbols.
    let (value, kind) = unsafe {
        (
            (*symbol).st_value as usize,
            &*(&raw const (*symbol).st_info).cast::<AtomicU8>(),
        )
    };
    let base = info.dli_fbase.addr();
    if base.wrapping_add(value) != function.addr() {
        return;
    }
    let mut change = Withdrawal { base, kind };
    // SAFETY: the callback has this type and `change` outlives the call.
    unsafe { iterate(Some(in_own_object), (&raw mut change).cast()) };
}

struct Withdrawal<'a> {
    base: usize,
    /// Binding and type of the symbol.
    kind: &'a AtomicU8,
}

unsafe extern "C" fn in_own_object(info: *mut dl_phdr_info, _: usize, with: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and what `withdraw` gave.
    let (info, with) = unsafe { (&*info, &*with.cast::<Withdrawal<'_>>()) };
    let object = Object::new(info);
    if object.base == with.base {
        // No symbol of this type satisfies a reference.
        const STT_FILE: u8 = 4;
        let binding = with.kind.load(Ordering::Relaxed) & 0xf0;
        let at = ptr::from_ref(with.kind).addr();
        object.while_writable(at, || {
            with.kind.store(binding | STT_FILE, Ordering::Relaxed)
        });
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
            let moved = self.base.wrapping_add(address);
            let address = match (self.holds(address, size), self.holds(moved, size)) {
                (true, false) => address,
                (false, true) => moved,
                (true, true) if self.base == 0 => address,
                _ => return None,
            };
            let table = ptr::with_exposed_provenance(address);
            // SAFETY: the object's own table, mapped as it is; aligned.
            address
                .is_multiple_of(align_of::<Relocation>())
                .then(|| unsafe {
                    std::slice::from_raw_parts(table, size / size_of::<Relocation>())
                })
        });
        tables[0] = tables[0].map(|table: &[_]| &table[relative.min(table.len())..]);
        tables
    }

    fn at(&self, header: &Elf64_Phdr) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    /// Whether so many bytes from there on are one segment's.
    fn holds(&self, address: usize, size: usize) -> bool {
        self.segment(address, size).is_some()
    }

    fn segment(&self, address: usize, size: usize) -> Option<&Elf64_Phdr> {
        self.headers.iter().find(|header| {
            let offset = address.wrapping_sub(self.at(header));
            let length = header.p_memsz as usize;
            header.p_type == libc::PT_LOAD && offset < length && size <= length - offset
        })
    }

    /// Runs `write`, which writes to the page at `at`, where that is allowed or can be
    /// for a moment. Not on pages of code: somebody may be running there.
    fn while_writable(&self, at: usize, write: impl FnOnce()) {
        // SAFETY: only looks the value up.
        let page = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
        let floor = |address: usize| address & !(page - 1);
        let Some(segment) = self.segment(at, 1) else {
            return;
        };
        // Read-only after relocation: whole pages, as the loader counts them.
        let sealed = self.header(libc::PT_GNU_RELRO).is_some_and(|header| {
            let start = self.at(header);
            let end = start.wrapping_add(header.p_memsz as usize);
            (floor(start)..floor(end)).contains(&at)
        });
        if segment.p_flags & libc::PF_X != 0 {
            return;
        }
        if segment.p_flags & libc::PF_W != 0 && !sealed {
            return write();
        }
        let protect = |how: c_int| {
            // Not by libc's function, in whose place the program may have one of its own.
            // SAFETY: a page of this object's data, which stays readable throughout.
            unsafe { libc::syscall(libc::SYS_mprotect, floor(at), page, how) == 0 }
        };
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            write();
            protect(libc::PROT_READ);
        }
    }
}
