//! Parquet files: one table a row group.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition};
use parquet::column::reader::get_typed_column_reader;
use parquet::column::writer::get_typed_column_writer_mut;
use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::column::{Column, Data, Kind};
use super::limits;
use crate::{Error, Result};

/// What a file's columns are called and of.
pub(super) struct Schema(Vec<(String, Kind, bool)>);

impl Schema {
    /// Columns by name and kind, and whether every row has a value.
    pub(super) fn new(columns: Vec<(String, Kind, bool)>) -> Self {
        Self(columns)
    }

    /// The columns of a table, none of which needs a value in every row.
    pub(super) fn of(columns: &[Column]) -> Self {
        let column = |c: &Column| (c.name.clone(), c.data.kind(), false);
        Self(columns.iter().map(column).collect())
    }

    /// Whether a table has just these columns.
    fn fits(&self, columns: &[Column]) -> bool {
        let is_same = |(ours, theirs): (&(String, Kind, bool), &Column)| {
            ours.0 == theirs.name
                && ours.1 == theirs.data.kind()
                && !(ours.2 && theirs.levels.is_some())
        };
        self.0.len() == columns.len() && self.0.iter().zip(columns).all(is_same)
    }
}

/// A file being written.
pub(super) struct FileWriter<'a> {
    file: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    schema: Schema,
    groups: u32,
}

impl<'a> FileWriter<'a> {
    pub(super) fn new(
        out: &'a mut (dyn Write + Send),
        name: &str,
        schema: Schema,
        metadata: Vec<KeyValue>,
    ) -> std::result::Result<Self, ParquetError> {
        let described: std::result::Result<Vec<_>, _> = schema
            .0
            .iter()
            .map(|(name, kind, required)| kind.described(name, *required).map(Arc::new))
            .collect();
        let message = Type::group_type_builder(name)
            .with_fields(described?)
            .build()?;
        let properties = properties(&schema, metadata);
        Ok(Self {
            file: SerializedFileWriter::new(out, Arc::new(message), properties)?,
            schema,
            groups: 0,
        })
    }

    /// Writes a table, and says which row group it is.
    pub(super) fn table(&mut self, columns: &[Column]) -> std::result::Result<u32, ParquetError> {
        if !self.schema.fits(columns) {
            let why = "tables of one name have different columns";
            return Err(ParquetError::General(why.to_owned()));
        }
        let mut group = self.file.next_row_group()?;
        for (column, (_, _, required)) in columns.iter().zip(&self.schema.0) {
            let all: Vec<i16>;
            let levels = match (&column.levels, required) {
                (_, true) => None,
                (Some(levels), false) => Some(levels.as_slice()),
                (None, false) => {
                    all = vec![1; column.rows()];
                    Some(all.as_slice())
                }
            };
            let missing = || ParquetError::General("column missing".into());
            let mut writer = group.next_column()?.ok_or_else(missing)?;
            macro_rules! write {
                ($type:ty, $values:expr) => {{
                    let typed = get_typed_column_writer_mut::<$type>(writer.untyped());
                    typed.write_batch($values, levels, None)?;
                }};
            }
            match &column.data {
                Data::Boolean(v) => write!(BoolType, v),
                Data::Int32(v) | Data::UInt32(v) => write!(Int32Type, v),
                Data::Int64(v) | Data::UInt64(v) => write!(Int64Type, v),
                Data::Double(v) => write!(DoubleType, v),
                Data::Text(v) => write!(ByteArrayType, v),
                Data::Repeated(text, times) => {
                    // Piece by piece: as many texts as rows would be most of the memory.
                    const PIECE: usize = 1024;
                    let piece = vec![text.clone(); PIECE.min(*times)];
                    let typed = get_typed_column_writer_mut::<ByteArrayType>(writer.untyped());
                    for from in (0..*times).step_by(PIECE) {
                        let rows = PIECE.min(times - from);
                        let levels = levels.map(|levels| &levels[from..from + rows]);
                        typed.write_batch(&piece[..rows], levels, None)?;
                    }
                }
            }
            writer.close()?;
        }
        group.close()?;
        self.groups += 1;
        Ok(self.groups - 1)
    }

    pub(super) fn finish(self) -> std::result::Result<(), ParquetError> {
        self.file.close().map(drop)
    }
}

fn properties(schema: &Schema, metadata: Vec<KeyValue>) -> Arc<WriterProperties> {
    // Snappy, since readers of all languages have it.
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata((!metadata.is_empty()).then_some(metadata));
    for (name, kind, _) in &schema.0 {
        let path = || name.as_str().into();
        builder = match kind {
            // Values of a counter repeat, and so do texts; a dictionary serves them best.
            _ if name == "value_ps" => builder.set_column_dictionary_enabled(path(), true),
            Kind::Text => builder.set_column_dictionary_enabled(path(), true),
            // Differences of successive values are small: delta encoding before Snappy
            // brings a row of 25 bytes to a few.
            Kind::Int32 | Kind::UInt32 | Kind::Int64 | Kind::UInt64 => {
                builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED)
            }
            Kind::Boolean | Kind::Double => builder,
        };
    }
    // By this one finds a trial without reading the others.
    let trial = crate::side_table::TRIAL_COLUMN;
    if schema.0.iter().any(|c| c.0 == trial) {
        builder = builder.set_column_statistics_enabled(trial.into(), EnabledStatistics::Chunk);
    }
    Arc::new(builder.build())
}

