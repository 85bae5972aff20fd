//! Words that are nobody's: those that Tompion, kernels, processors and makers of machines use, and
//! numbers as versions and models have them.

use std::collections::HashSet;
use std::net::Ipv6Addr;
use std::ops::Range;
use std::sync::OnceLock;

/// Words that may stay, in lower case. `words.txt` is sorted.
static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();

/// An address in decimal digits has eight or more.
pub(super) const MOST_DIGITS: usize = 7;

/// Digits of a model's number.
const MOST_OF_A_MODEL: usize = 5;

/// Digits of all numbers in one word, such as a date.
const MOST_IN_ALL: usize = 8;

/// The same in a version, as packages of kernels have them.
const MOST_OF_A_VERSION: usize = 18;

/// Parts of a word that have letters and digits, without letters that are a word of their own.
const MOST_MIXED: usize = 2;

/// What stands between numbers and letters of a word, beside what ASCII has.
const MARKS: &str = "\u{b0}\u{b1}\u{b7}\u{d7}\u{ab}\u{bb}\u{2013}\u{2014}\u{2018}\u{2019}\u{201c}\u{201d}\u{2020}\u{2026}\u{2192}\u{2248}\u{2264}\u{2265}";

/// Whether a word is one of those of a list with spaces between them.
pub(super) fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Whether a word without anything but letters and digits is one of those.
pub(super) fn is_listed(word: &str) -> bool {
    let words = WORDS.get_or_init(|| include_str!("words.txt").lines().collect());
    words.contains(word) || words.contains(word.to_lowercase().as_str())
}

/// A part of a word, between characters that are neither letters nor digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It may stay.
    Harmless,
    /// Letters that nobody knows.
    Word,
    /// It could be anything: a number of many digits, letters and digits mixed.
    Token,
}

/// What of a word, without borders in it, may stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Left<'w> {
    /// All of it.
    All,
    /// The parts for which this is true; those between them are letters that nobody knows.
    Parts(Vec<(&'w str, bool)>),
    /// Nothing.
    Nothing,
}

/// What of a word may stay.
pub(super) fn left(word: &str) -> Left<'_> {
    let is_odd = |c: char| !c.is_alphanumeric() && !c.is_ascii() && !MARKS.contains(c);
    if word.chars().any(is_odd) || !has_few_digits(word) {
        return Left::Nothing;
    }
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_part = first.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != is_part);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match if is_part {
            part_of(part)
        } else {
            Part::Harmless
        } {
            Part::Token => return Left::Nothing,
            kind => parts.push((part, kind == Part::Harmless)),
        }
        rest = after;
    }
    // Models have two such parts, serial numbers and the keys of licences more.
    let mixed = parts.iter().filter(|part| is_mixed(part.0)).count();
    if mixed > MOST_MIXED {
        return Left::Nothing;
    }
    match parts.iter().all(|part| part.1) {
        true => Left::All,
        false => Left::Parts(parts),
    }
}

fn part_of(part: &str) -> Part {
    // The one letter beyond ASCII that a unit has.
    let part = part.strip_suffix("\u{b5}s").unwrap_or(part);
    let has = |test: fn(&u8) -> bool| part.as_bytes().iter().any(test);
    if !part.is_ascii() {
        return Part::Token;
    }
    match (has(u8::is_ascii_digit), has(u8::is_ascii_alphabetic)) {
        (false, false) => Part::Harmless,
        (true, false) if part.len() <= MOST_DIGITS => Part::Harmless,
        (true, false) => Part::Token,
        _ if is_listed(part) || part.len() == 1 => Part::Harmless,
        (false, _) => Part::Word,
        _ if is_model(part) => Part::Harmless,
        _ => Part::Token,
    }
}

