//! `/proc/interrupts` and `/proc/softirqs`: a line for each kind, a column for
//! each CPU.

use super::gauge::Gauge;
use super::series::{Column, Role};
use crate::kept::{Kept, numbers};
use tompion_model::{Unavailable, printable};

/// At most so many counts are kept of one table; machines with many CPUs have tens
/// of thousands.
const MOST_COUNTS: usize = 256;

/// One of those files, as far as the watched CPUs go.
pub(super) struct Table {
    file: Kept,
    /// What the names of its columns begin with.
    of: &'static str,
    lines: Vec<Line>,
    /// Which columns belong to the watched CPUs.
    places: Vec<usize>,
    cpus: Vec<u32>,
}

struct Line {
    /// What stands before the colon.
    key: Vec<u8>,
    name: String,
}

impl Table {
    pub(super) fn open(
        path: &str,
        of: &'static str,
        cpus: &[u32],
    ) -> Result<Box<dyn Gauge>, Unavailable> {
        let mut file = Kept::open(path).ok_or_else(|| format!("{path} cannot be read"))?;
        let text = file.read().unwrap_or_default();
        let parsed = parse(text, cpus).ok_or_else(|| format!("{path} has no table of CPUs"))?;
        let (places, cpus, mut lines) = parsed;
        lines.truncate(MOST_COUNTS / places.len().max(1));
        Ok(Box::new(Self {
            file,
            of,
            lines,
            places,
            cpus,
        }))
    }
}

type Parsed = (Vec<usize>, Vec<u32>, Vec<Line>);

fn parse(text: &[u8], wanted: &[u32]) -> Option<Parsed> {
    let mut all = text.split(|b| *b == b'\n');
    let header: Vec<_> = numbers(all.next()?).collect();
    let place = |cpu: &u32| header.iter().position(|n| *n == u64::from(*cpu));
    let cpus: Vec<_> = wanted
        .iter()
        .copied()
        .filter(|c| place(c).is_some())
        .collect();
    let places = cpus.iter().filter_map(place).collect();
    let lines = all.filter_map(|line| {
        let (key, rest) = split(line)?;
        // Lines without a count for each CPU (`ERR`, `MIS`) are left out.
        let counts = rest
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty());
        let numeric = |w: &&[u8]| w.iter().all(u8::is_ascii_digit);
        if counts.clone().take_while(numeric).count() < header.len() {
            return None;
        }
        let words: Vec<_> = counts
            .skip(header.len())
            .map(String::from_utf8_lossy)
            .collect();
        let key_text = String::from_utf8_lossy(key);
        // Device interrupts end in their device; others are known by their key.
        let name = match words.last() {
            Some(device) if key.iter().all(u8::is_ascii_digit) => format!("{key_text}.{device}"),
            _ => key_text.into_owned(),
        };
        Some(Line {
            key: key.to_vec(),
            name: printable(&name).into_owned(),
        })
    });
    Some((places, cpus, lines.collect()))
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|b| *b == b':')?;
    Some((line[..colon].trim_ascii(), &line[colon + 1..]))
}

impl Gauge for Table {
    fn columns(&self) -> Vec<Column> {
        let of_line = |line: &Line| {
            let name = line.name.clone();
            let column = move |cpu: &u32| Column {
                name: format!("{}.{name}.cpu{cpu}", self.of),
                unit: "",
                is_counter: true,
                role: Role::Plain,
            };
            self.cpus.iter().map(column).collect::<Vec<_>>()
        };
        self.lines.iter().flat_map(of_line).collect()
    }

    fn read(&mut self, values: &mut [i64]) {
        let Some(text) = self.file.read() else { return };
        let width = self.places.len();
        let mut next = 0;
        for line in text.split(|b| *b == b'\n').skip(1) {
            let Some((key, rest)) = split(line) else {
                continue;
            };
            // Lines keep their order; some may come and go.
            let Some(ahead) = self.lines[next..].iter().position(|l| l.key == key) else {
                continue;
            };
            let slots = &mut values[(next + ahead) * width..][..width];
            for (column, n) in numbers(rest).enumerate() {
                if let Some(at) = self.places.iter().position(|p| *p == column) {
                    slots[at] = n as i64;
                }
                if self.places.iter().all(|p| *p <= column) {
                    break;
                }
            }
            next += ahead + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &[u8] = b"           CPU0       CPU2       \n\
        \x20 24:          1          7  IO-APIC   5-edge      ACPI:Ged\n\
        \x20LOC:         20         30   Local timer interrupts\n\
        \x20ERR:          0\n";

    #[test]
    fn lines_are_named_by_their_device_or_key() {
        let (places, cpus, lines) = parse(INTERRUPTS, &[2, 5]).unwrap();
        assert_eq!((places, cpus), (vec![1], vec![2]), "CPU 5 is not there");
        let names: Vec<_> = lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["24.ACPI:Ged", "LOC"]);
    }

    #[test]
    fn counts_are_those_of_the_watched_cpus() {
        let cpus = crate::events::online_cpus();
        let mut table = Table::open("/proc/softirqs", "softirq", &cpus).unwrap();
        let columns = table.columns();
        assert!(
            columns
                .iter()
                .any(|c| c.name == format!("softirq.TIMER.cpu{}", cpus[0]))
        );
        let mut values = vec![-1; columns.len()];
        table.read(&mut values);
        assert!(values.iter().all(|v| *v >= 0), "{values:?}");
        assert!(values.iter().sum::<i64>() > 0);
    }
}
