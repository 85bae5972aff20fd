//! Advice for people.

mod numbers;
mod table;

use std::fmt::Write;

pub(crate) use numbers::share;
use tompion_model::{AT_REST, format_duration, format_ns, level_in_words};

use tompion_assess::verdict::{Outcome, SMALLEST_RATIO};

use crate::advice::{Advice, Effect, KnobAdvice, Status};
use crate::effect::judged_by;

/// Below this, columns would hold a letter or two.
const NARROWEST: usize = 40;

impl Advice {
    /// The advice for a terminal of `width` columns (at least 40 are used).
    pub fn text(&self, width: usize) -> String {
        let width = width.max(NARROWEST);
        let mut out = String::new();
        if self.dry_run {
            paragraph(&mut out, &self.plan(), width);
            listed(
                &mut out,
                "Would be tried",
                self.with(Status::WouldBeTried),
                width,
            );
        } else {
            paragraph(&mut out, &self.head(), width);
            table::measured(&mut out, self, width);
            self.conclusion(&mut out, width);
            self.how_to_apply(&mut out, width);
            listed(
                &mut out,
                &capital(Outcome::Inconclusive.in_words()),
                self.with(Status::NotDecidable),
                width,
            );
        }
        self.by_hand(&mut out, width);
        self.in_part(&mut out, width);
        listed(&mut out, "Not tried", self.with(Status::NotTried), width);
        listed(&mut out, "Refused", self.with(Status::Refused), width);
        listed(&mut out, "So already", self.with(Status::Already), width);
        listed(&mut out, "Absent here", self.with(Status::Absent), width);
        if !self.left_alone.is_empty() {
            heading(&mut out, "Left alone");
            self.left_alone
                .iter()
                .for_each(|left| item(&mut out, left, width));
        }
        out
    }

    fn with(&self, status: Status) -> Vec<&KnobAdvice> {
        self.knobs.iter().filter(|k| k.status == status).collect()
    }

    /// Remedies that were measured, the best first.
    fn measured(&self) -> impl Iterator<Item = &KnobAdvice> {
        self.knobs.iter().filter(|k| !k.effects.is_empty())
    }

    fn conditions(&self) -> String {
        format!(
            "wake-ups {} apart, {}",
            level_in_words(&format_duration(self.target_ns)),
            self.beside()
        )
    }

    /// The load, in words.
    fn beside(&self) -> String {
        match self.load.as_str() {
            AT_REST => "at rest".to_owned(),
            load => format!("beside {load}"),
        }
    }

    /// What a remedy is advised for: the figure, under which load, and what it gained.
    fn shown(&self, effect: &Effect) -> String {
        format!(
            "{} {} {}: {}",
            effect.quantile,
            numbers::from_to(effect.off_ns, effect.on_ns),
            self.beside(),
            share(effect.low_share, effect.change_share, effect.high_share)
        )
    }

    fn judged_by(&self) -> String {
        let whose = match &self.for_use {
            Some(name) => format!("that of the use {name}"),
            None => "that of most uses".to_owned(),
        };
        format!("Judged by {}, {whose}.", self.quantile)
    }

    fn plan(&self) -> String {
        format!(
            "Nothing was tried or changed. {}, on and off in randomised pairs of trials \
             of {} each. {}",
            capital(&self.conditions()),
            format_ns(self.trial_ns as f64),
            self.judged_by()
        )
    }

    fn head(&self) -> String {
        let tried = self.knobs.iter().filter(|k| k.pairs > 0);
        let pairs: Vec<usize> = tried.map(|k| k.pairs).collect();
        let (Some(least), Some(most)) = (pairs.iter().min(), pairs.iter().max()) else {
            return format!(
                "{}: none of {} remedies could be measured.",
                capital(&self.conditions()),
                self.knobs.len()
            );
        };
        let range = match least < most {
            true => format!("{least} to {most} pairs"),
            false => format!("{least} pairs"),
        };
        let early = match self.interrupted {
            true => " A signal ended it early; everything is put back.",
            false => "",
        };
        format!(
            "{}: {} of {} remedies tried, each on and off in {range} of trials of {} in random \
             order, in {} (seed {}). {}{early}",
            capital(&self.conditions()),
            pairs.len(),
            self.knobs.len(),
            format_ns(self.trial_ns as f64),
            seconds(self.seconds),
            self.seed,
            self.judged_by()
        )
    }

