//! From files to the register, which is checked.

use std::sync::LazyLock;

use crate::claims::validate::validate;
use crate::claims::{Mistake, Paper, Register};

/// A file's name and text.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its name without directories.
    pub name: &'a str,
    /// What it holds.
    pub text: &'a str,
}

macro_rules! files {
    ($directory:literal: $($name:literal),* $(,)?) => {
        &[$(Text { name: $name, text: include_str!(concat!($directory, $name)) }),*]
    };
}

/// The oldest paper first. A test holds this list against the directory.
const PAPERS: &[Text<'static>] = files!["../../../../claims/":
    "whiteaker-2011.toml",
    "perneel-2015.toml",
    "adamczyk-2015.toml",
    "korniichuk-2017.toml",
    "kirova-2019.toml",
];

const EVIDENCE: &[Text<'static>] = files!["../../../../claims/evidence/":
    "whiteaker-2011.json",
    "whiteaker-2011-lab.json",
    "whiteaker-2011-packets.json",
    "perneel-2015.json",
    "perneel-2015-lab.json",
    "adamczyk-2015.json",
    "korniichuk-2017.json",
    "korniichuk-2017-lab.json",
    "korniichuk-2017-packet-rate.json",
    "kirova-2019.json",
    "kirova-2019-lab.json",
    "kirova-2019-packet-rate.json",
];

static REGISTER: LazyLock<Register> = LazyLock::new(|| {
    // A test parses the same texts, so a broken register never leaves the workshop.
    Register::embedded().expect("the embedded register is well formed")
});

/// The register as compiled in.
pub fn register() -> &'static Register {
    &REGISTER
}

impl Register {
    /// Reads and checks the files compiled in.
    pub(crate) fn embedded() -> Result<Self, Vec<Mistake>> {
        Self::parse(PAPERS, EVIDENCE)
    }

    /// Reads papers and evidence, and checks them: each claim by itself, claims against
    /// sections, claims against evidence and evidence against claims. The error lists
    /// everything that is wrong, one line each.
    pub fn parse(papers: &[Text<'_>], evidence: &[Text<'_>]) -> Result<Self, Vec<Mistake>> {
        let register = Self::read(papers, evidence)?;
        let mistakes = validate(&register);
        if mistakes.is_empty() {
            Ok(register)
        } else {
            Err(mistakes)
        }
    }

    /// Papers and evidence as they are written, unchecked.
    fn read(papers: &[Text<'_>], evidence: &[Text<'_>]) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut register = Self {
            papers: Vec::new(),
            evidence: Vec::new(),
        };
        for file in papers {
            match Paper::parse(file.name, file.text) {
                Ok(paper) => register.papers.push(paper),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        for file in evidence {
            match serde_json::from_str(file.text) {
                Ok(found) => register.evidence.push((file.name.to_owned(), found)),
                Err(e) => mistakes.push(Mistake::new(file.name, e.to_string())),
            }
        }
        if mistakes.is_empty() {
            Ok(register)
        } else {
            Err(mistakes)
        }
    }
}
