//! Columns in which every row of a table has one value, such as a trial's factors: two pages
//! of some bytes each, however many rows there are.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::column::Kind;

/// A column of one value.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) value: Value,
}

/// What stands in every row.
#[derive(Clone, Debug)]
pub(super) enum Value {
    UInt32(u32),
    Text(String),
    /// Nothing, in a column of texts.
    Missing,
}

impl Constant {
    pub(super) fn number(name: &str, value: u32) -> Self {
        Self {
            name: name.to_owned(),
            value: Value::UInt32(value),
        }
    }

    pub(super) fn text(name: &str, text: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            value: text.map_or(Value::Missing, |text| Value::Text(text.to_owned())),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.value {
            Value::UInt32(_) => Kind::UInt32,
            Value::Text(_) | Value::Missing => Kind::Text,
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.value, Value::Missing)
    }

    /// The column chunk of `rows` rows, at least one: its bytes, and what its metadata says
    /// of them.
    pub(super) fn chunk(
        &self,
        column: &ColumnDescPtr,
        rows: u32,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let (mut dictionary, mut encodings) = (None, vec![Encoding::RLE]);
        if let Some(value) = self.plain() {
            let page = Page::DictionaryPage {
                buf: value.into(),
                num_values: 1,
                encoding: Encoding::PLAIN_DICTIONARY,
                is_sorted: false,
            };
            let size = page.buffer().len();
            pages.write_page(CompressedPage::new(page, size))?;
            dictionary = Some(0);
            encodings.push(Encoding::PLAIN_DICTIONARY);
        }
        let encoding = match dictionary {
            Some(_) => Encoding::RLE_DICTIONARY,
            None => Encoding::PLAIN,
        };
        encodings.push(encoding);
        let page = Page::DataPage {
            buf: self.data_page(column.max_def_level() > 0, rows).into(),
            num_values: rows,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let size = page.buffer().len();
        let data = pages.write_page(CompressedPage::new(page, size))?;
        pages.close()?;
        let bytes = Bytes::from(sink.into_inner()?);
        let mut metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(encodings)
            .set_num_values(rows.into())
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_data_page_offset(data.offset.cast_signed())
            .set_dictionary_page_offset(dictionary);
        if let Value::UInt32(value) = self.value {
            // By these a reader finds a trial without reading the others.
            let value = Some(value.cast_signed());
            let statistics = Statistics::new(value, value, None, Some(0), false);
            metadata = metadata.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows.into(),
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, closed))
    }

    /// The value as a dictionary has it.
    fn plain(&self) -> Option<Vec<u8>> {
        match &self.value {
            Value::UInt32(value) => Some(value.to_le_bytes().into()),
            Value::Text(text) => {
                let length = (text.len() as u32).to_le_bytes();
                Some([&length[..], text.as_bytes()].concat())
            }
            Value::Missing => None,
        }
    }

    /// Definition levels, if the column has such, and the places in the dictionary: each is
    /// one run of all rows.
    fn data_page(&self, has_levels: bool, rows: u32) -> Vec<u8> {
        let mut page = Vec::new();
        let is_there = u8::from(!self.is_missing());
        if has_levels {
            let levels = run(is_there, rows);
            page.extend((levels.len() as u32).to_le_bytes());
            page.extend(levels);
        }
        if is_there == 1 {
            const BITS: u8 = 1;
            page.push(BITS);
            page.extend(run(0, rows));
        }
        page
    }
}

/// `value` so many times, in the hybrid of run lengths and packed bits.
fn run(value: u8, times: u32) -> Vec<u8> {
    let mut left = u64::from(times) << 1;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.extend([left as u8, value]);
    bytes
}
