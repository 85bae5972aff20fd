//! HdrHistogram interval logs (`.hlog`), for the tools that read them.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::Bins;

/// Significant decimal digits, as in [`Bins`].
const DIGITS: u8 = 3;

/// The tag of intervals that hold the magnitudes of negative values; where the
/// interval has a tag of its own, it follows that after a slash.
pub const HLOG_NEGATIVE_TAG: &str = "negative";

/// What was counted during one interval.
#[derive(Clone, Debug)]
pub enum HlogValues<'a> {
    /// Values in ns.
    Nanoseconds(&'a [u64]),
    /// Bins of values in ps, written in whole ns.
    Picoseconds(Cow<'a, Bins>),
}

/// One interval of a log.
#[derive(Clone, Debug)]
pub struct HlogInterval<'a> {
    /// Its beginning, counted from the beginning of the log. The file keeps
    /// times to 1 ms.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// Its values; an interval may be empty.
    pub values: HlogValues<'a>,
    /// What it belongs to, where a log holds several series: readers take the
    /// intervals of each tag for themselves. Without commas, blanks and line
    /// breaks.
    pub tag: Option<Cow<'a, str>>,
}

/// Why a log could not be written.
#[derive(Debug)]
pub enum HlogError {
    /// The destination failed.
    Write(io::Error),
    /// The histogram of the interval at this place (from 0) cannot be encoded.
    Encode(usize, String),
    /// The interval at this place (from 0) has a tag with a comma, a blank or a
    /// line break.
    Tag(usize, String),
}

impl fmt::Display for HlogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(e) => write!(f, "interval log: {e}"),
            Self::Encode(i, why) => write!(f, "interval log: interval {i}: {why}"),
            Self::Tag(i, tag) => write!(
                f,
                "interval log: interval {i}: tag {tag:?}; a tag has no commas, blanks and line breaks"
            ),
        }
    }
}

impl std::error::Error for HlogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(e) => Some(e),
            Self::Encode(..) | Self::Tag(..) => None,
        }
    }
}

/// Writes an interval log whose histograms hold nanoseconds to three
/// significant digits, in the V2 compressed encoding.
///
/// `began` becomes both StartTime and BaseTime, so that every reader counts the
/// intervals from there. Histograms of this kind hold no negative values: where
/// [`Bins`] have some, their magnitudes follow in an interval of the same times
/// with the tag [`HLOG_NEGATIVE_TAG`], and a comment says so. The column
/// Interval_Max is in ns, too. Each line of `comments` becomes a comment.
pub fn write_hlog<'a>(
    out: &mut impl io::Write,
    began: SystemTime,
    comments: &str,
    intervals: impl IntoIterator<Item = HlogInterval<'a>>,
) -> Result<(), HlogError> {
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    for line in comments.lines() {
        builder.add_comment(line);
    }
    let mut log = builder
        .with_start_time(began)
        .with_base_time(began)
        .begin_log_with(out, &mut serializer)
        .map_err(HlogError::Write)?;
    let mut said = false;
    for (place, interval) in intervals.into_iter().enumerate() {
        let (positive, negative) = histograms(&interval.values, place)?;
        let mut write = |h: &Histogram<u64>, tag| {
            log.write_histogram(h, interval.start, interval.length, tag)
                .map_err(|e| match e {
                    IntervalLogWriterError::IoError(e) => HlogError::Write(e),
                    IntervalLogWriterError::SerializeError(e) => {
                        HlogError::Encode(place, e.to_string())
                    }
                })
        };
        let own = interval.tag.as_deref().map(|tag| named(tag, place));
        write(&positive, own.transpose()?)?;
        if !negative.is_empty() {
            let below = match &interval.tag {
                Some(own) => format!("{own}/{HLOG_NEGATIVE_TAG}"),
                None => HLOG_NEGATIVE_TAG.to_owned(),
            };
            write(&negative, Some(named(&below, place)?))?;
            if !said {
                log.write_comment("Tag negative: magnitudes of values below zero")
                    .map_err(HlogError::Write)?;
                said = true;
            }
        }
    }
    Ok(())
}

fn named(name: &str, place: usize) -> Result<Tag<'_>, HlogError> {
    Tag::new(name).ok_or_else(|| HlogError::Tag(place, name.to_owned()))
}

