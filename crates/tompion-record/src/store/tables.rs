//! The Parquet tables: samples and bins.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use tompion_stats::Bins;

use crate::{Error, Mark, Result, Sample, Trial};

const SAMPLES: &str = "message samples {
    required int64 at_ns;
    required int64 value_ps;
    required int32 n (integer(32,false));
    required int32 missed (integer(32,false));
    optional binary mark (utf8);
}";

const BINS: &str = "message bins {
    required int64 low_ps;
    required int64 high_ps;
    required int64 count;
    required boolean filled;
}";

/// Metadata key of a trial's own description, from which a run whose process
/// died is put together again.
const TRIAL_KEY: &str = "tompion.trial";

/// Metadata key of the checksum over all rows.
const CHECKSUM_KEY: &str = "tompion.samples_crc32";

fn checksum(samples: &[Sample]) -> String {
    let mut hash = crc32fast::Hasher::new();
    for s in samples {
        hash.update(&s.at_ns.to_le_bytes());
        hash.update(&s.value_ps.to_le_bytes());
        hash.update(&s.n.to_le_bytes());
        hash.update(&s.missed.to_le_bytes());
        hash.update(&[s.mark.code()]);
    }
    format!("{:08x}", hash.finalize())
}

pub(super) fn properties(metadata: Vec<KeyValue>) -> Arc<WriterProperties> {
    // Differences of successive values are small: delta encoding before Snappy
    // brings a row of 25 bytes to a few.
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(metadata));
    for column in ["at_ns", "n", "missed", "low_ps", "high_ps", "count"] {
        builder = builder.set_column_encoding(column.into(), Encoding::DELTA_BINARY_PACKED);
    }
    // Values of a counter repeat; a dictionary serves them better.
    builder = builder.set_column_dictionary_enabled("value_ps".into(), true);
    builder = builder.set_column_dictionary_enabled("mark".into(), true);
    Arc::new(builder.build())
}

