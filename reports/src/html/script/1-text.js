// Elements and numbers. Every text is set as text, none is parsed as HTML.
const el = (name, attributes = {}, ...children) => {
  const svg = svgNames.has(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const svgNames = new Set(["svg", "rect", "line", "text", "g", "title"]);
const id = (name) => document.getElementById(name);

const none = "–";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const count = (n) => (n === null || n === undefined ? none : grouped.format(n));
// Four significant digits at most, as on a terminal.
const magnitude = (value) => {
  if (value === null || value === undefined) return none;
  if (value === 0) return "0";
  const short = String(value);
  if (short.length <= 6) return short;
  // Halves are rounded to even.
  const [digits, exponent] = value.toExponential(60).split("e");
  const half = /^50*$/.test(digits.slice(5)) && "02468".includes(digits[4]);
  return `${half ? digits.slice(0, 5) : value.toExponential(3).split("e")[0]}e${Number(exponent)}`;
};
const percent = (part, whole) => {
  if (!whole) return "";
  const share = (100 * part) / whole;
  if (share === 0 || share === 100) return `${share} %`;
  // What is not all, or not nothing, is not rounded to it.
  if (share > 99.9) return "> 99.9 %";
  return share < 0.01 ? "< 0.01 %" : `${share.toPrecision(3)} %`;
};
const shape = (extents) => (extents.length ? extents.join("×") : "scalar");

// What nobody sees, or what changes the order of what is seen, is written out.
const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const visible = (text) => text.replace(hidden, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
// A name may be broken behind a dot or a line.
const name = (text) => el("bdi", {}, ...visible(text).split(/(?<=[._/])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part])));
