//! A JSON document of which only the figures that matter are kept, and changes to it by path.

use std::io::BufRead;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::skim::{Name, Next, Result, Scalar, Skim};

/// The most items of a list that are kept: some hundred times as many requests as the longest sessions have.
pub(super) const MOST_ITEMS: usize = 65_536;
/// The parse error of a list that has more.
pub(super) const TOO_MANY_ITEMS: &str = "too_many_items";
/// How far beyond a list's end a new item may lie.
const WIDEST_GAP: usize = 1024;

/// What is kept of a value.
#[derive(Debug)]
pub(super) enum Shape {
    /// The value, if it is no container: for names and ids only.
    Leaf,
    /// A number or a truth; of a text nothing is kept.
    Figure,
    /// What is read of a text, in place of the text: it reads the same, and nothing else is left of it.
    Reduced(Reduce),
    /// The length of a text in UTF-16 units, in place of the text.
    Units,
    /// The items, each of this shape.
    List(&'static Shape),
    /// These members.
    Object(Members),
    /// These members, or in their place a text, which is reduced.
    ObjectOrText(Members, Reduce),
}

type Members = &'static [(&'static str, Shape)];
/// Gives what is read of a text.
type Reduce = fn(&str) -> String;

/// A value as far as it is kept. A container where its shape foresees none is kept as an empty one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lean {
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    List(Vec<Lean>),
    Object(Vec<(&'static str, Lean)>),
}

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

impl Shape {
    /// What is kept at `path`; `None`: nothing.
    pub(super) fn at(&self, path: &[Step]) -> Option<&Self> {
        path.iter()
            .try_fold(self, |shape, step| match (shape, step) {
                (Self::Object(_) | Self::ObjectOrText(..), Step::Name(name)) => {
                    shape.member(name).map(|(_, shape)| shape)
                }
                (Self::List(item), Step::Index(_)) => Some(*item),
                _ => None,
            })
    }

    fn member(&self, name: &str) -> Option<(&'static str, &'static Self)> {
        let (Self::Object(members) | Self::ObjectOrText(members, _)) = self else {
            return None;
        };
        let (name, shape) = members.iter().find(|(known, _)| *known == name)?;
        Some((name, shape))
    }

    fn empty(&self) -> Lean {
        match self {
            Self::Leaf | Self::Figure | Self::Reduced(_) | Self::Units => Lean::Null,
            Self::List(_) => Lean::List(Vec::new()),
            Self::Object(_) | Self::ObjectOrText(..) => Lean::Object(Vec::new()),
        }
    }
}

impl Lean {
    /// Reads a value.
    pub(super) fn read<R: BufRead>(skim: &mut Skim<R>, shape: &Shape) -> Result<Self> {
        match skim.next()? {
            Next::Text if matches!(shape, Shape::Units) => {
                Ok(Self::Number(skim.text_units()? as f64))
            }
            Next::Text | Next::Scalar => Ok(match skim.scalar()? {
                Scalar::Null => Self::Null,
                Scalar::Bool(value) => Self::Bool(value),
                Scalar::Number(value) => Self::Number(value),
                Scalar::Text(text) => Self::kept_of(text, shape),
            }),
            Next::Object => {
                if !matches!(shape, Shape::Object(_) | Shape::ObjectOrText(..)) {
                    skim.skip_value()?;
                    return Ok(Self::Object(Vec::new()));
                }
                let mut members = Vec::new();
                let mut walk = skim.object()?;
                while let Some(name) = walk.member(skim)? {
                    match shape.member(Name::as_str(&name)) {
                        Some((name, shape)) => {
                            let value = Self::read(skim, shape)?;
                            put(&mut members, name, value);
                        }
                        None => skim.skip_value()?,
                    }
                }
                Ok(Self::Object(members))
            }
            Next::List => {
                let Shape::List(item) = shape else {
                    skim.skip_value()?;
                    return Ok(Self::List(Vec::new()));
                };
                let mut items = Vec::new();
                let mut walk = skim.list()?;
                while walk.item(skim)? {
                    if items.len() < MOST_ITEMS {
                        items.push(Self::read(skim, item)?);
                    } else {
                        skim.leave_out()?;
                    }
                }
                Ok(Self::List(items))
            }
        }
    }

    /// What is kept of a text: an empty one where the shape foresees none.
    fn kept_of(text: String, shape: &Shape) -> Self {
        let kept = match shape {
            Shape::Leaf => text,
            Shape::Reduced(reduce) | Shape::ObjectOrText(_, reduce) => reduce(&text),
            _ => String::new(),
        };
        Self::Text(kept.into())
    }

    /// The member `name` of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A finite number that isn't negative. A number written as text is unknown.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(n) => Some(*n).filter(|n| n.is_finite() && *n >= 0.0),
            _ => None,
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        self.number().map(|n| n as u64)
    }

    /// The value at a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The text at a path of names, if it isn't empty.
    pub(super) fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.text().filter(|text| !text.is_empty())
    }

    /// The count at a path of names.
    pub(super) fn count_at(&self, path: &[&str]) -> Option<u64> {
        self.at(path)?.count()
    }

    /// Sets the value at `path`, making parents that are missing. `false`: an index lies too far out.
    pub(super) fn set(&mut self, shape: &Shape, path: &[Step], value: Self) -> bool {
        let place = self.place(shape, path);
        place.map(|place| *place = value).is_some()
    }

    /// Clears the value at `path`, if there is one; a list isn't closed up.
    pub(super) fn clear(&mut self, path: &[Step]) {
        let place = path
            .iter()
            .try_fold(self, |value, step| match (value, step) {
                (Self::Object(members), Step::Name(name)) => members
                    .iter_mut()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value),
                (Self::List(items), Step::Index(index)) => items.get_mut(*index),
                _ => None,
            });
        if let Some(place) = place {
            *place = Self::Null;
        }
    }

    /// Cuts the list at `path` to `length` items, if that is given, and appends `items`; a missing list is
    /// made. The error is why not, or not all: there is something else, or it would be too long.
    pub(super) fn push(
        &mut self,
        shape: &Shape,
        path: &[Step],
        length: Option<usize>,
        items: Vec<Self>,
    ) -> std::result::Result<(), &'static str> {
        let Some(place) = self.place(shape, path) else {
            return Err("path");
        };
        if matches!(place, Self::Null) {
            *place = Self::List(Vec::new());
        }
        let Self::List(list) = place else {
            return Err("path");
        };
        if let Some(length) = length {
            list.truncate(length);
        }
        let fits = list.len() + items.len() <= MOST_ITEMS;
        let room = MOST_ITEMS.saturating_sub(list.len());
        list.extend(items.into_iter().take(room));
        fits.then_some(()).ok_or(TOO_MANY_ITEMS)
    }

    /// The place at `path`, made if it isn't there.
    fn place(&mut self, shape: &Shape, path: &[Step]) -> Option<&mut Self> {
        let Some((step, rest)) = path.split_first() else {
            return Some(self);
        };
        if !matches!(
            (&*self, shape),
            (Self::List(_), Shape::List(_))
                | (Self::Object(_), Shape::Object(_) | Shape::ObjectOrText(..))
        ) {
            *self = shape.empty();
        }
        match (self, shape, step) {
            (
                Self::Object(members),
                Shape::Object(_) | Shape::ObjectOrText(..),
                Step::Name(name),
            ) => {
                let (name, shape) = shape.member(name)?;
                let at = members.iter().position(|(known, _)| *known == name);
                let at = at.unwrap_or_else(|| {
                    members.push((name, Self::Null));
                    members.len() - 1
                });
                members.get_mut(at)?.1.place(shape, rest)
            }
            (Self::List(items), Shape::List(item), Step::Index(index)) => {
                if *index >= items.len() {
                    if *index - items.len() > WIDEST_GAP || *index >= MOST_ITEMS {
                        return None;
                    }
                    items.resize(index + 1, Self::Null);
                }
                items.get_mut(*index)?.place(item, rest)
            }
            _ => None,
        }
    }
}

