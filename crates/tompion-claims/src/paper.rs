//! One file of the register: a paper, its sections and its claims.

use serde::Deserialize;

use crate::Claim;
use crate::validate::Mistake;

/// A paper with its claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Its name, `kirova-2019`, which begins the names of its claims.
    pub id: String,
    /// Authors, title, venue, year.
    pub citation: String,
    /// All sections in the paper's order, those without a claim too.
    pub sections: Vec<String>,
    /// Its claims.
    pub claims: Vec<Claim>,
}

impl Paper {
    /// Authors' first and year, `Kirova 2019`.
    pub fn short(&self) -> String {
        let mut words = self.id.splitn(2, '-');
        let author = words.next().unwrap_or_default();
        let mut letters = author.chars();
        let capital = letters.next().map(|c| c.to_uppercase().to_string());
        format!(
            "{}{} {}",
            capital.unwrap_or_default(),
            letters.as_str(),
            words.next().unwrap_or_default()
        )
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
            citation: String,
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
            citation: read.paper.citation,
            sections: read.paper.sections,
            claims: read.claim,
        })
    }
}
