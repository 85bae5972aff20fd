//! Reading a plan's tables: every mistake with its place, none of them the last.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tompion_model::{InvalidValue, nearest, parse_duration_ns, printable};

/// Something wrong in a plan, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.text)
    }
}

/// A plan has no more values of a key, or tables of a kind: it may come from a stranger, and each is
/// Mistakes of one list, after which the rest of it is not read.
const MISTAKES: usize = 100;
/// held against all others.
const ENTRIES: usize = 1000;
/// As many mistakes are told; whoever made more mends these first.
const TOLD: usize = 100;
/// The places of as many bytes are kept, so that no mistake has a long text counted anew.
const STEP: usize = 1024;

/// A text being read, and what was found wrong in it so far.
pub struct Source<'a> {
    text: &'a str,
    /// Of the first character at or after every `STEP`th byte: where it is, its line and column.
    places: Vec<(usize, usize, usize)>,
    mistakes: RefCell<Vec<Mistake>>,
    /// Those that are no longer among `mistakes`.
    more: Cell<usize>,
}

impl<'a> Source<'a> {
    /// One in which nothing is wrong yet.
    pub fn new(text: &'a str) -> Self {
        let mut places = Vec::with_capacity(text.len() / STEP + 1);
        let (mut line, mut column) = (1, 1);
        for (at, c) in text.char_indices() {
            if at >= places.len() * STEP {
                places.push((at, line, column));
            }
            (line, column) = after(c, line, column);
        }
        Self {
            text,
            places,
            mistakes: RefCell::default(),
            more: Cell::default(),
        }
    }

    /// Keeps a mistake, with its place.
    pub fn wrong(&self, at: Range<usize>, text: impl Into<String>) {
        let (line, column) = self.place(at);
        let mut mistakes = self.mistakes.borrow_mut();
        mistakes.push(Mistake {
            line,
            column,
            // It may name what the plan has, whoever wrote that, however long.
            text: told(&text.into()),
        });
        if mistakes.len() > 10 * TOLD {
            self.more.set(self.more.get() + first(&mut mistakes));
        }
    }

    /// Line and column, from 1.
    fn place(&self, at: Range<usize>) -> (usize, usize) {
        let end = at.start.min(self.text.len());
        let known = self.places.get(end / STEP).or(self.places.last());
        let &(from, line, column) = known.unwrap_or(&(0, 1, 1));
        let between = self.text[from..end].chars();
        between.fold((line, column), |(line, column), c| after(c, line, column))
    }

    /// How many mistakes were found so far.
    pub fn count(&self) -> usize {
        self.more.get() + self.mistakes.borrow().len()
    }

    /// The first mistakes, in the order of their places, and how many more there are.
    pub fn mistakes(self) -> (Vec<Mistake>, usize) {
        let mut mistakes = self.mistakes.into_inner();
        let more = self.more.get() + first(&mut mistakes);
        (mistakes, more)
    }
}

/// A line for each of the first mistakes, with its place, and one for as many `more`.
pub fn lines(mistakes: &[Mistake], more: usize) -> Vec<String> {
    let mut lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    if let (Some(last), 1..) = (mistakes.last(), more) {
        lines.push(format!("{}: and {more} more mistakes", last.line));
    }
    lines
}

/// Line and column of what follows this character.
fn after(c: char, line: usize, column: usize) -> (usize, usize) {
    match c {
        '\n' => (line + 1, 1),
        _ => (line, column + 1),
    }
}

/// Leaves those that are told, each once; how many are not.
fn first(mistakes: &mut Vec<Mistake>) -> usize {
    mistakes.sort();
    mistakes.dedup();
    let more = mistakes.len().saturating_sub(TOLD);
    mistakes.truncate(TOLD);
    more
}

/// One table; the keys that it is asked for are those that it may have.
pub struct Table<'s, 'a> {
    source: &'s Source<'a>,
    table: &'s DeTable<'a>,
    at: Range<usize>,
    what: String,
    asked: RefCell<Vec<&'static str>>,
    /// Lists of tables that are not there.
    missing: RefCell<Vec<&'static str>>,
}