    /// What is missing and was not tried.
    fn by_hand(&self, out: &mut String, width: usize) {
        for (number, knob) in self.with(Status::Advised).into_iter().enumerate() {
            if number == 0 {
                heading(out, "To be done by hand, and not tried");
            }
            item(out, &format!("{}: {}", knob.name, knob.title), width);
            field(out, "Now", knob.from.as_deref().unwrap_or_default(), width);
            field(
                out,
                "Missing",
                knob.to.as_deref().unwrap_or_default(),
                width,
            );
            self::apply(out, knob, width);
        }
    }

    /// What was measured without some of what it changes.
    fn in_part(&self, out: &mut String, width: usize) {
        let partly = self.knobs.iter().filter(|k| !k.left_out.is_empty());
        for (number, knob) in partly.enumerate() {
            if number == 0 {
                heading(out, "Tried in part");
            }
            let (left_out, all) = (knob.left_out.len(), knob.files.len());
            let told = knob.left_out.join("; ");
            let text = format!("{}: without {left_out} of {all} files: {told}", knob.name);
            item(out, &text, width);
        }
    }

    fn conclusion(&self, out: &mut String, width: usize) {
        if self.measured().next().is_none() {
            return;
        }
        if self.with(Status::Helps).is_empty() && self.with(Status::Mixed).is_empty() {
            out.push('\n');
            paragraph(out, "Nothing that was tried helps here.", width);
        }
    }

    fn how_to_apply(&self, out: &mut String, width: usize) {
        let useful: Vec<&KnobAdvice> = self
            .knobs
            .iter()
            .filter(|k| matches!(k.status, Status::Helps | Status::Mixed))
            .collect();
        if useful.is_empty() {
            return;
        }
        heading(out, "How to apply what helps");
        for (number, knob) in useful.iter().enumerate() {
            let title = format!(
                "{}. {}: {} ({})",
                number + 1,
                knob.name,
                knob.title,
                knob.reach.words()
            );
            out.push_str(&wrap(&title, width, "", "   "));
            out.push('\n');
            if let Some(effect) = judged_by(&knob.effects) {
                field(out, "Shown", &self.shown(effect), width);
            }
            self::apply(out, knob, width);
        }
    }
}

/// How it is applied, what it costs, and who says so.
fn apply(out: &mut String, knob: &KnobAdvice, width: usize) {
    for (n, line) in knob.apply.iter().enumerate() {
        field(out, if n == 0 { "Apply" } else { "" }, line, width);
    }
    field(out, "Price", &price(knob), width);
    field(out, "Source", &knob.source, width);
}

fn seconds(seconds: f64) -> String {
    match seconds < 9.95 {
        true => format!("{seconds:.1} s"),
        false => format!("{seconds:.0} s"),
    }
}

/// What it costs, with what was measured of it.
fn price(knob: &KnobAdvice) -> String {
    match (knob.cpu_off_ns, knob.cpu_on_ns) {
        (Some(off), Some(on)) if on > off * SMALLEST_RATIO || off > on * SMALLEST_RATIO => format!(
            "{}; CPU time per sleep {} before, {} after",
            knob.price,
            format_ns(off),
            format_ns(on)
        ),
        _ => knob.price.clone(),
    }
}

/// Remedies and why they are where they are.
fn listed(out: &mut String, title: &str, knobs: Vec<&KnobAdvice>, width: usize) {
    if knobs.is_empty() {
        return;
    }
    heading(out, title);
    for knob in knobs {
        let what = match (&knob.reason, knob.status) {
            (Some(why), Status::NotTried) => format!("{why}: {}", changes(knob)),
            (Some(why), _) => why.clone(),
            (None, _) => format!("{}, touches {}", changes(knob), knob.reach.words()),
        };
        item(out, &format!("{}: {what}", knob.name), width);
    }
}

/// What a remedy would do.
fn changes(knob: &KnobAdvice) -> String {
    match (&knob.from, &knob.to) {
        (Some(from), Some(to)) => format!("{} ({from} → {to})", knob.title),
        _ => knob.title.clone(),
    }
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

fn paragraph(out: &mut String, text: &str, width: usize) {
    out.push_str(&wrap(text, width, "", ""));
    out.push('\n');
}

fn item(out: &mut String, text: &str, width: usize) {
    out.push_str(&wrap(text, width, "  ", "    "));
    out.push('\n');
}

/// A line of a piece of advice. Commands wrap like everything else: as one line they
/// are in the JSON.
fn field(out: &mut String, name: &str, text: &str, width: usize) {
    let first = format!("   {name:<8}");
    out.push_str(&wrap(text, width, &first, "           "));
    out.push('\n');
}

fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
