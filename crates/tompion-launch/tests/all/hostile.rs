//! Programs and libraries that lie: each is refused or taken as it is, soon, and nothing is waited
//! for. What it takes in memory is in tests/acceptance/test_hostile_programs.py.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Bench, READS_CLOCK, find, run};
use tompion_launch::{Error, Imports, Library, Unreachable, imports};

/// The longest that a look at a program may take: 5 s, and as much again on a busy machine and
/// hardly optimised.
const LIMIT: Duration = Duration::from_secs(10);

fn within_limit<T>(what: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = what();
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    done
}

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NOTE: u32 = 4;
const NEEDED: u64 = 1;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// A program header; addresses are offsets.
fn segment(kind: u32, offset: u64, size: u64) -> Vec<u8> {
    let mut header = [kind, 4].map(u32::to_le_bytes).concat();
    for word in [offset, offset, offset, size, size, 1] {
        header.extend(word.to_le_bytes());
    }
    header
}

/// An executable of this machine: its program headers, then contents at offsets, and a hole up to
/// `size`.
fn file(
    bench: &Bench,
    name: &str,
    segments: &[Vec<u8>],
    contents: &[(u64, &[u8])],
    size: u64,
) -> PathBuf {
    let native = fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut bytes = native[..64].to_vec();
    bytes[16] = 3;
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[40..48].fill(0);
    bytes[56..58].copy_from_slice(&(segments.len() as u16).to_le_bytes());
    bytes[60..64].fill(0);
    bytes.extend(segments.concat());
    for (offset, content) in contents {
        let offset = *offset as usize;
        assert!(offset >= bytes.len(), "{offset} {}", bytes.len());
        bytes.resize(offset, 0);
        bytes.extend_from_slice(content);
    }
    let path = bench.script(name, &bytes);
    if size > bytes.len() as u64 {
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(size)
            .unwrap();
    }
    path
}

fn loader() -> Vec<u8> {
    match cfg!(target_arch = "aarch64") {
        true => b"/lib/ld-linux-aarch64.so.1\0".to_vec(),
        false => b"/lib64/ld-linux-x86-64.so.2\0".to_vec(),
    }
}

const FAR: u64 = 1 << 23;

/// A program whose dynamic segment has these texts, each with its tag, and further segments.
fn program(bench: &Bench, name: &str, texts: &[(u64, Vec<u8>)], more: &[Vec<u8>]) -> PathBuf {
    let (mut strings, mut entries) = (vec![0_u8], Vec::new());
    for (tag, text) in texts {
        entries.push([*tag, strings.len() as u64]);
        strings.extend(text);
        strings.push(0);
    }
    // DT_STRTAB, DT_STRSZ, DT_NULL.
    entries.extend([[5, FAR], [10, strings.len() as u64], [0, 0]]);
    let table: Vec<u8> = entries
        .concat()
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    let loader = loader();
    let (end, loader_at) = (FAR + strings.len() as u64, FAR - 4096);
    let mut segments = vec![
        segment(INTERPRETER, loader_at, loader.len() as u64),
        segment(LOAD, FAR, strings.len() as u64),
        segment(DYNAMIC, end, table.len() as u64),
    ];
    segments.extend_from_slice(more);
    let contents = [(loader_at, &loader[..]), (FAR, &strings), (end, &table)];
    file(bench, name, &segments, &contents, 0)
}

fn walked(path: &Path) -> Imports {
    within_limit(|| imports(&find(path).unwrap()))
}

fn is_no_program(path: &Path) {
    let found = within_limit(|| find(path));
    let is = matches!(
        &found,
        Err(Error::Unreachable {
            why: Unreachable::NotAProgram,
            ..
        })
    );
    assert!(is, "{found:?}");
}

#[test]
fn a_made_up_program_is_reached() {
    let bench = Bench::new();
    let path = program(
        &bench,
        "program",
        &[(NEEDED, b"libnone.so.1".to_vec())],
        &[],
    );
    let found = walked(&path);
    assert!(found.loaded.is_empty() && !found.is_cut, "{found:?}");
    let names: Vec<_> = [path.as_os_str().to_owned(), "libnone.so.1".into()].into();
    assert_eq!(found.unknown, names);
}

#[test]
fn tables_beyond_all_measure_are_not_read() {
    let bench = Bench::new();
    let loader = loader();
    let told = segment(INTERPRETER, 1 << 20, loader.len() as u64);
    let at_its_place = [(1 << 20, &loader[..])];
    for (number, size) in [3_u64 << 30, 1 << 40].into_iter().enumerate() {
        let path = |name: &str, segments: &[Vec<u8>]| {
            file(
                &bench,
                &format!("{name}-{number}"),
                segments,
                &at_its_place,
                2 * size,
            )
        };
        is_no_program(&path(
            "dynamic",
            &[told.clone(), segment(DYNAMIC, 1 << 21, size)],
        ));
        is_no_program(&path("loader", &[segment(INTERPRETER, 1 << 20, size)]));
    }
    // Longer than the kernel takes, as tables and as paths.
    is_no_program(&file(
        &bench,
        "long",
        &[segment(INTERPRETER, 1 << 20, 4097)],
        &at_its_place,
        1 << 21,
    ));
    let many = vec![told; 1171];
    is_no_program(&file(&bench, "many", &many, &at_its_place, 0));
    assert!(find(&file(&bench, "fewer", &many[1..], &at_its_place, 0)).is_ok());
}

