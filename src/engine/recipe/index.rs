//! Indices of derivations in a graph. Only the graph creates them, so that they are not confused with other numbers.

use std::ops::{Index, IndexMut};

/// The position of a derivation in its graph. Inputs have lower indices than their users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// For edges of a graph that is not sorted yet.
    pub(super) const UNSORTED: Self = Self(u32::MAX);
}

impl std::fmt::Display for NodeIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One value for each derivation of a graph.
#[derive(Debug, Clone)]
pub struct NodeMap<T>(Vec<T>);

impl<T> NodeMap<T> {
    /// Takes values in graph order.
    pub(super) fn new(values: Vec<T>) -> Self {
        Self(values)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    pub fn indices(&self) -> impl DoubleEndedIterator<Item = NodeIndex> + ExactSizeIterator + use<T> {
        (0..self.0.len() as u32).map(NodeIndex)
    }

    /// Indices with their values.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (NodeIndex, &T)> {
        self.indices().zip(&self.0)
    }

    /// The same value for each derivation.
    pub fn with<U: Clone>(&self, value: U) -> NodeMap<U> {
        NodeMap(vec![value; self.0.len()])
    }

    pub fn into_entries(self) -> impl Iterator<Item = (NodeIndex, T)> {
        self.indices().zip(self.0)
    }
}

impl<T> Default for NodeMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Index<NodeIndex> for NodeMap<T> {
    type Output = T;

    fn index(&self, at: NodeIndex) -> &T {
        &self.0[at.0 as usize]
    }
}

impl<T> IndexMut<NodeIndex> for NodeMap<T> {
    fn index_mut(&mut self, at: NodeIndex) -> &mut T {
        &mut self.0[at.0 as usize]
    }
}
