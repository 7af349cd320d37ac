// The list of boundaries, drawn as far as it is looked at, and what filters list and map.
const CHUNK = 60;
const off = new Set();
let listed = [];
let drawn = 0;

const row = (entry) => el("tr", { "aria-selected": entry.at === current ? "true" : "false", "data-at": entry.at },
  el("td", {}, link(entry.title)),
  el("td", { class: "less" }, entry.grid),
  el("td", { class: "n less" }, count(entry.elements)),
  el("td", { class: "n" }, count(entry.local)),
  el("td", { class: "n" }, count(entry.inherited)),
  el("td", { class: "n" }, typeof entry.ulp === "string" ? entry.ulp : count(entry.ulp)),
  el("td", {}, el("span", { class: "mark" }, kinds[entry.kind].mark, el("span", { class: "word" }, ` ${kinds[entry.verdict].label}`))));

const more = () => {
  const next = listed.slice(drawn, drawn + CHUNK);
  drawn += next.length;
  id("rows").append(...next.map(row));
  const left = listed.length - drawn;
  id("end").textContent = left ? `${count(left)} more below …` : "";
};

const filter = () => {
  const wanted = id("find").value.trim().toLowerCase();
  listed = index.filter((entry) => !off.has(entry.kind) && entry.text.includes(wanted));
  const shown = new Set(listed.map((entry) => entry.at));
  cells.forEach((cell, at) => cell.classList.toggle("off", !shown.has(at)));
  drawn = 0;
  id("rows").replaceChildren();
  id("shown").textContent = listed.length === index.length ? count(index.length) : `${count(listed.length)} of ${count(index.length)}`;
  more();
};

const drawFilter = () => {
  const counts = order.map((kind) => [kind, index.filter((entry) => entry.kind === kind).length]);
  for (const [kind, n] of counts.filter(([, n]) => n)) {
    const { style, mark, label, key } = kinds[kind];
    const toggle = el("button", {
      type: "button", class: "toggle", "aria-pressed": "true", "data-kind": key,
      onclick: () => {
        off.has(kind) ? off.delete(kind) : off.add(kind);
        toggle.setAttribute("aria-pressed", String(!off.has(kind)));
        filter();
      },
    }, el("i", { class: style }, mark), `${label} ${count(n)}`);
    id("filter").append(toggle);
  }
  id("find").addEventListener("input", filter);
  new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting) && drawn < listed.length) more();
  }, { rootMargin: "600px" }).observe(id("end"));
};
