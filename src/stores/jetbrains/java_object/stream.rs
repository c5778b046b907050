//! The stream itself: classes, objects, strings, arrays, and the handles by which they are named again.

use super::super::bytes::{Bytes, Malformed};
use super::class::{Class, Form};
use super::{Id, Node, Range, Tree};

/// The deepest nesting, also of class descriptors.
const DEEPEST: u8 = 64;
/// The most objects and texts of one stream, and the most entries of all its maps and lists.
const MOST_NODES: usize = 400_000;

/// Where handles begin to count.
const BASE_HANDLE: u32 = 0x7e_0000;

#[derive(Debug, Clone, Copy)]
enum Handle {
    Object(Id),
    Class(usize),
}

/// What is kept while a stream is read; a parent's share lies below those of its parts.
#[derive(Debug, Default)]
pub(super) struct Work {
    handles: Vec<Handle>,
    classes: Vec<Class>,
    /// Types and names of all classes' fields.
    fields: Vec<(u8, Id)>,
    /// The same of the classes that are being read.
    open_fields: Vec<(u8, Id)>,
    /// The classes whose data is still to be read, the topmost last.
    chain: Vec<usize>,
    /// The fields of the objects that are being read.
    open_pairs: Vec<(Id, Id)>,
    /// The items of the annotations and arrays that are being read.
    open_items: Vec<Id>,
}

impl Work {
    fn clear(&mut self) {
        self.handles.clear();
        self.classes.clear();
        self.fields.clear();
        self.open_fields.clear();
        self.chain.clear();
        self.open_pairs.clear();
        self.open_items.clear();
    }
}

/// Reads a stream from its beginning.
pub(super) struct StreamReader<'a, 'w> {
    bytes: Bytes<'a>,
    tree: &'w mut Tree<'a>,
    work: &'w mut Work,
}

/// An object while its classes are read.
struct Object<'a> {
    /// Of its own class.
    form: Form,
    is_map: bool,
    /// Where its fields begin.
    pairs: usize,
    /// Where what its classes wrote themselves begins.
    items: usize,
    /// The first raw data among that.
    block: &'a [u8],
}

impl<'a, 'w> StreamReader<'a, 'w> {
    const NOTHING: Id = Id(0);

    /// Reads the first object of a stream into `tree`: its root, and how many bytes it took.
    pub(super) fn read(
        stream: &'a [u8],
        tree: &'w mut Tree<'a>,
        work: &'w mut Work,
    ) -> Result<(Id, usize), Malformed> {
        tree.clear();
        // About as much as a turn takes.
        tree.nodes.reserve(128);
        tree.nodes.push(Node::Nothing);
        work.clear();
        work.handles.reserve(128);
        let mut reader = Self {
            bytes: Bytes::new(stream),
            tree,
            work,
        };
        if reader.bytes.u32()? != 0xaced_0005 {
            return Err(Malformed);
        }
        let root = reader.content(0)?.ok_or(Malformed)?;
        Ok((root, stream.len() - reader.bytes.left()))
    }

    fn add(&mut self, node: Node<'a>) -> Result<Id, Malformed> {
        let nodes = &mut self.tree.nodes;
        if nodes.len() >= MOST_NODES {
            return Err(Malformed);
        }
        nodes.push(node);
        Ok(Id(nodes.len() as u32 - 1))
    }

    fn set(&mut self, id: Id, node: Node<'a>) {
        if let Some(place) = self.tree.nodes.get_mut(id.0 as usize) {
            *place = node;
        }
    }

    fn hand(&mut self, handle: Handle) -> Result<usize, Malformed> {
        let handles = &mut self.work.handles;
        if handles.len() >= MOST_NODES {
            return Err(Malformed);
        }
        handles.push(handle);
        Ok(handles.len() - 1)
    }

    fn reference(&mut self) -> Result<Handle, Malformed> {
        let number = self.bytes.u32()?.checked_sub(BASE_HANDLE);
        let at = number.ok_or(Malformed)? as usize;
        self.work.handles.get(at).copied().ok_or(Malformed)
    }

