// Everything about one boundary.
let current = null;

const heading = (text) => el("h3", {}, text);
const sides = (b) => [["local", "local", b.local], ["whole", "inherited", b.inherited]].filter(([, , m]) => m);

const facts = (b) => {
  const list = el("ul", {});
  const say = (...children) => list.append(el("li", {}, ...children));
  if (b.cause) say(el("b", {}, `cause: ${b.cause}`), ` – ${words.cause[b.cause]}`);
  if (b.origin) say(el("b", {}, `origin: ${b.origin}`), ` – ${words.origin[b.origin]}`);
  for (const flag of b.flags) say(el("b", {}, flag.replace("_", " ")), ` – ${words.flags[flag]}`);
  const evidence = words.evidence[b.evidence.level];
  if (evidence) say(el("b", {}, `evidence ${b.evidence.level}`), ` – ${evidence}`);
  if (b.evidence.schedule) say("schedule: ", name(b.evidence.schedule));
  for (const [, side, m] of sides(b)) if (m.failure) say(`${side}: `, name(m.failure));
  if (b.interp) {
    say(`on the reference's values the interpreter differs from the reference in ${count(b.interp.differing)}, from the candidate in ${count(b.interp.candidate_differing)} elements`);
  }
  for (const [side, ruled] of Object.entries(b.policy ?? {})) {
    if (!ruled) continue;
    const by = ruled.entry ? [" by its entry ", name(ruled.entry)] : [];
    const said = [["broken", ruled.broken], ["undecided", ruled.undecided]].filter(([, of]) => of.length).map(([what, of]) => `; ${what}: ${of.join(", ")}`);
    say(el("b", {}, `policy, ${side}`), ` – demands ${visible(ruled.demand)}`, ...by, visible(said.join("")));
  }
  const parents = b.parents.flatMap((parent, at) => [at ? ", " : "", byTitle.has(parent) ? link(parent) : name(parent)]);
  if (parents.length) say("from ", ...parents);
  if (b.guarded_by.length) {
    say(el("details", {}, el("summary", {}, `guarded by ${count(b.guarded_by.length)} negative control${b.guarded_by.length > 1 ? "s" : ""}`),
      ...b.guarded_by.map((control) => el("div", {}, name(control)))));
  }
  return list;
};

const metrics = (b) => {
  const both = sides(b);
  const table = el("table", { id: "metrics" }, el("thead", {}, el("tr", {}, el("th", {}),
    ...both.map(([, side]) => el("th", { class: "n" }, side)))));
  const body = el("tbody", {});
  const line = (title, of, always) => {
    const values = both.map(([, , m]) => of(m) ?? null);
    if (!always && values.every((value) => value === null)) return;
    body.append(el("tr", { "data-metric": title }, el("th", {}, title), ...values.map((value) => el("td", { class: "n" }, value ?? none))));
  };
  const positive = (of) => (both.some(([, , m]) => of(m)) ? of : () => null);
  line("verdict", (m) => m.verdict.replace("_", "-"), true);
  line("differing", (m) => (m.differing === null ? null : `${count(m.differing)} of ${count(b.elements)} ${m.differing ? `(${percent(m.differing, b.elements)})` : ""}`.trim()), true);
  line(`max ${b.grid} ULP`, (m) => (m.ulp ? count(m.ulp.max) : null));
  line(`mean ${b.grid} ULP`, (m) => (m.ulp ? magnitude(m.ulp.mean) : null));
  line(`over 1 ${b.grid} ULP`, (m) => (m.ulp ? count(m.ulp.over_one) : null));
  if (b.grid !== "F32" || both.some(([, , m]) => !m.ulp)) line("max F32 ULP", (m) => (m.ulp_f32 ? count(m.ulp_f32.max) : null));
  line("max abs", (m) => (m.max_abs === null ? null : magnitude(m.max_abs)), true);
  line("at", (m) => (m.max_abs_at ? `[${m.max_abs_at.index.join(", ")}]` : null));
  line("rms", (m) => (m.rms === null ? null : magnitude(m.rms)), true);
  line("max rel", (m) => (m.max_rel === null ? null : magnitude(m.max_rel)));
  line("NaN against a number", positive((m) => m.nan && count(m.nan)));
  line("infinity against another", positive((m) => m.inf && count(m.inf)));
  line("signs of zero", positive((m) => m.neg_zero && count(m.neg_zero)));
  if (b.grid === "BF16" || b.grid === "F16" || b.flags.includes("off_grid")) {
    const grid = b.grid.toLowerCase();
    for (const side of ["reference", "candidate"]) line(`on ${b.grid}, ${side}`, (m) => (m.on_grid && grid in m.on_grid[side] ? count(m.on_grid[side][grid]) : null));
  }
  table.append(body);
  const reasons = new Set(both.map(([, , m]) => m.ulp_reason).filter((reason) => reason && !/have no ULP$/.test(reason)));
  return el("div", { class: "scroll" }, table, ...[...reasons].map((reason) => el("p", { class: "faint" }, visible(reason))));
};

const share = (b) => {
  if (b.share_local === null) return null;
  const bar = el("div", {});
  bar.style.width = `${Math.min(b.share_local, 1) * 100}%`;
  const said = b.share_local > 1 ? "more than is left of it in the whole model" : "of the error in the whole model is made here";
  return el("div", { id: "share" }, heading("Local against inherited"),
    el("div", { class: "bar", role: "img", "aria-label": `share made here: ${(b.share_local * 100).toPrecision(3)} %` }, bar),
    el("div", { class: "key" }, el("span", {}, el("i", { class: "local" }), `${Number((b.share_local * 100).toPrecision(3))} % ${said} (rms²)`),
      el("span", {}, el("i", { class: "whole" }), "handed on")));
};

