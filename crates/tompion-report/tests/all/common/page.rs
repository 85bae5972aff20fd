//! Looking into a page: is it well formed, and what is drawn in it?

use roxmltree::{Document, Node};

/// The page as XML, which a page with wrong nesting or bad escaping is not.
pub fn as_xml(page: &str) -> String {
    let mut xml = String::new();
    let page = without_scripts(page);
    let body = page
        .strip_prefix("<!DOCTYPE html>")
        .expect("a document type comes first");
    for part in body.split_inclusive('>') {
        let void = part.starts_with("<meta ") || part.starts_with("<link ");
        match part {
            p if void => xml.push_str(&p.replace('>', "/>")),
            p if p.ends_with("<details open>") => xml.push_str(&p.replace(" open>", ">")),
            p => xml.push_str(p),
        }
    }
    xml
}

/// The page without its two scripts, the factors of the cells and what adds to the
/// page: both are no markup, and come last.
pub fn without_scripts(page: &str) -> String {
    let (before, scripts) = page
        .split_once(r#"<script type="application/json" id="cells">"#)
        .expect("the cells are named");
    let (cells, script) = scripts
        .split_once("</script><script>")
        .expect("a script follows");
    assert!(!cells.contains(['<', '>', '&']), "{cells}");
    let (script, end) = script.split_once("</script>").expect("it ends");
    assert!(script.starts_with("\"use strict\";"));
    assert_eq!(end, "</body></html>");
    format!("{before}{end}")
}

pub fn class<'a>(node: &Node<'a, '_>) -> &'a str {
    node.attribute("class").unwrap_or_default()
}

/// Paths of one role with their data, below `node`.
pub fn paths<'a>(node: &Node<'a, 'a>, role: &str) -> Vec<&'a str> {
    node.descendants()
        .filter(|n| n.has_tag_name("path") && class(n).split(' ').next() == Some(role))
        .map(|n| n.attribute("d").unwrap())
        .collect()
}

pub fn plots<'a>(document: &'a Document<'a>, kind: &str) -> Vec<Node<'a, 'a>> {
    document
        .descendants()
        .filter(|n| n.has_tag_name("svg") && class(n).split(' ').any(|c| c == kind))
        .collect()
}

pub fn check_page(page: &str) {
    let xml = as_xml(page);
    let document = Document::parse(&xml).unwrap_or_else(|e| panic!("{e}"));
    for node in document.descendants() {
        for attribute in node.attributes() {
            if ["href", "src", "srcset", "action", "data"].contains(&attribute.name()) {
                let value = attribute.value();
                assert!(value.starts_with('#') || value == "data:,", "{value}");
            }
        }
        if let Some(d) = node.attribute("d") {
            let allowed = |c: char| c.is_ascii_digit() || "MLHVh .-".contains(c);
            assert!(d.starts_with('M') && d.chars().all(allowed), "{d}");
        }
        if let Some(id) = node.attribute("href").and_then(|h| h.strip_prefix('#')) {
            let found = document
                .descendants()
                .any(|n| n.attribute("id") == Some(id));
            assert!(found, "no element has the id {id}");
        }
    }
    let page = without_scripts(page);
    for forbidden in [
        "<script",
        "@import",
        "url(",
        "http-equiv",
        "<iframe",
        "<img",
        "could not be drawn",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
