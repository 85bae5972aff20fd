//! Pages of a Parquet file that may come from a stranger: looked at before the library takes
//! memory for what they announce. It reserves what a header says, up to 16 GiB for a page.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

/// How much longer a page may get by unpacking: Snappy makes 64 bytes of three at most.
const UNPACKED: i64 = 22;
/// Bytes that are there beside that, such as lengths.
const BESIDE: i64 = 64;
/// How deep a header's structures may lie within one another.
const DEPTH: usize = 8;
/// Bytes of a header that are read at a time.
const PIECE: usize = 4096;

fn general(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

/// Goes through the headers of a column chunk's pages.
///
/// # Errors
/// A page that lies outside of the chunk, says that it holds more than unpacking could give, or
/// has more values than its table has rows.
pub(super) fn check_headers(file: &File, chunk: &ColumnChunkMetaData, rows: u64) -> Result<()> {
    let (start, length) = chunk.byte_range();
    let end = start.checked_add(length);
    let end = end.ok_or_else(|| general("a column lies beyond all files"))?;
    let mut input = Input::new(file, start, end);
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
    Ok(())
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

/// Types of the compact protocol of Thrift.
mod thrift {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const STRUCT: u8 = 12;
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
                (field::DATA | field::DICTIONARY | field::DATA_2, thrift::STRUCT) => {
                    header.read_values(input)?;
                }
                _ => input.pass(of, 0)?,
            }
        }
        Ok(header)
    }

    fn read_values(&mut self, input: &mut Input<'_>) -> Result<()> {
        let mut last = 0;
        while let Some((id, of)) = input.field(&mut last)? {
            match (id, of) {
                (field::VALUES, thrift::I32) => {
                    let values = input.signed()?;
                    self.values = Some(self.values.map_or(values, |seen| seen.max(values)));
                }
                _ => input.pass(of, 1)?,
            }
        }
        Ok(())
    }
}

/// Bytes of a column chunk.
struct Input<'a> {
    file: &'a File,
    at: u64,
    end: u64,
    piece: Vec<u8>,
    /// Where the piece begins.
    from: u64,
}

impl<'a> Input<'a> {
    fn new(file: &'a File, at: u64, end: u64) -> Self {
        Self {
            file,
            at,
            end,
            piece: Vec::new(),
            from: at,
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let eof = || general("the header of a page ends early");
        if self.at >= self.end {
            return Err(eof());
        }
        let within = |from: u64, at: u64| usize::try_from(at.checked_sub(from)?).ok();
        let found = within(self.from, self.at).and_then(|i| self.piece.get(i).copied());
        let byte = match found {
            Some(byte) => byte,
            None => {
                self.piece.resize(PIECE, 0);
                let read = self.file.read_at(&mut self.piece, self.at)?;
                self.piece.truncate(read);
                self.from = self.at;
                self.piece.first().copied().ok_or_else(eof)?
            }
        };
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let at = self.at.checked_add(bytes).filter(|at| *at <= self.end);
        self.at = at.ok_or_else(|| general("a page ends beyond its column"))?;
        Ok(())
    }

    fn unsigned(&mut self) -> Result<u64> {
        varint(|| self.byte())?
            .ok_or_else(|| general("a number in the header of a page does not end"))
    }

    fn signed(&mut self) -> Result<i64> {
        let zigzag = self.unsigned()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// The next field of a structure: its number and type.
    fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>> {
        let head = self.byte()?;
        let of = head & 0x0f;
        if of == thrift::STOP {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => self.signed()?,
            more => last.saturating_add(more.into()),
        };
        Ok(Some((*last, of)))
    }

    /// Passes over a field's value.
    fn pass(&mut self, of: u8, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(general("the header of a page is too deep"));
        }
        match of {
            thrift::TRUE | thrift::FALSE => Ok(()),
            thrift::BYTE => self.skip(1),
            thrift::I16 | thrift::I32 | thrift::I64 => self.unsigned().map(drop),
            thrift::DOUBLE => self.skip(8),
            thrift::BINARY => {
                let bytes = self.unsigned()?;
                self.skip(bytes)
            }
            thrift::LIST | thrift::SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    few => few.into(),
                };
                (0..count).try_for_each(|_| match head & 0x0f {
                    // As elements of a list they take a byte.
                    thrift::TRUE | thrift::FALSE => self.skip(1),
                    of => self.pass(of, depth + 1),
                })
            }
            thrift::STRUCT => {
                let mut last = 0;
                while let Some((_, of)) = self.field(&mut last)? {
                    self.pass(of, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(general(format!(
                "the header of a page has a field of type {of}"
            ))),
        }
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

/// A number of seven bits a byte, the lowest first (ULEB128); none where it does not end.
fn varint<E>(
    mut byte: impl FnMut() -> std::result::Result<u8, E>,
) -> std::result::Result<Option<u64>, E> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = byte()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some(value));
        }
    }
    Ok(None)
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
    fn numbers_end_within_ten_bytes() {
        let read = |bytes: &[u8]| {
            let mut bytes = bytes.iter();
            varint(|| bytes.next().copied().ok_or(()))
        };
        assert_eq!(read(&[0xac, 0x02]), Ok(Some(300)));
        assert_eq!(read(&[0x80]), Err(()));
        assert_eq!(read(&[0x80; 20]), Ok(None));
        // A block of 128 values, four of them a group, and three lengths.
        assert_eq!(announced_lengths(&[0x80, 0x01, 4, 3]), Some(3));
        assert_eq!(announced_lengths(&[0x80, 0x01]), None);
    }
}
