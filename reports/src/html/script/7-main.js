// Puts the page together, and follows the address.
const drawHeader = () => {
  const verdict = words.verdicts.findIndex(([key]) => key === report.verdict);
  id("verdict").className = `badge v${verdict}`;
  id("verdict").textContent = `${kinds[verdict].mark} ${kinds[verdict].label}`;
  id("counts").textContent = report.counts;
  const fact = (to, title, ...children) => id(to).append(el("span", {}, `${title} `, el("b", {}, ...children)));
  fact("facts", "exit code", el("span", { id: "code" }, String(report.exit_code)));
  for (const [title, value] of report.facts) fact("facts", title, name(value));
  fact("facts", "", el("span", { id: "forms" }, report.interference));
  const { local, inherited } = report.first_divergence;
  const first = (text, title, key) => fact("first", text, el("span", { id: `first-${key}` }, byTitle.has(title) ? link(title) : name(title)));
  if (local && local === inherited) first("first divergence, local and inherited:", local, "local");
  else {
    if (local) first("first divergence, local:", local, "local");
    if (inherited) first("first divergence, inherited:", inherited, "inherited");
  }
  const { file, relaxed } = report.policy;
  if (file) fact("facts", "policy", name(file));
  if (relaxed.length) {
    id("relaxed").hidden = false;
    id("relaxed").append(...relaxed.map((entry) => el("li", {}, "relaxed: ", name(typeof entry === "string" ? entry : JSON.stringify(entry)))));
  }
  id("command").textContent = report.command;
  id("fingerprint").tBodies[0].append(...report.fingerprint.map(([key, value]) => el("tr", {}, el("th", {}, visible(key)), el("td", { class: "mono" }, visible(value)))));
  id("copy").addEventListener("click", copy);
};

const copy = async () => {
  let done = false;
  try {
    await navigator.clipboard.writeText(report.command);
    done = true;
  } catch {
    getSelection().selectAllChildren(id("command"));
    done = document.execCommand("copy");
  }
  id("copy").textContent = done ? "Copied" : "Select and copy";
  setTimeout(() => (id("copy").textContent = "Copy"), 1500);
};

const addressed = () => {
  try {
    return byTitle.get(decodeURIComponent(location.hash.slice(1))) ?? null;
  } catch {
    return null;
  }
};

const select = (entry, scroll) => {
  for (const node of document.querySelectorAll("#rows [aria-selected=true]")) node.setAttribute("aria-selected", "false");
  if (current !== null) cells[current].removeAttribute("aria-current");
  current = entry.at;
  cells[current].setAttribute("aria-current", "true");
  document.querySelector(`#rows [data-at="${current}"]`)?.setAttribute("aria-selected", "true");
  detail(entry);
  id("detail").scrollTop = 0;
  if (scroll && !matchMedia("(min-width: 1080px)").matches) id("detail").scrollIntoView({ block: "start" });
};

const follow = () => {
  const entry = addressed();
  if (entry) select(entry, true);
};

drawHeader();
drawMap();
drawFilter();
filter();
if (addressed()) follow();
else {
  const { local, inherited } = report.first_divergence;
  const start = byTitle.get(local) ?? byTitle.get(inherited) ?? index[0];
  if (start) select(start, false);
  else id("detail").append(el("p", {}, "No boundary was judged."));
}
addEventListener("hashchange", follow);
performance.mark("drawn");
