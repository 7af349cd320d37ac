//! A tree as a drawing.

use std::fmt::Write;

use super::Tree;

/// Places up to which leaves have names.
const NAMED: usize = 128;

impl Tree {
    /// The tree as SVG: the terms below, each sum a bar over what it adds. Sums of more than two
    /// parts are red.
    pub fn svg(&self, title: &str) -> String {
        let n = self.leaves();
        let (step, margin) = ((1600.0 / n.max(1) as f64).clamp(0.5, 24.0), 24.0);
        let (mut at, mut height) = (self.leaf_places(), vec![0usize; n]);
        for parts in self.merges() {
            let (first, last) = ends(parts, &at);
            at.push((first + last) / 2.0);
            height.push(1 + parts.iter().map(|&part| height[part]).max().unwrap_or(0));
        }
        let most = height.last().copied().unwrap_or(0).max(1);
        let rise = (800.0 / most as f64).clamp(0.25, 24.0);
        let (width, tall) = (
            n as f64 * step + 2.0 * margin,
            most as f64 * rise + 4.0 * margin,
        );
        let x = |place: f64| margin + (place + 0.5) * step;
        let y = |height: usize| tall - 2.0 * margin - height as f64 * rise;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {tall:.1}\">\n\
             <title>{0}</title>\n<text x=\"{margin}\" y=\"16\" font-family=\"sans-serif\" \
             font-size=\"12\">{0}</text>\n",
            escaped(title)
        );
        for (k, parts) in self.merges().enumerate() {
            let (first, last) = ends(parts, &at);
            let top = y(height[n + k]);
            let mut path = format!("M{:.1} {top:.1}H{:.1}", x(first), x(last));
            for &part in parts {
                // Writing to a string does not fail.
                let _ = write!(path, "M{:.1} {top:.1}V{:.1}", x(at[part]), y(height[part]));
            }
            let colour = if parts.len() > 2 { "#c00" } else { "#333" };
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\"/>"
            );
        }
        for (leaf, &place) in at[..n].iter().enumerate().filter(|_| n <= NAMED) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-family=\"sans-serif\" font-size=\"8\" \
                 text-anchor=\"middle\">{leaf}</text>",
                x(place),
                y(0) + 12.0
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Where the leaves stand so that no lines cross.
    fn leaf_places(&self) -> Vec<f64> {
        let n = self.leaves();
        let mut places = vec![0.0; n];
        let mut next = 0.0;
        let mut stack: Vec<usize> = (n + self.nodes()).checked_sub(1).into_iter().collect();
        while let Some(part) = stack.pop() {
            if part < n {
                places[part] = next;
                next += 1.0;
            } else {
                stack.extend(self.node(part - n).iter().rev());
            }
        }
        places
    }
}

fn ends(parts: &[usize], at: &[f64]) -> (f64, f64) {
    let places = parts.iter().map(|&part| at[part]);
    (
        places.clone().fold(f64::INFINITY, f64::min),
        places.fold(f64::NEG_INFINITY, f64::max),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Tree};

    #[test]
    fn every_sum_is_a_path_and_every_term_has_a_name() {
        let svg = Form::Pairwise.tree(8).svg("a < b");
        assert_eq!(svg.matches("<path").count(), 7);
        assert_eq!(svg.matches("text-anchor").count(), 8);
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n"));
        let many = Tree::from_merges(4, &[[0, 1, 2, 3]]).unwrap().svg("");
        assert_eq!(many.matches("#c00").count(), 1);
        assert!(Tree::sequential(0).svg("").ends_with("</svg>\n"));
    }
}
