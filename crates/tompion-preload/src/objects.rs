//! The objects that are loaded, as the dynamic loader's tables describe them.
//!
//! Uses the dynamic loader: not on any path but the start's.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info};

/// One line of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// Tags of the dynamic section: System V ABI, "Dynamic Section", and what GNU and Sun added.
pub mod tag {
    pub const NULL: i64 = 0;
    /// Bytes of the relocations of calls.
    pub const PLTRELSZ: i64 = 2;
    pub const HASH: i64 = 4;
    pub const STRTAB: i64 = 5;
    pub const SYMTAB: i64 = 6;
    pub const RELA: i64 = 7;
    pub const RELASZ: i64 = 8;
    /// Relocations of calls.
    pub const JMPREL: i64 = 23;
    pub const GNU_HASH: i64 = 0x6fff_fef5;
    pub const VERSYM: i64 = 0x6fff_fff0;
    /// How many relocations at the head of RELA name no symbol.
    pub const RELACOUNT: i64 = 0x6fff_fff9;
    pub const VERDEF: i64 = 0x6fff_fffc;
}

type Visit = unsafe extern "C" fn(*mut dl_phdr_info, usize, *mut c_void) -> c_int;
type IteratePhdr = unsafe extern "C" fn(Option<Visit>, *mut c_void) -> c_int;

