//! `stress-ng`: that program.

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::driver::Driver;
use crate::load::{Load, Parse, Parsed, Work};
use crate::spec::Text;

pub(super) static ENTRY: Load = Load {
    name: "stress-ng",
    about: "the program stress-ng with these options, for example stress-ng:cpu=4:vm=1",
    in_check: false,
    parse: Parse::Text(parse),
};

const PROGRAM: &str = "stress-ng";

/// Options refused because they break a promise of this crate.
const REFUSED: &[(&str, &str)] = &[
    ("io", "it syncs every file of the machine: use the load io"),
    ("hdd", "it writes without a limit: use the load hd"),
    ("iomix", "it writes without a limit: use the load hd"),
    ("sync-file", "it writes without a limit: use the load io"),
    ("all", "it includes stressors that write without a limit"),
    (
        "sequential",
        "it includes stressors that write without a limit",
    ),
    ("class", "it includes stressors that write without a limit"),
    ("timeout", "the load runs for as long as the trials need it"),
];

#[derive(Debug)]
struct StressNg {
    options: Vec<(String, Option<String>)>,
}

impl Work for StressNg {
    fn describe(&self, text: &mut Text) {
        for (key, value) in &self.options {
            match value {
                Some(value) => text.option(key, Some(value)),
                None => text.flag(key),
            }
        }
    }

    fn program(&self) -> Option<&'static str> {
        Some(PROGRAM)
    }

    fn driver(&self, directory: &Path) -> io::Result<Option<Driver>> {
        Ok(Some(driver(&self.options, directory)))
    }
}

fn parse(rest: Option<&str>) -> Parsed {
    let example = "for example stress-ng:cpu=4";
    let rest = rest.ok_or_else(|| format!("stress-ng needs a stressor, {example}"))?;
    let mut options = Vec::new();
    for part in rest.split(':') {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (part, None),
        };
        let key_is_safe = key.starts_with(|c: char| c.is_ascii_lowercase())
            && key
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let value_is_safe = value.is_none_or(|value| {
            value.starts_with(|c: char| c.is_ascii_alphanumeric())
                && value
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._%-".contains(c))
        });
        if !key_is_safe || !value_is_safe {
            return Err(format!(
                "'{part}' should be an option of stress-ng without its dashes, made of letters, \
                 digits and . _ % -, {example}"
            )
            .into());
        }
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == key) {
            return Err(format!("the option {key} of stress-ng is not allowed: {why}").into());
        }
        options.push((key.to_owned(), value.map(str::to_owned)));
    }
    Ok(Arc::new(StressNg { options }))
}

fn driver(options: &[(String, Option<String>)], directory: &Path) -> Driver {
    let mut main = Command::new(PROGRAM);
    // 0 is for ever: the supervisor ends it.
    main.args(["--timeout", "0", "--temp-path"]).arg(directory);
    for (key, value) in options {
        main.arg(format!("--{key}")).args(value);
    }
    Driver {
        program: PROGRAM,
        server: None,
        main,
    }
}