/// A file whose footer has been read.
pub(super) struct ParquetFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ParquetFile").field(&self.path).finish()
    }
}

impl ParquetFile {
    /// Opens a file; a truncated one is refused here.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::of_file(path, open_regular(path)?)
    }

    pub(super) fn of_file(path: &Path, file: File) -> Result<Self> {
        let reader = SerializedFileReader::new(file).map_err(|e| {
            let why = format!("not a whole Parquet file ({e}); the run is damaged");
            Error::invalid(path, why)
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            reader,
        })
    }

    pub(super) fn damaged(&self, why: &str) -> Error {
        Error::invalid(&self.path, format!("{why}; the run is damaged"))
    }

    /// Rows of the whole file.
    pub(super) fn rows(&self) -> u64 {
        let rows = self.reader.metadata().file_metadata().num_rows();
        rows.cast_unsigned()
    }

    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        let all = self.reader.metadata().file_metadata();
        let found = all.key_value_metadata()?.iter().find(|kv| kv.key == key);
        found?.value.as_deref()
    }

    /// The table in a row group, without columns whose names `skip` picks. One without
    /// rows has none.
    pub(super) fn table(
        &self,
        group: u32,
        rows: u64,
        skip: impl Fn(&str) -> bool,
    ) -> Result<Vec<Column>> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let wanted = schema.columns().iter().enumerate();
        wanted
            .filter(|(_, c)| !skip(c.name()))
            .map(|(i, c)| {
                let kind = Kind::of(c).ok_or_else(|| {
                    let why = format!("column `{}` is of a type that no table has", c.name());
                    self.damaged(&why)
                })?;
                self.read(group, rows, i, kind)
            })
            .collect()
    }

    /// Columns by name and kind, in this order.
    pub(super) fn columns(
        &self,
        group: u32,
        rows: u64,
        wanted: &[(&str, Kind)],
    ) -> Result<Vec<Column>> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let column = |&(name, kind): &(&str, Kind)| {
            let found = schema.columns().iter().position(|c| c.name() == name);
            let found = found.filter(|&i| Kind::of(&schema.column(i)) == Some(kind));
            let found = found.ok_or_else(|| {
                self.damaged(&format!("it has no column `{name}` of the right type"))
            })?;
            self.read(group, rows, found, kind)
        };
        wanted.iter().map(column).collect()
    }

    fn read(&self, group: u32, rows: u64, index: usize, kind: Kind) -> Result<Column> {
        let name = self.reader.metadata().file_metadata().schema_descr();
        let name = name.column(index).name().to_owned();
        self.read_group(group, rows, index, &name, kind)
            .map_err(|e| self.damaged(&format!("unreadable column `{name}` ({e})")))
    }

    fn read_group(
        &self,
        group: u32,
        rows: u64,
        index: usize,
        name: &str,
        kind: Kind,
    ) -> std::result::Result<Column, ParquetError> {
        let general = |why: String| ParquetError::General(why);
        if rows == 0 {
            // Which row group it would be means nothing.
            return Ok(Column::none(name, kind));
        }
        let group = group as usize;
        let metadata = self.reader.metadata();
        let found = match metadata.row_groups().get(group) {
            Some(group) => group.num_rows(),
            None => return Err(general(format!("there is no row group {group}"))),
        };
        if found.cast_unsigned() != rows {
            return Err(general(format!("{found} rows instead of {rows}")));
        }
        let rows = rows as usize;
        let optional = {
            let column = metadata.file_metadata().schema_descr().column(index);
            column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL
        };
        let mut levels: Option<Vec<i16>> = optional.then(Vec::new);
        macro_rules! read {
            ($type:ty) => {{
                // What a footer says is no reason to reserve it all at once.
                let mut values = Vec::with_capacity(rows.min(limits::RESERVED_ROWS));
                let row_group = self.reader.get_row_group(group)?;
                let reader = row_group.get_column_reader(index)?;
                let mut reader = get_typed_column_reader::<$type>(reader);
                let mut left = rows;
                while left > 0 {
                    let (read, ..) =
                        reader.read_records(left, levels.as_mut(), None, &mut values)?;
                    if read == 0 {
                        return Err(general(format!("{left} of {rows} rows are missing")));
                    }
                    left -= read;
                }
                values
            }};
        }
        let data = match kind {
            Kind::Boolean => Data::Boolean(read!(BoolType)),
            Kind::Int32 => Data::Int32(read!(Int32Type)),
            Kind::UInt32 => Data::UInt32(read!(Int32Type)),
            Kind::Int64 => Data::Int64(read!(Int64Type)),
            Kind::UInt64 => Data::UInt64(read!(Int64Type)),
            Kind::Double => Data::Double(read!(DoubleType)),
            Kind::Text => Data::Text(read!(ByteArrayType)),
        };
        let column = match levels {
            Some(levels) => Column::with_levels(name, levels, data),
            None => Column::whole(name, data),
        };
        match column.rows() == rows {
            true => Ok(column),
            false => Err(general("rows are missing".to_owned())),
        }
    }
}

/// Opens a file of a run that has to be there.
pub(super) fn open_regular(path: &Path) -> Result<File> {
    super::open_file(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::invalid(path, "is not there; the run is damaged"),
        _ => Error::io(path, "opening")(e),
    })
}
