//! What an ELF file tells about how it is loaded and what it imports.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::read::{ReadCache, ReadRef, StringTable};

use crate::bounded::{self, Allowance, Bounded};

type Header = FileHeader64<Endianness>;

/// A function that the preload library replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its name in the C library.
    pub name: &'static str,
    /// Whether it waits; the others read a clock.
    pub sleeps: bool,
}

/// The functions that the preload library replaces.
pub const REPLACED: [Replaced; 7] = {
    const fn clock(name: &'static str) -> Replaced {
        Replaced {
            name,
            sleeps: false,
        }
    }
    const fn sleep(name: &'static str) -> Replaced {
        Replaced { name, sleeps: true }
    }
    [
        clock("clock_gettime"),
        clock("gettimeofday"),
        clock("time"),
        sleep("clock_nanosleep"),
        sleep("nanosleep"),
        sleep("usleep"),
        sleep("sleep"),
    ]
};

/// The architecture of this build, as ELF numbers it; 0 where we know none.
const NATIVE: u16 = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64.0
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64.0
} else {
    0
};

/// The name of this build's architecture.
pub(crate) const NATIVE_NAME: &str = if cfg!(target_arch = "x86_64") {
    "64-bit x86"
} else if cfg!(target_arch = "aarch64") {
    "64-bit Arm"
} else {
    "an architecture that has no preload library"
};

/// What matters of an ELF file that this machine can run or load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// An executable or library at no fixed address.
    pub shared: bool,
    /// The loader (`PT_INTERP`).
    pub interpreter: Option<PathBuf>,
    pub soname: Option<OsString>,
    pub needed: Vec<OsString>,
    /// `DT_RPATH`, colon-separated as it stands.
    pub rpath: Option<OsString>,
    /// `DT_RUNPATH`, likewise.
    pub runpath: Option<OsString>,
    pub go: bool,
    /// Those of [`REPLACED`] that it imports; `None` where the file does not
    /// tell.
    pub imports: Option<Vec<&'static str>>,
}

/// What else a file may be.
#[derive(Debug)]
pub(crate) enum NotAnImage {
    Unreadable(io::Error),
    NotElf,
    /// The name of another architecture.
    Foreign(String),
    /// ELF by its first bytes only.
    Broken,
}

/// Most bytes of program headers: as many as the kernel takes of a program.
const MOST_HEADERS: usize = 64 << 10;

/// Most bytes of a loader's path, likewise.
const LONGEST_PATH: u64 = 4096;

/// Most bytes of notes in a segment; those of real programs take some hundreds.
const LONGEST_NOTES: u64 = 16 << 10;

/// Reads the ELF file at `path`, and of it no more than `left` allows.
pub(crate) fn read(path: &Path, left: &Allowance) -> Result<Image, NotAnImage> {
    let file = bounded::open(path).map_err(NotAnImage::Unreadable)?;
    let file = &ReadCache::new(file);
    let data = Bounded { file, left };
    // Magic, class, byte order and machine stand at the same place in all.
    if data.read_bytes_at(0, 4) != Ok(&elf::ELFMAG) {
        return Err(NotAnImage::NotElf);
    }
    let Ok(start) = data.read_bytes_at(0, 20) else {
        return Err(NotAnImage::Broken);
    };
    let wide = start[4] == elf::ELFCLASS64.0;
    let little = start[5] == elf::ELFDATA2LSB.0;
    let machine = [start[18], start[19]];
    let machine = if little {
        u16::from_le_bytes(machine)
    } else {
        u16::from_be_bytes(machine)
    };
    if !wide || machine != NATIVE || little != cfg!(target_endian = "little") {
        return Err(NotAnImage::Foreign(architecture(machine, wide)));
    }
    parse(data).ok_or(NotAnImage::Broken)
}

/// The name of an architecture, for people.
fn architecture(machine: u16, wide: bool) -> String {
    let family = match elf::Machine(machine) {
        elf::EM_386 | elf::EM_X86_64 => "x86",
        elf::EM_ARM | elf::EM_AARCH64 => "Arm",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC | elf::EM_PPC64 => "PowerPC",
        elf::EM_S390 => "s390",
        elf::EM_MIPS => "MIPS",
        _ => return format!("another architecture (ELF machine {machine})"),
    };
    format!("{}-bit {family}", if wide { 64 } else { 32 })
}

