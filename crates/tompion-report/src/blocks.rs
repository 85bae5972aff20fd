//! What a report is made of, before it is decided how it looks: sections give blocks, and
//! each form of the report turns them into what it writes.

use tompion_assess::verdict::Outcome;

use crate::figures::NONE;
use crate::plot::{Drawn, Look};

/// Kinds of report for which a block is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media(u8);

impl Media {
    /// A terminal: what fits.
    pub const SCREEN: Self = Self(1);
    /// A text for a ticket: figures without plots.
    pub const TEXT: Self = Self(2);
    /// A page: everything.
    pub const PAGE: Self = Self(4);
    /// All of them.
    pub const ALL: Self = Self(7);
    /// A text and a page.
    pub const NOT_SCREEN: Self = Self(6);
    /// A terminal and a text.
    pub const NOT_PAGE: Self = Self(3);

    /// Whether a block meant for these is meant for `one`.
    pub(crate) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

/// A piece of a report.
pub(crate) struct Block<'a> {
    /// What it says.
    pub content: Content<'a>,
    /// Where it is shown.
    pub media: Media,
}

/// What a block says.
pub(crate) enum Content<'a> {
    /// The answer that a report opens with, in sentences.
    Answer(Vec<String>),
    /// What must not be overlooked: a title and a sentence.
    Alert(&'static str, String),
    /// A problem of what was asked for.
    Warning(String),
    /// A heading within a section.
    Heading(String),
    /// A heading below another.
    Subheading(String),
    /// A paragraph.
    Text(String),
    /// A paragraph that says how to read what follows.
    Lead(String),
    /// A side remark.
    Note(String),
    /// Short facts in a row.
    Facts(Vec<String>),
    /// Sentences, each an item.
    List(Vec<String>),
    /// Sentences, each with its verdict.
    Judged(Vec<(Outcome, String)>),
    /// Labels with values.
    Pairs(Vec<(String, String)>),
    /// The most important figures.
    Tiles(Vec<Tile>),
    /// Findings or pieces of advice.
    Items(Items, Vec<Item>),
    /// Figures in rows and columns.
    Table(Table),
    /// Plots side by side, or below each other where they are wide.
    Figures(Layout, Vec<Figure<'a>>),
    /// A drawing of characters in so many columns, where there is something to draw.
    Characters(Box<dyn Fn(usize) -> Option<String> + 'a>),
    /// Words for a shell.
    Code(String),
    /// Blocks side by side under titles of their own.
    Cards(Vec<(String, Vec<Block<'a>>)>),
    /// A part of a section with a title and an anchor of its own.
    Part {
        /// Its anchor.
        anchor: String,
        /// Its title; absent where the section's will do.
        title: Option<String>,
        /// What it holds.
        blocks: Vec<Block<'a>>,
    },
    /// What may be folded.
    Fold {
        /// What stands in its place.
        title: String,
        /// Whether it is unfolded at first.
        open: bool,
        /// What it holds.
        blocks: Vec<Block<'a>>,
    },
}

impl<'a> Content<'a> {
    /// A part of a section.
    pub(crate) fn part(
        anchor: impl Into<String>,
        title: Option<String>,
        blocks: Vec<Block<'a>>,
    ) -> Self {
        let anchor = anchor.into();
        Self::Part {
            anchor,
            title,
            blocks,
        }
    }

    /// What may be folded, and is unless `open`.
    pub(crate) fn fold(title: impl Into<String>, open: bool, blocks: Vec<Block<'a>>) -> Self {
        let title = title.into();
        Self::Fold {
            title,
            open,
            blocks,
        }
    }

    /// The same for these media only.
    pub(crate) fn on(self, media: Media) -> Block<'a> {
        Block {
            content: self,
            media,
        }
    }

    /// The figures of plots in it, in their order.
    fn figures(self, out: &mut Vec<Figure<'a>>) {
        match self {
            Self::Figures(_, figures) => out.extend(figures),
            Self::Part { blocks, .. } | Self::Fold { blocks, .. } => {
                blocks.into_iter().for_each(|b| b.content.figures(out));
            }
            Self::Cards(cards) => {
                let blocks = cards.into_iter().flat_map(|(_, blocks)| blocks);
                blocks.for_each(|b| b.content.figures(out));
            }
            _ => {}
        }
    }
}

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        content.on(Media::ALL)
    }
}

/// The plots in `blocks` in their order.
pub(crate) fn figures<'a>(blocks: Vec<Block<'a>>) -> Vec<Figure<'a>> {
    let mut figures = Vec::new();
    for block in blocks {
        block.content.figures(&mut figures);
    }
    figures
}