    /// Reads one object; `None` at the end of an annotation.
    fn content(&mut self, depth: u8) -> Result<Option<Id>, Malformed> {
        if depth > DEEPEST {
            return Err(Malformed);
        }
        let id = match self.bytes.u8()? {
            0x70 => Self::NOTHING,
            0x71 => match self.reference()? {
                Handle::Object(id) => id,
                Handle::Class(_) => Self::NOTHING,
            },
            0x72 => {
                self.class_body(depth)?;
                Self::NOTHING
            }
            0x73 => self.object(depth)?,
            0x74 => {
                let length = self.bytes.u16()?;
                self.string(u64::from(length))?
            }
            0x7c => {
                let length = self.bytes.u64()?;
                self.string(length)?
            }
            0x75 => self.array(depth)?,
            0x76 => {
                self.class(depth)?;
                self.hand(Handle::Object(Self::NOTHING))?;
                Self::NOTHING
            }
            0x78 => return Ok(None),
            0x79 => {
                self.work.handles.clear();
                return self.content(depth + 1);
            }
            0x7e => self.constant(depth)?,
            // An exception, a proxy, or no stream at all.
            _ => return Err(Malformed),
        };
        Ok(Some(id))
    }

    fn object_content(&mut self, depth: u8) -> Result<Id, Malformed> {
        self.content(depth)?.ok_or(Malformed)
    }

