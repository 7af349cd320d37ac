//! A tree as text.

use std::fmt::{Display, Formatter, Result};

use super::Tree;

enum Item {
    Part(usize),
    Text(&'static str),
    /// Consecutive terms, both ends included.
    Terms(usize, usize),
}

/// The name of the tree's [`Form`](super::Form), or else brackets: one lists what is added from
/// left to right, so `(0 1 (2 3))` is `(x₀ + x₁) + (x₂ + x₃)`, and `0…7` are the terms 0 to 7 one
/// by one. What is added at once is in angle brackets, as in `(⟨0 1 2⟩ 3)`. No terms are `()`.
impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let n = self.leaves();
        if n < 2 {
            return f.write_str(if n == 0 { "()" } else { "0" });
        }
        if let Some(form) = self.form() {
            return form.fmt(f);
        }
        let mut stack = vec![Item::Part(n + self.nodes() - 1)];
        while let Some(item) = stack.pop() {
            match item {
                Item::Text(text) => f.write_str(text)?,
                Item::Terms(first, last) => write!(f, "{first}…{last}")?,
                Item::Part(part) if part < n => write!(f, "{part}")?,
                Item::Part(part) => {
                    let (open, close) = match self.node(part - n) {
                        [_, _] => ("(", ")"),
                        _ => ("⟨", "⟩"),
                    };
                    stack.push(Item::Text(close));
                    spine(self, part, &mut stack);
                    stack.push(Item::Text(open));
                }
            }
        }
        Ok(())
    }
}

/// Pushes what a part adds from left to right, the last first.
fn spine(tree: &Tree, mut part: usize, stack: &mut Vec<Item>) {
    let n = tree.leaves();
    let mut operands = Vec::new();
    if let many @ [_, _, _, ..] = tree.node(part - n) {
        operands.extend(many.iter().rev());
    } else {
        while part >= n
            && let [left, right] = *tree.node(part - n)
        {
            operands.push(right);
            part = left;
        }
        operands.push(part);
    }
    let mut rest = operands.as_slice();
    while let [last, ..] = rest {
        let row = |(back, &operand): (usize, &usize)| operand < n && operand + back == *last;
        let len = rest
            .iter()
            .enumerate()
            .take_while(|&pair| row(pair))
            .count();
        let (row, below) = rest.split_at(if len < 3 { 1 } else { len });
        stack.push(match row {
            [one] => Item::Part(*one),
            _ => Item::Terms(last + 1 - len, *last),
        });
        if !below.is_empty() {
            stack.push(Item::Text(" "));
        }
        rest = below;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Join, Tree};

    #[test]
    fn shapes_with_a_name_are_called_by_it() {
        let then = Join::Halving;
        let text = |form: Form, n| form.tree(n).to_string();
        assert_eq!(text(Form::Sequential, 9), "sequential");
        assert_eq!(text(Form::RightToLeft, 9), "right to left");
        assert_eq!(text(Form::Pairwise, 9), "pairwise");
        assert_eq!(
            text(Form::Lanes { count: 8, then }, 100),
            "8 lanes, then halving"
        );
        assert_eq!(
            text(Form::Runs { len: 16, then }, 100),
            "runs of 16, then halving"
        );
        let then = Join::Sequential;
        assert_eq!(
            text(Form::Runs { len: 3, then }, 9),
            "runs of 3, then sequential"
        );
        assert_eq!(text(Form::Sequential, 2), "sequential");
        assert_eq!(text(Form::Pairwise, 1), "0");
        assert_eq!(text(Form::Pairwise, 0), "()");
    }

    #[test]
    fn other_trees_are_brackets_that_list_what_is_added_from_left_to_right() {
        let tree = |n, merges: &[[usize; 2]]| Tree::from_merges(n, merges).unwrap().to_string();
        assert_eq!(
            tree(4, &[[1, 3], [0, 2], [4, 5]]),
            "2 lanes, then sequential"
        );
        assert_eq!(tree(4, &[[1, 2], [0, 4], [3, 5]]), "(0 (1 2) 3)");
        let chain = [[0, 1], [7, 2], [8, 3], [4, 6], [9, 10], [11, 5]];
        assert_eq!(tree(7, &chain), "(0…3 (4 6) 5)");
        assert_eq!(tree(5, &[[0, 4], [5, 1], [6, 2], [7, 3]]), "(0 4 1…3)");
        let many = Tree::from_merges(7, &[&[0, 1, 2, 3][..], &[5, 6], &[7, 4, 8]]).unwrap();
        assert_eq!(many.to_string(), "⟨⟨0…3⟩ 4 (5 6)⟩");
        let chain = Tree::from_merges(5, &[&[0, 1, 2][..], &[5, 3], &[6, 4]]).unwrap();
        assert_eq!(chain.to_string(), "(⟨0…2⟩ 3 4)");
    }

    #[test]
    fn deep_trees_are_written_without_recursion() {
        let n = 100_000;
        let mut merges: Vec<[usize; 2]> = vec![[0, n - 1]];
        merges.extend((1..n - 1).map(|i| [n + i - 1, n - 1 - i]));
        let text = Tree::from_merges(n, &merges).unwrap().to_string();
        assert!(text.starts_with("(0 99999 99998 "), "{}", &text[..40]);
        // Nested the other way: 1 + (2 + (… + (n−1 + 0))), seen from its smallest leaf a chain.
        let mut merges: Vec<[usize; 2]> = vec![[n - 1, n - 3]];
        merges.extend((0..n - 2).map(|i| [n + i, if i == 0 { n - 2 } else { n - 3 - i }]));
        let text = Tree::from_merges(n, &merges).unwrap().to_string();
        assert!(text.starts_with("(0 (1 (2 "), "{}", &text[..40]);
    }
}
