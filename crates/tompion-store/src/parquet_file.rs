//! Parquet files: one table a row group.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::column::writer::{ColumnCloseResult, get_typed_column_writer_mut};
use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    KeyValue, ParquetMetaData, ParquetStatisticsPolicy, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};

use super::caught::caught;
use super::column::{Column, Data, Kind};
use super::constant::Constant;
use super::directory::Directory;
use super::footer;
use super::holes;
use super::limits;
use super::pages::{self, Checked};
use tompion_model::SideTable;

use crate::error::{DAMAGED, WRITTEN_SO};
use crate::{Error, Result, by_system};

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

    /// The same of every trial of a run, whose number stands first.
    pub(super) fn of_each_trial(self) -> Self {
        let trial = (SideTable::TRIAL_COLUMN.to_owned(), Kind::UInt32, true);
        Self([vec![trial], self.0].concat())
    }

    /// A trial's number and these columns, each with a value in every row.
    pub(super) fn of_trial(columns: &[(&str, Kind)]) -> Self {
        let column = |&(name, kind): &(&str, Kind)| (name.to_owned(), kind, true);
        Self(columns.iter().map(column).collect()).of_each_trial()
    }

    /// Whether a table has just these columns.
    fn fits(&self, constants: &[Constant], columns: &[Column]) -> bool {
        let own = self.0.get(constants.len()..).unwrap_or_default();
        let is_same = |(ours, c): (&(String, Kind, bool), &Column)| {
            (&ours.0, ours.1) == (&c.name, c.data.kind()) && !(ours.2 && c.levels.is_some())
        };
        self.begins_with(constants)
            && own.len() == columns.len()
            && own.iter().zip(columns).all(is_same)
    }

    fn begins_with(&self, constants: &[Constant]) -> bool {
        let is_same = |(ours, c): (&(String, Kind, bool), &Constant)| {
            (&ours.0, ours.1) == (&c.name, c.kind()) && !(ours.2 && c.is_missing())
        };
        self.0.len() >= constants.len() && self.0.iter().zip(constants).all(is_same)
    }
}

/// A file being written.
pub(super) struct FileWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: Schema,
    groups: u32,
}

