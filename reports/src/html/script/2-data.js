// The report. What is said of each boundary is parsed when it is asked for.
const report = JSON.parse(id("report").textContent);
const words = report.words;
const index = report.index.map(([title, stage, verdict, grid, elements, local, inherited, ulp, only], at) => ({
  at, title, stage, verdict, grid, elements, local, inherited, ulp,
  // Six verdicts, and a seventh kind: diverged, but only by what it was handed.
  kind: only ? 6 : verdict,
  text: `${title}\n${stage}`.toLowerCase(),
}));
const byTitle = new Map(index.map((entry) => [entry.title, entry]));

const element = ([index, reference, candidate, from, to, truth, condition]) => ({
  index, reference, candidate, reference_bits: `0x${from}`, candidate_bits: `0x${to}`, truth, condition,
});

let lines = null;
const boundary = (at) => {
  lines ??= id("boundaries").textContent.trim().split("\n");
  const found = JSON.parse(lines[at]);
  for (const side of [found.local, found.inherited]) {
    if (!side) continue;
    side.worst = side.worst.map(element);
    side.max_abs_at = side.max_abs_at && element(side.max_abs_at);
  }
  return found;
};

const kinds = words.verdicts.map(([key, label], at) => ({
  key, label: label.slice(2), mark: label.slice(0, 1), style: `v${at}`,
}));
kinds.push({ key: "diverged-inherited", label: "diverged, inherited only", mark: "↳", style: "inherited" });
// In the order of a legend: what only inherits stands beside what diverged.
const order = [0, 1, 2, 3, 4, 6, 5];

const badge = (kind) => el("span", { class: `badge ${kinds[kind].style}` }, `${kinds[kind].mark} ${kinds[kind].label}`);
const link = (title) => el("a", { href: `#${encodeURIComponent(title)}` }, name(title));
