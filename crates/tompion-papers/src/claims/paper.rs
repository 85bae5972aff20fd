//! One file of the register: a paper, its sections and its claims.

use serde::Deserialize;

use crate::claims::{Claim, Mistake};

/// A paper with its claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Its name in the published data, `kirova-2019`, which begins the names of its claims.
    pub id: String,
    /// All sections in the paper's order, those without a claim too.
    pub sections: Vec<String>,
    /// Its claims.
    pub claims: Vec<Claim>,
}

impl Paper {
    /// Who wrote it and where it appeared.
    pub fn cited(&self) -> &'static crate::published::Paper {
        // `validate` refuses papers that are not cited.
        crate::published::paper(&self.id).expect("every paper of the register is cited")
    }

    /// Reads the text of `claims/NAME.toml`. What cannot be read at all is one mistake;
    /// whether the entries make sense is for `validate` to say.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, Mistake> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            paper: Head,
            #[serde(default)]
            claim: Vec<Claim>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Head {
            id: String,
            sections: Vec<String>,
        }
        let read: File = toml::from_str(text).map_err(|e| {
            let before = e.span().and_then(|s| text.get(..s.start));
            let line = before.map_or(1, |b| b.matches('\n').count() + 1);
            let what = e.message().replace('\n', " ");
            Mistake::new(format!("{file}, line {line}"), what)
        })?;
        Ok(Self {
            id: read.paper.id,
            sections: read.paper.sections,
            claims: read.claim,
        })
    }
}
