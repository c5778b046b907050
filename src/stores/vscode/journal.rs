//! The journal of a chat session: changes to one document, a line each (formats, vscode.md §3.1).

use std::io::BufRead;

use super::lean::{Lean, MOST_ITEMS, Shape, Step};
use super::skim::{Next, Result, Scalar, Skim};

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    /// Kind 0: the document starts afresh.
    Initial(Lean),
    /// Kind 1: a value is set, or cleared.
    Set(Vec<Step>, Option<Lean>),
    /// Kind 2: a list is cut to a length, then items are appended.
    Push(Vec<Step>, Option<usize>, Vec<Lean>),
    /// Kind 3: a value is gone; a list isn't closed up.
    Delete(Vec<Step>),
    /// Nothing that is kept changes.
    Irrelevant,
    /// Left out, for this reason.
    Rejected(&'static str),
}

/// Reads the entry on the line at which `skim` stands. Only what `shape` keeps is decoded; of a line that
/// changes nothing else than that, the rest stays unread.
pub(super) fn read_entry<R: BufRead>(skim: &mut Skim<R>, shape: &Shape) -> Result<Entry> {
    if skim.at_end()? {
        return Ok(Entry::Irrelevant);
    }
    if skim.next()? != Next::Object {
        return Ok(Entry::Rejected("line"));
    }
    let mut parts = Parts::default();
    let mut walk = skim.object()?;
    while let Some(name) = walk.member(skim)? {
        match name.as_str() {
            "kind" => match read_kind(skim)? {
                Some(kind) => parts.kind = Some(kind),
                None => return Ok(Entry::Rejected("unknown_kind")),
            },
            "k" => match read_path(skim)? {
                Some(path) => parts.path = Some(path),
                None => return Ok(Entry::Rejected("path")),
            },
            "i" => parts.length = Some(read_length(skim)?),
            "v" => match parts.value_shape(shape) {
                Knowledge::Kept(shape) => parts.value = Some(Lean::read(skim, shape)?),
                Knowledge::List(item) => parts.items = read_items(skim, item)?,
                Knowledge::Dropped => return Ok(Entry::Irrelevant),
                Knowledge::NotYet => match skim.take_value()? {
                    Some(unread) => parts.unread = Some(unread),
                    None => return Ok(Entry::Rejected("line_too_long")),
                },
            },
            _ => skim.skip_value()?,
        }
    }
    if !skim.at_end()? {
        return Ok(Entry::Rejected("line"));
    }
    if parts.kind == Some(Kind::Push) {
        // No writer leaves the path out; the only list it can mean is that of the requests.
        let requests = || vec![Step::Name("requests".to_owned())];
        parts.path.get_or_insert_with(requests);
    }
    if let Some(unread) = parts.unread.take() {
        let mut unread = Skim::document(unread.as_slice());
        parts.read_late(&mut unread, shape)?;
        skim.left_out_elsewhere(unread.left_out());
    }
    Ok(parts.entry(shape))
}

#[derive(Default)]
struct Parts {
    kind: Option<Kind>,
    path: Option<Vec<Step>>,
    length: Option<Option<usize>>,
    value: Option<Lean>,
    items: Vec<Lean>,
    /// A value that came before what says how to read it.
    unread: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initial,
    Set,
    Push,
    Delete,
}

/// What is known of a value before it is read.
enum Knowledge<'a> {
    Kept(&'a Shape),
    /// Items to be pushed.
    List(&'a Shape),
    Dropped,
    NotYet,
}

impl Parts {
    fn value_shape<'a>(&self, root: &'a Shape) -> Knowledge<'a> {
        let at = |path: &[Step]| root.at(path);
        match (self.kind, &self.path) {
            (Some(Kind::Initial), _) => Knowledge::Kept(root),
            (Some(Kind::Set), Some(path)) => at(path).map_or(Knowledge::Dropped, Knowledge::Kept),
            (Some(Kind::Push), Some(path)) => match at(path) {
                Some(Shape::List(item)) => Knowledge::List(item),
                _ => Knowledge::Dropped,
            },
            (Some(Kind::Delete), _) => Knowledge::Dropped,
            (None, _) | (_, None) => Knowledge::NotYet,
        }
    }

    /// Reads the value that came before what says how to read it.
    fn read_late<R: BufRead>(&mut self, unread: &mut Skim<R>, root: &Shape) -> Result<()> {
        match self.value_shape(root) {
            Knowledge::Kept(shape) => self.value = Some(Lean::read(unread, shape)?),
            Knowledge::List(item) => self.items = read_items(unread, item)?,
            Knowledge::Dropped | Knowledge::NotYet => {}
        }
        Ok(())
    }

    fn entry(self, root: &Shape) -> Entry {
        let kept = |path: &[Step]| !path.is_empty() && root.at(path).is_some();
        match (self.kind, self.path) {
            (Some(Kind::Initial), _) => match self.value {
                Some(value @ Lean::Object(_)) => Entry::Initial(value),
                _ => Entry::Rejected("initial"),
            },
            (Some(Kind::Set), Some(path)) if kept(&path) => Entry::Set(path, self.value),
            (Some(Kind::Delete), Some(path)) if kept(&path) => Entry::Delete(path),
            (Some(Kind::Push), Some(path)) if kept(&path) => match self.length {
                Some(None) => Entry::Rejected("length"),
                length => Entry::Push(path, length.flatten(), self.items),
            },
            (None, _) => Entry::Rejected("line"),
            _ => Entry::Irrelevant,
        }
    }
}

fn read_kind<R: BufRead>(skim: &mut Skim<R>) -> Result<Option<Kind>> {
    let kind = Lean::read(skim, &Shape::Leaf)?.count();
    let kinds = [Kind::Initial, Kind::Set, Kind::Push, Kind::Delete];
    Ok(kind
        .and_then(|kind| usize::try_from(kind).ok())
        .and_then(|kind| kinds.get(kind).copied()))
}

/// `None` for a path that no writer makes and that could reach what isn't data.
fn read_path<R: BufRead>(skim: &mut Skim<R>) -> Result<Option<Vec<Step>>> {
    if skim.next()? != Next::List {
        return Ok(None);
    }
    let mut path = Vec::new();
    let mut walk = skim.list()?;
    while walk.item(skim)? {
        let step = match skim.next()? {
            Next::Text | Next::Scalar => match skim.scalar()? {
                Scalar::Text(name) if !is_reserved(&name) => Step::Name(name),
                Scalar::Number(n) => match index(n) {
                    Some(index) => Step::Index(index),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        if path.len() == 64 {
            return Ok(None);
        }
        path.push(step);
    }
    Ok(Some(path))
}

fn is_reserved(name: &str) -> bool {
    matches!(name, "__proto__" | "prototype" | "constructor")
}

fn index(n: f64) -> Option<usize> {
    (n >= 0.0 && n.fract() == 0.0 && n < 9e15).then_some(n as usize)
}

fn read_length<R: BufRead>(skim: &mut Skim<R>) -> Result<Option<usize>> {
    match Lean::read(skim, &Shape::Leaf)? {
        Lean::Number(n) => Ok(index(n)),
        _ => Ok(None),
    }
}

fn read_items<R: BufRead>(skim: &mut Skim<R>, item: &Shape) -> Result<Vec<Lean>> {
    if skim.next()? != Next::List {
        skim.skip_value()?;
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    let mut walk = skim.list()?;
    while walk.item(skim)? {
        if items.len() < MOST_ITEMS {
            items.push(Lean::read(skim, item)?);
        } else {
            skim.leave_out()?;
        }
    }
    Ok(items)
}
