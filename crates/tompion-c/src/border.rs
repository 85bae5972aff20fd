//! What every call needs: errors, structs, texts and objects across the border.

use std::alloc::{Layout, alloc};
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// An error number of the system, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub c_int);

pub(crate) const INVALID: Errno = Errno(libc::EINVAL);

/// Runs a call: its answer, or the negative error number.
pub(crate) fn answer(call: impl FnOnce() -> Result<c_int, Errno>) -> c_int {
    caught(call).unwrap_or_else(|Errno(number)| -number)
}

fn caught<T>(call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    // Whatever a panic leaves behind is the library's own, and none of it can be
    // left half changed: the clock's state is replaced as a whole.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Errno(libc::ENOTRECOVERABLE)))
}

/// A struct that crosses the border and may grow at its end.
///
/// # Safety
/// `repr(C)` without padding, of types for which every bit pattern is valid.
pub(crate) unsafe trait Grows: Copy {
    /// Its size in version 0.1, in bytes.
    const FIRST_SIZE: usize;
}

/// The largest size that a caller can mean, in bytes.
const MOST: usize = 4096;

/// A struct of the caller's that is to be filled.
pub(crate) struct Out<T> {
    to: *mut T,
    size: usize,
}

impl<T: Grows> Out<T> {
    /// The caller's struct, as large as the caller knows it.
    ///
    /// # Safety
    /// `to` is null or stays valid for writes of `size` bytes.
    pub unsafe fn new(to: *mut T, size: usize) -> Result<Self, Errno> {
        const { assert!(size_of::<T>() >= T::FIRST_SIZE) };
        if to.is_null() || size < T::FIRST_SIZE {
            return Err(INVALID);
        }
        if size > MOST {
            return Err(Errno(libc::E2BIG));
        }
        Ok(Self { to, size })
    }

    /// As [`Out::new`]; `None` for a caller who gave null and does not want it.
    ///
    /// # Safety
    /// As for [`Out::new`].
    pub unsafe fn wanted(to: *mut T, size: usize) -> Result<Option<Self>, Errno> {
        if to.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller keeps what it promises.
        unsafe { Self::new(to, size) }.map(Some)
    }

    /// Fills what both sides know and zeroes what only the caller does.
    pub fn fill(self, value: T) {
        let known = self.size.min(size_of::<T>());
        let to = self.to.cast::<u8>();
        // SAFETY: `to` is valid for writes of `size` bytes (`new`), `value` for
        // reads of its own size; both counts stay within. The caller's memory
        // is not part of our stack.
        unsafe {
            ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to, known);
            ptr::write_bytes(to.add(known), 0, self.size - known);
        }
    }
}

/// Writes one number.
///
/// # Safety
/// `to` is null or valid for writes.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Errno> {
    if to.is_null() {
        return Err(INVALID);
    }
    // SAFETY: not null, hence valid.
    unsafe { to.write(value) };
    Ok(())
}

/// A text in the manner of snprintf: what fits with a terminating zero, and the
/// length of the whole.
///
/// # Safety
/// `to` is null or valid for writes of `size` bytes.
pub(crate) unsafe fn put_text(to: *mut c_char, size: usize, text: &str) -> Result<c_int, Errno> {
    if to.is_null() && size > 0 {
        return Err(INVALID);
    }
    let whole = c_int::try_from(text.len()).map_err(|_| Errno(libc::EOVERFLOW))?;
    if size > 0 {
        let mut fits = text.len().min(size - 1);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        // SAFETY: `fits` + 1 bytes are at most `size`, for which `to` is valid.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), fits);
            to.add(fits).write(0);
        }
    }
    Ok(whole)
}

/// Gives an object to the caller: null with `errno` set where there is none.
pub(crate) fn hand_out<T>(make: impl FnOnce() -> Result<T, Errno>) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    let made = caught(make).and_then(|object| {
        // Not `Box::new`, which ends the program where memory is short.
        // SAFETY: the layout has a size.
        let place = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
        if place.is_null() {
            return Err(Errno(libc::ENOMEM));
        }
        // SAFETY: fresh memory of the right layout.
        unsafe { place.write(object) };
        Ok(place)
    });
    made.unwrap_or_else(|Errno(number)| {
        // SAFETY: `errno` of the calling thread is always there.
        unsafe { *libc::__errno_location() = number };
        ptr::null_mut()
    })
}