#[test]
fn one_table_in_many_headers_is_read_no_more_often_than_is_allowed() {
    let bench = Bench::new();
    let notes = vec![0_u8; 16 << 10];
    let note = segment(NOTE, FAR, notes.len() as u64);
    let path = file(&bench, "notes", &vec![note; 1170], &[(FAR, &notes)], 0);
    let found = within_limit(|| find(&path));
    assert!(found.is_err(), "{found:?}");
    // The loader goes by the last dynamic segment.
    let again = segment(DYNAMIC, FAR + 14, 48 + 16);
    let path = program(
        &bench,
        "two",
        &[(NEEDED, b"libnone.so.1".to_vec())],
        &vec![again; 1000],
    );
    let found = walked(&path);
    assert_eq!(found.unknown.len(), 2, "{found:?}");
}

#[test]
fn the_first_loader_counts_as_it_does_for_the_kernel() {
    let bench = Bench::new();
    let (glibcs, musls) = (loader(), b"/lib/ld-musl.so.1\0");
    let glibc = segment(INTERPRETER, 4096, glibcs.len() as u64);
    let musl = segment(INTERPRETER, 8192, musls.len() as u64);
    let contents = [(4096, &glibcs[..]), (8192, &musls[..])];
    let path = file(
        &bench,
        "glibc",
        &[glibc.clone(), musl.clone()],
        &contents,
        0,
    );
    assert!(find(&path).is_ok());
    let path = file(&bench, "musl", &[musl, glibc], &contents, 0);
    let why = find(&path).unwrap_err().to_string();
    assert!(why.contains("loaded by /lib/ld-musl.so.1"), "{why}");
}

#[test]
fn a_pipe_among_libraries_is_not_waited_for() {
    let bench = Bench::new();
    let pipe = bench.at("pipe");
    run(Command::new("mkfifo").arg(&pipe));
    let path = program(
        &bench,
        "program",
        &[(NEEDED, pipe.clone().into_os_string().into_vec())],
        &[],
    );
    assert!(
        walked(&path)
            .unknown
            .contains(&pipe.clone().into_os_string())
    );
    let why = within_limit(|| Library::at(&pipe)).unwrap_err().to_string();
    assert!(why.ends_with("cannot be read: not a regular file"), "{why}");
}

/// A library by so many names that nobody could look at all.
fn endless(bench: &Bench, name: &str, text: impl Fn(usize) -> Vec<u8>) -> Imports {
    let texts: Vec<_> = (0..20_000).map(|n| (NEEDED, text(n))).collect();
    walked(&program(bench, name, &texts, &[]))
}

#[test]
fn libraries_without_end_are_not_walked_to_the_end() {
    let bench = Bench::new();
    let directory = bench.at("").into_os_string().into_vec();
    // A name of its own each time, for one file that needs all of them again.
    let found = endless(&bench, "itself", |n| {
        let way = b"./".repeat(n % 1000).into_iter();
        let way = way.chain(b"/".repeat(n / 1000));
        [&directory[..], &way.collect::<Vec<u8>>(), b"itself"].concat()
    });
    assert!(found.is_cut, "{found:?}");
    let found = endless(&bench, "absent", |n| format!("lib{n}.so").into_bytes());
    assert!(
        found.is_cut && found.unknown.len() > 1000,
        "{}",
        found.unknown.len()
    );
}

#[test]
fn lists_of_directories_without_end_are_not_gone_through() {
    let bench = Bench::new();
    let names = (0..20_000).map(|n| (NEEDED, format!("lib{n}.so").into_bytes()));
    let short: Vec<String> = (0..1000).map(|n| format!("{n:x}")).collect();
    for (number, (tag, list)) in [
        (RUNPATH, short.join(":")),
        (RPATH, short.join(":")),
        (RUNPATH, "$ORIGIN".repeat(580)),
        (RPATH, ["$LIB"; 800].join("$ORIGIN:")),
    ]
    .into_iter()
    .enumerate()
    {
        let texts: Vec<_> = [(tag, list.into_bytes())]
            .into_iter()
            .chain(names.clone())
            .collect();
        let found = walked(&program(&bench, &format!("list-{number}"), &texts, &[]));
        assert!(found.is_cut, "{number}");
    }
}

#[test]
fn a_chain_of_libraries_ends_without_running_out_of_stack() {
    let bench = Bench::new();
    let at = |n: usize| bench.at(&n.to_string()).into_os_string().into_vec();
    for n in 0..6000 {
        let (text, loader) = ([vec![0], at(n + 1), vec![0]].concat(), loader());
        let entries = [[NEEDED, 1], [5, 1024], [10, text.len() as u64], [0, 0]];
        let table: Vec<u8> = entries
            .concat()
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        let segments = [
            segment(INTERPRETER, 512, loader.len() as u64),
            segment(LOAD, 1024, text.len() as u64),
            segment(DYNAMIC, 2048, table.len() as u64),
        ];
        let contents = [(512, &loader[..]), (1024, &text), (2048, &table)];
        file(&bench, &n.to_string(), &segments, &contents, 0);
    }
    let found = walked(&bench.at("0"));
    assert!(found.is_cut);
}

#[test]
fn a_library_that_no_variable_can_name_is_not_put_there() {
    let bench = Bench::new();
    let names = [
        "libasan.so.8",
        "libasan.so.8:other.so",
        "libasan.so.8 other.so",
    ];
    let texts: Vec<_> = names.map(|n| (NEEDED, n.into())).into();
    let program = find(&program(&bench, "program", &texts, &[])).unwrap();
    let named: Vec<OsString> = program.sanitizers().cloned().collect();
    assert_eq!(named, ["libasan.so.8"]);
}

#[test]
fn a_whole_program_is_looked_at_as_before() {
    let bench = Bench::new();
    let found = walked(&bench.cc("whole", READS_CLOCK, &[]));
    assert_eq!(found.importers("clock_gettime").count(), 1, "{found:?}");
    assert!(!found.is_cut && found.unknown.is_empty(), "{found:?}");
}
