//! A reader of Java object streams, as far as Nitrite writes them: maps, lists, texts and numbers of one
//! document, as a tree that borrows from the stream.

mod class;
mod stream;

use std::borrow::Cow;

use super::bytes::Malformed;
use super::modified_utf8;
use stream::{StreamReader, Work};

/// A node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Id(u32);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Node<'a> {
    /// Null, and whatever is of no use here.
    Nothing,
    Text(&'a [u8]),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// The upper and the lower half.
    Uuid(u64, u64),
    /// Entries of a map, or an object's fields, among the pairs.
    Map(Range),
    /// Among the items.
    List(Range),
}

/// Places in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Range {
    from: u32,
    until: u32,
}

impl Range {
    fn new(from: usize, until: usize) -> Self {
        Self {
            from: from as u32,
            until: until as u32,
        }
    }

    fn places(self) -> std::ops::Range<usize> {
        self.from as usize..self.until as usize
    }
}

#[derive(Debug, Default)]
struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    /// The entries of all maps.
    pairs: Vec<(Id, Id)>,
    /// The items of all lists.
    items: Vec<Id>,
}

/// One object stream.
#[derive(Debug, Default)]
pub struct Document<'a> {
    tree: Tree<'a>,
    root: Id,
    work: Work,
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
        let mut document = Self::default();
        document.replace(stream)?;
        Ok(document)
    }

    /// Becomes the first object of another stream, in the same memory, and tells how many bytes it took.
    ///
    /// # Errors
    /// As [`Document::read`]; then the document is empty.
    pub(super) fn replace(&mut self, stream: &'a [u8]) -> Result<usize, Malformed> {
        self.root = Id::default();
        let read = StreamReader::read(stream, &mut self.tree, &mut self.work);
        let (root, length) = read.inspect_err(|_| self.tree.clear())?;
        self.root = root;
        Ok(length)
    }

    /// The same memory, empty, for streams that live elsewhere.
    pub(super) fn emptied<'b>(mut self) -> Document<'b> {
        self.tree.clear();
        let Tree {
            nodes,
            pairs,
            items,
        } = self.tree;
        // Of no nodes a list is made in place.
        let nodes = nodes.into_iter().map(|_| Node::Nothing).collect();
        let tree = Tree {
            nodes,
            pairs,
            items,
        };
        Document {
            tree,
            root: Id::default(),
            work: self.work,
        }
    }

    pub fn root(&'a self) -> Value<'a> {
        Value {
            document: self,
            id: self.root,
        }
    }

    fn node(&self, id: Id) -> Node<'a> {
        let node = self.tree.nodes.get(id.0 as usize);
        node.copied().unwrap_or(Node::Nothing)
    }
}

impl Tree<'_> {
    fn clear(&mut self) {
        self.nodes.clear();
        self.pairs.clear();
        self.items.clear();
    }
}

impl<'d> Value<'d> {
    fn node(self) -> Node<'d> {
        self.document.node(self.id)
    }

    fn pairs(self) -> &'d [(Id, Id)] {
        match self.node() {
            Node::Map(range) => self.document.tree.pairs.get(range.places()),
            _ => None,
        }
        .unwrap_or_default()
    }

    fn at(self, id: Id) -> Self {
        Self { id, ..self }
    }

    /// The value of a map's key, or of an object's field.
    pub fn get(self, key: &str) -> Option<Self> {
        let is_key = |id: Id| self.document.node(id) == Node::Text(key.as_bytes());
        let (_, value) = self.pairs().iter().find(|&&(name, _)| is_key(name))?;
        Some(self.at(*value))
    }

    /// A map's entries with the keys that are texts.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, Self)> {
        let entry = move |&(key, value): &(Id, Id)| Some((self.at(key).text()?, self.at(value)));
        self.pairs().iter().filter_map(entry)
    }

    /// A list's items.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let items = match self.node() {
            Node::List(range) => self.document.tree.items.get(range.places()),
            _ => None,
        };
        let items = items.unwrap_or_default();
        items.iter().map(move |&id| self.at(id))
    }

    pub fn is_map(self) -> bool {
        matches!(self.node(), Node::Map(_))
    }

    pub fn text(self) -> Option<Cow<'d, str>> {
        match self.node() {
            Node::Text(bytes) => Some(modified_utf8::decode(bytes)),
            Node::Uuid(upper, lower) => Some(Cow::Owned(dashed(upper, lower))),
            _ => None,
        }
    }

    /// A whole number; a date is its milliseconds since 1970.
    pub fn integer(self) -> Option<i64> {
        match self.node() {
            Node::Integer(n) => Some(n),
            Node::Float(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(n as i64),
            _ => None,
        }
    }

    pub fn bool(self) -> Option<bool> {
        match self.node() {
            Node::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Neither null nor something unknown.
    pub fn is_some(self) -> bool {
        self.node() != Node::Nothing
    }
}

fn dashed(upper: u64, lower: u64) -> String {
    let hex = format!("{upper:016x}{lower:016x}");
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