/// Whether the numbers in a word are those of a version, or few enough to be no address.
fn has_few_digits(word: &str) -> bool {
    let numbers = word.split(|c: char| !c.is_ascii_digit());
    let lengths: Vec<usize> = numbers.map(str::len).filter(|n| *n > 0).collect();
    // `6.1.0-25` and what follows.
    let is_version = || {
        let start = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        let mut first = start
            .split('.')
            .map(|p| p.starts_with(|c: char| c.is_ascii_digit()));
        first.next() == Some(true) && first.next() == Some(true)
            && lengths.iter().all(|n| *n <= 4)
            // Groups of four are how long numbers are written.
            && lengths.iter().filter(|n| **n == 4).count() <= 2
    };
    let is_one_number = {
        let bare = word.trim_end_matches([':', ',', '.', ';']);
        bare.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let all: usize = lengths.iter().sum();
    all <= MOST_IN_ALL
        || (word.starts_with("0x") && is_one_number)
        || (all <= MOST_OF_A_VERSION && is_version())
}

/// Letters and digits as models, units and packages have them: `8375C`, `7B12`, `5800X3D`, `u8`,
/// `i7`, `64bit`, `Graviton2`, `2xlarge`, `c6i`, `deb12u6`; and numbers in hexadecimal digits that
/// are short, or leaves of CPUID.
fn is_model(part: &str) -> bool {
    let runs = runs(part);
    let is_digits = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
    let letters = |run: &str, most: usize| run.len() <= most || is_listed(run);
    is_hexadecimal(part)
        || match runs[..] {
            [number, unit] if is_digits(number) && number.len() <= MOST_DIGITS => {
                let is_upper = unit.bytes().all(|b| b.is_ascii_uppercase());
                // One that is no unit stands behind a model's number.
                is_listed(unit)
                    || (letters(unit, if is_upper { 2 } else { 1 })
                        && number.len() <= MOST_OF_A_MODEL)
            }
            [stem, number] => letters(stem, 1) && number.len() <= 4,
            [number, "X", "3", "D"] => number.len() <= 5,
            [stem, first, "u", second] => letters(stem, 1) && first.len() + second.len() <= 4,
            [_, middle, _] => part.len() <= 5 && middle.len() <= 2,
            _ => false,
        }
}

/// Whether a part has letters and digits that are no known word with a number.
fn is_mixed(part: &str) -> bool {
    let runs = runs(part);
    runs.len() > 1 && !is_listed(part) && !runs.iter().any(|run| run.len() > 1 && is_listed(run))
}

/// `0x` and at most four digits, or a leaf of CPUID.
fn is_hexadecimal(part: &str) -> bool {
    let Some(digits) = part.strip_prefix("0x") else {
        return false;
    };
    let is_leaf =
        digits.len() == 8 && (digits.starts_with("400000") || digits.starts_with("800000"));
    digits.bytes().all(|b| b.is_ascii_hexdigit()) && (digits.len() <= 4 || is_leaf)
}

/// Digits and letters by turns.
fn runs(part: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| c.is_ascii_digit() != first.is_ascii_digit());
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        runs.push(run);
        rest = after;
    }
    runs
}

/// Colons of such an address; a network card has as many as the fewest, and is none.
const FEWEST_COLONS: usize = 5;
const MOST_COLONS: usize = 8;

/// Characters of the longest one, `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`.
const LONGEST_ADDRESS: usize = 45;

/// Parts that are looked at together, and as many as an address has at most.
const LONGEST_RUN: usize = 64;
const MOST_PARTS: usize = 8;

/// Stretches of a text that are an address of IPv6 with so many of its groups that a shorter one could be found in it; of them
/// the last two may be an address of IPv4.
pub(super) fn whole_addresses(text: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(is_part).map(|n| at + n) {
        let run = &text[begin..];
        let run = &run[..run.find(|c| !is_part(c)).unwrap_or(run.len())];
        at = begin + run.len();
        // It may end in two colons, and a sentence in one.
        let ends = [run.trim_end_matches('.'), run.trim_end_matches([':', '.'])];
        let is_whole = |bare: &&str| {
            (FEWEST_COLONS..=MOST_COLONS).contains(&bare.matches(':').count())
                && bare.len() <= LONGEST_ADDRESS
                && bare.parse::<Ipv6Addr>().is_ok_and(|a| !a.is_loopback())
        };
        if let Some(bare) = ends.into_iter().find(is_whole) {
            found.push(begin..begin + bare.len());
        }
    }
    found
}

/// Stretches of a text that are an address in parts, whatever stands between these: four numbers
/// up to 255, six octets in hexadecimal digits. Numbers that go up are a list of CPUs.
pub(super) fn addresses_in_parts(text: &str) -> Vec<Range<usize>> {
    let parts = parts_of(text);
    let between = |i: usize| &text[parts[i].end..parts[i + 1].start];
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at + 3 < parts.len() {
        // As many as have the same between them.
        let end = (at + LONGEST_RUN).min(parts.len() - 1);
        let same = (at + 1..end).find(|i| between(*i) != between(at));
        let run = at..=same.unwrap_or(end);
        let words: Vec<&str> = parts[run.clone()]
            .iter()
            .map(|p| &text[p.clone()])
            .collect();
        if let Some(address) = address_in(&words, between(at)) {
            found.push(parts[at + address.start].start..parts[at + address.end - 1].end);
            at += address.end;
        } else if same.is_none() && end < parts.len() - 1 {
            // One may begin in what was looked at and end behind it.
            at = end - MOST_PARTS;
        } else {
            at = *run.end();
        }
    }
    found
}

