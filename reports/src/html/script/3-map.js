// The map of stages: a cell for each boundary, in graph order.
const cells = [];
const drawMap = () => {
  const stages = new Map();
  for (const entry of index) {
    let row = stages.get(entry.stage);
    if (!row) stages.set(entry.stage, (row = []));
    row.push(entry);
  }
  const all = document.createDocumentFragment();
  for (const [stage, entries] of stages) {
    const row = el("div", { class: "cells" });
    for (const entry of entries) {
      const { style, mark, label } = kinds[entry.kind];
      const title = visible(entry.title);
      const cell = el("a", {
        class: style, href: `#${encodeURIComponent(entry.title)}`, title: `${title}: ${label}`,
        "aria-label": `${title}: ${label}`, tabindex: "-1", "data-at": entry.at,
      }, mark);
      cells[entry.at] = cell;
      row.append(cell);
    }
    all.append(el("div", { class: "stage" }, el("span", {}, name(stage)), row));
  }
  id("stages").replaceChildren(all);
  if (cells.length) cells[0].tabIndex = 0;
  id("stages").addEventListener("keydown", moveFocus);
};

// One cell can be reached by Tab; arrows go to the others.
const moveFocus = (event) => {
  const from = event.target.closest("[data-at]");
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (!from || step === undefined) return;
  event.preventDefault();
  const vertical = event.key === "ArrowDown" || event.key === "ArrowUp";
  let to = Number(from.dataset.at);
  const row = from.parentNode;
  do {
    to = Math.min(Math.max(to + step, 0), cells.length - 1);
  } while (vertical && cells[to].parentNode === row && to > 0 && to < cells.length - 1);
  from.tabIndex = -1;
  cells[to].tabIndex = 0;
  cells[to].focus();
};