/// The object behind a caller's pointer.
///
/// # Safety
/// `object` is null or came from [`hand_out`], was not taken back, and nobody else
/// uses it meanwhile.
pub(crate) unsafe fn object<'a, T>(object: *mut T) -> Result<&'a mut T, Errno> {
    // SAFETY: as promised.
    unsafe { object.as_mut() }.ok_or(INVALID)
}

/// Frees an object; null is nothing to do.
///
/// # Safety
/// As for [`object()`]; it is gone afterwards.
pub(crate) unsafe fn take_back<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: allocated by `hand_out` with the layout that a box has.
        let object = unsafe { Box::from_raw(object) };
        let _ = answer(|| {
            drop(object);
            Ok(0)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Grown {
        old: u64,
        new: u64,
    }
    // SAFETY: two numbers, no padding.
    unsafe impl Grows for Grown {
        const FIRST_SIZE: usize = 8;
    }

    fn fill(size: usize) -> Result<[u8; 32], Errno> {
        let mut memory = [0xaa_u8; 32];
        // SAFETY: callers ask for at most the 32 bytes, or for a refusal.
        unsafe { Out::new(memory.as_mut_ptr().cast::<Grown>(), size)? }.fill(Grown {
            old: u64::MAX,
            new: u64::MAX,
        });
        Ok(memory)
    }

    #[test]
    fn structs_of_older_and_newer_callers_are_filled_to_their_own_size() {
        for (size, filled) in [(8, 8), (16, 16), (24, 16)] {
            let memory = fill(size).unwrap();
            assert!(memory[..filled].iter().all(|b| *b == 0xff), "{memory:?}");
            assert!(memory[filled..size].iter().all(|b| *b == 0), "{memory:?}");
            assert!(memory[size..].iter().all(|b| *b == 0xaa), "{memory:?}");
        }
        assert_eq!(fill(7), Err(INVALID));
        assert_eq!(fill(MOST + 1), Err(Errno(libc::E2BIG)));
    }

    #[test]
    fn null_is_an_error_or_unwanted() {
        // SAFETY: null is allowed.
        unsafe {
            assert!(Out::<Grown>::new(ptr::null_mut(), 16).is_err());
            assert!(matches!(Out::<Grown>::wanted(ptr::null_mut(), 0), Ok(None)));
            assert_eq!(put::<u64>(ptr::null_mut(), 1), Err(INVALID));
            assert_eq!(object::<u64>(ptr::null_mut()), Err(INVALID));
            assert_eq!(put_text(ptr::null_mut(), 1, "x"), Err(INVALID));
            take_back::<u64>(ptr::null_mut());
        }
    }

    #[test]
    fn texts_are_cut_between_characters_and_tell_their_length() {
        for (size, shown) in [(0, None), (1, Some("")), (3, Some("a")), (9, Some("aéb"))] {
            let mut memory = [0x7f_u8; 10];
            // SAFETY: the memory is longer than every size.
            let length = unsafe { put_text(memory.as_mut_ptr().cast(), size, "aéb") };
            assert_eq!(length, Ok(4));
            let end = shown.map_or(0, |text| {
                assert_eq!(&memory[..text.len()], text.as_bytes());
                assert_eq!(memory[text.len()], 0);
                text.len() + 1
            });
            assert!(memory[end..].iter().all(|b| *b == 0x7f), "{memory:?}");
        }
    }

    #[test]
    fn a_panic_becomes_an_error_number() {
        assert_eq!(answer(|| panic!("planted")), -libc::ENOTRECOVERABLE);
        assert!(hand_out::<u64>(|| panic!("planted")).is_null());
        let refused = hand_out::<u64>(|| Err(INVALID));
        assert!(refused.is_null());
        let errno = std::io::Error::last_os_error().raw_os_error();
        assert_eq!(errno, Some(libc::EINVAL));
    }

    #[test]
    fn objects_go_out_and_come_back() {
        let out = hand_out(|| Ok(7_u64));
        // SAFETY: just handed out, taken back once.
        unsafe {
            assert_eq!(object(out), Ok(&mut 7));
            take_back(out);
        }
    }
}
