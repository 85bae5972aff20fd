//! What goes over networks and disks.

use super::gauge::{Gauge, counter, open};
use super::series::{Column, Role};
use crate::kept::{Kept, numbers};
use tompion_model::Unavailable;

/// `/proc/net/dev` of this network namespace, the loopback told apart.
pub(super) struct Network(Kept);

impl Network {
    pub(super) fn open() -> Result<Box<dyn Gauge>, Unavailable> {
        Ok(Box::new(Self(open("/proc/net/dev")?)))
    }
}

impl Gauge for Network {
    fn columns(&self) -> Vec<Column> {
        let columns = ["network", "loopback"].into_iter().flat_map(|net| {
            ["received", "sent"].into_iter().flat_map(move |way| {
                [("bytes", "bytes"), ("packets", "")]
                    .map(|(of, unit)| counter(format!("{net}_{way}_{of}"), unit, Role::Plain))
            })
        });
        columns.collect()
    }

    fn read(&mut self, values: &mut [i64]) {
        let Some(text) = self.0.read() else { return };
        values.fill(0);
        for line in text.split(|b| *b == b'\n').skip(2) {
            let Some(colon) = line.iter().position(|b| *b == b':') else {
                continue;
            };
            let slots = match line[..colon].trim_ascii() {
                b"lo" => &mut values[4..8],
                _ => &mut values[..4],
            };
            for (i, n) in numbers(&line[colon..]).enumerate() {
                // Eight fields received, eight sent; bytes and packets lead each.
                match i {
                    0 | 1 => slots[i] += n as i64,
                    8 | 9 => slots[i - 6] += n as i64,
                    _ => {}
                }
            }
        }
    }
}

/// `/proc/diskstats`, whole devices.
pub(super) struct Disks {
    file: Kept,
    devices: Vec<Vec<u8>>,
}

impl Disks {
    pub(super) fn open() -> Result<Box<dyn Gauge>, Unavailable> {
        let whole = std::fs::read_dir("/sys/block").map_err(Unavailable::refused("/sys/block"))?;
        let names = whole.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let devices = names.map(String::into_bytes).collect();
        Ok(Box::new(Self {
            file: open("/proc/diskstats")?,
            devices,
        }))
    }
}

impl Gauge for Disks {
    fn columns(&self) -> Vec<Column> {
        ["disk_read_bytes", "disk_written_bytes"]
            .map(|name| counter(name.to_owned(), "bytes", Role::Plain))
            .to_vec()
    }

    fn read(&mut self, values: &mut [i64]) {
        let Some(text) = self.file.read() else { return };
        values.fill(0);
        for line in text.split(|b| *b == b'\n') {
            let mut words = line.split(|b| *b == b' ').filter(|w| !w.is_empty());
            let Some(name) = words.nth(2) else { continue };
            if !self.devices.iter().any(|d| d == name) {
                continue;
            }
            let mut sectors = |skip| words.nth(skip).and_then(|w| numbers(w).next()).unwrap_or(0);
            values[0] += sectors(2) as i64 * 512;
            values[1] += sectors(3) as i64 * 512;
        }
    }
}
