//! A serialised value whose objects keep the order of their fields, which
//! `serde_json::Value` does not.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// What is distinguished when a description is laid out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Tree {
    /// Absent.
    Null,
    /// Yes or no.
    Bool(bool),
    /// Any number.
    Number(Number),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Tree>),
    /// Named values in the order of their fields.
    Fields(#[serde(deserialize_with = "in_order")] Vec<(String, Tree)>),
}

impl Tree {
    /// The serialised form of any value.
    pub(super) fn of(value: &impl Serialize) -> Self {
        serde_json::to_string(value)
            .and_then(|text| serde_json::from_str(&text))
            .unwrap_or(Self::Null)
    }
}

fn in_order<'de, D: Deserializer<'de>>(object: D) -> Result<Vec<(String, Tree)>, D::Error> {
    struct InOrder;

    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, Tree)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            std::iter::from_fn(|| all.next_entry().transpose()).collect()
        }
    }

    object.deserialize_map(InOrder)
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
            Tree::Number(Number::from_f64(0.5).unwrap()),
        ];
        let want = vec![
            ("b".to_owned(), Tree::Number(1.into())),
            ("a".to_owned(), Tree::List(list)),
        ];
        assert_eq!(tree, Tree::Fields(want));
    }
}