fn put(members: &mut Vec<(&'static str, Lean)>, name: &'static str, value: Lean) {
    match members.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => members.push((name, value)),
    }
}

impl Serialize for Lean {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            // JSON knows no infinity, and an integer is shorter without its fraction.
            Self::Number(n) if !n.is_finite() => serializer.serialize_unit(),
            Self::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => {
                serializer.serialize_i64(*n as i64)
            }
            Self::Number(n) => serializer.serialize_f64(*n),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Shape = Shape::Object(&[("id", Shape::Leaf), ("n", Shape::Leaf)]);
    const ROOT: Shape = Shape::Object(&[("items", Shape::List(&ITEM)), ("name", Shape::Leaf)]);

    fn read(json: &str) -> Lean {
        Lean::read(&mut Skim::document(json.as_bytes()), &ROOT).unwrap()
    }

    fn path(text: &str) -> Vec<Step> {
        text.split('.')
            .map(|part| match part.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Name(part.to_owned()),
            })
            .collect()
    }

    #[test]
    fn only_what_the_shape_names_is_kept() {
        let lean = read(
            r#"{"x":[1,{"items":2}],"items":[{"id":"a","big":"…","n":{"z":1}},7],"name":null}"#,
        );
        assert_eq!(
            serde_json::to_string(&lean).unwrap(),
            r#"{"items":[{"id":"a","n":{}},7],"name":null}"#
        );
        assert_eq!(read(&serde_json::to_string(&lean).unwrap()), lean);
    }

    #[test]
    fn changes_make_missing_parents_and_refuse_far_indexes() {
        let mut lean = Lean::Null;
        assert!(lean.set(&ROOT, &path("items.1.n"), Lean::Number(5.0)));
        assert_eq!(lean.get("items").unwrap().items().len(), 2);
        assert!(!lean.set(&ROOT, &path("items.10000000.n"), Lean::Number(5.0)));
        assert_eq!(lean.get("items").unwrap().items().len(), 2);
        lean.clear(&path("items.1.n"));
        lean.clear(&path("nowhere.1"));
        assert_eq!(
            lean.get("items").unwrap().items()[1].get("n"),
            Some(&Lean::Null)
        );
    }

    #[test]
    fn a_push_cuts_first() {
        let mut lean = Lean::Null;
        let items = |range: std::ops::Range<u32>| range.map(|n| Lean::Number(n.into())).collect();
        assert!(lean.push(&ROOT, &path("items"), None, items(0..3)).is_ok());
        assert!(
            lean.push(&ROOT, &path("items"), Some(1), items(7..8))
                .is_ok()
        );
        let want = [Lean::Number(0.0), Lean::Number(7.0)];
        assert_eq!(lean.get("items").unwrap().items(), want);
        let nowhere = lean.push(&ROOT, &path("items.0"), None, Vec::new());
        assert_eq!(nowhere, Err("path"));
    }
}
