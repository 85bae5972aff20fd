//! Pages of a Parquet file that may come from a stranger: looked at before the library takes
//! memory for what they announce. It reserves what a header says, up to 16 GiB for a page.

use std::fs::File;

use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;

use super::shapes;
use super::thrift::{self, Fields, Input, general, varint};

/// How much longer a page may get by unpacking: Snappy makes 64 bytes of three at most.
const UNPACKED: i64 = 22;
/// Bytes that are there beside that, such as lengths.
const BESIDE: i64 = 64;
/// Bytes of a dictionary, of whose values a table may need one: those that writers make end at a few MiB.
const DICTIONARY: i64 = 1 << 26;

/// Goes through the headers of a column chunk's pages, and says how many bytes they are unpacked.
///
/// # Errors
/// A page that lies outside of the chunk, says that it holds more than unpacking could give, or
/// has more values than its table has rows; a dictionary that is larger than any.
pub(super) fn check_headers(file: &File, chunk: &ColumnChunkMetaData, rows: u64) -> Result<u64> {
    let (start, length) = chunk.byte_range();
    let end = start.checked_add(length);
    let end = end.ok_or_else(|| general("a column lies beyond all files"))?;
    let mut input = Input::new(file, "the header of a page", start, end);
    let mut unpacked = 0_u64;
    while input.at < end {
        let header = Header::read(&mut input)?;
        let is_packed = chunk.compression() != Compression::UNCOMPRESSED;
        let most = match is_packed {
            true => header.packed.saturating_mul(UNPACKED) + BESIDE,
            false => header.packed,
        };
        if header.packed < 0 || !(0..=most).contains(&header.unpacked) {
            return Err(general(format!(
                "a page of {} bytes says that it holds {}",
                header.packed, header.unpacked
            )));
        }
        if header.is_dictionary && header.unpacked > DICTIONARY {
            return Err(general(format!(
                "a dictionary of {} bytes, at most {DICTIONARY} are read",
                header.unpacked
            )));
        }
        unpacked = unpacked.saturating_add(header.unpacked.cast_unsigned());
        let values = header.values.unwrap_or(0);
        let most = match header.is_dictionary {
            true => header.unpacked / width(chunk.column_type()),
            false => i64::try_from(rows).unwrap_or(i64::MAX),
        };
        if !(0..=most).contains(&values) {
            return Err(general(format!(
                "a page says that it holds {values} values, at most {most} fit"
            )));
        }
        input.skip(header.packed.cast_unsigned())?;
    }
    Ok(unpacked)
}

/// The fewest bytes of a plain value.
fn width(of: Type) -> i64 {
    match of {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
    }
}

/// What a page's header says, as far as memory is taken for it.
#[derive(Default)]
struct Header {
    is_dictionary: bool,
    unpacked: i64,
    packed: i64,
    values: Option<i64>,
}

/// Fields of a page's header, by parquet.thrift.
mod field {
    pub const KIND: i64 = 1;
    pub const UNPACKED: i64 = 2;
    pub const PACKED: i64 = 3;
    pub const DATA: i64 = 5;
    pub const DICTIONARY: i64 = 7;
    pub const DATA_2: i64 = 8;
    /// Within the last three.
    pub const VALUES: i64 = 1;
}

/// The kind of page that holds a dictionary.
const DICTIONARY_PAGE: i64 = 2;

impl Header {
    fn read(input: &mut Input<'_>) -> Result<Self> {
        let mut header = Self::default();
        let mut last = 0;
        while let Some((id, of)) = input.field(&mut last)? {
            match (id, of) {
                (field::KIND, thrift::I32) => {
                    header.is_dictionary = input.signed()? == DICTIONARY_PAGE;
                }
                (field::UNPACKED, thrift::I32) => header.unpacked = input.signed()?,
                (field::PACKED, thrift::I32) => header.packed = input.signed()?,
                (field::DATA, thrift::STRUCT) => header.read_values(input, shapes::DATA)?,
                (field::DICTIONARY, thrift::STRUCT) => {
                    header.read_values(input, shapes::DICTIONARY)?;
                }
                (field::DATA_2, thrift::STRUCT) => header.read_values(input, shapes::DATA_2)?,
                other => input.known(shapes::PAGE, other, 0)?,
            }
        }
        Ok(header)
    }

    fn read_values(&mut self, input: &mut Input<'_>, fields: Fields) -> Result<()> {
        let mut last = 0;
        while let Some((id, of)) = input.field(&mut last)? {
            match (id, of) {
                (field::VALUES, thrift::I32) => {
                    let values = input.signed()?;
                    self.values = Some(self.values.map_or(values, |seen| seen.max(values)));
                }
                other => input.known(fields, other, 1)?,
            }
        }
        Ok(())
    }
}

/// Pages as they come unpacked, of which the decoders reserve what texts announce, too.
pub(super) struct Checked {
    pages: Box<dyn PageReader>,
    /// Whether values may be missing, so that levels come before them.
    has_levels: bool,
}

impl Checked {
    pub(super) fn new(pages: Box<dyn PageReader>, has_levels: bool) -> Self {
        Self { pages, has_levels }
    }

    fn check(&self, page: &Page) -> Result<()> {
        let encoding = match page {
            Page::DictionaryPage { .. } => return Ok(()),
            // Before such levels stands no length, so that the values begin elsewhere.
            Page::DataPage {
                def_level_encoding, ..
            } if self.has_levels && *def_level_encoding != Encoding::RLE => {
                return Err(general(format!(
                    "levels written as {def_level_encoding} are not read; write them as RLE"
                )));
            }
            Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } => *encoding,
        };
        match encoding {
            Encoding::DELTA_BYTE_ARRAY => Err(general(
                "DELTA_BYTE_ARRAY is not read; write texts plainly or by a dictionary",
            )),
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                let announced = self.values_at(page).and_then(announced_lengths);
                match announced {
                    Some(count) if count <= u64::from(page.num_values()) => Ok(()),
                    _ => Err(general("a page's texts are not as many as it says")),
                }
            }
            _ => Ok(()),
        }
    }

    /// The values of a data page, behind its levels.
    fn values_at<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        match page {
            Page::DataPage { buf, .. } if self.has_levels => {
                let (length, rest) = buf.split_first_chunk()?;
                rest.get(u32::from_le_bytes(*length) as usize..)
            }
            Page::DataPage { buf, .. } => Some(buf),
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                buf.get(usize::try_from(levels).ok()?..)
            }
            Page::DictionaryPage { .. } => None,
        }
    }
}

/// How many lengths a page announces: the third number.
fn announced_lengths(values: &[u8]) -> Option<u64> {
    let mut bytes = values.iter();
    let mut number = || varint(|| bytes.next().copied().ok_or(())).ok().flatten();
    number()?;
    number()?;
    number()
}

impl Iterator for Checked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Checked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_page_are_counted() {
        // A block of 128 values, four of them a group, and three lengths.
        assert_eq!(announced_lengths(&[0x80, 0x01, 4, 3]), Some(3));
        assert_eq!(announced_lengths(&[0x80, 0x01]), None);
    }
}