/// Those of `blocks` that are meant for `medium`.
pub(crate) fn shown<'b, 'a>(
    blocks: &'b [Block<'a>],
    medium: Media,
) -> impl Iterator<Item = &'b Content<'a>> {
    blocks
        .iter()
        .filter(move |b| b.media.has(medium))
        .map(|b| &b.content)
}

/// A figure that people ask for first.
pub(crate) struct Tile {
    /// What it is.
    pub what: &'static str,
    /// The figure.
    pub value: String,
    /// Of what.
    pub of: String,
}

/// How items stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// One after the other, the greatest first.
    Ranked,
    /// Side by side.
    Cards,
}

/// A finding, or a piece of advice.
pub(crate) struct Item {
    /// The figure that it rests on, for example `13×` or `60 µs → 4 µs median`.
    pub figure: String,
    /// Whether the figure is more than noise.
    pub sure: bool,
    /// What it says.
    pub text: String,
    /// What to type or set, where there is something.
    pub how: Option<String>,
    /// Further figures and conditions with their labels; without one, what it is about.
    pub more: Vec<(&'static str, String)>,
    /// Where it is shown.
    pub media: Media,
}

/// Figures in rows and columns.
pub(crate) struct Table {
    /// What the rows are, for example `Method`.
    pub head: String,
    /// What groups of columns or headings between rows are, for example `load`.
    pub by: &'static str,
    /// Titles of groups that each have all of the columns; empty where they stand once.
    pub groups: Vec<String>,
    /// The columns of one group.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// How it is set.
    pub style: Style,
}

impl Table {
    /// Figures whose columns stand once.
    pub(crate) fn of(head: impl Into<String>, columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self {
            head: head.into(),
            by: "",
            groups: Vec::new(),
            columns,
            rows,
            style: Style::Numbers,
        }
    }

    /// The same with a word for its groups.
    pub(crate) fn by(self, by: &'static str) -> Self {
        Self { by, ..self }
    }

    /// The same, set otherwise.
    pub(crate) fn set(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// How a table is set where there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Figures that people compare.
    Numbers,
    /// Many figures in small type.
    Small,
    /// Verdicts with their reasons.
    Verdicts,
}

/// A column of a table.
pub(crate) struct Column {
    /// Its heading; a line break in it is kept where room is short.
    pub title: String,
    /// Whether it holds words, not figures.
    pub words: bool,
    /// Where it is shown.
    pub media: Media,
}

impl Column {
    /// A column of figures.
    pub(crate) fn of(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            words: false,
            media: Media::ALL,
        }
    }

    /// A column of words.
    pub(crate) fn words(title: impl Into<String>) -> Self {
        Self {
            words: true,
            ..Self::of(title)
        }
    }

    /// The same for these media only.
    pub(crate) fn on(self, media: Media) -> Self {
        Self { media, ..self }
    }

    /// Columns of figures.
    pub(crate) fn all<const N: usize>(titles: [&str; N]) -> Vec<Self> {
        titles.map(Self::of).into()
    }
}

/// A row of a table.
pub(crate) struct Row {
    /// What it is of.
    pub label: Label,
    /// One for each column of each group; none where the row is a heading.
    pub cells: Vec<Entry>,
    /// Where it is shown.
    pub media: Media,
}

impl Row {
    /// A row for all media.
    pub(crate) fn new(label: impl Into<Label>, cells: Vec<Entry>) -> Self {
        Self {
            label: label.into(),
            cells,
            media: Media::ALL,
        }
    }

    /// A row of figures.
    pub(crate) fn of<const N: usize>(label: impl Into<Label>, cells: [String; N]) -> Self {
        Self::new(label, cells.map(Entry::Text).into())
    }

    /// A heading over the rows that follow.
    pub(crate) fn heading(text: impl Into<Label>) -> Self {
        Self::new(text, Vec::new())
    }

    /// The same for these media only.
    pub(crate) fn on(self, media: Media) -> Self {
        Self { media, ..self }
    }

    /// Whether it stands over the rows that follow.
    pub(crate) fn is_heading(&self) -> bool {
        self.cells.is_empty()
    }
}

/// What a row is of.
#[derive(Clone, Default)]
pub(crate) struct Label {
    /// Its name.
    pub name: String,
    /// What sets it apart from others of that name.
    pub variant: String,
    /// The same where room is short.
    pub short: String,
    /// What else there is to say, on pages.
    pub notes: Vec<String>,
}

impl Label {
    /// In one line.
    pub(crate) fn line(&self) -> String {
        Self::joined(&self.name, &self.variant)
    }

    /// In one line where room is short.
    pub(crate) fn short(&self) -> String {
        Self::joined(&self.name, &self.short)
    }