impl<'s, 'a> Table<'s, 'a> {
    /// `what` names it in mistakes, for example `platform`.
    pub fn new(
        source: &'s Source<'a>,
        table: &'s DeTable<'a>,
        at: Range<usize>,
        what: impl Into<String>,
    ) -> Self {
        Self {
            source,
            table,
            at,
            what: what.into(),
            asked: RefCell::default(),
            missing: RefCell::default(),
        }
    }

    /// Where it stands.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// Where the value of `key` stands, or the table where it has none.
    pub fn at_key(&self, key: &str) -> Range<usize> {
        let found = self.table.iter().find(|(k, _)| k.get_ref() == key);
        found.map_or_else(|| self.at(), |(_, value)| value.span())
    }

    /// Keeps a mistake, with its place.
    pub fn wrong(&self, at: Range<usize>, text: impl Into<String>) {
        self.source.wrong(at, text);
    }

    /// Its line and column.
    pub fn place(&self) -> (usize, usize) {
        self.source.place(self.at())
    }

    /// Names of the keys that are there, known or not.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.table.iter().map(|(key, _)| key.get_ref().as_ref())
    }

    /// Whether it has this key.
    pub fn has(&self, key: &'static str) -> bool {
        self.ask(key);
        self.table.iter().any(|(k, _)| k.get_ref() == key)
    }

    fn value(&self, key: &'static str) -> Option<&'s Spanned<DeValue<'a>>> {
        self.ask(key);
        let found = self.table.iter().find(|(k, _)| k.get_ref() == key);
        found.map(|(_, value)| value)
    }

    fn ask(&self, key: &'static str) {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
    }

    /// The value of `key` as `read` understands it; a mistake where it does not.
    pub fn read<T, E: fmt::Display>(
        &self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'a>) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.value(key)?;
        read(value.get_ref())
            .map_err(|why| self.wrong(value.span(), format!("{key}: {why}")))
            .ok()
    }

    /// The value of `key`, which must be a text.
    pub fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, |value| text(value).map(str::to_owned))
    }

    /// A whole number within `range`.
    pub fn number(&self, key: &'static str, range: Range<u64>) -> Option<u64> {
        self.read(key, |value| {
            let number = value
                .as_integer()
                .and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
            number.filter(|n| range.contains(n)).ok_or_else(|| {
                let most = range.end - 1;
                format!("a whole number from {} to {most} is wanted", range.start)
            })
        })
    }

    /// One of these names, the first of them where there is none.
    pub fn choice(&self, key: &'static str, names: &[&'static str]) -> &'static str {
        let chosen = self.read(key, |value| {
            let name = text(value).map_err(|e| e.to_string())?;
            let known = names.iter().copied();
            let found = known.clone().find(|known| *known == name);
            found.ok_or_else(|| match nearest(name, known) {
                Some(better) => format!("there is no `{name}`; did you mean `{better}`?"),
                None => format!("there is no `{name}`; there are {}", names.join(", ")),
            })
        });
        chosen.unwrap_or(names[0])
    }

    /// A time such as `"100us"`, in nanoseconds.
    pub fn time_ns(&self, key: &'static str) -> Option<u64> {
        self.read(key, |value| text(value).and_then(parse_duration_ns))
    }

    /// A list of texts, or one text alone, each understood by `parse`.
    pub fn list<T, E: fmt::Display>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Vec<T>> {
        let value = self.value(key)?;
        let one = std::slice::from_ref(value);
        let all = value.get_ref().as_array().map_or(one, |array| array);
        if all.is_empty() {
            self.wrong(value.span(), format!("{key}: empty; name at least one"));
        }
        if all.len() > ENTRIES {
            self.wrong(value.span(), too_many(key, all.len()));
            return None;
        }
        let mut read = Vec::new();
        let mut mistakes = 0;
        for item in all {
            let parsed = text(item.get_ref()).map_err(|e| e.to_string());
            match parsed.and_then(|text| parse(text).map_err(|e| e.to_string())) {
                Ok(one) => read.push(one),
                Err(why) => {
                    self.wrong(item.span(), format!("{key}: {why}"));
                    mistakes += 1;
                }
            }
            // Nobody reads more of them, and each takes its time.
            if mistakes == MISTAKES {
                break;
            }
        }
        Some(read)
    }

    /// A list of what has a name and a parser of its own.
    pub fn parsed<T: FromStr<Err: fmt::Display>>(&self, key: &'static str) -> Option<Vec<T>> {
        self.list(key, str::parse::<T>)
    }

    /// A table within this one.
    pub fn table(&self, key: &'static str, what: &str) -> Option<Table<'s, 'a>> {
        let value = self.value(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.wrong(value.span(), format!("{key}: write {key} = {{ ... }}"));
            return None;
        };
        Some(Table::new(self.source, table, value.span(), what))
    }

    /// The tables of `[[key]]`, of which there must be at least one; that there is none is told by
    /// [`finish`](Self::finish).
    pub fn tables(&self, key: &'static str, what: &str) -> Vec<Table<'s, 'a>> {
        let Some(value) = self.value(key) else {
            self.missing.borrow_mut().push(key);
            return Vec::new();
        };
        let wrong = |at| {
            self.wrong(at, format!("{key}: write [[{key}]], one for each {what}"));
            None
        };
        let Some(array) = value.get_ref().as_array() else {
            wrong(value.span());
            return Vec::new();
        };
        if array.len() > ENTRIES {
            self.wrong(value.span(), too_many(key, array.len()));
            return Vec::new();
        }
        let table = |item: &'s Spanned<DeValue<'a>>| match item.get_ref().as_table() {
            Some(table) => Some(Table::new(self.source, table, item.span(), what)),
            None => wrong(item.span()),
        };
        array.iter().filter_map(table).collect()
    }

    /// Refuses the keys that nobody asked for, and the absence of tables that none of these was meant for.
    pub fn finish(self) {
        let asked = self.asked.borrow();
        let mut missing = self.missing.borrow().clone();
        for (key, _) in self.table.iter() {
            let name: &str = key.get_ref();
            if asked.contains(&name) {
                continue;
            }
            let better = nearest(name, asked.iter().copied());
            missing.retain(|key| better != Some(*key));
            let (what, all) = (&self.what, asked.join(", "));
            let text = match better {
                Some(better) => format!("a {what} has no `{name}`; did you mean `{better}`?"),
                None => format!("a {what} has no `{name}`; it has {all}"),
            };
            self.source.wrong(key.span(), text);
        }
        for key in missing {
            let text = format!("a {} needs at least one [[{key}]]", self.what);
            self.source.wrong(self.at(), text);
        }
    }
}

