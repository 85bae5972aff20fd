//! The kernel's description of a trace event's bytes (pure).

/// One event: its number and where its fields lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub id: u64,
    fields: Vec<Field>,
    print: String,
}

/// Where a field lies within the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    name: String,
    offset: usize,
    size: usize,
    /// The field holds offset and length of its text, which lies elsewhere.
    relocated: bool,
}

impl Format {
    /// Reads the text of a `format` file; absent when it lacks what every such
    /// file has.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut id = None;
        let mut fields = Vec::new();
        let mut print = "";
        for line in text.lines() {
            if let Some(n) = line.strip_prefix("ID: ") {
                id = n.trim().parse().ok();
            } else if let Some(p) = line.strip_prefix("print fmt: ") {
                print = p;
            } else if let Some(field) = line.trim_start().strip_prefix("field:") {
                fields.extend(parse_field(field));
            }
        }
        Some(Self {
            id: id?,
            fields,
            print: print.to_owned(),
        })
    }

    /// The field of that name.
    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|f| f.name == name).cloned()
    }

    /// The pairs `{ number, "word" }` with which the kernel explains a field's
    /// values, in their order.
    pub(super) fn words(&self) -> Vec<(u64, String)> {
        let pairs = self.print.split('{').skip(1);
        pairs
            .filter_map(|p| parse_pair(p.split('}').next()?))
            .collect()
    }
}

impl Field {
    /// Its value as a number.
    pub(super) fn number(&self, raw: &[u8]) -> Option<i64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match *bytes {
            [a] => i64::from(a),
            [a, b] => i64::from(i16::from_ne_bytes([a, b])),
            [a, b, c, d] => i64::from(i32::from_ne_bytes([a, b, c, d])),
            _ => i64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// Its bytes up to the first zero.
    pub(super) fn text<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        let (offset, size) = if self.relocated {
            let at = self.number(raw)? as u32;
            ((at & 0xffff) as usize, (at >> 16) as usize)
        } else {
            (self.offset, self.size)
        };
        let bytes = raw.get(offset..offset.checked_add(size)?)?;
        bytes.split(|b| *b == 0).next()
    }
}

/// `char prev_comm[16]; offset:8; size:16; signed:0;`
fn parse_field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut of = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    let (offset, size) = (of("offset:")?, of("size:")?);
    let name = declaration.rsplit([' ', '*']).next()?;
    Some(Field {
        name: name.split('[').next()?.to_owned(),
        offset,
        size,
        relocated: declaration.starts_with("__data_loc"),
    })
}

/// ` 0x00000004, "T" `
fn parse_pair(text: &str) -> Option<(u64, String)> {
    let (number, word) = text.split_once(',')?;
    let number = number.trim();
    let value = match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some((value, word.trim().trim_matches('"').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n\
        print fmt: \"prev_comm=%s\", (REC->prev_state & 255) ? __print_flags(REC->prev_state & \
        255, \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 4, \"T\" }) : \"R\"";

    #[test]
    fn reads_fields_and_words() {
        let format = Format::parse(SWITCH).unwrap();
        assert_eq!(format.id, 372);
        let mut raw = [0u8; 40];
        raw[8..11].copy_from_slice(b"hog");
        raw[24..28].copy_from_slice(&1234i32.to_ne_bytes());
        raw[32..40].copy_from_slice(&(-2i64).to_ne_bytes());
        let field = |name| format.field(name).unwrap();
        assert_eq!(field("prev_comm").text(&raw), Some(&b"hog"[..]));
        assert_eq!(field("prev_pid").number(&raw), Some(1234));
        assert_eq!(field("prev_state").number(&raw), Some(-2));
        assert_eq!(field("prev_state").number(&raw[..39]), None, "cut short");
        assert_eq!(format.field("absent"), None);
        let words = format.words();
        assert_eq!(words.len(), 3);
        assert_eq!(words[2], (4, "T".to_owned()));
    }

    #[test]
    fn reads_text_that_lies_elsewhere() {
        let text = "ID: 1\n\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n";
        let field = Format::parse(text).unwrap().field("name").unwrap();
        let mut raw = [0u8; 24];
        raw[12..16].copy_from_slice(&(16u32 | 5 << 16).to_ne_bytes());
        raw[16..20].copy_from_slice(b"eth0");
        assert_eq!(field.text(&raw), Some(&b"eth0"[..]));
        raw[12..16].copy_from_slice(&(16u32 | 50 << 16).to_ne_bytes());
        assert_eq!(field.text(&raw), None, "points behind the record");
    }

    #[test]
    fn a_field_beyond_all_records_is_in_none() {
        let text = format!(
            "ID: 1\n\tfield:int pid;\toffset:{};\tsize:4;\tsigned:1;\n",
            usize::MAX
        );
        let field = Format::parse(&text).unwrap().field("pid").unwrap();
        assert_eq!((field.number(&[0; 8]), field.text(&[0; 8])), (None, None));
    }

    #[test]
    fn refuses_what_is_no_description() {
        assert_eq!(Format::parse(""), None);
        assert_eq!(Format::parse("ID: many\n"), None);
    }
}
