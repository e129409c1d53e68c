// Search and filters of the comparison.

function options(values) {
  const known = new Map();
  for (const [value, label] of values) {
    const one = known.get(value) || { label, number: 0 };
    one.number += 1;
    known.set(value, one);
  }
  return known;
}

function choice(name, label, values, order) {
  const known = options(values);
  const sorted = [...known].sort(([a], [b]) => (order ? order.indexOf(a) - order.indexOf(b) : a.localeCompare(b, "en", { numeric: true })));
  const select = el("select", { id: `filter-${name}`, onchange: (event) => narrow({ [name]: event.target.value }, false) },
    el("option", { value: "" }, "all"),
    sorted.map(([value, one]) => el("option", { value }, `${one.label} (${one.number})`)));
  return el("label", { class: "filter" }, el("span", {}, label), select);
}

function filters() {
  const real = entries.filter((entry) => entry.difference);
  const cut = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
  return el("div", { class: "filters", role: "group", "aria-label": "Filters" },
    choice("kind", "Kind", real.map(({ difference }) => [difference.kind, difference.kind])),
    choice("node", "Node", entries.flatMap((entry) => entry.nodes.map((node) => [node, node]))),
    choice("cause", "Cause", real.flatMap(({ artifact }) => artifact.causes.map((at) => [String(at), cut(`${at + 1}. ${data.causes[at].what}`)]))),
    choice("severity", "Severity", real.map(({ difference }) => [difference.severity, difference.severity]), SEVERITIES),
    choice("state", "State", entries.map(({ state }) => [state, state])));
}

// Sets what is wanted, and the controls with it. By default, the tree comes into sight.
function narrow(some, isSeen = true) {
  Object.assign(wanted, some);
  for (const [name, value] of Object.entries(some)) {
    const control = byId(name === "query" ? "search" : `filter-${name}`);
    if (control.value !== value) control.value = value;
  }
  showTree();
  if (isSeen) {
    byId("details").scrollIntoView({ block: "start" });
    tree.step(0);
  }
}

function setView(side) {
  view.side = side;
  byId("unified").setAttribute("aria-pressed", String(!side));
  byId("side").setAttribute("aria-pressed", String(side));
  remember("view", side ? "side" : "unified");
  // Only what is open is there to be drawn again.
  tree.root.querySelectorAll("[role=treeitem] > .body").forEach((body) => {
    const node = tree.nodes.get(body.parentElement);
    if (!node.artifact) body.replaceChildren(...[node.body()].flat(Infinity).filter(Boolean));
  });
  announce(side ? "side by side" : "unified");
}

function details() {
  const press = (id, text, side) => el("button", { type: "button", id, "aria-pressed": "false", onclick: () => setView(side) }, text);
  const search = el("input", {
    id: "search", type: "search", placeholder: "Search: text, path:…, cause:…, value:…, kind:…", "aria-label": "Search differences", autocomplete: "off", spellcheck: "false",
    "aria-keyshortcuts": "/", "aria-controls": "tree",
    oninput: (event) => narrow({ query: event.target.value }, false),
    onkeydown: (event) => {
      if (event.key === "Escape" && event.target.value === "") tree.step(0);
      else if (event.key === "Escape") narrow({ query: "" }, false);
      else if (event.key === "Enter" || event.key === "ArrowDown") tree.step(0);
      else return;
      event.preventDefault();
    },
  });
  tree = new Tree("Differences by artifact, file, object and field");
  tree.root.id = "tree";
  return el("section", { id: "details", "aria-labelledby": "details-title" },
    el("h2", { id: "details-title" }, "Details"),
    el("div", { class: "bar" },
      el("div", { class: "find", role: "search" }, search,
        el("div", { class: "switch", role: "group", "aria-label": "View" }, press("unified", "Unified", false), press("side", "Side by side", true))),
      filters(),
      el("div", { class: "result" },
        el("span", { id: "found", role: "status" }),
        el("button", { type: "button", id: "clear", onclick: clear }, "Clear"),
        el("button", { type: "button", onclick: () => tree.openAll(2000) }, "Open all"),
        el("button", { type: "button", onclick: () => tree.closeAll() }, "Close all"))),
    el("p", { id: "nothing", hidden: true, class: "lead" }, "Nothing is like that. Clear the search and the filters to see all."),
    tree.root);
}

const clear = () => narrow({ query: "", kind: "", node: "", cause: "", severity: "", state: "" }, false);

function startDiff() {
  readEntries();
  byId("main").append(summary(), details());
  setView(remembered("view") === "side");
  showTree();
  key(["/"], "search", () => { byId("search").focus(); byId("search").select(); });
  treeKeys(tree);
  key(["v"], "unified or side by side", () => setView(!view.side));
  key(["x"], "clear search and filters", clear);
  key(["s"], "to the summary", () => { window.scrollTo({ top: 0 }); byId("title").focus(); });
  key(["d"], "to the details", () => { byId("details").scrollIntoView(); tree.step(0); });
  key(["t"], "theme: auto, light, dark", nextTheme);
  key(["?"], "these keys", showHelp);
  key(["Escape"], "in the search: clear it, then go to the tree", null);
}
