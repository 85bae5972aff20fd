//! A report for a terminal.

mod paint;
mod table;

use tompion_assess::verdict::Outcome;

use crate::blocks::{Block, Content, Item, Media, shown, word};
use crate::data::ReportData;
use crate::figures::plain;
use crate::sections::SECTIONS;
pub(crate) use paint::Paint;

/// Columns for the longest name of a method and one number beside it.
const NARROWEST: usize = 40;

/// The summary for a terminal of `width` columns (at least 40 are used). Where
/// the page lies is for the caller to say: it chose the place.
pub fn terminal(data: &ReportData, width: usize, color: bool) -> String {
    let mut screen = Screen::new(width, color);
    let (first, others) = SECTIONS.split_at(1);
    for section in first.iter().chain(others.iter().rev()) {
        screen.section(section.title, &(section.blocks)(data));
    }
    screen.out
}

/// `blocks` as they stand on a terminal of `width` columns (at least 40 are used).
pub(crate) fn printed(width: usize, color: bool, blocks: &[Block<'_>]) -> String {
    let mut screen = Screen::new(width, color);
    screen.blocks(blocks);
    screen.out
}

/// What is written so far, and how.
pub(crate) struct Screen {
    /// The text.
    pub out: String,
    width: usize,
    paint: Paint,
}

impl Screen {
    /// An empty screen of `width` columns, of at least 40.
    pub(crate) fn new(width: usize, color: bool) -> Self {
        Self {
            out: String::new(),
            width: width.max(NARROWEST),
            paint: Paint { color },
        }
    }

    /// A section under its title, or under the first heading in it where that says more.
    pub(crate) fn section(&mut self, title: &str, blocks: &[Block<'_>]) {
        let Some(first) = shown(blocks, Media::SCREEN).next() else {
            return;
        };
        let titled = matches!(
            first,
            Content::Part { title: Some(_), .. } | Content::Heading(_)
        );
        if !title.is_empty() && !titled {
            self.heading(title);
        }
        self.blocks(blocks);
    }

    /// Blocks as they come.
    pub(crate) fn blocks(&mut self, blocks: &[Block<'_>]) {
        shown(blocks, Media::SCREEN).for_each(|content| self.content(content));
    }

    fn content(&mut self, content: &Content<'_>) {
        match content {
            Content::Answer(sentences) => {
                for sentence in sentences {
                    let text = self.wrapped(sentence, "", "");
                    self.line(&self.paint.bold(&text));
                }
            }
            Content::Alert(title, sentence) => {
                let text = format!("{}: {sentence}", title.to_uppercase());
                let text = self.wrapped(&text, "", "  ");
                self.line(&self.paint.warn(&text));
            }
            Content::Warning(text) => {
                let text = self.wrapped(text, "! ", "  ");
                self.line(&self.paint.warn(&text));
            }
            Content::Judged(judged) => {
                for (outcome, sentence) in judged {
                    let text = format!("{}  {sentence}", word(*outcome));
                    let text = self.wrapped(&text, "  ", "    ");
                    self.line(&match outcome {
                        Outcome::Pass => self.paint.good(&text),
                        _ => self.paint.warn(&text),
                    });
                }
            }
            Content::Heading(text) => self.heading(text),
            Content::Subheading(text) => {
                self.out.push('\n');
                self.text(text, "", "");
            }
            Content::Text(text) | Content::Lead(text) => self.text(text, "", ""),
            Content::Note(text) => {
                let text = self.wrapped(text, "", "  ");
                self.line(&self.paint.dim(&text));
            }
            Content::Facts(facts) => self.text(&facts.join(", "), "", "  "),
            Content::List(items) => {
                for item in items {
                    self.text(item, "  ", "    ");
                }
            }
            Content::Pairs(pairs) => {
                for (label, value) in pairs {
                    self.text(&format!("{label}: {value}"), "  ", "    ");
                }
            }
            Content::Tiles(tiles) => {
                for tile in tiles {
                    self.text(
                        &format!("{}: {} ({})", tile.what, tile.value, tile.of),
                        "  ",
                        "    ",
                    );
                }
            }
            Content::Items(_, items) => {
                let items = items.iter().filter(|item| item.media.has(Media::SCREEN));
                items.for_each(|item| self.item(item));
            }
            Content::Table(table) => {
                let text = table::table(table, self.width);
                self.out.push_str(&self.paint.glyphs(&text));
            }
            // There is no room for plots; what draws them for terminals is a block of its own.
            Content::Figures(..) => {}
            Content::Characters(draw) => self.out.push_str(&draw(self.width).unwrap_or_default()),
            Content::Code(text) => self.text(text, "  ", "  "),
            Content::Cards(cards) => {
                for (title, blocks) in cards {
                    self.heading(title);
                    self.blocks(blocks);
                }
            }
            Content::Part { title, blocks, .. } => {
                if let Some(title) = title {
                    self.heading(title);
                }
                self.blocks(blocks);
            }
            Content::Fold { title, blocks, .. } => {
                self.out.push('\n');
                self.text(title, "", "");
                self.blocks(blocks);
            }
        }
    }

    /// A finding under its figure, or advice with a sign that it is more than noise.
    fn item(&mut self, item: &Item) {
        let how = item.how.iter().map(|how| ("How", how));
        let labelled = item.more.iter().filter(|m| !m.0.is_empty());
        match &item.how {
            None => {
                let first = format!("{:>8}  ", item.figure);
                self.text(&item.text, &first, &" ".repeat(10));
            }
            Some(_) => {
                let mark = if item.sure {
                    self.paint.good("✓")
                } else {
                    "·".to_owned()
                };
                let text = self.wrapped(&item.text, "    ", "    ");
                self.line(&format!("  {mark} {}", text.trim_start()));
                self.text(&item.figure, "    ", "    ");
            }
        }
        for (label, text) in how.chain(labelled.map(|(label, text)| (*label, text))) {
            let first = format!("    {:<7}", format!("{label}:"));
            self.text(text, &first, &" ".repeat(first.len()));
        }
    }

    fn heading(&mut self, text: &str) {
        let text = self.wrapped(text, "", "");
        self.out.push('\n');
        self.line(&self.paint.bold(&text));
    }

    fn text(&mut self, text: &str, first: &str, rest: &str) {
        self.line(&self.wrapped(text, first, rest));
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn wrapped(&self, text: &str, first: &str, rest: &str) -> String {
        wrap(&plain(text), self.width, first, rest)
    }
}

/// Characters of a text that a terminal gets; to wrap one takes many times its memory.
const MOST_CHARACTERS: usize = 100_000;

pub(crate) fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let cut = text.char_indices().nth(MOST_CHARACTERS);
    let shortened = cut.map(|(end, _)| format!("{}\u{2026}", &text[..end]));
    let text = shortened.as_deref().unwrap_or(text);
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest);
    textwrap::fill(text, options)
}