/// Which of some parts are an address.
fn address_in(parts: &[&str], separator: &str) -> Option<Range<usize>> {
    let number = |part: &&str| match part.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None if part.len() <= 4 => part.parse::<u8>().ok(),
        None => None,
    };
    // In dots they may be a version; whole addresses are looked for elsewhere.
    let is_odd = |part: &&str| part.len() > 1 && part.starts_with('0');
    let is_hex = |part: &&str| part.bytes().all(|b| b.is_ascii_hexdigit());
    let is_pair = |part: &&str| part.len() == 2 && is_hex(part);
    let numbers: Option<Vec<u32>> = parts.iter().map(|p| p.parse().ok()).collect();
    let is_list = || separator.chars().all(|c| ", -".contains(c));
    let goes_up = numbers.is_some_and(|n| n.is_sorted_by(|a, b| a < b));
    let between = separator.to_ascii_lowercase().replace("dot", ".");
    if between.chars().count() > 3 || (goes_up && is_list()) {
        return None;
    }
    // A date goes on with its time.
    let is_year =
        |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    // The first that are so many in a row, and all that follow them alike.
    let stretch = |least: usize, test: &dyn Fn(&&str) -> bool| {
        let at = parts
            .windows(least)
            .position(|some| some.iter().all(test))?;
        if parts[..at].last().is_some_and(|before| is_year(before)) {
            return None;
        }
        let length = parts[at..].iter().take_while(|part| test(part)).count();
        Some(at..at + length)
    };
    let octets = || {
        let found = stretch(4, &|part| number(part).is_some())?;
        (separator != "." || parts[found.clone()].iter().any(is_odd)).then_some(found)
    };
    // As `0a.63.02.03`; without letters they are octets or nothing.
    let pairs = || {
        let found = stretch(4, &is_pair)?;
        let has_letter = |part: &&str| part.bytes().any(|b| b.is_ascii_alphabetic());
        (separator != " " && parts[found.clone()].iter().any(has_letter)).then_some(found)
    };
    // As `3.0.0.0.2.0.0.0.8.b.d.0.ip6.arpa` has those of an address.
    let digits = || stretch(8, &|part| part.len() == 1 && is_hex(part));
    stretch(6, &is_pair)
        .or_else(octets)
        .or_else(pairs)
        .or_else(digits)
}

