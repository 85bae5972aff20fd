//! Interval logs as they are written, read by HdrHistogram's own reader.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use tompion_stats::{Bins, HlogInterval, HlogValues, write_hlog};

use crate::Target;
use crate::input::Input;
use crate::one_line;

pub static ENTRY: Target = Target {
    name: "interval-log",
    about: "interval logs of any values, times and tags: as many values come back",
    parser: &["tompion-stats/src/hlog.rs", "tompion-stats/src/bins.rs"],
    most_bytes: 1024,
    run,
};

/// Values of an interval.
enum Given {
    Nanoseconds(Vec<u64>),
    Picoseconds(Box<Bins>),
}

struct Interval {
    start: Duration,
    length: Duration,
    tag: Option<String>,
    given: Given,
    /// How many values it has.
    count: u64,
}

fn interval(input: &mut Input<'_>) -> Interval {
    let how = input.byte();
    let (start, length) = (input.unsigned(), input.unsigned());
    let tag = (how & 1 != 0).then(|| input.text());
    let values = input.below(16);
    let mut count = 0_u64;
    let given = match how & 2 {
        0 => {
            let values: Vec<u64> = (0..values).map(|_| input.unsigned()).collect();
            count = values.len() as u64;
            Given::Nanoseconds(values)
        }
        _ => {
            let mut bins = Bins::new();
            for _ in 0..values {
                let (value, many) = (input.integer(), u64::from(input.u32()));
                if bins.record_many(value, many).is_ok() {
                    count += many;
                }
            }
            Given::Picoseconds(Box::new(bins))
        }
    };
    Interval {
        start: Duration::from_nanos(start),
        length: Duration::from_nanos(length),
        tag,
        given,
        count,
    }
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let comments = input.text();
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(input.u32().into());
    let mut intervals = Vec::new();
    while !input.is_empty() && intervals.len() < 16 {
        intervals.push(interval(&mut input));
    }
    let mut log = Vec::new();
    let given = intervals.iter().map(|interval| HlogInterval {
        start: interval.start,
        length: interval.length,
        tag: interval.tag.as_deref().map(Cow::Borrowed),
        values: match &interval.given {
            Given::Nanoseconds(values) => HlogValues::Nanoseconds(values),
            Given::Picoseconds(bins) => HlogValues::Picoseconds(Cow::Borrowed(bins)),
        },
    });
    if let Err(error) = write_hlog(&mut log, began, &comments, given) {
        return one_line(&error.to_string());
    }
    let mut found = 0;
    for entry in IntervalLogIterator::new(&log) {
        let entry = entry.unwrap_or_else(|e| panic!("{e:?}: {}", String::from_utf8_lossy(&log)));
        if let LogEntry::Interval(interval) = entry {
            let bytes = STANDARD
                .decode(interval.encoded_histogram())
                .expect("base64");
            let histogram: Histogram<u64> = Deserializer::new()
                .deserialize(&mut &bytes[..])
                .expect("a histogram");
            found += histogram.len();
        }
    }
    assert_eq!(found, intervals.iter().map(|i| i.count).sum::<u64>());
}
