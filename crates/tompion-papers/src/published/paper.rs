//! The papers and how they are cited.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        paper: Vec<Paper>,
    }
    // The tests parse the same text, so a broken file never leaves the workshop.
    toml::from_str::<File>(include_str!("../../data/papers.toml"))
        .expect("the embedded papers are well formed")
        .paper
});

/// All papers, the oldest first.
pub fn papers() -> &'static [Paper] {
    &PAPERS
}

/// The paper of that name, such as `kirova-2019`.
pub fn paper(id: &str) -> Option<&'static Paper> {
    papers().iter().find(|p| p.id == id)
}

/// A paper as its own text names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Short name: first author and year.
    pub id: String,
    /// All authors in order.
    pub authors: Vec<String>,
    /// Its title.
    pub title: String,
    /// Where it appeared.
    pub venue: String,
    /// When it appeared.
    pub year: u16,
    /// What the text leaves open about this citation; absent where nothing.
    pub note: Option<String>,
}

impl Paper {
    /// First author and year as running text has it: `Kirova 2019`.
    pub fn short(&self) -> String {
        let (name, year) = self.id.split_once('-').unwrap_or((&self.id, ""));
        let mut letters = name.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        let name: String = first.into_iter().chain(letters).collect();
        format!("{name} {year}").trim_end().to_owned()
    }

    /// The whole citation in one line.
    pub fn citation(&self) -> String {
        format!(
            "{} ({}): {}. {}",
            self.authors.join(", "),
            self.year,
            self.title,
            self.venue
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_is_whole_and_named_once() {
        for (i, p) in papers().iter().enumerate() {
            assert!(!p.authors.is_empty() && !p.title.is_empty() && !p.venue.is_empty());
            assert!(p.id.ends_with(&format!("-{}", p.year)), "{}", p.id);
            assert!(
                papers()[..i]
                    .iter()
                    .all(|o| o.id != p.id && o.year <= p.year)
            );
        }
        assert_eq!(papers().len(), 5);
    }

    #[test]
    fn a_paper_is_called_by_author_and_year() {
        let kirova = paper("kirova-2019").unwrap();
        assert_eq!(kirova.short(), "Kirova 2019");
        assert!(
            kirova
                .citation()
                .starts_with("Veronika Kirova, Kirill Karpov, ")
        );
        assert!(paper("kirova-2018").is_none());
    }
}
