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

use libc::{Dl_info, Elf64_Sym};

use crate::objects::{self, Object, tag};

/// One relocation (ELF-64, with addend).
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// Relocations whose place holds a symbol's address: R_X86_64_64, R_X86_64_GLOB_DAT and
/// R_X86_64_JUMP_SLOT; R_AARCH64_ABS64, R_AARCH64_GLOB_DAT and R_AARCH64_JUMP_SLOT.
const ADDRESSES: [u32; 3] = if cfg!(target_arch = "aarch64") {
    [257, 1025, 1026]
} else {
    [1, 6, 7]
};

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
    objects::each(|object| change(object, ours.addr(), theirs.addr()));
    withdraw(ours);
}

/// Changes one object.
fn change(object: &Object<'_>, ours: usize, theirs: usize) {
    for relocation in relocations(object).into_iter().flatten().flatten() {
        let at = object.base.wrapping_add(relocation.offset);
        let is_address = ADDRESSES.contains(&(relocation.info as u32)) && relocation.addend == 0;
        if !is_address || !at.is_multiple_of(align_of::<AtomicUsize>()) || !object.holds(at, 8) {
            continue;
        }
        // SAFETY: a place in the object, to which the loader wrote; aligned.
        let slot = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(at) };
        if slot.load(Ordering::Relaxed) == ours {
            while_writable(object, at, || slot.store(theirs, Ordering::Relaxed));
        }
    }
}

/// Has the loader pass over the symbol that `function` is exported by. Its value stays:
/// whoever looks it up at this moment reads that twice.
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
    objects::each(|object| {
        if object.base == base {
            // No symbol of this type satisfies a reference.
            const STT_FILE: u8 = 4;
            let binding = kind.load(Ordering::Relaxed) & 0xf0;
            while_writable(object, ptr::from_ref(kind).addr(), || {
                kind.store(binding | STT_FILE, Ordering::Relaxed)
            });
        }
    });
}

/// The relocations that name a symbol: those of data, and those of calls.
fn relocations<'a>(object: &'a Object<'_>) -> [Option<&'a [Relocation]>; 2] {
    let tags = [
        tag::RELA,
        tag::RELASZ,
        tag::JMPREL,
        tag::PLTRELSZ,
        tag::RELACOUNT,
    ];
    let [data, data_size, calls, calls_size, relative] = object.dynamic(tags);
    let table = |address: Option<usize>, size: Option<usize>| {
        let size = size.filter(|size| *size > 0)?;
        let place = object.place(address?, size)?;
        // SAFETY: the object's own table.
        unsafe { object.values::<Relocation>(place, size / size_of::<Relocation>()) }
    };
    let data =
        table(data, data_size).map(|table| &table[relative.unwrap_or_default().min(table.len())..]);
    [data, table(calls, calls_size)]
}

/// Runs `write`, which writes to the page at `at`, where that is allowed or can be
/// for a moment. Not on pages of code: somebody may be running there.
fn while_writable(object: &Object<'_>, at: usize, write: impl FnOnce()) {
    // SAFETY: only looks the value up.
    let page = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    let floor = |address: usize| address & !(page - 1);
    let Some(segment) = object.segment(at, 1) else {
        return;
    };
    // Read-only after relocation: whole pages, as the loader counts them.
    let sealed = object.header(libc::PT_GNU_RELRO).is_some_and(|header| {
        let start = object.at(header);
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