pub(super) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> std::result::Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("column missing".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Writes a trial's samples with the trial's own description.
pub(super) fn write_samples(
    out: &mut (dyn Write + Send),
    trial: &Trial,
    samples: &[Sample],
) -> std::result::Result<(), ParquetError> {
    let description =
        serde_json::to_string(trial).map_err(|e| ParquetError::General(e.to_string()))?;
    let metadata = vec![
        KeyValue::new(TRIAL_KEY.to_owned(), description),
        KeyValue::new(CHECKSUM_KEY.to_owned(), checksum(samples)),
    ];
    let schema = Arc::new(parse_message_type(SAMPLES)?);
    let mut file = SerializedFileWriter::new(out, schema, properties(metadata))?;
    let mut group = file.next_row_group()?;
    let column = |pick: fn(&Sample) -> i64| samples.iter().map(pick).collect::<Vec<i64>>();
    let narrow = |pick: fn(&Sample) -> u32| {
        samples
            .iter()
            .map(|s| pick(s).cast_signed())
            .collect::<Vec<i32>>()
    };
    write_column::<Int64Type>(&mut group, &column(|s| s.at_ns.cast_signed()), None)?;
    write_column::<Int64Type>(&mut group, &column(|s| s.value_ps), None)?;
    write_column::<Int32Type>(&mut group, &narrow(|s| s.n), None)?;
    write_column::<Int32Type>(&mut group, &narrow(|s| s.missed), None)?;
    let levels: Vec<i16> = samples
        .iter()
        .map(|s| i16::from(s.mark.name().is_some()))
        .collect();
    let marks: Vec<ByteArray> = samples
        .iter()
        .filter_map(|s| s.mark.name().map(|name| ByteArray::from(&*name)))
        .collect();
    write_column::<ByteArrayType>(&mut group, &marks, Some(&levels))?;
    group.close()?;
    file.close()?;
    Ok(())
}

/// Writes the bins of a trial that outgrew its limit.
pub(super) fn write_bins(
    out: &mut (dyn Write + Send),
    measured: &Bins,
    filled: &Bins,
) -> std::result::Result<(), ParquetError> {
    let rows: Vec<(i64, i64, u64, bool)> = [(measured, false), (filled, true)]
        .into_iter()
        .flat_map(|(bins, filled)| {
            bins.occupied()
                .into_iter()
                .map(move |(l, h, n)| (l, h, n, filled))
        })
        .collect();
    let schema = Arc::new(parse_message_type(BINS)?);
    let mut file = SerializedFileWriter::new(out, schema, properties(Vec::new()))?;
    let mut group = file.next_row_group()?;
    let lows: Vec<i64> = rows.iter().map(|r| r.0).collect();
    let highs: Vec<i64> = rows.iter().map(|r| r.1).collect();
    let counts: Vec<i64> = rows.iter().map(|r| r.2.cast_signed()).collect();
    let flags: Vec<bool> = rows.iter().map(|r| r.3).collect();
    write_column::<Int64Type>(&mut group, &lows, None)?;
    write_column::<Int64Type>(&mut group, &highs, None)?;
    write_column::<Int64Type>(&mut group, &counts, None)?;
    write_column::<parquet::data_type::BoolType>(&mut group, &flags, None)?;
    group.close()?;
    file.close()?;
    Ok(())
}

/// An opened table whose footer has been read.
pub(super) struct Table {
    path: std::path::PathBuf,
    reader: SerializedFileReader<File>,
}

impl Table {
    /// Opens a table; a truncated one is refused here.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = super::open_file(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::invalid(path, "is not there; the run is damaged")
            }
            _ => Error::io(path, "opening")(e),
        })?;
        let reader = SerializedFileReader::new(file).map_err(|e| {
            Error::invalid(
                path,
                format!("not a whole Parquet file ({e}); the run is damaged"),
            )
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            reader,
        })
    }

    pub(super) fn rows(&self) -> u64 {
        self.reader
            .metadata()
            .file_metadata()
            .num_rows()
            .cast_unsigned()
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        self.reader
            .metadata()
            .file_metadata()
            .key_value_metadata()?
            .iter()
            .find(|kv| kv.key == key)?
            .value
            .as_deref()
    }

    /// The trial that the file describes itself as.
    pub(super) fn trial(&self) -> Result<Trial> {
        let text = self
            .metadata(TRIAL_KEY)
            .ok_or_else(|| self.damaged("its trial description is missing"))?;
        serde_json::from_str(text).map_err(|e| self.damaged(&e.to_string()))
    }

    pub(super) fn damaged(&self, why: &str) -> Error {
        Error::invalid(&self.path, format!("{why}; the run is damaged"))
    }

    /// All rows, checked against their checksum.
    pub(super) fn samples(&self) -> Result<Vec<Sample>> {
        let rows = self.rows() as usize;
        let read = || -> std::result::Result<Vec<Sample>, ParquetError> {
            let at = self.int64(0, rows)?;
            let value = self.int64(1, rows)?;
            let n = self.int32(2, rows)?;
            let missed = self.int32(3, rows)?;
            let marks = self.marks(4, rows)?;
            if [at.len(), value.len(), n.len(), missed.len(), marks.len()] != [rows; 5] {
                return Err(ParquetError::General("rows are missing".into()));
            }
            Ok((0..rows)
                .map(|i| Sample {
                    at_ns: at[i].cast_unsigned(),
                    value_ps: value[i],
                    n: n[i].cast_unsigned(),
                    missed: missed[i].cast_unsigned(),
                    mark: marks[i],
                })
                .collect())
        };
        let samples = read().map_err(|e| self.damaged(&format!("unreadable samples ({e})")))?;
        if self.metadata(CHECKSUM_KEY) != Some(checksum(&samples).as_str()) {
            return Err(self.damaged("the samples do not match their checksum"));
        }
        Ok(samples)
    }

    /// Both sets of bins: as measured, and standing for missed periods.
    pub(super) fn bins(&self) -> Result<(Bins, Bins)> {
        let rows = self.rows() as usize;
        let read = || -> std::result::Result<(Bins, Bins), ParquetError> {
            let (low, high) = (self.int64(0, rows)?, self.int64(1, rows)?);
            let count = self.int64(2, rows)?;
            let filled = self.booleans(3, rows)?;
            if [low.len(), high.len(), count.len(), filled.len()] != [rows; 4] {
                return Err(ParquetError::General("rows are missing".into()));
            }
            let mut sets = (Bins::new(), Bins::new());
            for i in 0..rows {
                let set = if filled[i] { &mut sets.1 } else { &mut sets.0 };
                set.record_many(low[i], count[i].cast_unsigned())
                    .map_err(|e| ParquetError::General(e.to_string()))?;
            }
            Ok(sets)
        };
        read().map_err(|e| self.damaged(&format!("unreadable bins ({e})")))
    }

    pub(super) fn int64(
        &self,
        column: usize,
        rows: usize,
    ) -> std::result::Result<Vec<i64>, ParquetError> {
        let mut out = Vec::with_capacity(rows);
        for group in 0..self.reader.num_row_groups() {
            let ColumnReader::Int64ColumnReader(mut r) = self
                .reader
                .get_row_group(group)?
                .get_column_reader(column)?
            else {
                return Err(ParquetError::General("column has another type".into()));
            };
            r.read_records(rows, None, None, &mut out)?;
        }
        Ok(out)
    }

    fn int32(&self, column: usize, rows: usize) -> std::result::Result<Vec<i32>, ParquetError> {
        let mut out = Vec::with_capacity(rows);
        for group in 0..self.reader.num_row_groups() {
            let ColumnReader::Int32ColumnReader(mut r) = self
                .reader
                .get_row_group(group)?
                .get_column_reader(column)?
            else {
                return Err(ParquetError::General("column has another type".into()));
            };
            r.read_records(rows, None, None, &mut out)?;
        }
        Ok(out)
    }

    fn booleans(&self, column: usize, rows: usize) -> std::result::Result<Vec<bool>, ParquetError> {
        let mut out = Vec::with_capacity(rows);
        for group in 0..self.reader.num_row_groups() {
            let ColumnReader::BoolColumnReader(mut r) = self
                .reader
                .get_row_group(group)?
                .get_column_reader(column)?
            else {
                return Err(ParquetError::General("column has another type".into()));
            };
            r.read_records(rows, None, None, &mut out)?;
        }
        Ok(out)
    }

    /// A text column; `None` where a row has none.
    pub(super) fn strings(
        &self,
        column: usize,
        rows: usize,
    ) -> std::result::Result<Vec<Option<String>>, ParquetError> {
        let mut out = Vec::with_capacity(rows);
        for group in 0..self.reader.num_row_groups() {
            let ColumnReader::ByteArrayColumnReader(mut r) = self
                .reader
                .get_row_group(group)?
                .get_column_reader(column)?
            else {
                return Err(ParquetError::General("column has another type".into()));
            };
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            r.read_records(rows, Some(&mut levels), None, &mut values)?;
            let mut values = values.iter();
            for level in levels {
                out.push(match level {
                    0 => None,
                    _ => Some(
                        values
                            .next()
                            .and_then(|v| v.as_utf8().ok())
                            .ok_or_else(|| ParquetError::General("a text is missing".into()))?
                            .to_owned(),
                    ),
                });
            }
        }
        Ok(out)
    }

    fn marks(&self, column: usize, rows: usize) -> std::result::Result<Vec<Mark>, ParquetError> {
        let known = |name: &str| {
            Mark::from_name(name)
                .ok_or_else(|| ParquetError::General("a mark has no known name".into()))
        };
        self.strings(column, rows)?
            .iter()
            .map(|name| name.as_deref().map_or(Ok(Mark::None), known))
            .collect()
    }
}
