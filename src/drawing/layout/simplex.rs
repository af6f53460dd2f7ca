//! Network simplex: integers for nodes, so that every edge is at least as long as it must be and the sum of lengths,
//! by weight, is least. Ranks and x coordinates both come from here.
//!
//! After section 2 of the 1993 paper: a feasible tree of tight edges, cut values, exchanges of a tree edge with a
//! negative cut value for the one with the least slack, low and lim for who lies below whom, and a search that takes
//! the worst of `search_size` edges and goes on where it left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::table::{NONE, Table, Union};
use crate::work::{Exhausted, Work};

/// What to do with freedom that costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Nodes go to the rank with the fewest nodes.
    Ranks,
    /// Halves of slack on both sides.
    Sides,
}

/// An edge: `value(head) - value(tail) >= length`, at `weight` for each unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constraint {
    /// The smaller end.
    pub tail: u32,
    /// The greater end.
    pub head: u32,
    /// The least difference.
    pub length: i32,
    /// What each unit of difference costs.
    pub weight: i32,
}

/// What the search may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many tree edges are looked at for the next one to leave.
    pub search_size: usize,
    /// How many exchanges are made at most.
    pub exchanges: u64,
    /// Past this mark of the work no exchange is made: what there is, is feasible.
    pub mark: u64,
}

/// Whether the best was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing better exists.
    Best,
    /// Feasible, but the search was cut short.
    CutShort,
}

/// A length that binds nobody.
const FREE: i32 = i32::MIN / 4;

/// Values for `count` nodes, feasible, least 0, cheapest if the search came to its end. `start`, if given and
/// feasible, is where the search begins. Constraints that form a cycle are left out, as few as a depth-first search
/// leaves.
///
/// # Errors
/// When the work is spent.
pub fn solve(
    count: usize,
    constraints: &[Constraint],
    start: Option<Table<i32>>,
    balance: Balance,
    limits: Limits,
    work: &mut Work,
) -> Result<(Table<i32>, Ending), Exhausted> {
    if count == 0 {
        return Ok((Table::new(), Ending::Best));
    }
    let mut simplex = Simplex::new(count, constraints);
    work.spend((count + simplex.edges.len()) as u64 * 4)?;
    match start {
        Some(values) => simplex.begin_at(values),
        None => simplex.longest_paths(),
    }
    simplex.tight_tree(work)?;
    simplex.number_tree();
    simplex.first_cut_values();
    let ending = simplex.exchange_all(limits, work)?;
    match balance {
        Balance::Ranks => {
            simplex.normalize();
            simplex.balance_ranks(work)?;
        }
        Balance::Sides => {
            simplex.balance_sides(limits, work)?;
            simplex.normalize();
        }
    }
    simplex.values.truncate(count);
    Ok((simplex.values, ending))
}

/// An edge as one of its ends has it.
#[derive(Clone, Copy, Debug, Default)]
struct Spoke {
    edge: u32,
    /// The other end.
    other: u32,
}

/// A node that a walk has come to, and the spokes that it has not looked at.
#[derive(Clone, Copy, Debug)]
struct Visit {
    node: u32,
    cursor: u32,
    end: u32,
    parent_edge: u32,
}

/// What the tree knows of a node, in one place: walking the tree jumps all over the memory.
#[derive(Clone, Copy, Debug, Default)]
struct TreeNode {
    /// The least number of those below, and its own, which is given after theirs.
    low: u32,
    lim: u32,
    /// The edge towards the root.
    parent_edge: u32,
    /// Its first spoke, and how many of them belong to the tree.
    start: u32,
    degree: u32,
}

impl TreeNode {
    #[inline]
    fn tree_spokes(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.degree) as usize
    }
}

/// What a step costs, in percent of others: it looks at a few things that lie all over the problem, and of a small one
/// all lies in the processor's caches. Measured on busy cores: 2 ns for `b103.gv` of Graphviz's graphs, 12 to 20 ns for
/// hostile sources with as many bends as there may be.
const EDGES_PER_PERCENT: u64 = 1_200;
const PERCENT_LEAST: u64 = 30;
const PERCENT_MOST: u64 = 150;

