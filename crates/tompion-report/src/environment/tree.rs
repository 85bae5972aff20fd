//! A serialised value whose objects keep the order of their fields, which
//! `serde_json::Value` does not.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// What is distinguished when a description is laid out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    /// Absent.
    Null,
    /// Yes or no.
    Bool(bool),
    /// Any number, with whether it was written as an integer.
    Number(f64, bool),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Tree>),
    /// Named values in the order of their fields.
    Fields(Vec<(String, Tree)>),
}

impl Tree {
    /// The serialised form of any value.
    pub(super) fn of(value: &impl serde::Serialize) -> Self {
        serde_json::to_string(value)
            .and_then(|text| serde_json::from_str(&text))
            .unwrap_or(Self::Null)
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(b))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Tree, E> {
        Ok(Tree::Number(n as f64, true))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Tree, E> {
        Ok(Tree::Number(n as f64, true))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Tree, E> {
        Ok(Tree::Number(n, false))
    }

    fn visit_str<E>(self, s: &str) -> Result<Tree, E> {
        Ok(Tree::Text(s.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            fields.push(entry);
        }
        Ok(Tree::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let tree: Tree = serde_json::from_str(r#"{"b": 1, "a": [null, "x", true, 0.5]}"#).unwrap();
        let list = vec![
            Tree::Null,
            Tree::Text("x".into()),
            Tree::Bool(true),
            Tree::Number(0.5, false),
        ];
        let want = vec![
            ("b".to_owned(), Tree::Number(1.0, true)),
            ("a".to_owned(), Tree::List(list)),
        ];
        assert_eq!(tree, Tree::Fields(want));
    }
}