/// Shows all objects, in the order in which the loader searches them, under its lock.
pub fn each(mut visit: impl FnMut(&Object<'_>)) {
    // Not that of the program, which may have one and has not started.
    // SAFETY: null, which is `None`, or the function of this name.
    let iterate = unsafe {
        std::mem::transmute::<*mut c_void, Option<IteratePhdr>>(libc::dlsym(
            libc::RTLD_NEXT,
            c"dl_iterate_phdr".as_ptr(),
        ))
    };
    let mut visit: &mut dyn FnMut(&Object<'_>) = &mut visit;
    if let Some(iterate) = iterate {
        // SAFETY: the callback has this type and `visit` outlives the call.
        unsafe { iterate(Some(show), (&raw mut visit).cast()) };
    }
}

/// # Safety
/// Called by the loader, with the `visit` of [`each`].
unsafe extern "C" fn show(info: *mut dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and what `each` gave.
    let (info, visit) = unsafe { (&*info, &mut *visit.cast::<&mut dyn FnMut(&Object<'_>)>()) };
    visit(&Object::new(info));
    0
}

/// What a reference is bound to in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// The function there.
    At(*mut c_void),
    /// One that the loader has chosen by a function of the object; whether it has the
    /// reference's version, or none.
    Chosen { versioned: bool },
}

/// What the loader has mapped of one file.
pub struct Object<'a> {
    pub base: usize,
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

    pub fn header(&self, kind: u32) -> Option<&Elf64_Phdr> {
        self.headers.iter().find(|header| header.p_type == kind)
    }

    /// Where that part of the file begins in memory.
    pub fn at(&self, header: &Elf64_Phdr) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    /// Whether so many bytes from there on are one segment's.
    pub fn holds(&self, address: usize, size: usize) -> bool {
        self.segment(address, size).is_some()
    }

    pub fn segment(&self, address: usize, size: usize) -> Option<&Elf64_Phdr> {
        self.headers.iter().find(|header| {
            let offset = address.wrapping_sub(self.at(header));
            let length = header.p_memsz as usize;
            header.p_type == libc::PT_LOAD && offset < length && size <= length - offset
        })
    }

    /// The values of the dynamic section's lines with these tags, where there are such.
    pub fn dynamic<const N: usize>(&self, tags: [i64; N]) -> [Option<usize>; N] {
        let mut found = [None; N];
        let Some(header) = self.header(libc::PT_DYNAMIC) else {
            return found;
        };
        let mut line = ptr::with_exposed_provenance::<Dynamic>(self.at(header));
        // SAFETY: the section is mapped, and ends with `tag::NULL`.
        unsafe {
            while (*line).tag != tag::NULL {
                if let Some(which) = tags.iter().position(|tag| *tag == (*line).tag) {
                    found[which] = Some((*line).value);
                }
                line = line.add(1);
            }
        }
        found
    }

    /// An address of the dynamic section where `size` bytes are to lie. The loader makes
    /// addresses of the offsets, unless it cannot write there.
    pub fn place(&self, address: usize, size: usize) -> Option<usize> {
        let moved = self.base.wrapping_add(address);
        match (self.holds(address, size), self.holds(moved, size)) {
            (true, false) => Some(address),
            (false, true) => Some(moved),
            (true, true) if self.base == 0 => Some(address),
            _ => None,
        }
    }

    /// So many values at a place in the object.
    ///
    /// # Safety
    /// Values of this type lie there, where the object holds them.
    pub unsafe fn values<T>(&self, place: usize, count: usize) -> Option<&[T]> {
        let size = size_of::<T>().checked_mul(count)?;
        let there = place.is_multiple_of(align_of::<T>()) && self.holds(place, size.max(1));
        // SAFETY: mapped, aligned, and the caller's promise; the object stays loaded while
        // the loader shows it.
        there.then(|| unsafe {
            std::slice::from_raw_parts(ptr::with_exposed_provenance(place), count)
        })
    }

    /// One value of a table that begins at a place in the object.
    ///
    /// # Safety
    /// As [`values`](Self::values).
    unsafe fn value<T: Copy>(&self, table: usize, index: usize) -> Option<T> {
        let place = table.checked_add(index.checked_mul(size_of::<T>())?)?;
        // SAFETY: the caller's promise.
        unsafe { self.values::<T>(place, 1) }.map(|values| values[0])
    }

    /// What a reference to this function in this version is bound to, where the object
    /// defines that: as the loader has it, in the version or without any (`check_match`
    /// in glibc's `elf/dl-lookup.c`).
    pub fn definition(&self, name: &CStr, version: &CStr) -> Option<Definition> {
        const STT_NOTYPE: u8 = 0;
        const STT_FUNC: u8 = 2;
        const STT_GNU_IFUNC: u8 = 10;
        let symbols = Symbols::of(self)?;
        symbols.named(name, |index, symbol| {
            let versioned = symbols.has_version(index, version)?;
            match symbol.st_info & 0xf {
                STT_NOTYPE | STT_FUNC => {
                    let address = self.base.wrapping_add(symbol.st_value as usize);
                    Some(Definition::At(ptr::with_exposed_provenance_mut(address)))
                }
                STT_GNU_IFUNC => Some(Definition::Chosen { versioned }),
                _ => None,
            }
        })
    }
}

/// The tables of an object's symbols.
struct Symbols<'a> {
    object: &'a Object<'a>,
    table: usize,
    names: usize,
    /// The table of hashes, and whether it is GNU's.
    hashes: (usize, bool),
    versions: Option<usize>,
    definitions: Option<usize>,
}

impl<'a> Symbols<'a> {
    fn of(object: &'a Object<'a>) -> Option<Self> {
        let tags = [
            tag::SYMTAB,
            tag::STRTAB,
            tag::GNU_HASH,
            tag::HASH,
            tag::VERSYM,
            tag::VERDEF,
        ];
        let found = object.dynamic(tags);
        let [table, names, gnu, sysv, versions, definitions] =
            found.map(|address| address.and_then(|address| object.place(address, 1)));
        Some(Self {
            object,
            table: table?,
            names: names?,
            hashes: gnu.map(|at| (at, true)).or(sysv.map(|at| (at, false)))?,
            versions,
            definitions,
        })
    }

    /// The first that is chosen of those that are defined under this name.
    fn named<T>(&self, name: &CStr, choose: impl Fn(usize, &Elf64_Sym) -> Option<T>) -> Option<T> {
        let choose = |index: u32| {
            let index = index as usize;
            // SAFETY: the table of symbols.
            let symbol = unsafe { self.object.value::<Elf64_Sym>(self.table, index) }?;
            let defined = symbol.st_shndx != 0 && symbol.st_value != 0;
            let is_it = defined && self.name(symbol.st_name) == Some(name);
            is_it.then(|| choose(index, &symbol)).flatten()
        };
        match self.hashes {
            (at, true) => self.by_gnu_hash(at, name, choose),
            (at, false) => self.by_hash(at, name, choose),
        }
    }

    fn by_gnu_hash<T>(
        &self,
        at: usize,
        name: &CStr,
        choose: impl Fn(u32) -> Option<T>,
    ) -> Option<T> {
        let hash = name.to_bytes().iter().fold(5381_u32, |hash, byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
        });
        // SAFETY: the table: four numbers, a filter of 64-bit words, heads, chains.
        let word = |index: usize| unsafe { self.object.value::<u32>(at, index) };
        let (heads, first, filter) = (word(0)?, word(1)?, word(2)?);
        let head = 4 + 2 * filter as usize;
        let chains = head + heads as usize;
        let mut index = word(head + hash.checked_rem(heads)? as usize)?;
        loop {
            let of_chain = word(chains + index.checked_sub(first)? as usize)?;
            if of_chain | 1 == hash | 1
                && let Some(chosen) = choose(index)
            {
                return Some(chosen);
            }
            // The last one of a chain.
            if of_chain & 1 == 1 {
                return None;
            }
            index += 1;
        }
    }

    fn by_hash<T>(&self, at: usize, name: &CStr, choose: impl Fn(u32) -> Option<T>) -> Option<T> {
        let hash = name.to_bytes().iter().fold(0_u32, |hash, byte| {
            let hash = (hash << 4).wrapping_add(u32::from(*byte));
            (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
        });
        // SAFETY: the table: two numbers, heads, chains.
        let word = |index: usize| unsafe { self.object.value::<u32>(at, index) };
        let (heads, symbols) = (word(0)?, word(1)?);
        let mut index = word(2 + hash.checked_rem(heads)? as usize)?;
        for _ in 0..symbols {
            if index == 0 {
                return None;
            }
            if let Some(chosen) = choose(index) {
                return Some(chosen);
            }
            index = word(2 + heads as usize + index as usize)?;
        }
        None
    }

    fn name(&self, offset: u32) -> Option<&CStr> {
        let at = self.names.checked_add(offset as usize)?;
        // SAFETY: the table of names, in which each ends with a zero.
        self.object
            .holds(at, 1)
            .then(|| unsafe { CStr::from_ptr(ptr::with_exposed_provenance(at)) })
    }

    /// Whether a symbol has this version, or `false` where it serves any; `None` where it
    /// is another version's.
    fn has_version(&self, index: usize, version: &CStr) -> Option<bool> {
        /// Not for those who ask without a version.
        const HIDDEN: u16 = 0x8000;
        /// The first number of a version; below are symbols that have none.
        const FIRST: u16 = 2;
        let Some(versions) = self.versions else {
            return Some(false);
        };
        // SAFETY: the table of versions, one number for each symbol.
        let number = unsafe { self.object.value::<u16>(versions, index) }?;
        if number < FIRST {
            return Some(false);
        }
        (self.version(number & !HIDDEN)? == version).then_some(true)
    }

    /// The name of a version that the object defines.
    fn version(&self, number: u16) -> Option<&CStr> {
        /// A definition of a version, and its name.
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct Verdef {
            vd_version: u16,
            vd_flags: u16,
            vd_ndx: u16,
            vd_cnt: u16,
            vd_hash: u32,
            vd_aux: u32,
            vd_next: u32,
        }
        let mut at = self.definitions?;
        loop {
            // SAFETY: a definition, the first one or where another says that the next is.
            let definition = unsafe { self.object.value::<Verdef>(at, 0) }?;
            if definition.vd_ndx == number {
                let name = at.checked_add(definition.vd_aux as usize)?;
                // SAFETY: what the definition leads to begins with the name's offset.
                return self.name(unsafe { self.object.value::<u32>(name, 0) }?);
            }
            if definition.vd_next == 0 {
                return None;
            }
            at = at.checked_add(definition.vd_next as usize)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::next::FIRST;

    /// What all objects together answer, the first of them first.
    fn definitions(name: &CStr, version: &CStr) -> Vec<Definition> {
        let mut found = Vec::new();
        each(|object| found.extend(object.definition(name, version)));
        found
    }

    #[test]
    fn functions_are_found_where_the_loader_finds_them() {
        for name in [
            c"getpid",
            c"nanosleep",
            c"usleep",
            c"sleep",
            c"strtol",
            c"qsort",
        ] {
            // SAFETY: a string that ends; runs nobody's code.
            let loaders = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            assert_eq!(
                definitions(name, FIRST),
                [Definition::At(loaders)],
                "{name:?}"
            );
        }
    }

    #[test]
    fn each_version_is_another_function_and_none_serves_for_another() {
        if cfg!(target_arch = "x86_64") {
            let versions = [FIRST, c"GLIBC_2.3"].map(|version| definitions(c"realpath", version));
            assert!(
                versions.iter().all(|found| found.len() == 1),
                "{versions:?}"
            );
            assert_ne!(versions[0], versions[1]);
        }
        assert_eq!(definitions(c"getpid", c"GLIBC_9.9"), []);
        assert_eq!(definitions(c"no_such_function", FIRST), []);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_the_loader_chooses_is_left_to_it() {
        // With the vDSO's functions to choose from.
        for name in [c"time", c"gettimeofday"] {
            let found = definitions(name, FIRST);
            assert_eq!(found, [Definition::Chosen { versioned: true }], "{name:?}");
        }
    }
}
