//! What an ELF file tells about how it is loaded and what it imports.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::read::{ReadCache, ReadRef, StringTable};

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

/// Reads the ELF file at `path`.
pub(crate) fn read(path: &Path) -> Result<Image, NotAnImage> {
    let file = File::open(path).map_err(NotAnImage::Unreadable)?;
    let data = &ReadCache::new(file);
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
    parse(data).map_err(|_| NotAnImage::Broken)
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

fn parse<'d>(data: impl ReadRef<'d>) -> object::Result<Image> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data)?;
    let mut image = Image {
        shared: header.e_type(endian) == elf::ET_DYN,
        ..Image::default()
    };
    for segment in segments {
        if let Some(path) = segment.interpreter(endian, data)? {
            image.interpreter = Some(PathBuf::from(OsStr::from_bytes(path)));
        }
        if let Some(entries) = segment.dynamic(endian, data)? {
            dynamic(&mut image, endian, data, segments, entries);
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
        if let Ok(symbols) = sections.symbols(endian, data, elf::SHT_DYNSYM)
            && !symbols.is_empty()
        {
            let undefined: Vec<&[u8]> = symbols
                .iter()
                .filter(|s| s.is_undefined(endian))
                .filter_map(|s| s.name(endian, symbols.strings()).ok())
                .collect();
            let imported = |f: &Replaced| undefined.contains(&f.name.as_bytes());
            let names = REPLACED.iter().filter(|f| imported(f)).map(|f| f.name);
            image.imports = Some(names.collect());
        }
    }
    Ok(image)
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