struct Simplex {
    /// The nodes of the problem; the root that holds separate parts together comes after them.
    count: usize,
    /// What hangs together.
    parts: Union,
    edges: Table<Constraint>,
    cuts: Table<i64>,
    tree: Table<u32>,
    /// Place of an edge in `tree`.
    tree_places: Table<u32>,
    /// All edges at a node, node after node; those of the tree come first.
    spokes: Table<Spoke>,
    /// Where the spokes of a node begin; those of the next node follow.
    starts: Table<u32>,
    /// The nodes as the tree has them.
    nodes: Table<TreeNode>,
    values: Table<i32>,
    stack: Vec<u32>,
    walk: Vec<Visit>,
    next_search: usize,
    /// What a step costs here.
    percent: u64,
}

/// Where each node's spokes begin, and the spokes.
fn spokes(nodes: usize, edges: &Table<Constraint>) -> (Table<u32>, Table<Spoke>) {
    let mut starts: Table<u32> = Table::filled(0, nodes + 2);
    for edge in edges.iter() {
        starts[edge.tail as usize + 2] += 1;
        starts[edge.head as usize + 2] += 1;
    }
    for node in 2..starts.len() {
        let before = starts[node - 1];
        starts[node] += before;
    }
    let mut spokes: Table<Spoke> = Table::filled(Spoke::default(), edges.len() * 2);
    for (index, edge) in edges.iter().enumerate() {
        for (node, other) in [(edge.tail, edge.head), (edge.head, edge.tail)] {
            let place = starts[node as usize + 1];
            spokes[place] = Spoke { edge: index as u32, other };
            starts[node as usize + 1] = place + 1;
        }
    }
    starts.truncate(nodes + 1);
    (starts, spokes)
}

impl Simplex {
    fn new(count: usize, constraints: &[Constraint]) -> Simplex {
        let mut edges: Table<Constraint> = constraints.iter().copied().filter(|edge| edge.tail != edge.head).collect();
        let mut parts = Union::new(count);
        for edge in edges.iter() {
            parts.join(edge.tail, edge.head);
        }
        let mut nodes = count;
        let firsts: Vec<u32> = (0..count as u32).filter(|node| parts.find(*node) == *node).collect();
        if firsts.len() > 1 {
            nodes += 1;
            for first in firsts {
                edges.add(Constraint { tail: count as u32, head: first, length: 0, weight: 0 });
            }
        }
        let (starts, spokes) = spokes(nodes, &edges);
        let at = |node: usize| TreeNode { parent_edge: NONE, start: starts[node], ..TreeNode::default() };
        let edge_count = edges.len();
        let percent = (edge_count as u64 / EDGES_PER_PERCENT).clamp(PERCENT_LEAST, PERCENT_MOST);
        Simplex {
            count,
            percent,
            parts,
            cuts: Table::filled(0, edge_count),
            tree: Table::new(),
            tree_places: Table::filled(NONE, edge_count),
            nodes: (0..nodes).map(at).collect(),
            spokes,
            starts,
            values: Table::filled(0, nodes),
            stack: Vec::new(),
            walk: Vec::new(),
            next_search: 0,
            edges,
        }
    }

    /// Counts what was done, at the price of a problem of this size.
    #[inline]
    fn spend(&self, work: &mut Work, steps: u64) -> Result<(), Exhausted> {
        work.spend((steps * self.percent).div_ceil(100))
    }

    fn count_all(&self) -> usize {
        self.values.len()
    }

