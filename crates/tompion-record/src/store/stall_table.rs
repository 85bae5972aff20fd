//! The Parquet table of stalls by cause.

use std::io::Write;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tompion_cause::{Cause, Source};

use super::tables::{Table, properties, write_column};
use crate::{Result, StallPart};

const STALLS: &str = "message stalls {
    required int64 at_ns;
    required int64 ns;
    optional binary cause (utf8);
    optional binary by (utf8);
    optional binary source (utf8);
    optional binary because (utf8);
}";

const SOURCES: [(Source, &str); 3] = [
    (Source::Event, "event"),
    (Source::Counter, "counter"),
    (Source::Polled, "polled"),
];

fn source_name(source: Source) -> &'static str {
    SOURCES
        .iter()
        .find(|s| s.0 == source)
        .map_or("event", |s| s.1)
}

/// Writes the parts in their order.
pub(super) fn write(
    out: &mut (dyn Write + Send),
    parts: &[StallPart],
) -> std::result::Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(STALLS)?);
    let mut file = SerializedFileWriter::new(out, schema, properties(Vec::new()))?;
    let mut group = file.next_row_group()?;
    let numbers = |pick: fn(&StallPart) -> u64| -> Vec<i64> {
        parts.iter().map(|p| pick(p).cast_signed()).collect()
    };
    write_column::<Int64Type>(&mut group, &numbers(|p| p.at_ns), None)?;
    write_column::<Int64Type>(&mut group, &numbers(|p| p.ns), None)?;
    let all = vec![1i16; parts.len()];
    let text = |pick: &dyn Fn(&StallPart) -> Option<ByteArray>| -> Vec<ByteArray> {
        parts.iter().filter_map(pick).collect()
    };
    let causes = text(&|p| Some(ByteArray::from(p.cause.name())));
    write_column::<ByteArrayType>(&mut group, &causes, Some(&all))?;
    let levels: Vec<i16> = parts.iter().map(|p| p.by.is_some().into()).collect();
    let by = text(&|p| p.by.as_deref().map(ByteArray::from));
    write_column::<ByteArrayType>(&mut group, &by, Some(&levels))?;
    let levels: Vec<i16> = parts.iter().map(|p| p.source.is_some().into()).collect();
    let sources = text(&|p| p.source.map(|s| ByteArray::from(source_name(s))));
    write_column::<ByteArrayType>(&mut group, &sources, Some(&levels))?;
    let because = text(&|p| Some(ByteArray::from(p.because.as_str())));
    write_column::<ByteArrayType>(&mut group, &because, Some(&all))?;
    group.close()?;
    file.close()?;
    Ok(())
}

/// Reads them back.
pub(super) fn read(table: &Table) -> Result<Vec<StallPart>> {
    let rows = table.rows() as usize;
    let read = || -> std::result::Result<Vec<StallPart>, ParquetError> {
        let (at, ns) = (table.int64(0, rows)?, table.int64(1, rows)?);
        let (causes, by) = (table.strings(2, rows)?, table.strings(3, rows)?);
        let (sources, because) = (table.strings(4, rows)?, table.strings(5, rows)?);
        let lengths = [at.len(), ns.len(), causes.len(), by.len(), sources.len()];
        if lengths != [rows; 5] || because.len() != rows {
            return Err(ParquetError::General("rows are missing".into()));
        }
        let unknown = |what: &str| ParquetError::General(format!("a {what} has no known name"));
        (0..rows)
            .map(|i| {
                let cause = causes[i].as_deref().and_then(Cause::from_name);
                let source = match sources[i].as_deref() {
                    None => None,
                    Some(name) => Some(
                        SOURCES
                            .iter()
                            .find(|s| s.1 == name)
                            .map(|s| s.0)
                            .ok_or_else(|| unknown("source"))?,
                    ),
                };
                Ok(StallPart {
                    at_ns: at[i].cast_unsigned(),
                    ns: ns[i].cast_unsigned(),
                    cause: cause.ok_or_else(|| unknown("cause"))?,
                    by: by[i].clone(),
                    source,
                    because: because[i].clone().unwrap_or_default(),
                })
            })
            .collect()
    };
    read().map_err(|e| table.damaged(&format!("unreadable stalls ({e})")))
}
