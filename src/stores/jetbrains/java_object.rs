//! A reader of Java object streams, as far as Nitrite writes them: maps, lists, texts and numbers of one
//! document, as a tree that borrows from the stream. No class is ever known but by its name.

mod stream;

use std::borrow::Cow;

use super::bytes::Malformed;
use super::modified_utf8;
use stream::StreamReader;

/// A node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id(u32);

#[derive(Debug, Clone, PartialEq)]
enum Node<'a> {
    /// Null, and whatever is of no use here.
    Nothing,
    Text(&'a [u8]),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Uuid(u128),
    /// Entries of a map, or an object's fields.
    Map(Vec<(Id, Id)>),
    List(Vec<Id>),
}

/// One object stream.
#[derive(Debug)]
pub struct Document<'a> {
    nodes: Vec<Node<'a>>,
    root: Id,
}

/// A place in a document.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    id: Id,
}

impl<'a> Document<'a> {
    /// Reads the first object of a stream.
    ///
    /// # Errors
    /// When the stream is cut or derails, for example in a class of an unknown form.
    pub fn read(stream: &'a [u8]) -> Result<Self, Malformed> {
        Self::read_prefix(stream).map(|(document, _)| document)
    }

    /// Reads the first object of a stream, and tells how many bytes it took.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub(super) fn read_prefix(stream: &'a [u8]) -> Result<(Self, usize), Malformed> {
        let (nodes, root, length) = StreamReader::read(stream)?;
        Ok((Self { nodes, root }, length))
    }

    pub fn root(&'a self) -> Value<'a> {
        Value {
            document: self,
            id: self.root,
        }
    }

    fn node(&self, id: Id) -> &Node<'a> {
        self.nodes.get(id.0 as usize).unwrap_or(&Node::Nothing)
    }
}

impl<'d> Value<'d> {
    fn node(self) -> &'d Node<'d> {
        self.document.node(self.id)
    }

    fn at(self, id: Id) -> Self {
        Self { id, ..self }
    }

    /// The value of a map's key, or of an object's field.
    pub fn get(self, key: &str) -> Option<Self> {
        let Node::Map(entries) = self.node() else {
            return None;
        };
        let is_key = |id: Id| *self.document.node(id) == Node::Text(key.as_bytes());
        let (_, value) = entries.iter().find(|&&(name, _)| is_key(name))?;
        Some(self.at(*value))
    }

    /// A map's entries with the keys that are texts.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, Self)> {
        let entries = match self.node() {
            Node::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries
            .iter()
            .filter_map(move |&(key, value)| Some((self.at(key).text()?, self.at(value))))
    }

    /// A list's items.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let items = match self.node() {
            Node::List(items) => items.as_slice(),
            _ => &[],
        };
        items.iter().map(move |&id| self.at(id))
    }

    pub fn is_map(self) -> bool {
        matches!(self.node(), Node::Map(_))
    }

    pub fn text(self) -> Option<Cow<'d, str>> {
        match self.node() {
            Node::Text(bytes) => Some(modified_utf8::decode(bytes)),
            Node::Uuid(uuid) => Some(Cow::Owned(dashed(*uuid))),
            _ => None,
        }
    }

    /// A whole number; a date is its milliseconds since 1970.
    pub fn integer(self) -> Option<i64> {
        match *self.node() {
            Node::Integer(n) => Some(n),
            Node::Float(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(n as i64),
            _ => None,
        }
    }

    pub fn bool(self) -> Option<bool> {
        match *self.node() {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Neither null nor something unknown.
    pub fn is_some(self) -> bool {
        *self.node() != Node::Nothing
    }
}

fn dashed(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    let part = |range| hex.get(range).unwrap_or_default();
    [
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32),
    ]
    .join("-")
}

#[cfg(test)]
mod tests;