const distances = (b) => {
  const of = (m) => m.ulp ?? m.ulp_f32;
  const found = sides(b).filter(([, , m]) => m.differing && of(m)).map(([style, side, m]) => [style, side, of(m)]);
  if (!found.length) return null;
  const unit = `${found[0][2].grid ?? "F32"} ULP`;
  return el("div", { id: "histogram" }, heading(`Elements by distance, ${unit}`),
    el("div", { class: "key" }, ...found.map(([style, side]) => el("span", {}, el("i", { class: style }), side))),
    histogram(found.map(([style, side, ulp]) => [style, side, ulp.histogram]), unit));
};

const heats = (b) => {
  const found = sides(b).filter(([, , m]) => m.heat);
  if (!found.length) return null;
  // The same map twice says nothing.
  const same = found.length === 2 && found[0][2].heat.cells === found[1][2].heat.cells;
  const shown = same ? [["", "local and inherited", found[0][2]]] : found;
  return el("div", { id: "heat" }, ...shown.flatMap(([, side, m]) => [heading(`Where, ${side}`), heat(m.heat, b.shape)]));
};

// The bits of both sides, sign, exponent and significand apart, those that differ marked.
const bits = (own, other, grid) => {
  const [x, y] = [own, other].map((hex) => parseInt(hex, 16).toString(2).padStart(32, "0"));
  const cell = el("span", { class: "bits" });
  const kept = grid === "BF16" && !/[1]/.test(x.slice(16) + y.slice(16)) ? 16 : 32;
  const float = grid !== "I32" && grid !== "BOOL";
  for (let at = 0; at < kept; at++) {
    if (float && (at === 1 || at === 9)) cell.append(" ");
    cell.append(x[at] === y[at] ? (x[at] === "0" ? el("s", {}, "0") : "1") : el("u", {}, x[at]));
  }
  return cell;
};

const WORST = 8;
const worst = (b) => {
  const found = sides(b).filter(([, , m]) => m.worst.length);
  const blocks = found.map(([, side, m], at) => {
    const truth = m.worst.some((e) => e.truth !== null && e.truth !== undefined);
    const lines = (elements) => {
      const table = el("table", { class: "wide" }, el("thead", {}, el("tr", {}, el("th", {}, "index"), el("th", {}, "side"),
        el("th", { class: "n" }, "value"), el("th", {}, "bits"), el("th", { class: "less" }, "sign, exponent, significand"))));
      for (const e of elements) {
        const line = (which, first) => el("tr", {},
          first ? el("td", { class: "mono", rowspan: truth ? 3 : 2 }, `[${e.index.join(", ")}]`) : null,
          el("td", {}, which), el("td", { class: "n" }, String(e[which])), el("td", { class: "mono" }, e[`${which}_bits`]),
          el("td", { class: "mono less" }, bits(e[`${which}_bits`], e[which === "reference" ? "candidate_bits" : "reference_bits"], b.grid)));
        const exact = truth ? el("tr", {}, el("td", {}, "truth"), el("td", { class: "n" }, e.truth ?? none),
          el("td", { colspan: 2 }, typeof e.condition === "number" ? `condition ${magnitude(e.condition)}` : "")) : null;
        table.append(el("tbody", { "data-element": e.index.join(",") }, line("reference", true), line("candidate", false), exact));
      }
      return el("div", { class: "scroll" }, table);
    };
    const rest = m.worst.slice(WORST);
    return el("details", { open: at === 0 }, el("summary", {}, `${side}, ${count(m.worst.length)} elements`), lines(m.worst.slice(0, WORST)),
      rest.length ? el("details", {}, el("summary", {}, `${count(rest.length)} more`), lines(rest)) : null);
  });
  return blocks.length ? el("div", { id: "worst" }, heading("Worst elements"), ...blocks) : null;
};

const truth = (b) => {
  if (!b.truth) return null;
  const line = (side, d) => (d ? el("tr", { "data-side": side }, el("th", {}, side), el("td", { class: "n" }, magnitude(d.max_abs)), el("td", { class: "n" }, magnitude(d.rms))) : null);
  return el("div", { id: "truth" }, heading("Distance from the step without roundings"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", {}), el("th", { class: "n" }, "max abs"), el("th", { class: "n" }, "rms"))),
      el("tbody", {}, line("reference", b.truth.reference), line("candidate", b.truth.candidate))),
    b.truth.condition === null ? null : el("p", { class: "faint" }, `largest condition among the worst elements: ${magnitude(b.truth.condition)}`));
};

const detail = (entry) => {
  const b = boundary(entry.at);
  const step = (by, text, title) => {
    const to = index[entry.at + by];
    return to ? el("a", { href: `#${encodeURIComponent(to.title)}`, title, "aria-label": title }, el("button", { type: "button", tabindex: "-1" }, text)) : null;
  };
  id("detail").replaceChildren(...[
    el("div", { class: "title" }, el("h2", { id: "title" }, name(b.name)), badge(entry.kind),
      el("span", { class: "steps" }, step(-1, "↑", "previous boundary"), step(1, "↓", "next boundary"))),
    el("p", { class: "faint" }, `${shape(b.shape)} ${b.grid}, ${count(b.elements)} elements, stage `, name(b.stage)),
    facts(b), metrics(b), share(b), distances(b), heats(b), truth(b), worst(b),
  ].filter(Boolean));
};