    fn string(&mut self, length: u64) -> Result<Id, Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let text = self.bytes.take(length)?;
        let id = self.add(Node::Text(text))?;
        self.hand(Handle::Object(id))?;
        Ok(id)
    }

    fn utf(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.bytes.u16()?;
        self.bytes.take(usize::from(length))
    }

    /// A class descriptor, or a reference to one, or null.
    fn class(&mut self, depth: u8) -> Result<Option<usize>, Malformed> {
        if depth > DEEPEST {
            return Err(Malformed);
        }
        match self.bytes.u8()? {
            0x70 => Ok(None),
            0x71 => match self.reference()? {
                Handle::Class(at) => Ok(Some(at)),
                Handle::Object(_) => Err(Malformed),
            },
            0x72 => self.class_body(depth).map(Some),
            _ => Err(Malformed),
        }
    }

    fn class_body(&mut self, depth: u8) -> Result<usize, Malformed> {
        let mut class = Class::named(self.utf()?);
        self.bytes.u64()?;
        let at = self.work.classes.len();
        self.hand(Handle::Class(at))?;
        self.work.classes.push(class);
        class.flags = self.bytes.u8()?;
        let count = self.bytes.u16()?;
        let open = self.work.open_fields.len();
        for _ in 0..count {
            let kind = self.bytes.u8()?;
            let name = self.utf()?;
            if matches!(kind, b'L' | b'[') {
                self.object_content(depth + 1)?;
            }
            let name = self.add(Node::Text(name))?;
            self.work.open_fields.push((kind, name));
        }
        class.fields = self.close_fields(open);
        let items = self.work.open_items.len();
        self.annotation(depth)?;
        self.work.open_items.truncate(items);
        // A class whose parent is younger or itself can't be: the chain of parents ends.
        class.parent = self.class(depth + 1)?;
        *self.work.classes.get_mut(at).ok_or(Malformed)? = class;
        Ok(at)
    }

    fn close_fields(&mut self, open: usize) -> Range {
        let from = self.work.fields.len();
        let fields = self.work.open_fields.get(open..).unwrap_or_default();
        self.work.fields.extend_from_slice(fields);
        self.work.open_fields.truncate(open);
        Range::new(from, self.work.fields.len())
    }

    /// What a class wrote beside its fields: leaves its items open, and gives its first block of raw data.
    fn annotation(&mut self, depth: u8) -> Result<&'a [u8], Malformed> {
        let mut first: &'a [u8] = &[];
        loop {
            let length = match self.bytes.peek() {
                Some(0x77) => {
                    self.bytes.u8()?;
                    u32::from(self.bytes.u8()?)
                }
                Some(0x7a) => {
                    self.bytes.u8()?;
                    self.bytes.u32()?
                }
                _ => match self.content(depth + 1)? {
                    Some(id) => {
                        self.open(id)?;
                        continue;
                    }
                    None => return Ok(first),
                },
            };
            let block = self.bytes.take(length as usize)?;
            if first.is_empty() {
                first = block;
            }
        }
    }

    fn open(&mut self, item: Id) -> Result<(), Malformed> {
        if self.work.open_items.len() >= MOST_NODES {
            return Err(Malformed);
        }
        self.work.open_items.push(item);
        Ok(())
    }

    fn object(&mut self, depth: u8) -> Result<Id, Malformed> {
        let own = self.class(depth + 1)?.ok_or(Malformed)?;
        let form = self.work.classes.get(own).ok_or(Malformed)?.form;
        let id = self.add(Node::Nothing)?;
        self.hand(Handle::Object(id))?;
        let mut object = Object {
            form,
            is_map: false,
            pairs: self.work.open_pairs.len(),
            items: self.work.open_items.len(),
            block: &[],
        };
        // Data come from the topmost class down.
        let chain = self.work.chain.len();
        let mut next = Some(own);
        while let Some(at) = next {
            if self.work.chain.len() - chain > usize::from(DEEPEST) {
                return Err(Malformed);
            }
            self.work.chain.push(at);
            next = self.work.classes.get(at).and_then(|class| class.parent);
        }
        while self.work.chain.len() > chain
            && let Some(at) = self.work.chain.pop()
        {
            let class = *self.work.classes.get(at).ok_or(Malformed)?;
            self.class_data(class, &mut object, depth)?;
        }
        let node = self.node(&object)?;
        self.set(id, node);
        self.work.open_pairs.truncate(object.pairs);
        self.work.open_items.truncate(object.items);
        Ok(id)
    }

    fn class_data(
        &mut self,
        class: Class,
        object: &mut Object<'a>,
        depth: u8,
    ) -> Result<(), Malformed> {
        object.is_map |= class.form == Form::Map;
        if class.has_fields() {
            for at in class.fields.places() {
                let &(kind, name) = self.work.fields.get(at).ok_or(Malformed)?;
                let value = self.field(kind, depth)?;
                self.work.open_pairs.push((name, value));
            }
        }
        if class.has_annotation()? {
            let before = self.work.open_items.len();
            let block = self.annotation(depth)?;
            // What NitriteDocument writes itself is what its map wrote before.
            if before > object.items {
                self.work.open_items.truncate(before);
            }
            if object.block.is_empty() {
                object.block = block;
            }
        }
        Ok(())
    }

    fn field(&mut self, kind: u8, depth: u8) -> Result<Id, Malformed> {
        let node = match kind {
            b'B' => Node::Integer(i64::from(self.bytes.u8()? as i8)),
            b'C' => Node::Integer(i64::from(self.bytes.u16()?)),
            b'S' => Node::Integer(i64::from(self.bytes.u16()? as i16)),
            b'I' => Node::Integer(i64::from(self.bytes.u32()? as i32)),
            b'J' => Node::Integer(self.bytes.u64()? as i64),
            b'F' => Node::Float(f64::from(f32::from_bits(self.bytes.u32()?))),
            b'D' => Node::Float(f64::from_bits(self.bytes.u64()?)),
            b'Z' => Node::Bool(self.bytes.u8()? != 0),
            b'L' | b'[' => return self.object_content(depth + 1),
            _ => return Err(Malformed),
        };
        self.add(node)
    }

    /// What an object whose classes were read is to us.
    fn node(&mut self, object: &Object<'a>) -> Result<Node<'a>, Malformed> {
        let fields = self.work.open_pairs.get(object.pairs..).unwrap_or_default();
        let items = self.work.open_items.get(object.items..).unwrap_or_default();
        let nodes = &self.tree.nodes;
        let field = |name: &[u8]| {
            let is_it = |id: Id| nodes.get(id.0 as usize) == Some(&Node::Text(name));
            let (_, value) = fields.iter().find(|&&(id, _)| is_it(id))?;
            nodes.get(value.0 as usize).copied()
        };
        let boxed = match object.form {
            Form::Boxed => field(b"value"),
            _ => None,
        };
        if let Some(value @ (Node::Integer(_) | Node::Float(_) | Node::Bool(_))) = boxed {
            return Ok(value);
        }
        match object.form {
            Form::Date => Ok(match object.block.first_chunk() {
                Some(millis) => Node::Integer(i64::from_be_bytes(*millis)),
                None => Node::Nothing,
            }),
            Form::Uuid => Ok(match (field(b"mostSigBits"), field(b"leastSigBits")) {
                (Some(Node::Integer(most)), Some(Node::Integer(least))) => {
                    Node::Uuid(most as u64, least as u64)
                }
                _ => Node::Nothing,
            }),
            Form::NitriteId => {
                let mut block = Bytes::new(object.block);
                let length = block.u16().map(usize::from);
                Ok(match length.and_then(|length| block.take(length)) {
                    Ok(digits) => Node::Text(digits),
                    Err(Malformed) => Node::Nothing,
                })
            }
            _ if object.is_map => {
                let (pairs, _) = items.as_chunks();
                map(
                    &mut self.tree.pairs,
                    pairs.iter().map(|&[key, value]| (key, value)),
                )
            }
            // An empty list has a field too, its size.
            _ if items.is_empty() && !fields.is_empty() && object.form != Form::Collection => {
                map(&mut self.tree.pairs, fields.iter().copied())
            }
            _ => list(&mut self.tree.items, items),
        }
    }

    fn array(&mut self, depth: u8) -> Result<Id, Malformed> {
        let class = self.class(depth + 1)?.ok_or(Malformed)?;
        let id = self.add(Node::Nothing)?;
        self.hand(Handle::Object(id))?;
        let count = self.bytes.u32()? as usize;
        let class = self.work.classes.get(class).ok_or(Malformed)?;
        if let Some(width) = class.item_width() {
            let size = count.checked_mul(width).ok_or(Malformed)?;
            self.bytes.take(size)?;
            return Ok(id);
        }
        if count > self.bytes.left() {
            return Err(Malformed);
        }
        let open = self.work.open_items.len();
        for _ in 0..count {
            let item = self.object_content(depth + 1)?;
            self.open(item)?;
        }
        let items = self.work.open_items.get(open..).unwrap_or_default();
        let node = list(&mut self.tree.items, items)?;
        self.set(id, node);
        self.work.open_items.truncate(open);
        Ok(id)
    }

    /// An enum's constant is the text of its name.
    fn constant(&mut self, depth: u8) -> Result<Id, Malformed> {
        self.class(depth + 1)?;
        let handle = self.hand(Handle::Object(Self::NOTHING))?;
        let name = self.object_content(depth + 1)?;
        if let Some(place) = self.work.handles.get_mut(handle) {
            *place = Handle::Object(name);
        }
        Ok(name)
    }
}

/// A map with these entries, which are put among those of all maps.
fn map<'a>(
    all: &mut Vec<(Id, Id)>,
    pairs: impl ExactSizeIterator<Item = (Id, Id)>,
) -> Result<Node<'a>, Malformed> {
    let from = all.len();
    if from + pairs.len() > MOST_NODES {
        return Err(Malformed);
    }
    all.extend(pairs);
    Ok(Node::Map(Range::new(from, all.len())))
}

/// A list of these items, which are put among those of all lists.
fn list<'a>(all: &mut Vec<Id>, items: &[Id]) -> Result<Node<'a>, Malformed> {
    let from = all.len();
    if from + items.len() > MOST_NODES {
        return Err(Malformed);
    }
    all.extend_from_slice(items);
    Ok(Node::List(Range::new(from, all.len())))
}
