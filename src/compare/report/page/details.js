// The comparison's details: the tree with its filters, and the switch between the two views.

function filters() {
  const real = entries.filter((entry) => entry.difference);
  const cut = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
  return [
    choice("kind", "Kind", real.map(({ difference }) => [difference.kind, difference.kind])),
    choice("node", "Node", entries.flatMap((entry) => entry.nodes.map((node) => [node, node]))),
    choice("cause", "Cause", real.flatMap(({ artifact }) => artifact.causes.map((at) => [String(at), cut(`${at + 1}. ${data.causes[at].what}`)]))),
    choice("severity", "Severity", real.map(({ difference }) => [difference.severity, difference.severity]), SEVERITIES),
    choice("state", "State", entries.map(({ state }) => [state, state])),
  ];
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
  return treeSection("Details", "Differences by artifact, file, object and field", "Search: text, path:…, cause:…, value:…, kind:…", filters(),
    el("div", { class: "switch", role: "group", "aria-label": "View" }, press("unified", "Unified", false), press("side", "Side by side", true)));
}

function startDiff() {
  readEntries();
  byId("main").prepend(summary(), details()); // before what the page has below
  setView(remembered("view") === "side");
  showTree();
  pageKeys();
  key(["v"], "unified or side by side", () => setView(!view.side));
}
