//! Numbers of what is written by serde, looked at one by one. A tree of values, to look at them
//! there, would take a multiple of the memory that they take themselves.

use std::fmt::{self, Display};

use serde::ser::{self, Serialize, Serializer};

/// What numbers may be, without their sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// Whole ones.
    pub(super) whole: u64,
    /// Others.
    pub(super) fraction: f64,
    /// Whole ones that are points in time: nobody adds them up.
    pub(super) point: u64,
    /// A field of the outermost structure that is passed over.
    pub(super) passed_over: Option<&'static str>,
}

/// The end of the names of points in time.
const POINT: &str = "_unix_ns";

/// The first number that is larger, and where it is.
#[derive(Debug)]
pub(super) struct TooLarge {
    /// Put together from within, since there are some hundred numbers in a trial and hardly ever one
    /// that is too large.
    place: String,
    number: String,
    most: String,
}

impl TooLarge {
    fn within(self, what: impl Display) -> Self {
        Self {
            place: format!("{what}{}", self.place),
            ..self
        }
    }

    fn of_key(self, key: &str) -> Self {
        self.within(format_args!(".{}", key.escape_debug()))
    }
}

impl Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            number,
            most,
        } = self;
        write!(f, "{place} is {number}, at most {most}")
    }
}

impl std::error::Error for TooLarge {}

impl ser::Error for TooLarge {
    fn custom<T: Display>(what: T) -> Self {
        Self {
            place: String::new(),
            number: what.to_string(),
            most: "a number".to_owned(),
        }
    }
}

type Looked = Result<(), TooLarge>;

impl Most {
    fn whole(self, is_within: bool, number: impl Display) -> Looked {
        match is_within {
            true => Ok(()),
            false => Err(TooLarge {
                place: String::new(),
                number: number.to_string(),
                most: self.whole.to_string(),
            }),
        }
    }

    fn of_key(self, key: &str) -> Self {
        let whole = match key.ends_with(POINT) {
            true => self.point,
            false => self.whole,
        };
        Self {
            whole,
            passed_over: None,
            ..self
        }
    }

    fn field<T: Serialize + ?Sized>(self, key: &str, value: &T) -> Looked {
        value
            .serialize(self.of_key(key))
            .map_err(|found| found.of_key(key))
    }
}

/// Numbers of a list.
#[derive(Debug)]
pub(super) struct List {
    most: Most,
    next: usize,
}

/// Numbers of a map.
#[derive(Debug)]
pub(super) struct Map {
    most: Most,
    key: String,
}

impl Serializer for Most {
    type Ok = ();
    type Error = TooLarge;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Map;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_bool(self, _: bool) -> Looked {
        Ok(())
    }

    fn serialize_i8(self, number: i8) -> Looked {
        self.serialize_i64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Looked {
        self.serialize_i64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Looked {
        self.serialize_i64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Looked {
        self.whole(number.unsigned_abs() <= self.whole, number)
    }

    fn serialize_u8(self, number: u8) -> Looked {
        self.serialize_u64(number.into())
    }

    fn serialize_u16(self, number: u16) -> Looked {
        self.serialize_u64(number.into())
    }

    fn serialize_u32(self, number: u32) -> Looked {
        self.serialize_u64(number.into())
    }

    fn serialize_u64(self, number: u64) -> Looked {
        self.whole(number <= self.whole, number)
    }

    fn serialize_f32(self, number: f32) -> Looked {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Looked {
        match number.abs() > self.fraction {
            false => Ok(()),
            true => Err(TooLarge {
                place: String::new(),
                number: serde_json::Number::from_f64(number)
                    .map_or_else(|| number.to_string(), |n| n.to_string()),
                most: format!("{:e}", self.fraction),
            }),
        }
    }

    fn serialize_char(self, _: char) -> Looked {
        Ok(())
    }

    fn serialize_str(self, _: &str) -> Looked {
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Looked {
        Ok(())
    }

    fn serialize_none(self) -> Looked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Looked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Looked {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Looked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Looked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Looked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Looked {
        self.field(variant, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, TooLarge> {
        Ok(List {
            most: self,
            next: 0,
        })
    }

    fn serialize_tuple(self, _: usize) -> Result<List, TooLarge> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, TooLarge> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<List, TooLarge> {
        self.serialize_seq(None)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Map, TooLarge> {
        Ok(Map {
            most: self,
            key: String::new(),
        })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, TooLarge> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, TooLarge> {
        Ok(self)
    }
}

impl List {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Looked {
        let at = self.next;
        self.next += 1;
        value
            .serialize(self.most)
            .map_err(|found| found.within(format_args!("[{at}]")))
    }
}

/// One after another, however serde calls them.
macro_rules! list {
    ($kind:ident, $method:ident) => {
        impl ser::$kind for List {
            type Ok = ();
            type Error = TooLarge;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Looked {
                self.element(value)
            }

            fn end(self) -> Looked {
                Ok(())
            }
        }
    };
}

list!(SerializeSeq, serialize_element);
list!(SerializeTuple, serialize_element);
list!(SerializeTupleStruct, serialize_field);
list!(SerializeTupleVariant, serialize_field);

impl ser::SerializeMap for Map {
    type Ok = ();
    type Error = TooLarge;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Looked {
        // Keys of JSON are texts, or written as such.
        self.key = match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => key,
            other => other.unwrap_or_default().to_string(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Looked {
        self.most.field(&self.key, value)
    }

    fn end(self) -> Looked {
        Ok(())
    }
}

impl ser::SerializeStruct for Most {
    type Ok = ();
    type Error = TooLarge;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Looked {
        match self.passed_over == Some(key) {
            true => Ok(()),
            false => self.field(key, value),
        }
    }

    fn end(self) -> Looked {
        Ok(())
    }
}

impl ser::SerializeStructVariant for Most {
    type Ok = ();
    type Error = TooLarge;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Looked {
        self.field(key, value)
    }

    fn end(self) -> Looked {
        Ok(())
    }
}
