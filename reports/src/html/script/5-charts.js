// Drawings: how many elements are how far apart, and where.
const bin = (start) => (start === 0 ? 0 : Math.round(Math.log2(start)) + 1);
const ranges = Array.from({ length: 33 }, (_, level) => (level < 2 ? String(level) : `${count(2 ** (level - 1))}–${count(2 ** level - 1)}`));
const range = (level) => ranges[level] ?? "?";

// Counts by distance, on a logarithmic scale. `sides`: [style, title, {distance: count}].
const histogram = (sides, unit) => {
  const bins = sides.flatMap(([, , found]) => Object.keys(found).map((start) => bin(Number(start))));
  const last = Math.max(1, ...bins);
  const most = Math.max(1, ...sides.flatMap(([, , found]) => Object.values(found)));
  const [left, width, height, bottom] = [44, 560, 150, 34];
  const step = (width - left) / (last + 1);
  const top = Math.ceil(Math.log10(most + 1));
  const y = (n) => height - (Math.log10(n + 1) / top) * (height - 12);
  const svg = el("svg", { viewBox: `0 0 ${width} ${height + bottom}`, role: "img", "aria-label": `Elements by distance in ${unit}` });
  for (let power = 0; power <= top; power += Math.ceil(top / 5)) {
    const at = y(10 ** power);
    svg.append(el("line", { x1: left, x2: width, y1: at, y2: at }));
    svg.append(el("text", { x: left - 5, y: at + 4, "text-anchor": "end" }, power < 4 ? count(10 ** power) : `1e${power}`));
  }
  sides.forEach(([style, title, found], side) => {
    for (const [start, n] of Object.entries(found)) {
      const level = bin(Number(start));
      const w = Math.min((step * 0.8) / sides.length, 40);
      const x = left + step * (level + 0.5) + (side - sides.length / 2) * w;
      svg.append(el("rect", { class: style, x, y: y(n), width: w, height: Math.max(height - y(n), 1), "data-bin": start, "data-count": n },
        el("title", {}, `${title}: ${count(n)} elements at ${range(level)} ${unit}`)));
    }
  });
  const every = Math.ceil((last + 1) / 12);
  for (let level = 0; level <= last; level += every) {
    const label = level < 11 ? String(level === 0 ? 0 : 2 ** (level - 1)) : `2^${level - 1}`;
    svg.append(el("text", { x: left + step * (level + 0.5), y: height + 15, "text-anchor": "middle" }, label));
  }
  svg.append(el("text", { x: width, y: height + 30, "text-anchor": "end" }, `distance of at least, in ${unit}`));
  return svg;
};

const mix = (share) => `color-mix(in oklab, var(--h1) ${Math.round(share * 100)}%, var(--h0))`;

// Where in the tensor the largest distances are.
const heat = (map, extents) => {
  const axis = (at) => (at === null ? "the only index" : `axis ${at}`);
  const span = (at, cell, per) => {
    if (at === null) return "";
    const [from, to] = [cell * per, Math.min((cell + 1) * per, extents[at]) - 1];
    return from === to ? `${from}` : `${from}–${to}`;
  };
  const unit = map.grid === "I32" || map.grid === "BOOL" ? "" : ` ${map.grid} ULP`;
  const digits = [...map.cells];
  const levels = digits.map((digit) => (digit === "." || digit === "z" ? -1 : parseInt(digit, 36)));
  const most = Math.max(...levels);
  const least = Math.min(...levels.filter((level) => level >= 0));
  const tone = (level) => mix(most > least ? 0.15 + (0.85 * (level - least)) / (most - least) : 1);
  const [w, h] = [480 / map.columns, Math.min(480 / map.columns, 320 / map.rows)];
  const [left, low] = [14, 16];
  const svg = el("svg", {
    viewBox: `0 0 ${480 + left} ${h * map.rows + low}`, role: "img",
    "aria-label": `Largest distance by ${axis(map.row_axis)} and ${axis(map.column_axis)}`,
  });
  digits.forEach((digit, at) => {
    const [r, c] = [Math.floor(at / map.columns), at % map.columns];
    const level = levels[at];
    const said = digit === "." ? "no bit differs" : digit === "z" ? "a NaN or an infinity against another value"
      : level === 0 ? "signs of zeros differ" : `at most ${range(level)}${unit}`;
    const where = [[map.row_axis, r, map.rows_per_cell], [map.column_axis, c, map.columns_per_cell]]
      .filter(([which]) => which !== null).map(([which, cell, per]) => `${axis(which)}: ${span(which, cell, per)}`).join(", ");
    const rect = el("rect", {
      class: digit === "." ? "same" : digit === "z" ? "none" : null, "data-digit": digit,
      x: left + c * w, y: r * h, width: w, height: h,
    }, el("title", {}, `${where}: ${said}`));
    if (level >= 0) rect.style.fill = tone(level);
    svg.append(rect);
  });
  if (map.column_axis !== null) {
    svg.append(el("text", { x: left + 480, y: h * map.rows + 13, "text-anchor": "end" }, `axis ${map.column_axis} (${count(extents[map.column_axis])}) →`));
  }
  if (map.row_axis !== null) {
    svg.append(el("text", { x: left, y: h * map.rows + 13 }, `↓ axis ${map.row_axis} (${count(extents[map.row_axis])})`));
  }
  const scale = el("div", { class: "scale" });
  const swatch = (fill, text) => {
    const box = el("i");
    if (fill) box.style.background = fill;
    else box.style.border = "1px solid var(--line)";
    scale.append(el("span", {}, box, text));
  };
  if (digits.includes(".")) swatch(null, "equal");
  if (most >= 0) {
    for (const level of new Set([least, Math.round((least + most) / 2), most])) {
      swatch(tone(level), level === 0 ? "±0" : `${range(level)}${unit}`);
    }
  }
  if (digits.includes("z")) swatch("var(--none)", "NaN or infinity");
  scale.append(el("span", {}, `a cell is ${count(map.elements_per_cell)} elements`));
  return el("div", { class: "heat" }, svg, scale);
};
