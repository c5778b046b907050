//! Class descriptors. No class is ever known but by its name.

use super::super::bytes::Malformed;
use super::Range;

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

const WRITE_METHOD: u8 = 1;
const SERIALIZABLE: u8 = 2;
const EXTERNALIZABLE: u8 = 4;
const BLOCK_DATA: u8 = 8;

/// What objects of a class hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A number, or a flag.
    Boxed,
    Date,
    Uuid,
    NitriteId,
    Map,
    Collection,
    Other,
}

impl Form {
    fn of(name: &[u8]) -> Self {
        match name {
            b"java.util.Date" => Self::Date,
            b"java.util.UUID" => Self::Uuid,
            b"org.dizitart.no2.collection.NitriteId" => Self::NitriteId,
            b"java.util.HashMap"
            | b"java.util.TreeMap"
            | b"java.util.Hashtable"
            | b"java.util.concurrent.ConcurrentHashMap" => Self::Map,
            _ if name.starts_with(b"java.util.concurrent.atomic.")
                || name.starts_with(b"java.lang.") =>
            {
                Self::Boxed
            }
            _ if name.starts_with(b"java.util.") => Self::Collection,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    pub(super) form: Form,
    has_own_form: bool,
    /// The second character of the name: of an array, what it holds.
    item: u8,
    pub(super) flags: u8,
    /// Among all classes' fields.
    pub(super) fields: Range,
    pub(super) parent: Option<usize>,
}

impl Class {
    pub(super) fn named(name: &[u8]) -> Self {
        Self {
            form: Form::of(name),
            has_own_form: OWN_FORM.contains(&name),
            item: name.get(1).copied().unwrap_or_default(),
            flags: 0,
            fields: Range::default(),
            parent: None,
        }
    }

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Its objects hold the fields that it announces.
    pub(super) fn has_fields(&self) -> bool {
        self.is(SERIALIZABLE) && !(self.is(WRITE_METHOD) && self.has_own_form)
    }

    /// Its objects hold what the class wrote itself.
    ///
    /// # Errors
    /// When that can't be told from what follows.
    pub(super) fn has_annotation(&self) -> Result<bool, Malformed> {
        if self.is(SERIALIZABLE) {
            return Ok(self.is(WRITE_METHOD));
        }
        if self.is(EXTERNALIZABLE) && !self.is(BLOCK_DATA) {
            return Err(Malformed);
        }
        Ok(self.is(EXTERNALIZABLE))
    }

    /// How many bytes an item of an array takes; `None`: it is an object.
    pub(super) fn item_width(&self) -> Option<usize> {
        match self.item {
            b'B' | b'Z' => Some(1),
            b'C' | b'S' => Some(2),
            b'I' | b'F' => Some(4),
            b'J' | b'D' => Some(8),
            _ => None,
        }
    }
}
