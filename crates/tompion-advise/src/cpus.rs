//! Lists of CPUs as the kernel writes them.

use std::collections::BTreeSet;

/// More CPUs than any kernel knows.
const MOST: u32 = 8192;

/// The CPUs of a list such as `0-3,8`.
pub fn parse(list: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |t: &str| t.parse::<u32>().ok().filter(|n| *n < MOST);
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The list as the kernel writes it.
pub fn format(cpus: &BTreeSet<u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip_in_the_kernels_form() {
        for (given, canonical) in [
            ("0-3,8,10-11\n", "0-3,8,10-11"),
            ("1,0,2", "0-2"),
            ("5", "5"),
        ] {
            assert_eq!(format(&parse(given).unwrap()), canonical);
        }
        for bad in ["", "3-1", "a", "0-", "9999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