fn parse<'d>(data: impl ReadRef<'d>) -> Option<Image> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    if size_of_val(segments) > MOST_HEADERS {
        return None;
    }
    let mut image = Image {
        shared: header.e_type(endian) == elf::ET_DYN,
        ..Image::default()
    };
    // The kernel takes the first of these, the loader the last of those.
    if let Some(segment) = of_kind(segments, endian, elf::PT_INTERP).next() {
        if segment.p_filesz(endian) > LONGEST_PATH {
            return None;
        }
        let path = segment.interpreter(endian, data).ok()??;
        image.interpreter = Some(PathBuf::from(OsStr::from_bytes(path)));
    }
    if let Some(segment) = of_kind(segments, endian, elf::PT_DYNAMIC).last() {
        let entries = segment.dynamic(endian, data).ok()??;
        dynamic(&mut image, endian, data, segments, entries);
    }
    for segment in of_kind(segments, endian, elf::PT_NOTE) {
        if segment.p_filesz(endian) > LONGEST_NOTES {
            continue;
        }
        if let Ok(Some(mut notes)) = segment.notes(endian, data) {
            while let Ok(Some(note)) = notes.next() {
                image.go |= note.name() == b"Go";
            }
        }
    }
    // A program can do without sections; then they tell nothing.
    if let Ok(sections) = header.sections(endian, data) {
        for name in [".note.go.buildid", ".go.buildinfo"] {
            image.go |= sections.section_by_name(endian, name.as_bytes()).is_some();
        }
        image.imports = imported(endian, data, &sections);
    }
    Some(image)
}

/// The program headers of a kind.
fn of_kind<P: ProgramHeader<Endian = Endianness>>(
    segments: &[P],
    endian: Endianness,
    kind: elf::ProgramType,
) -> impl Iterator<Item = &P> {
    segments.iter().filter(move |s| s.p_type(endian) == kind)
}

/// Those of [`REPLACED`] that are among the undefined symbols; `None` without symbols.
fn imported<'d, R: ReadRef<'d>>(
    endian: Endianness,
    data: R,
    sections: &SectionTable<'d, Header, R>,
) -> Option<Vec<&'static str>> {
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
    if symbols.is_empty() {
        return None;
    }
    // Read once: symbols may have a long text each.
    let strings = sections.section(symbols.string_section()).ok()?;
    let strings = strings.data(endian, data).ok()?;
    let mut is_imported = [false; REPLACED.len()];
    for symbol in symbols.iter().filter(|s| s.is_undefined(endian)) {
        let Some(name) = strings.get(symbol.st_name(endian) as usize..) else {
            continue;
        };
        for (is_imported, function) in is_imported.iter_mut().zip(REPLACED) {
            let after = name.strip_prefix(function.name.as_bytes());
            *is_imported |= after.is_some_and(|after| after.first() == Some(&0));
        }
    }
    let names = REPLACED.iter().zip(is_imported).filter(|(_, is)| *is);
    Some(names.map(|(function, _)| function.name).collect())
}

/// The strings of the dynamic segment, found as the loader finds them: by
/// address, without sections.
fn dynamic<'d>(
    image: &mut Image,
    endian: Endianness,
    data: impl ReadRef<'d>,
    segments: &[impl ProgramHeader<Endian = Endianness>],
    entries: &[impl Dyn<Endian = Endianness>],
) {
    let entries = || {
        entries
            .iter()
            .take_while(|e| e.tag(endian) != elf::DT_NULL)
            .map(|e| (e.tag(endian), e.val(endian)))
    };
    let value = |tag| entries().find(|(t, _)| *t == tag).map(|(_, v)| v);
    let (Some(address), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return;
    };
    let offset = segments.iter().find_map(|s| {
        let (start, length) = (s.p_vaddr(endian).into(), s.p_filesz(endian).into());
        let within = address.checked_sub(start).filter(|w| *w < length)?;
        let offset: u64 = s.p_offset(endian).into();
        (s.p_type(endian) == elf::PT_LOAD).then(|| offset.checked_add(within))?
    });
    let Some(offset) = offset else { return };
    let strings = StringTable::new(data, offset, offset.saturating_add(size));
    for (tag, at) in entries() {
        let text = || {
            let bytes = strings.get(u32::try_from(at).ok()?).ok()?;
            Some(OsStr::from_bytes(bytes).to_owned())
        };
        match tag {
            elf::DT_NEEDED => image.needed.extend(text()),
            elf::DT_SONAME => image.soname = text(),
            elf::DT_RPATH => image.rpath = text(),
            elf::DT_RUNPATH => image.runpath = text(),
            _ => {}
        }
    }
}