impl<W: Write + Send> FileWriter<W> {
    pub(super) fn new(
        out: W,
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

    /// Writes a table, `constants` before its columns, and says which row group it is.
    /// Without rows it has none.
    pub(super) fn table(
        &mut self,
        constants: &[Constant],
        columns: &[Column],
    ) -> std::result::Result<u32, ParquetError> {
        if !self.schema.fits(constants, columns) {
            let why = "tables of one name have different columns";
            return Err(ParquetError::General(why.to_owned()));
        }
        let rows = columns.first().map_or(0, Column::rows);
        if rows == 0 {
            return Ok(self.groups);
        }
        let described = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        put_constants(&mut group, &described, constants, rows)?;
        let required = self.schema.0[constants.len()..].iter().map(|c| c.2);
        for (column, required) in columns.iter().zip(required) {
            let all: Vec<i16>;
            let levels = match (&column.levels, required) {
                (_, true) => None,
                (Some(levels), false) => Some(levels.as_slice()),
                (None, false) => {
                    all = vec![1; rows];
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
            }
            writer.close()?;
        }
        group.close()?;
        self.groups += 1;
        Ok(self.groups - 1)
    }

    /// Whether [`FileWriter::copy`] can take tables from `file`.
    pub(super) fn takes(&self, constants: &[Constant], file: &ParquetFile) -> bool {
        let (ours, theirs) = (self.file.schema_descr().columns(), file.described());
        ours.get(constants.len()..) == Some(theirs.columns()) && self.schema.begins_with(constants)
    }

    /// Writes the table in a row group of `file` as its bytes are there, `constants` before
    /// its columns, and says which row group it is here.
    ///
    /// # Errors
    /// Damage of `file`, with its name; and what writing says, with that of `path`, the
    /// file that is written.
    pub(super) fn copy(
        &mut self,
        path: &Path,
        constants: &[Constant],
        file: &ParquetFile,
        group: u32,
        rows: u64,
    ) -> Result<u32> {
        if rows == 0 {
            return Ok(self.groups);
        }
        let from = file.group(group, rows).map_err(|e| file.unreadable(&e))?;
        // What holds the metadata of a file does not lend the file itself. It is small, and
        // read first: what goes wrong later is the writing.
        let content = file.content().map_err(Error::io(&file.path, "reading"))?;
        let content = Bytes::from(content);
        let described = self.file.schema_descr().columns().to_vec();
        let mut put = || {
            let mut to = self.file.next_row_group()?;
            put_constants(&mut to, &described, constants, rows as usize)?;
            for chunk in from.columns() {
                let closed = ColumnCloseResult {
                    bytes_written: chunk.compressed_size().cast_unsigned(),
                    rows_written: rows,
                    metadata: chunk.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                to.append_column(&content, closed)?;
            }
            to.close().map(drop)
        };
        put().map_err(|e| super::cannot_write(path, &e))?;
        self.groups += 1;
        Ok(self.groups - 1)
    }

    pub(super) fn finish(self) -> std::result::Result<W, ParquetError> {
        self.file.into_inner()
    }
}

fn put_constants<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    described: &[ColumnDescPtr],
    constants: &[Constant],
    rows: usize,
) -> std::result::Result<(), ParquetError> {
    let many = |_| ParquetError::General(format!("{rows} rows are more than a table can have"));
    let rows = u32::try_from(rows).map_err(many)?;
    for (constant, described) in constants.iter().zip(described) {
        let (bytes, closed) = constant.chunk(described, rows)?;
        group.append_column(&bytes, closed)?;
    }
    Ok(())
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
    Arc::new(builder.build())
}

/// A file whose footer has been read.
pub(super) struct ParquetFile {
    path: PathBuf,
    /// The file itself, to look at what the library would believe.
    file: File,
    /// Whether its bytes are those that were written, as their checksum says.
    is_whole: bool,
    /// What accounts for its rows: the bytes of its pages.
    bytes: u64,
    reader: SerializedFileReader<File>,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ParquetFile").field(&self.path).finish()
    }
}

impl ParquetFile {
    /// Opens a file of the run in `directory`; a truncated one is refused here.
    pub(super) fn open(directory: &Directory, name: &str) -> Result<Self> {
        let path = directory.path().join(name);
        Self::of_file(&path, open_regular(directory, name)?)
    }

    /// The same of a file whose checksum was looked at before.
    pub(super) fn open_whole(directory: &Directory, name: &str) -> Result<Self> {
        let opened = Self::open(directory, name)?;
        Ok(Self {
            is_whole: true,
            ..opened
        })
    }

    pub(super) fn of_file(path: &Path, file: File) -> Result<Self> {
        let same = file.try_clone().map_err(Error::io(path, "opening"))?;
        // Nothing here goes by statistics, which others may have made as long as they like.
        let options = ReadOptionsBuilder::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .build();
        let read = || {
            footer::check(&file)?;
            SerializedFileReader::new_with_options(same, options)
        };
        let reader = caught(path, read)?.map_err(|e| {
            let why = format!("not a whole Parquet file ({e}); {DAMAGED}");
            by_system(path, &e).unwrap_or_else(|| Error::invalid(path, why))
        })?;
        let length = file.metadata().map_err(Error::io(path, "reading"))?.len();
        #[cfg(test)]
        OPENED.set(OPENED.get() + 1);
        Ok(Self {
            path: path.to_path_buf(),
            file,
            is_whole: false,
            // Neither what a footer says nor what lies between it and the pages is believed.
            bytes: bytes_of_pages(reader.metadata()).min(length),
            reader,
        })
    }