fn too_many(key: &str, found: usize) -> String {
    format!("{key}: {found} are too many; {ENTRIES} at most")
}

/// Characters of a mistake that are told.
const LONGEST: usize = 2000;

/// A text as it is told: what can be shown, and not too much of it.
fn told(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// A value as a text.
///
/// # Errors
/// What it is instead.
pub fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, InvalidValue> {
    let wanted = || format!("a text in quotes is wanted, not {}", value.type_str()).into();
    value.as_str().ok_or_else(wanted)
}

/// What a text should be that names CPUs.
pub const CPUS_WANTED: &str = "a list of CPUs such as \"0-1,3\" is wanted";

/// CPUs as the kernel writes them: `0-2,5`.
pub fn cpus(text: &str) -> Option<Vec<u32>> {
    cpus_below(text, 4096)
}

/// The same, each below `end`.
pub(crate) fn cpus_below(text: &str, end: u32) -> Option<Vec<u32>> {
    // A plan may name the same ones a million times.
    let mut named = vec![false; end as usize];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        named
            .get_mut(first..=last)
            .filter(|_| first <= last)?
            .fill(true);
    }
    Some((0..end).filter(|cpu| named[*cpu as usize]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_cpus_a_million_times_take_no_more_room() {
        let text = vec!["0-4095"; 1 << 20].join(",");
        assert_eq!(cpus(&text).map(|all| all.len()), Some(4096));
        assert_eq!(cpus("3,0-1,1"), Some(vec![0, 1, 3]));
        for wrong in [
            "",
            "1-0",
            "4096",
            "0-4096",
            "x",
            "1,,2",
            "0-18446744073709551615",
        ] {
            assert_eq!(cpus(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_mistake_is_told_in_a_bounded_line() {
        assert_eq!(told("a\u{1b}b"), "a b");
        assert_eq!(told(&"é".repeat(1 << 20)).chars().count(), LONGEST + 4);
    }
}
