//! The stream itself: classes, objects, strings, arrays, and the handles by which they are named again.

use super::super::bytes::{Bytes, Malformed};
use super::{Id, Node};

/// The deepest nesting, also of class descriptors.
const DEEPEST: u8 = 64;
/// The most objects and texts of one stream.
const MOST_NODES: usize = 400_000;

/// Where handles begin to count.
const BASE_HANDLE: u32 = 0x7e_0000;

/// Classes that write no default fields although their descriptor announces both fields and an own form.
/// The stream itself doesn't tell.
const OWN_FORM: [&[u8]; 9] = [
    b"org.dizitart.no2.collection.NitriteId",
    b"org.dizitart.no2.collection.NitriteDocument",
    b"org.dizitart.no2.common.tuples.Pair",
    b"org.dizitart.no2.common.DBValue",
    b"org.dizitart.no2.common.Fields",
    b"org.dizitart.no2.common.SortableFields",
    b"org.dizitart.no2.index.IndexDescriptor",
    b"org.dizitart.no2.index.IndexMeta",
    b"org.dizitart.no2.common.meta.Attributes",
];

#[derive(Debug, Clone, Copy)]
enum Handle {
    Object(Id),
    Class(usize),
}

#[derive(Debug, Clone)]
struct Class<'a> {
    name: &'a [u8],
    flags: u8,
    fields: Vec<(u8, Id)>,
    parent: Option<usize>,
}

const WRITE_METHOD: u8 = 1;
const SERIALIZABLE: u8 = 2;
const EXTERNALIZABLE: u8 = 4;
const BLOCK_DATA: u8 = 8;

/// Reads a stream from its beginning.
pub(super) struct StreamReader<'a> {
    bytes: Bytes<'a>,
    nodes: Vec<Node<'a>>,
    handles: Vec<Handle>,
    classes: Vec<Class<'a>>,
}

/// What a class wrote beside its fields.
#[derive(Default)]
struct Annotation<'a> {
    /// The first block of raw data.
    block: &'a [u8],
    items: Vec<Id>,
}

impl<'a> StreamReader<'a> {
    const NOTHING: Id = Id(0);

    /// The nodes of the first object, its root, and how many bytes it took.
    pub(super) fn read(stream: &'a [u8]) -> Result<(Vec<Node<'a>>, Id, usize), Malformed> {
        let mut reader = Self {
            bytes: Bytes::new(stream),
            nodes: vec![Node::Nothing],
            handles: Vec::new(),
            classes: Vec::new(),
        };
        if reader.bytes.u32()? != 0xaced_0005 {
            return Err(Malformed);
        }
        let root = reader.content(0)?.ok_or(Malformed)?;
        let length = stream.len() - reader.bytes.left();
        Ok((reader.nodes, root, length))
    }

    fn add(&mut self, node: Node<'a>) -> Result<Id, Malformed> {
        if self.nodes.len() >= MOST_NODES {
            return Err(Malformed);
        }
        self.nodes.push(node);
        Ok(Id(self.nodes.len() as u32 - 1))
    }

    fn hand(&mut self, handle: Handle) -> Result<usize, Malformed> {
        if self.handles.len() >= MOST_NODES {
            return Err(Malformed);
        }
        self.handles.push(handle);
        Ok(self.handles.len() - 1)
    }

