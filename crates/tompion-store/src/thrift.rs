//! Structures of a Parquet file as Thrift's compact protocol has them, read before the library
//! believes what they announce.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::errors::{ParquetError, Result};

/// Types of fields.
pub(super) const STOP: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const BYTE: u8 = 3;
pub(super) const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const SET: u8 = 10;
pub(super) const STRUCT: u8 = 12;

/// How deep structures may lie within one another.
const DEPTH: usize = 8;
/// Bytes that are read at a time.
const PIECE: usize = 4096;

pub(super) fn general(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

/// Bytes of a file that hold such structures.
pub(super) struct Input<'a> {
    file: &'a File,
    /// What is read there, for errors.
    what: &'static str,
    pub(super) at: u64,
    end: u64,
    piece: Vec<u8>,
    /// Where the piece begins.
    from: u64,
}

impl<'a> Input<'a> {
    pub(super) fn new(file: &'a File, what: &'static str, at: u64, end: u64) -> Self {
        Self {
            file,
            what,
            at,
            end,
            piece: Vec::new(),
            from: at,
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let what = self.what;
        let eof = || general(format!("{what} ends early"));
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

    pub(super) fn skip(&mut self, bytes: u64) -> Result<()> {
        let at = self.at.checked_add(bytes).filter(|at| *at <= self.end);
        self.at = at.ok_or_else(|| general(format!("{} ends beyond its place", self.what)))?;
        Ok(())
    }

    pub(super) fn unsigned(&mut self) -> Result<u64> {
        varint(|| self.byte())?
            .ok_or_else(|| general(format!("a number in {} does not end", self.what)))
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        let zigzag = self.unsigned()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// The next field of a structure: its number and type.
    pub(super) fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>> {
        let head = self.byte()?;
        let of = head & 0x0f;
        if of == STOP {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => self.signed()?,
            more => last.saturating_add(more.into()),
        };
        Ok(Some((*last, of)))
    }

    /// Passes over a field's value.
    pub(super) fn pass(&mut self, of: u8, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(general(format!("{} is too deep", self.what)));
        }
        match of {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16 | I32 | I64 => self.unsigned().map(drop),
            DOUBLE => self.skip(8),
            BINARY => {
                let bytes = self.unsigned()?;
                self.skip(bytes)
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    few => few.into(),
                };
                (0..count).try_for_each(|_| match head & 0x0f {
                    // As elements of a list they take a byte.
                    TRUE | FALSE => self.skip(1),
                    of => self.pass(of, depth + 1),
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, of)) = self.field(&mut last)? {
                    self.pass(of, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(general(format!("{} has a field of type {of}", self.what))),
        }
    }
}

/// A number of seven bits a byte, the lowest first (ULEB128); none where it does not end.
pub(super) fn varint<E>(
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
    }
}