    /// All of its bytes.
    fn content(&self) -> std::io::Result<Vec<u8>> {
        let length = self.file.metadata()?.len();
        let mut content = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        // Whoever else reads it has a place of his own.
        self.file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    pub(super) fn damaged(&self, why: &str) -> Error {
        let come_of = if self.is_whole { WRITTEN_SO } else { DAMAGED };
        Error::invalid(&self.path, format!("{why}; {come_of}"))
    }

    /// What is sound and more than a reader takes.
    pub(super) fn refused(&self, why: &str) -> Error {
        Error::invalid(&self.path, why)
    }

    fn unreadable(&self, error: &ParquetError) -> Error {
        self.damaged(&format!("unreadable ({error})"))
    }

    fn unreadable_column(&self, name: &str, error: &ParquetError) -> Error {
        let damage = || self.damaged(&format!("unreadable column `{name}` ({error})"));
        by_system(&self.path, error).unwrap_or_else(damage)
    }

    fn described(&self) -> &SchemaDescriptor {
        self.reader.metadata().file_metadata().schema_descr()
    }

    /// The row group of a table of so many rows.
    fn group(&self, group: u32, rows: u64) -> std::result::Result<&RowGroupMetaData, ParquetError> {
        let groups = self.reader.metadata().row_groups();
        let none = || ParquetError::General(format!("there is no row group {group}"));
        let found = groups.get(group as usize).ok_or_else(none)?;
        match found.num_rows().cast_unsigned() == rows {
            true => Ok(found),
            false => {
                let why = format!("{} rows instead of {rows}", found.num_rows());
                Err(ParquetError::General(why))
            }
        }
    }

    /// Rows of each row group, as the footer announces them.
    pub(super) fn rows_of_groups(&self) -> Vec<u64> {
        let groups = self.reader.metadata().row_groups().iter();
        groups.map(|g| g.num_rows().cast_unsigned()).collect()
    }

    /// How many row groups and columns of these its footer describes.
    pub(super) fn chunks(&self) -> u64 {
        let groups = self.reader.metadata().row_groups().iter();
        groups.map(|g| 1 + g.columns().len() as u64).sum()
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

    /// The side table in a row group.
    pub(super) fn table(&self, group: u32, rows: u64) -> Result<Vec<Column>> {
        let columns = self.side_columns()?;
        let values = rows.saturating_mul(columns.len() as u64);
        limits::OF_VALUES
            .check(values, self.bytes)
            .map_err(|why| Error::invalid(&self.path, why.to_string()))?;
        let texts = columns.iter().filter(|(_, _, kind)| *kind == Kind::Text);
        self.check_texts(group, rows, texts.map(|(index, ..)| *index))?;
        let read = |(index, _, kind)| self.read(group, rows, index, kind);
        let read: Result<Vec<Column>> = columns.into_iter().map(read).collect();
        self.with_texts_within_limits(read?)
    }

    /// How many bytes its pages take: by them it is judged how many rows it may hold.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same columns. So far equal texts share their bytes; all that follows takes each by
    /// itself.
    fn with_texts_within_limits(&self, columns: Vec<Column>) -> Result<Vec<Column>> {
        let texts = columns.iter().map(Column::text_bytes);
        let texts = texts.fold(0, u64::saturating_add);
        match limits::OF_TEXTS.check(texts, self.bytes) {
            Ok(()) => Ok(columns),
            Err(why) => Err(Error::invalid(&self.path, why.to_string())),
        }
    }

    /// The columns of side tables in it: their places in the file, names and kinds.
    pub(super) fn side_columns(&self) -> Result<Vec<(usize, &str, Kind)>> {
        let all = self.described().columns().iter().enumerate();
        let columns: Result<Vec<_>> = all
            .filter(|(_, c)| c.name() != SideTable::TRIAL_COLUMN)
            .map(|(i, c)| match Kind::of(c) {
                Some(kind) => Ok((i, c.name(), kind)),
                None => {
                    let why = format!("column `{}` is of a type that no table has", c.name());
                    Err(self.damaged(&why))
                }
            })
            .collect();
        let found = columns?;
        match found.len() > limits::COLUMNS {
            true => {
                let (found, most) = (found.len(), limits::COLUMNS);
                let why = format!("{found} columns; a side table has at most {most}");
                Err(Error::invalid(&self.path, why))
            }
            false => Ok(found),
        }
    }

    /// Columns by name and kind, in this order.
    pub(super) fn columns(
        &self,
        group: u32,
        rows: u64,
        wanted: &[(&str, Kind)],
    ) -> Result<Vec<Column>> {
        let schema = self.described();
        let place = |name: &str| schema.columns().iter().position(|c| c.name() == name);
        let texts = wanted.iter().filter(|(_, kind)| *kind == Kind::Text);
        self.check_texts(group, rows, texts.filter_map(|(name, _)| place(name)))?;
        let column = |&(name, kind): &(&str, Kind)| {
            let found = place(name);
            match found.map(|i| (i, Kind::of(&schema.column(i)))) {
                Some((i, Some(found))) if found == kind => self.read(group, rows, i, kind),
                Some(_) => Err(self.damaged(&format!(
                    "column `{name}` is of another type than {}",
                    kind.name()
                ))),
                None => Err(self.damaged(&format!("it has no column `{name}` ({})", kind.name()))),
            }
        };
        let read: Result<Vec<Column>> = wanted.iter().map(column).collect();
        self.with_texts_within_limits(read?)
    }

    /// How many bytes the pages of a table are unpacked.
    pub(super) fn unpacked(&self, group: u32, rows: u64) -> Result<u64> {
        self.unpacked_of(group, rows, 0..self.described().num_columns())
    }

    fn unpacked_of(
        &self,
        group: u32,
        rows: u64,
        mut columns: impl Iterator<Item = usize>,
    ) -> Result<u64> {
        if rows == 0 {
            return Ok(0);
        }
        let all = self.group(group, rows);
        let all = all.map_err(|e| self.unreadable(&e))?.columns();
        columns.try_fold(0, |sum: u64, index| {
            let Some(chunk) = all.get(index) else {
                return Ok(sum);
            };
            let unpacked = pages::check_headers(&self.file, chunk, rows);
            let unpacked =
                unpacked.map_err(|e| self.unreadable_column(chunk.column_descr().name(), &e))?;
            Ok(sum.saturating_add(unpacked))
        })
    }

    /// Refuses pages of texts that are longer than all that a table holds of them: they are in memory together.
    fn check_texts(
        &self,
        group: u32,
        rows: u64,
        columns: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let unpacked = self.unpacked_of(group, rows, columns)?;
        limits::OF_UNPACKED_TEXTS
            .check(unpacked, self.bytes)
            .map_err(|why| self.refused(&why.to_string()))
    }

    fn read(&self, group: u32, rows: u64, index: usize, kind: Kind) -> Result<Column> {
        let name = self.described().column(index).name().to_owned();
        let of_group = self.reader.metadata().row_groups().get(group as usize);
        let packed = of_group.and_then(|g| g.columns().get(index));
        let packed = packed.map(|chunk| chunk.compression());
        if let Some(packed) = packed
            && !matches!(packed, Compression::UNCOMPRESSED | Compression::SNAPPY)
        {
            let why = format!("column `{name}` is packed by {packed}; Snappy or none is read");
            return Err(Error::invalid(&self.path, why));
        }
        caught(&self.path, || {
            self.read_group(group, rows, index, &name, kind)
        })?
        .map_err(|e| self.unreadable_column(&name, &e))
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
        let chunk = self.group(group, rows)?.columns().get(index);
        let chunk = chunk.ok_or_else(|| general("the row group does not have it".to_owned()))?;
        pages::check_headers(&self.file, chunk, rows)?;
        let group = group as usize;
        let rows = rows as usize;
        let described = self.described().column(index);
        let optional = described.max_def_level() > 0;
        let mut levels: Option<Vec<i16>> = optional.then(Vec::new);
        macro_rules! read {
            ($type:ty) => {{
                // What a footer says is no reason to reserve it all at once.
                let mut values = Vec::with_capacity(rows.min(limits::RESERVED_ROWS));
                let row_group = self.reader.get_row_group(group)?;
                let checked = Checked::new(row_group.get_column_page_reader(index)?, optional);
                let reader = get_column_reader(described, Box::new(checked));
                let mut reader = get_typed_column_reader::<$type>(reader);
                let mut left = rows;
                while left > 0 {
                    let (read, ..) = reader.read_records(
                        left.min(limits::RESERVED_ROWS),
                        levels.as_mut(),
                        None,
                        &mut values,
                    )?;
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

/// How many bytes the columns of all row groups take, as the footer announces it.
fn bytes_of_pages(metadata: &ParquetMetaData) -> u64 {
    let groups = metadata.row_groups().iter();
    let columns = groups.flat_map(|group| group.columns());
    let bytes = columns.map(|c| u64::try_from(c.compressed_size()).unwrap_or(0));
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
thread_local! {
    /// How many footers this thread has gone through.
    pub(super) static OPENED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Opens a file of a run that has to be there.
pub(super) fn open_regular(directory: &Directory, name: &str) -> Result<File> {
    let path = directory.path().join(name);
    let file = directory.read(name).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::invalid(&path, "is not there; the run is damaged"),
        _ => Error::io(&path, "opening")(e),
    })?;
    match holes::are_mostly_holes(&file).map_err(Error::io(&path, "reading"))? {
        true => Err(Error::invalid(&path, "is mostly holes; the run is damaged")),
        false => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(std::io::ErrorKind::StorageFull.into()),
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_is_full_while_a_table_is_copied_damages_nothing() {
        // More than is buffered: nothing in them repeats.
        let values = (0..10_000_i64).map(|i| i.wrapping_mul(i).wrapping_mul(0x1e37_79b9_7f4a_7c15));
        let columns = [Column::whole("a", Data::Int64(values.collect()))];
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from.parquet");
        let schema = || Schema::of(&columns);
        let mut file = FileWriter::new(Vec::new(), "t", schema(), Vec::new()).unwrap();
        file.table(&[], &columns).unwrap();
        std::fs::write(&from, file.finish().unwrap()).unwrap();
        let here = Directory::open(place.path()).unwrap();
        let from = ParquetFile::open(&here, "from.parquet").unwrap();
        let to = place.path().join("to.parquet");
        let copy = |room| {
            let mut writer = FileWriter::new(Disk(room), "t", schema(), Vec::new()).unwrap();
            assert!(writer.takes(&[], &from));
            writer.copy(&to, &[], &from, 0, 10_000).map(drop)
        };
        copy(1 << 20).unwrap();
        let error = copy(100).unwrap_err().to_string();
        assert!(
            error.contains("to.parquet") && !error.contains("damaged"),
            "{error}"
        );
        assert!(!error.contains("External"), "{error}");
    }

    #[test]
    fn zeros_between_pages_and_footer_account_for_no_values() {
        let zeros = |name: &str| Column::whole(name, Data::Int64(vec![0; 1 << 21]));
        let columns = ["a", "b", "c"].map(zeros);
        let mut file = FileWriter::new(Vec::new(), "t", Schema::of(&columns), Vec::new()).unwrap();
        file.table(&[], &columns).unwrap();
        let content = file.finish().unwrap();
        let (rest, _magic) = content.split_last_chunk::<4>().unwrap();
        let (rest, length) = rest.split_last_chunk().unwrap();
        let (pages, _) = rest.split_at(rest.len() - u32::from_le_bytes(*length) as usize);
        let footer = &content[pages.len()..];
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.parquet");
        std::fs::write(&path, [pages, &[0; 1 << 20], footer].concat()).unwrap();
        let here = Directory::open(place.path()).unwrap();
        let file = ParquetFile::open(&here, "t.parquet").unwrap();
        assert!(file.bytes() <= pages.len() as u64);
        let error = file.table(0, 1 << 21).unwrap_err().to_string();
        assert!(error.contains("6291456 values in"), "{error}");
    }

    #[test]
    fn a_page_that_announces_more_than_it_could_hold_is_refused() {
        // The same value again and again takes hardly a byte.
        let columns = [Column::whole("a", Data::Int64(vec![7; 10_000]))];
        let place = tempfile::tempdir().unwrap();
        let mut file = FileWriter::new(Vec::new(), "t", Schema::of(&columns), Vec::new()).unwrap();
        file.table(&[], &columns).unwrap();
        let good = file.finish().unwrap();
        let read = |content: &[u8]| {
            std::fs::write(place.path().join("t.parquet"), content).unwrap();
            let here = Directory::open(place.path()).unwrap();
            let file = ParquetFile::open(&here, "t.parquet").unwrap();
            file.columns(0, 10_000, &[("a", Kind::Int64)]).map(drop)
        };
        read(&good).unwrap();
        // Behind the magic: the kind of page, then its length unpacked, a number of two bytes.
        assert_eq!(good[4..7], [0x15, 0x00, 0x15]);
        assert!(good[7] >= 0x80 && good[8] < 0x80, "{:?}", &good[..12]);
        let mut hostile = good.clone();
        hostile[7..9].copy_from_slice(&[0xfe, 0x7f]);
        let error = read(&hostile).unwrap_err().to_string();
        assert!(error.contains("says that it holds 8191"), "{error}");
    }
}