    fn joined(name: &str, variant: &str) -> String {
        match variant {
            "" => name.to_owned(),
            variant => format!("{name}, {variant}"),
        }
    }
}

impl<T: Into<String>> From<T> for Label {
    fn from(name: T) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// What stands in a row under a column.
pub(crate) enum Entry {
    /// Nothing to say.
    None,
    /// A figure, or words.
    Text(String),
    /// A figure, and in small print what it is of.
    Noted(String, String),
    /// A figure, or a dash, and what has to be known of it: said below the table
    /// ([`crate::remarks::Remarks`]).
    Remarked(String, String),
    /// A share of 1, as a bar where one can be drawn, and in words.
    Share(f64, String),
    /// A verdict.
    Verdict(Judgement),
}

impl Entry {
    /// In one line; a verdict with `sign` by its sign alone where it has a value.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::None => NONE.to_owned(),
            Self::Text(text) | Self::Share(_, text) | Self::Remarked(text, _) => text.clone(),
            Self::Noted(text, note) => format!("{text} {note}"),
            Self::Verdict(judgement) => match &judgement.value {
                Some(value) => format!("{}, {}", word(judgement.outcome), value.replace('\n', " ")),
                None => word(judgement.outcome).to_owned(),
            },
        }
    }
}

impl From<Option<String>> for Entry {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::None, Self::Text)
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A verdict with what it rests on.
pub(crate) struct Judgement {
    /// The verdict.
    pub outcome: Outcome,
    /// The judged value, for example `p99 4.10 µs`.
    pub value: Option<String>,
    /// Its interval, and reasons.
    pub notes: Vec<String>,
}

/// A sign and a word for an outcome, so that colour is never alone in saying it.
pub(crate) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "✓ pass",
        Outcome::WithRemedy => "+ with remedy",
        Outcome::NearLimit => "~ near limit",
        Outcome::Inconclusive => "? inconclusive",
        Outcome::NotMeasured => "- not measured",
        Outcome::Fail => "✗ FAIL",
    }
}

/// How plots stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Side by side.
    SideBySide,
    /// Two in a row.
    Two,
    /// Side by side, with long labels.
    Ranges,
    /// Below each other.
    Below,
}

/// One plot.
pub(crate) struct Figure<'a> {
    /// Its heading within its section.
    pub title: String,
    /// What it shows, said in full.
    pub label: String,
    /// Draws it, under its label.
    pub draw: Box<dyn Fn(&str) -> Drawn + 'a>,
    /// What its colours mean.
    pub keys: Vec<Key>,
    /// Heads the values beside the keys.
    pub values: Option<&'static str>,
    /// What a reader must know about it in particular.
    pub notes: Vec<String>,
    /// Whether it takes the whole width.
    pub wide: bool,
}

impl Figure<'_> {
    /// The drawing.
    pub(crate) fn drawn(&self) -> Drawn {
        (self.draw)(&self.label)
    }
}

/// What a plot draws of a cell or a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A line.
    Line,
    /// Dots.
    Dot,
    /// A cross.
    Cross,
    /// The outline of a square on its corner.
    Diamond,
    /// The outline of a square.
    Square,
    /// A plus.
    Plus,
    /// A short upright line.
    Bar,
}

/// One line of a legend.
pub(crate) struct Key {
    /// How it looks.
    pub look: Look,
    /// What is drawn.
    pub sign: Sign,
    /// What it is.
    pub label: String,
    /// A value beside it.
    pub value: Option<String>,
    /// Number of its cell in the run.
    pub series: Option<usize>,
}

impl Key {
    /// A key without a value.
    pub(crate) fn of(sign: Sign, look: Look, label: impl Into<String>) -> Self {
        Self {
            look,
            sign,
            label: label.into(),
            value: None,
            series: None,
        }
    }

    /// Classes of the style sheet.
    pub(crate) fn classes(&self) -> String {
        let kind = match self.sign {
            Sign::Dot => "e",
            Sign::Line | Sign::Cross | Sign::Diamond | Sign::Square | Sign::Plus => "l",
            Sign::Bar => "n",
        };
        format!("{kind} {}", self.look.classes())
    }

    /// Its sign, 30 by 10 units.
    pub(crate) fn path(&self) -> &'static str {
        match self.sign {
            Sign::Line => "M1 5H29",
            Sign::Dot => "M15 5h0",
            Sign::Cross => "M11 1L19 9M19 1L11 9",
            Sign::Diamond => "M15 1L19 5L15 9L11 5L15 1",
            Sign::Square => "M11 1H19V9H11V1",
            Sign::Plus => "M10 5H20M15 0V10",
            Sign::Bar => "M15 0V10",
        }
    }
}