    /// All spokes of a node.
    #[inline]
    fn spokes_at(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node] as usize..self.starts[node as usize + 1] as usize
    }

    #[inline]
    fn slack(&self, edge: u32) -> i32 {
        let e = &self.edges[edge];
        self.values[e.head] - self.values[e.tail] - e.length
    }

    /// Begins at given values, pushed up where they are not feasible.
    fn begin_at(&mut self, values: Table<i32>) {
        for node in 0..self.count {
            self.values[node] = values[node];
        }
        if self.count_all() > self.count {
            let least = values.iter().copied().min().unwrap_or(0);
            self.values[self.count] = least;
        }
        if (0..self.edges.len() as u32).any(|edge| self.slack(edge) < 0) {
            self.longest_paths_from();
        }
    }

    fn longest_paths(&mut self) {
        for node in 0..self.count_all() {
            self.values[node] = i32::MIN / 2;
        }
        self.longest_paths_from();
    }

    /// Every node as low as what lies below it lets it, and not below what it has.
    fn longest_paths_from(&mut self) {
        let mut degrees: Table<u32> = Table::filled(0, self.count_all());
        for edge in self.edges.iter().filter(|edge| edge.length > FREE) {
            degrees[edge.head] += 1;
        }
        let mut ready: Vec<u32> = (0..self.count_all() as u32).filter(|node| degrees[*node] == 0).collect();
        let mut done: Table<bool> = Table::filled(false, self.count_all());
        let mut at = 0;
        let mut unseen = 0;
        loop {
            while let Some(&node) = ready.get(at) {
                at += 1;
                done[node] = true;
                if self.values[node] == i32::MIN / 2 {
                    self.values[node] = 0;
                }
                for place in self.spokes_at(node) {
                    let e = self.edges[self.spokes[place].edge];
                    if e.tail == node && e.length > FREE {
                        self.values[e.head] = self.values[e.head].max(self.values[node].saturating_add(e.length));
                        degrees[e.head] -= 1;
                        if degrees[e.head] == 0 {
                            ready.push(e.head);
                        }
                    }
                }
            }
            // A cycle: the constraints that come into its first node from undone nodes are left out.
            while unseen < self.count_all() && done[unseen] {
                unseen += 1;
            }
            if unseen >= self.count_all() {
                return;
            }
            for place in self.spokes_at(unseen as u32) {
                let edge = self.spokes[place].edge;
                if self.edges[edge].head == unseen as u32 && !done[self.edges[edge].tail] {
                    self.edges[edge].length = FREE;
                    self.edges[edge].weight = 0;
                }
            }
            degrees[unseen] = 0;
            ready.push(unseen as u32);
        }
    }

    /// Makes the feasible values ones that a spanning tree of tight edges holds. Trees of tight edges are joined, the
    /// smallest first, each along its edge of least slack.
    fn tight_tree(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        let nodes = self.count_all();
        let mut trees = Union::new(nodes);
        let mut sizes: Table<u32> = Table::filled(1, nodes);
        // The nodes of a tree in a ring.
        let mut rings: Table<u32> = (0..nodes as u32).collect();
        for edge in 0..self.edges.len() as u32 {
            if self.slack(edge) == 0 {
                self.try_join(edge, &mut trees, &mut sizes, &mut rings);
            }
        }
        let mut heap: BinaryHeap<Reverse<(u32, u32)>> = (0..nodes as u32)
            .filter(|node| trees.find(*node) == *node)
            .map(|node| Reverse((sizes[node], node)))
            .collect();
        while let Some(Reverse((size, root))) = heap.pop() {
            if trees.find(root) != root || sizes[root] != size {
                continue;
            }
            if size as usize == nodes {
                break;
            }
            let mut best: Option<(i32, u32, bool)> = None;
            let mut node = root;
            let mut steps = 0;
            loop {
                for place in self.spokes_at(node) {
                    steps += 1;
                    let Spoke { edge, other } = self.spokes[place];
                    if trees.find(other) == root {
                        continue;
                    }
                    let outward = self.edges[edge].tail == node;
                    let slack = self.slack(edge);
                    if best.is_none_or(|(least, at, _)| (slack, edge) < (least, at)) {
                        best = Some((slack, edge, outward));
                    }
                }
                node = rings[node];
                if node == root {
                    break;
                }
            }
            self.spend(work, steps + u64::from(size))?;
            let Some((slack, edge, outward)) = best else { continue };
            let by = if outward { slack } else { -slack };
            if by != 0 {
                let mut node = root;
                loop {
                    self.values[node] += by;
                    node = rings[node];
                    if node == root {
                        break;
                    }
                }
            }
            self.try_join(edge, &mut trees, &mut sizes, &mut rings);
            let root = trees.find(root);
            heap.push(Reverse((sizes[root], root)));
        }
        Ok(())
    }

    fn try_join(&mut self, edge: u32, trees: &mut Union, sizes: &mut Table<u32>, rings: &mut Table<u32>) {
        let e = self.edges[edge];
        let (a, b) = (trees.find(e.tail), trees.find(e.head));
        if a == b {
            return;
        }
        let (a, b) = if sizes[a] < sizes[b] { (b, a) } else { (a, b) };
        trees.join(a, b);
        sizes[a] += sizes[b];
        rings.exchange(a as usize, b as usize);
        self.enter_tree(edge);
    }

    fn enter_tree(&mut self, edge: u32) {
        self.tree_places[edge] = self.tree.len() as u32;
        self.tree.add(edge);
        self.mark_in_tree(edge);
    }

    /// Puts the spokes of an edge among those of the tree. Gives the steps it took.
    fn mark_in_tree(&mut self, edge: u32) -> u64 {
        let e = self.edges[edge];
        let mut steps = 0;
        for node in [e.tail, e.head] {
            let end = self.spokes_at(node).end;
            let border = self.nodes[node].tree_spokes().end;
            if let Some(place) = (border..end).find(|place| self.spokes[*place].edge == edge) {
                steps += (place - border) as u64;
                self.spokes.exchange(place, border);
                self.nodes[node].degree += 1;
            }
        }
        steps
    }

    /// The other way around.
    fn mark_out_of_tree(&mut self, edge: u32) -> u64 {
        let e = self.edges[edge];
        let mut steps = 0;
        for node in [e.tail, e.head] {
            let range = self.nodes[node].tree_spokes();
            let (start, border) = (range.start, range.end);
            if let Some(place) = (start..border).find(|place| self.spokes[*place].edge == edge) {
                steps += (place - start) as u64;
                self.spokes.exchange(place, border - 1);
                self.nodes[node].degree -= 1;
            }
        }
        steps
    }

    #[inline]
    fn other(&self, edge: u32, node: u32) -> u32 {
        let e = &self.edges[edge];
        if e.tail == node { e.head } else { e.tail }
    }

    fn number_tree(&mut self) {
        self.number_below(0, NONE, 1);
    }

    /// Walks the tree below `root` and numbers it from `low`: `lim` after all below, `low` the least below. Gives the
    /// steps it took.
    fn number_below(&mut self, root: u32, parent_edge: u32, low: u32) -> u64 {
        let mut next = low;
        let mut walk = std::mem::take(&mut self.walk);
        walk.clear();
        walk.push(self.visit(root, parent_edge, next));
        let mut steps = 0;
        while let Some(at) = walk.last_mut() {
            steps += 1;
            if at.cursor < at.end {
                let Spoke { edge, other } = self.spokes[at.cursor];
                at.cursor += 1;
                if edge != at.parent_edge {
                    walk.push(self.visit(other, edge, next));
                }
            } else {
                self.nodes[at.node].lim = next;
                next += 1;
                walk.pop();
            }
        }
        self.walk = walk;
        // All over the memory: a step of this walk is as long as two others.
        steps * 2
    }

    #[inline]
    fn visit(&mut self, node: u32, parent_edge: u32, low: u32) -> Visit {
        let at = &mut self.nodes[node];
        (at.parent_edge, at.low) = (parent_edge, low);
        Visit { node, cursor: at.start, end: at.start + at.degree, parent_edge }
    }

    /// Cut values from the leaves upwards: what leaves the part below a node less what enters it, summed over its
    /// nodes, so that every edge is looked at twice in all.
    fn first_cut_values(&mut self) {
        let mut order: Table<u32> = Table::filled(0, self.count_all() + 1);
        for node in 0..self.count_all() as u32 {
            order[self.nodes[node].lim] = node;
        }
        let mut flows: Table<i64> = Table::filled(0, self.count_all());
        for edge in self.edges.iter() {
            flows[edge.tail] += i64::from(edge.weight);
            flows[edge.head] -= i64::from(edge.weight);
        }
        for i in 1..=self.count_all() {
            let node = order[i];
            let parent = self.nodes[node].parent_edge;
            if parent == NONE {
                continue;
            }
            let flow = flows[node];
            self.cuts[parent] = if self.edges[parent].tail == node { flow } else { -flow };
            let above = self.other(parent, node);
            flows[above] += flow;
        }
    }

    fn exchange_all(&mut self, limits: Limits, work: &mut Work) -> Result<Ending, Exhausted> {
        let mut done = 0;
        while let Some(leaving) = self.leaving_edge(limits.search_size, work)? {
            if done >= limits.exchanges || work.is_past(limits.mark) {
                return Ok(Ending::CutShort);
            }
            let Some(entering) = self.entering_edge(leaving, work)? else { return Ok(Ending::CutShort) };
            self.exchange(leaving, entering, work)?;
            done += 1;
        }
        Ok(Ending::Best)
    }

    fn leaving_edge(&mut self, search_size: usize, work: &mut Work) -> Result<Option<u32>, Exhausted> {
        let count = self.tree.len();
        let mut best = None;
        let mut least = 0;
        let mut found = 0;
        let mut place = if self.next_search < count { self.next_search } else { 0 };
        let mut looked = 0;
        while looked < count {
            let edge = self.tree[place];
            let cut = self.cuts[edge];
            if cut < 0 {
                if cut < least {
                    least = cut;
                    best = Some(edge);
                }
                found += 1;
                if found >= search_size {
                    break;
                }
            }
            looked += 1;
            place = if place + 1 < count { place + 1 } else { 0 };
        }
        self.next_search = place;
        self.spend(work, looked as u64 / 2 + 1)?;
        Ok(best)
    }

    #[inline]
    fn is_below(&self, node: u32, root: u32) -> bool {
        let (lim, root) = (self.nodes[node].lim, &self.nodes[root]);
        root.low <= lim && lim <= root.lim
    }

    /// The edge of least slack that crosses the cut of `leaving` the other way.
    fn entering_edge(&mut self, leaving: u32, work: &mut Work) -> Result<Option<u32>, Exhausted> {
        let e = self.edges[leaving];
        let tail_below = self.nodes[e.tail].lim < self.nodes[e.head].lim;
        let root = if tail_below { e.tail } else { e.head };
        let (low, lim) = (self.nodes[root].low, self.nodes[root].lim);
        let mut best = None;
        let mut least = i32::MAX;
        let mut steps = 0;
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        stack.push(root);
        'search: while let Some(node) = stack.pop() {
            let range = self.spokes_at(node);
            let at = self.nodes[node];
            for place in at.tree_spokes() {
                let Spoke { edge, other } = self.spokes[place];
                if edge != at.parent_edge {
                    stack.push(other);
                }
            }
            let (tree, others) = (at.degree as usize, range.len().saturating_sub(at.degree as usize));
            // Those of the tree lie side by side.
            steps += (others + tree / 4) as u64 + 1;
            for place in at.tree_spokes().end..range.end {
                let edge = self.spokes[place].edge;
                let f = &self.edges[edge];
                // Into the part below if its tail leaves; out of it if its head does.
                let (inner, outer) = if tail_below { (f.head, f.tail) } else { (f.tail, f.head) };
                if inner != node {
                    continue;
                }
                let outer_lim = self.nodes[outer].lim;
                if low <= outer_lim && outer_lim <= lim {
                    continue;
                }
                let slack = self.values[f.head] - self.values[f.tail] - f.length;
                if slack < least {
                    least = slack;
                    best = Some(edge);
                    if slack == 0 {
                        break 'search;
                    }
                }
            }
        }
        self.stack = stack;
        self.spend(work, steps)?;
        Ok(best)
    }

    fn exchange(&mut self, leaving: u32, entering: u32, work: &mut Work) -> Result<(), Exhausted> {
        let e = self.edges[leaving];
        let tail_below = self.nodes[e.tail].lim < self.nodes[e.head].lim;
        let root = if tail_below { e.tail } else { e.head };
        let slack = self.slack(entering);
        if slack > 0 {
            self.shift_below(root, if tail_below { -slack } else { slack }, work)?;
        }
        let cut = self.cuts[leaving];
        let f = self.edges[entering];
        let (meet, up) = self.update_cuts(f.tail, f.head, cut, true);
        let (_, down) = self.update_cuts(f.head, f.tail, cut, false);
        self.cuts[entering] = -cut;
        self.cuts[leaving] = 0;
        let place = self.tree_places[leaving];
        self.tree_places[leaving] = NONE;
        let out = self.mark_out_of_tree(leaving);
        self.tree_places[entering] = place;
        self.tree[place] = entering;
        let into = self.mark_in_tree(entering);
        let (parent, low) = (self.nodes[meet].parent_edge, self.nodes[meet].low);
        let steps = self.number_below(meet, parent, low);
        self.spend(work, steps + (up + down) * 2 + (out + into) / 4 + 8)
    }

    /// The cut values on the way from `from` up to the node that also has `to` below it, which it gives with the steps it
    /// took: the cycle of the entering edge, walked along it.
    fn update_cuts(&mut self, from: u32, to: u32, cut: i64, is_tail: bool) -> (u32, u64) {
        let mut node = from;
        let mut steps = 0;
        while !self.is_below(to, node) {
            steps += 1;
            let edge = self.nodes[node].parent_edge;
            if edge == NONE {
                break;
            }
            let along = (self.edges[edge].head == node) == is_tail;
            self.cuts[edge] += if along { -cut } else { cut };
            node = self.other(edge, node);
        }
        (node, steps)
    }

    /// Moves the part below `root`, or, if it is the greater part, all the others the other way.
    fn shift_below(&mut self, root: u32, by: i32, work: &mut Work) -> Result<(), Exhausted> {
        let (low, lim) = (self.nodes[root].low, self.nodes[root].lim);
        let size = (lim - low + 1) as usize;
        if size * 2 > self.count_all() {
            for node in 0..self.count_all() {
                let own = self.nodes[node].lim;
                if own < low || own > lim {
                    self.values[node] -= by;
                }
            }
            return self.spend(work, self.count_all() as u64 / 2);
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        stack.push(root);
        while let Some(node) = stack.pop() {
            self.values[node] += by;
            let at = self.nodes[node];
            for place in at.tree_spokes() {
                let Spoke { edge, other } = self.spokes[place];
                if edge != at.parent_edge {
                    stack.push(other);
                }
            }
        }
        self.stack = stack;
        self.spend(work, size as u64 * 2)
    }

    /// The least of every part becomes 0.
    fn normalize(&mut self) {
        let mut least: Table<i32> = Table::filled(i32::MAX, self.count);
        for node in 0..self.count as u32 {
            let part = self.parts.find(node);
            least[part] = least[part].min(self.values[node]);
        }
        for node in 0..self.count as u32 {
            let part = self.parts.find(node);
            self.values[node] -= least[part];
        }
    }

    /// Nodes that may stand on several ranks at the same cost go to the one with the fewest nodes.
    fn balance_ranks(&mut self, work: &mut Work) -> Result<(), Exhausted> {
        let greatest = self.values.iter().take(self.count).copied().max().unwrap_or(0).max(0) as usize;
        if greatest > self.count.saturating_mul(64) {
            return Ok(());
        }
        let mut population: Table<u32> = Table::filled(0, greatest + 1);
        for node in 0..self.count {
            population[self.values[node].max(0) as usize] += 1;
        }
        for node in 0..self.count as u32 {
            let (mut into, mut out) = (0i64, 0i64);
            let (mut least, mut most) = (0, greatest as i32);
            for place in self.spokes_at(node) {
                let e = self.edges[self.spokes[place].edge];
                if (e.tail as usize).max(e.head as usize) >= self.count || e.length <= FREE {
                    continue;
                }
                if e.head == node {
                    into += i64::from(e.weight);
                    least = least.max(self.values[e.tail] + e.length);
                } else {
                    out += i64::from(e.weight);
                    most = most.min(self.values[e.head] - e.length);
                }
            }
            // What nothing holds stays at the top.
            if into != out || into == 0 || most <= least {
                continue;
            }
            self.spend(work, (most - least) as u64 + 1)?;
            let mut choice = self.values[node];
            for rank in least..=most {
                if population[rank.max(0) as usize] < population[choice.max(0) as usize] {
                    choice = rank;
                }
            }
            population[self.values[node].max(0) as usize] -= 1;
            population[choice.max(0) as usize] += 1;
            self.values[node] = choice;
        }
        Ok(())
    }

    /// Where a tree edge has cut value 0 its two sides may move apart for nothing: by half of what there is.
    fn balance_sides(&mut self, limits: Limits, work: &mut Work) -> Result<(), Exhausted> {
        for place in 0..self.tree.len() {
            if work.is_past(limits.mark) {
                break;
            }
            let edge = self.tree[place];
            if self.cuts[edge] != 0 {
                continue;
            }
            let Some(entering) = self.entering_edge(edge, work)? else { continue };
            let slack = self.slack(entering);
            if slack <= 1 {
                continue;
            }
            let e = self.edges[edge];
            let tail_below = self.nodes[e.tail].lim < self.nodes[e.head].lim;
            let (root, by) = if tail_below { (e.tail, -(slack / 2)) } else { (e.head, slack / 2) };
            self.shift_below(root, by, work)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 5;
    const VALUES: i32 = 7;

    fn cost(values: &[i32], constraints: &[Constraint]) -> Option<i64> {
        let mut total = 0;
        for edge in constraints {
            let length = values[edge.head as usize] - values[edge.tail as usize];
            if length < edge.length {
                return None;
            }
            total += i64::from(length) * i64::from(edge.weight);
        }
        Some(total)
    }

    /// The least cost over all values in a small range.
    fn least(constraints: &[Constraint]) -> i64 {
        let all = (VALUES as usize).pow(NODES as u32);
        (0..all)
            .filter_map(|mut code| {
                let mut values = [0; NODES];
                for value in &mut values {
                    *value = (code % VALUES as usize) as i32;
                    code /= VALUES as usize;
                }
                cost(&values, constraints)
            })
            .min()
            .unwrap()
    }

    #[test]
    fn nothing_is_cheaper_than_what_it_finds() {
        let mut state = 99_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let limits = Limits { search_size: 30, exchanges: u64::MAX, mark: u64::MAX };
        for round in 0..60 {
            let mut constraints = Vec::new();
            for tail in 0..NODES as u32 {
                for head in tail + 1..NODES as u32 {
                    if below(2) == 0 {
                        let (length, weight) = (below(3) as i32 - 1, below(5) as i32);
                        constraints.push(Constraint { tail, head, length, weight });
                    }
                }
            }
            for balance in [Balance::Ranks, Balance::Sides] {
                let mut work = Work::new(u64::MAX, None);
                let (values, ending) = solve(NODES, &constraints, None, balance, limits, &mut work).unwrap();
                let values: Vec<i32> = values.iter().copied().collect();
                assert_eq!(ending, Ending::Best);
                assert_eq!(cost(&values, &constraints), Some(least(&constraints)), "round {round}: {constraints:?}");
            }
        }
    }

    #[test]
    fn a_bad_start_ends_as_well_as_none() {
        let constraints = [(0, 1), (1, 2), (0, 3), (3, 2), (2, 4)].map(|(tail, head)| Constraint {
            tail,
            head,
            length: 1,
            weight: 1,
        });
        let limits = Limits { search_size: 1, exchanges: u64::MAX, mark: u64::MAX };
        let start = Some([9, 0, 0, 40, 7].into_iter().collect());
        let mut work = Work::new(u64::MAX, None);
        let (values, _) = solve(NODES, &constraints, start, Balance::Ranks, limits, &mut work).unwrap();
        assert_eq!(values.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 1, 3]);
    }

    #[test]
    fn a_cycle_loses_a_constraint_and_does_no_harm() {
        let constraints = [(0, 1), (1, 2), (2, 0)].map(|(tail, head)| Constraint { tail, head, length: 1, weight: 1 });
        let limits = Limits { search_size: 30, exchanges: u64::MAX, mark: u64::MAX };
        let mut work = Work::new(u64::MAX, None);
        let (values, _) = solve(3, &constraints, None, Balance::Ranks, limits, &mut work).unwrap();
        assert_eq!(values.iter().copied().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