    fn reference(&mut self) -> Result<Handle, Malformed> {
        let at = self
            .bytes
            .u32()?
            .checked_sub(BASE_HANDLE)
            .ok_or(Malformed)?;
        self.handles.get(at as usize).copied().ok_or(Malformed)
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
                self.handles.clear();
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
        let name = self.utf()?;
        self.bytes.u64()?;
        let at = self.classes.len();
        self.hand(Handle::Class(at))?;
        self.classes.push(Class {
            name,
            flags: 0,
            fields: Vec::new(),
            parent: None,
        });
        let flags = self.bytes.u8()?;
        let count = self.bytes.u16()?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let kind = self.bytes.u8()?;
            let name = self.utf()?;
            if matches!(kind, b'L' | b'[') {
                self.object_content(depth + 1)?;
            }
            let name = self.add(Node::Text(name))?;
            fields.push((kind, name));
        }
        self.annotation(depth)?;
        let parent = self.class(depth + 1)?;
        // A class whose parent is younger or itself can't be: the chain of parents ends.
        let class = self.classes.get_mut(at).ok_or(Malformed)?;
        (class.flags, class.fields, class.parent) = (flags, fields, parent);
        Ok(at)
    }

    fn annotation(&mut self, depth: u8) -> Result<Annotation<'a>, Malformed> {
        let mut annotation = Annotation::default();
        loop {
            let block = match self.bytes.peek() {
                Some(0x77) => {
                    self.bytes.u8()?;
                    let length = self.bytes.u8()?;
                    Some(self.bytes.take(usize::from(length))?)
                }
                Some(0x7a) => {
                    self.bytes.u8()?;
                    let length = self.bytes.u32()?;
                    Some(self.bytes.take(length as usize)?)
                }
                _ => None,
            };
            if let Some(block) = block {
                if annotation.block.is_empty() {
                    annotation.block = block;
                }
                continue;
            }
            match self.content(depth + 1)? {
                Some(id) => annotation.items.push(id),
                None => return Ok(annotation),
            }
        }
    }

    fn object(&mut self, depth: u8) -> Result<Id, Malformed> {
        let class = self.class(depth + 1)?.ok_or(Malformed)?;
        let id = self.add(Node::Nothing)?;
        self.hand(Handle::Object(id))?;
        let mut chain = vec![class];
        while let Some(parent) = chain.last().and_then(|&at| self.classes.get(at)?.parent) {
            if chain.len() > usize::from(DEEPEST) {
                return Err(Malformed);
            }
            chain.push(parent);
        }
        let mut object = Object::default();
        // Data come from the topmost class down.
        for at in chain.into_iter().rev() {
            let class = self.classes.get(at).cloned().ok_or(Malformed)?;
            self.class_data(&class, &mut object, depth)?;
        }
        let node = object.node(self);
        if let Some(place) = self.nodes.get_mut(id.0 as usize) {
            *place = node;
        }
        Ok(id)
    }

    fn class_data(
        &mut self,
        class: &Class<'a>,
        object: &mut Object<'a>,
        depth: u8,
    ) -> Result<(), Malformed> {
        object.name = class.name;
        object.is_map |= MAPS.contains(&class.name);
        let annotated = if class.flags & SERIALIZABLE != 0 {
            let own_form = class.flags & WRITE_METHOD != 0;
            if !(own_form && OWN_FORM.contains(&class.name)) {
                for &(kind, name) in &class.fields {
                    let value = self.field(kind, depth)?;
                    object.fields.push((name, value));
                }
            }
            own_form
        } else if class.flags & EXTERNALIZABLE != 0 {
            if class.flags & BLOCK_DATA == 0 {
                return Err(Malformed);
            }
            true
        } else {
            false
        };
        if annotated {
            let annotation = self.annotation(depth)?;
            // What NitriteDocument writes itself is what its map wrote before.
            if object.annotation.items.is_empty() {
                object.annotation.items = annotation.items;
            }
            if object.annotation.block.is_empty() {
                object.annotation.block = annotation.block;
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

    fn array(&mut self, depth: u8) -> Result<Id, Malformed> {
        let class = self.class(depth + 1)?.ok_or(Malformed)?;
        let id = self.add(Node::Nothing)?;
        self.hand(Handle::Object(id))?;
        let count = self.bytes.u32()? as usize;
        let name = self.classes.get(class).ok_or(Malformed)?.name;
        let width = match name.get(1) {
            Some(b'B' | b'Z') => 1,
            Some(b'C' | b'S') => 2,
            Some(b'I' | b'F') => 4,
            Some(b'J' | b'D') => 8,
            _ => {
                if count > self.bytes.left() {
                    return Err(Malformed);
                }
                let items: Result<_, _> =
                    (0..count).map(|_| self.object_content(depth + 1)).collect();
                if let Some(place) = self.nodes.get_mut(id.0 as usize) {
                    *place = Node::List(items?);
                }
                return Ok(id);
            }
        };
        self.bytes
            .take(count.checked_mul(width).ok_or(Malformed)?)?;
        Ok(id)
    }

    /// An enum's constant is the text of its name.
    fn constant(&mut self, depth: u8) -> Result<Id, Malformed> {
        self.class(depth + 1)?;
        let handle = self.hand(Handle::Object(Self::NOTHING))?;
        let name = self.object_content(depth + 1)?;
        if let Some(place) = self.handles.get_mut(handle) {
            *place = Handle::Object(name);
        }
        Ok(name)
    }
}

const MAPS: [&[u8]; 4] = [
    b"java.util.HashMap",
    b"java.util.TreeMap",
    b"java.util.Hashtable",
    b"java.util.concurrent.ConcurrentHashMap",
];

/// An object while its classes are read.
#[derive(Default)]
struct Object<'a> {
    name: &'a [u8],
    is_map: bool,
    fields: Vec<(Id, Id)>,
    annotation: Annotation<'a>,
}

impl<'a> Object<'a> {
    fn node(self, reader: &StreamReader<'a>) -> Node<'a> {
        let field = |name: &[u8]| {
            let is_it = |id: Id| reader.nodes.get(id.0 as usize) == Some(&Node::Text(name));
            let (_, value) = self.fields.iter().find(|&&(id, _)| is_it(id))?;
            reader.nodes.get(value.0 as usize)
        };
        let boxed = self.name.starts_with(b"java.lang.")
            || self.name.starts_with(b"java.util.concurrent.atomic.");
        if boxed && let Some(Node::Integer(_) | Node::Float(_) | Node::Bool(_)) = field(b"value") {
            return field(b"value").cloned().unwrap_or(Node::Nothing);
        }
        match self.name {
            b"java.util.Date" => match self.annotation.block.first_chunk() {
                Some(millis) => Node::Integer(i64::from_be_bytes(*millis)),
                None => Node::Nothing,
            },
            b"java.util.UUID" => match (field(b"mostSigBits"), field(b"leastSigBits")) {
                (Some(Node::Integer(most)), Some(Node::Integer(least))) => {
                    Node::Uuid(u128::from(*most as u64) << 64 | u128::from(*least as u64))
                }
                _ => Node::Nothing,
            },
            b"org.dizitart.no2.collection.NitriteId" => {
                let mut block = Bytes::new(self.annotation.block);
                let length = block.u16().map(usize::from);
                match length.and_then(|length| block.take(length)) {
                    Ok(digits) => Node::Text(digits),
                    Err(Malformed) => Node::Nothing,
                }
            }
            _ if self.is_map => {
                let (pairs, _) = self.annotation.items.as_chunks();
                Node::Map(pairs.iter().map(|&[key, value]| (key, value)).collect())
            }
            _ if self.annotation.items.is_empty() && !self.fields.is_empty() && !self.is_list() => {
                Node::Map(self.fields)
            }
            _ => Node::List(self.annotation.items),
        }
    }

    /// An empty list has a field too, its size.
    fn is_list(&self) -> bool {
        self.name.starts_with(b"java.util.")
    }
}
