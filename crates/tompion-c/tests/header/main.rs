//! `include/tompion.h` is what the sources say. After a change of theirs:
//! `TOMPION_WRITE_HEADER=1 cargo test -p tompion-c --test header`

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, Language, RenameRule, Style};

/// The sections of the header: their titles and sources.
const SECTIONS: [(&str, &str); 5] = [
    ("The clock", "clock"),
    ("Short intervals: the bare counter", "ticks"),
    ("Sleeping", "sleep"),
    ("Periodic waking", "ticker"),
    ("The library", "version"),
];

/// Names in Rust and in C.
const NAMES: [(&str, &str); 8] = [
    ("ClockPolicy", "tompion_clock_policy"),
    ("ClockSource", "tompion_clock_source"),
    ("ClockReport", "tompion_report"),
    ("SleepPolicy", "tompion_sleep_policy"),
    ("Slept", "tompion_slept"),
    ("Sleeper", "tompion_sleeper"),
    ("Tick", "tompion_tick"),
    ("Ticker", "tompion_ticker"),
];

/// Columns of a line of the header.
const WIDTH: usize = 88;

#[test]
fn the_header_is_up_to_date() {
    let path = home().join("include/tompion.h");
    let made = header();
    if std::env::var_os("TOMPION_WRITE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(
        made == found,
        "include/tompion.h is not what the sources say; write it again with \
         TOMPION_WRITE_HEADER=1 cargo test -p tompion-c --test header; first difference: {differs:?}"
    );
}

#[test]
fn every_function_tells_who_may_call_it_and_no_line_is_too_long() {
    let header = header();
    let mut functions = 0;
    for (start, _) in header.match_indices("(") {
        let line = header[..start].lines().last().unwrap_or_default();
        if line.starts_with([' ', '/', '#', '}', '*']) || !line.contains("tompion_") {
            continue;
        }
        functions += 1;
        let tag = header[..start].lines().rev().nth(2).unwrap_or_default();
        let tags = ["[signal-safe]", "[thread-safe]", "[one thread]"];
        assert!(
            tags.contains(&tag.trim_start_matches(" * ")),
            "{line}: {tag}"
        );
    }
    assert!(functions > 15, "{functions} functions found");
    assert!(header.is_ascii());
    let longest = header.lines().max_by_key(|line| line.len()).unwrap();
    assert!(longest.len() <= WIDTH, "{longest}");
}

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> String {
    let mut made = include_str!("begins.h")
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"));
    for (title, source) in SECTIONS {
        made += &format!("\n/* ---- {title} ---- */\n\n{}", section(source));
    }
    made + include_str!("ends.h")
}

/// What one source declares. Each on its own, because cbindgen puts the types of
/// all before the functions of any.
fn section(source: &str) -> String {
    let mut config = Config {
        language: Language::C,
        no_includes: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::Doxy,
        tab_width: 4,
        line_length: WIDTH,
        usize_is_size_t: true,
        ..Config::default()
    };
    config.export.rename = NAMES.map(|(rust, c)| (rust.into(), c.into())).into();
    // Nothing takes an enum, so that no caller can pass one out of range.
    config.export.include = ["ClockPolicy", "ClockSource", "SleepPolicy"]
        .map(Into::into)
        .into();
    config.enumeration.rename_variants = RenameRule::QualifiedScreamingSnakeCase;
    let mut written = Vec::new();
    Builder::new()
        .with_config(config)
        .with_src(home().join(format!("src/{source}.rs")))
        .generate()
        .unwrap()
        .write(&mut written);
    tidy(&String::from_utf8(written).unwrap())
}

/// Comments of one line and declarations that fit into one line, in one line.
fn tidy(code: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = code.trim_start().lines().peekable();
    while let Some(line) = rest.next() {
        let mut line = line.to_owned();
        if line.ends_with(',') && line.contains('(') {
            let mut whole = line.clone();
            let mut wrapped = vec![line];
            for more in rest.by_ref() {
                whole = format!("{whole} {}", more.trim_start());
                wrapped.push(more.to_owned());
                if more.ends_with(';') {
                    break;
                }
            }
            if whole.len() <= WIDTH {
                wrapped = vec![whole];
            }
            lines.append(&mut wrapped);
            continue;
        }
        if line.trim_start() == "*/" && lines.len() >= 2 {
            let [opening, text] = &lines[lines.len() - 2..] else {
                unreachable!()
            };
            let text = text.trim_start().trim_start_matches("* ");
            let joined = format!("{opening} {text} */");
            if opening.trim_start() == "/**" && joined.len() <= WIDTH {
                lines.truncate(lines.len() - 2);
                line = joined;
            }
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}