/// Histograms in ns of the values from zero up and of the others' magnitudes.
fn histograms(
    values: &HlogValues<'_>,
    place: usize,
) -> Result<(Histogram<u64>, Histogram<u64>), HlogError> {
    let empty = || Histogram::new(DIGITS).expect("three digits are allowed");
    let (mut positive, mut negative) = (empty(), empty());
    let unfit = |e: hdrhistogram::RecordError| HlogError::Encode(place, e.to_string());
    match values {
        HlogValues::Nanoseconds(values) => {
            for &value in *values {
                positive.record(value).map_err(unfit)?;
            }
        }
        HlogValues::Picoseconds(bins) => {
            for (low, high, count) in bins.occupied() {
                let half = if low < 0 {
                    &mut negative
                } else {
                    &mut positive
                };
                let middle_ps = low.unsigned_abs().midpoint(high.unsigned_abs());
                half.record_n((middle_ps + 500) / 1000, count)
                    .map_err(unfit)?;
            }
        }
    }
    Ok((positive, negative))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use proptest::prelude::*;

    type Read = (Option<String>, Duration, Duration, Histogram<u64>);

    /// Reads a log with HdrHistogram's own parser.
    fn read(log: &[u8]) -> (Vec<Duration>, Vec<Read>) {
        let (mut times, mut intervals) = (vec![], vec![]);
        for entry in IntervalLogIterator::new(log) {
            match entry.expect("the log parses") {
                LogEntry::StartTime(t) | LogEntry::BaseTime(t) => times.push(t),
                LogEntry::Interval(i) => {
                    let bytes = base64::engine::general_purpose::STANDARD
                        .decode(i.encoded_histogram())
                        .unwrap();
                    let h = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                    let tag = i.tag().map(|t| t.as_str().to_owned());
                    intervals.push((tag, i.start_timestamp(), i.duration(), h));
                }
            }
        }
        (times, intervals)
    }

    fn log_of(intervals: &[HlogInterval<'_>]) -> Vec<u8> {
        let mut log = Vec::new();
        let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        write_hlog(
            &mut log,
            began,
            "stalls of CPU 1",
            intervals.iter().cloned(),
        )
        .unwrap();
        log
    }

    #[test]
    fn times_values_and_empty_intervals_come_back() {
        let second = Duration::from_secs(1);
        let at = |start, values| HlogInterval {
            start,
            length: second,
            values: HlogValues::Nanoseconds(values),
            tag: None,
        };
        let log = log_of(&[
            at(Duration::ZERO, &[3_400, 3_400, 80_400_000]),
            at(second, &[]),
            at(2 * second, &[u64::from(u32::MAX)]),
        ]);
        let (times, intervals) = read(&log);
        assert_eq!(times, [Duration::from_millis(1_700_000_000_250); 2]);
        assert_eq!(intervals.len(), 3);
        let (tag, start, length, h) = &intervals[0];
        assert_eq!((tag, *start, *length), (&None, Duration::ZERO, second));
        assert_eq!((h.len(), h.count_at(3_400)), (3, 2));
        assert!(h.equivalent(h.max(), 80_400_000));
        assert!(intervals[1].3.is_empty());
        assert_eq!(intervals[2].1, 2 * second);
        assert!(
            intervals[2]
                .3
                .equivalent(intervals[2].3.max(), u64::from(u32::MAX))
        );
        assert!(log.starts_with(b"#[Histogram log format version 1.3]\n#stalls of CPU 1\n"));
    }

    #[test]
    fn negative_values_keep_their_magnitude_under_a_tag() {
        let mut bins = Bins::new();
        bins.record_many(-2_000_000, 5).unwrap();
        bins.record(7_000_000).unwrap();
        let log = log_of(&[HlogInterval {
            start: Duration::ZERO,
            length: Duration::from_secs(60),
            values: HlogValues::Picoseconds(Cow::Borrowed(&bins)),
            tag: None,
        }]);
        let (_, intervals) = read(&log);
        let [(None, .., up), (Some(tag), .., down)] = &intervals[..] else {
            panic!("{} intervals", intervals.len());
        };
        assert_eq!(tag, HLOG_NEGATIVE_TAG);
        assert_eq!((up.len(), down.len()), (1, 5));
        assert!(up.max().abs_diff(7_000) <= 14 && down.max().abs_diff(2_000) <= 4);
    }

    #[test]
    fn series_are_told_apart_by_tags() {
        let mut below = Bins::new();
        below.record_many(-3_000_000, 2).unwrap();
        let at = |seconds, tag: Option<&'static str>| HlogInterval {
            start: Duration::from_secs(seconds),
            length: Duration::from_secs(1),
            values: HlogValues::Nanoseconds(&[5]),
            tag: tag.map(Cow::Borrowed),
        };
        let log = log_of(&[
            at(0, Some("cpu+udp/cpu0")),
            HlogInterval {
                values: HlogValues::Picoseconds(Cow::Borrowed(&below)),
                ..at(0, Some("idle/cpu1"))
            },
            at(1, None),
        ]);
        let tags: Vec<_> = read(&log).1.into_iter().map(|r| r.0).collect();
        let some = |tag: &str| Some(tag.to_owned());
        assert_eq!(
            tags,
            [
                some("cpu+udp/cpu0"),
                some("idle/cpu1"),
                some("idle/cpu1/negative"),
                None
            ]
        );
        let refused = write_hlog(
            &mut Vec::new(),
            SystemTime::UNIX_EPOCH,
            "",
            [at(0, Some("a b"))],
        );
        assert!(matches!(refused, Err(HlogError::Tag(0, tag)) if tag == "a b"));
    }

    #[test]
    fn a_failing_destination_is_reported() {
        let mut room = [0u8; 10];
        let written = write_hlog(&mut &mut room[..], SystemTime::UNIX_EPOCH, "", []);
        assert!(matches!(written, Err(HlogError::Write(_))));
    }

    proptest! {
        #[test]
        fn bins_come_back_in_nanoseconds(values in prop::collection::vec(0i64..1_000_000_000_000_000, 1..100)) {
            let mut bins = Bins::new();
            for &v in &values { bins.record(v).unwrap(); }
            let log = log_of(&[HlogInterval {
                start: Duration::ZERO,
                length: Duration::from_secs(1),
                values: HlogValues::Picoseconds(Cow::Borrowed(&bins)),
                tag: None,
            }]);
            let h = &read(&log).1[0].3;
            prop_assert_eq!(h.len(), values.len() as u64);
            // Two roundings to three digits, and one to whole ns.
            let (most, got) = (*values.iter().max().unwrap() as f64 / 1e3, h.max() as f64);
            prop_assert!((got - most).abs() <= 2e-3 * most + 1.0, "{} {}", got, most);
        }
    }
}