/// Letters and digits in a row, each.
fn parts_of(text: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
        let end = at + c.len_utf8();
        match parts.last_mut() {
            Some(last) if last.end == at => last.end = end,
            _ => parts.push(at..end),
        }
    }
    // Where it is read out it stands between them.
    parts.retain(|part| !text[part.clone()].eq_ignore_ascii_case("dot"));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_in_lower_case() {
        let words: Vec<&str> = include_str!("words.txt").lines().collect();
        assert!(words.is_sorted_by(|a, b| a < b));
        for word in words {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
            assert!(word.len() > 1 && word.bytes().all(is_plain), "{word}");
        }
    }

    #[test]
    fn words_versions_and_models_stay() {
        let words = "Intel(R) Xeon 8375C 7B12 5800X3D E5-2673 2.90GHz 64-Core c6i.2xlarge \
            6.1.0-25-cloud-amd64 5.14.0-427.13.1.el9_4.x86_64 6.8.0-1015-aws \
            #45~22.04.1-Ubuntu 7.2+dfsg-7+deb12u6 0x40000010: 0x1f 2024-08-26 i440FX \
            kvm-clock 100us 0-15 mitigations no_guest_host usercopy/swapgs __user \
            \u{201c}none\u{201d} 50\u{b5}s Graviton2 i7-8700K X5650 1234567ns \
            4.18.0-348.rt7.130.el8.x86_64";
        for word in words.split(' ') {
            assert_eq!(left(word), Left::All, "{word}");
        }
    }

    #[test]
    fn what_could_be_anything_goes() {
        let words = "0x0a630203 174261763 \u{ff11}\u{ff10}.\u{ff19}\u{ff19}.2.3 S3Z9NB0K123456 \
            ghp_16C7e42F292c6912E7 WD-WCC4N1234567 4111-1111-1111-1111 \
            AKIAIOSFODNN7EXAMPLE 10.6488579 \u{2465} a\u{202e}b 0X1f2e3d xn0db17 \
            eyJhbGciOiJIUzI1NiJ9 12345678A 12345678AB 4111.1111.1111.1111 1234.5678.9012.3456 \
            0x1-1234567-7654321 AB12C-DE34F-GH56J-KL78M A12-B34-C56-D78 K7-Q9-Z2-X4-W8 \
            i-1234567a 525a-00a1-c34d";
        for word in words.split(' ') {
            assert_eq!(left(word), Left::Nothing, "{word}");
        }
        let Left::Parts(parts) = left("6.1.0-zqmira") else {
            panic!("the version stays")
        };
        assert_eq!(parts.last(), Some(&("zqmira", false)));
        assert!(parts[..parts.len() - 1].iter().all(|part| part.1));
    }

    #[test]
    fn an_address_of_eight_groups_is_one() {
        let found = |text: &'static str| -> Vec<&str> {
            whole_addresses(text)
                .into_iter()
                .map(|range| &text[range])
                .collect()
        };
        for (text, address) in [
            ("64:ff9b:0:0:0:0:a63:203", "64:ff9b:0:0:0:0:a63:203"),
            ("to fd00:0:0:0:0:0:ac1f:203.", "fd00:0:0:0:0:0:ac1f:203"),
            (
                "ip=[2001:db8:0:0:0:0:ac1f:203]:80",
                "2001:db8:0:0:0:0:ac1f:203",
            ),
            (
                "2620:149:10:20:30:40:a1b:c2d/64",
                "2620:149:10:20:30:40:a1b:c2d",
            ),
            ("0:0:0:0:0:ffff:10.99.2.3", "0:0:0:0:0:ffff:10.99.2.3"),
            ("FE80:0:0:0:1:2:3:4%eth0", "FE80:0:0:0:1:2:3:4"),
            ("at 2600:0:0:0:0:77aa::, then", "2600:0:0:0:0:77aa::"),
        ] {
            assert_eq!(found(text), [address], "{text}");
        }
        for text in [
            "0000:00:1f.2",
            "10:12:33",
            "52:54:00:12:34:56",
            "0:0:0:0:0:0:0:1",
            "2001:db8::1",
            "a, b",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn addresses_in_parts_are_found_whatever_stands_between() {
        let found = |text: &'static str| -> Vec<&str> {
            addresses_in_parts(text)
                .into_iter()
                .map(|range| &text[range])
                .collect()
        };
        for (text, address) in [
            ("at 52 54 00 aa bb cc.", "52 54 00 aa bb cc"),
            ("52_54_00_aa_bb_cc", "52_54_00_aa_bb_cc"),
            ("to 10 99 2 3, then", "10 99 2 3"),
            ("10[.]99[.]2[.]3", "10[.]99[.]2[.]3"),
            ("10-99-2-3", "10-99-2-3"),
            ("0x0a.0x63.0x02.0x03", "0x0a.0x63.0x02.0x03"),
            ("012.099.002.003", "012.099.002.003"),
            ("CPUs 0,2,4 and 10, 99, 2, 3", "10, 99, 2, 3"),
            ("10[.]20[.]30[.]40", "10[.]20[.]30[.]40"),
            ("1\u{b7}2\u{b7}3\u{b7}4", "1\u{b7}2\u{b7}3\u{b7}4"),
            ("10 dot 99 dot 2 dot 3", "10 dot 99 dot 2 dot 3"),
            ("10(dot)20(dot)30(dot)40", "10(dot)20(dot)30(dot)40"),
            ("at 0a.63.02.03!", "0a.63.02.03"),
            (
                "3.0.0.0.2.0.0.0.8.b.d.0.ip6.arpa",
                "3.0.0.0.2.0.0.0.8.b.d.0",
            ),
        ] {
            assert_eq!(found(text), [address], "{text}");
        }
        for text in [
            "0,2,4,6,8,10",
            "0-3,8-11",
            "6.1.0.25",
            "2026-11-24 10:12:33",
            "0000:00:1f.2",
            "a b c d",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}
