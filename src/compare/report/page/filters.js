// Search and filters over a tree: what is wanted, and the controls that say so. Each page has its own `showTree`.

const wanted = { query: "" };
let tree;

const isNarrowed = () => Object.values(wanted).some((value) => value !== "");
const unnarrowed = () => Object.fromEntries(Object.keys(wanted).map((name) => [name, ""]));
const clear = () => narrow(unnarrowed(), false);

// `a b` means both; `path:a` looks there only, for each of `fields`; quotes keep spaces.
function parse(query, fields = ["path", "cause", "value", "kind"]) {
  const words = query.toLowerCase().match(/(?:[^\s"]|"[^"]*"?)+/g) || [];
  const known = new RegExp(`^(${fields.join("|")}):(.*)$`, "s");
  return words.map((word) => {
    const plain = word.replaceAll('"', "");
    const [, field, text] = plain.match(known) || [null, null, plain];
    return { field, text };
  }).filter(({ text }) => text !== "");
}

// Whether text by field has every term.
const hasAll = (text, terms) => terms.every((term) => (term.field ? text[term.field].includes(term.text)
  : Object.entries(text).some(([field, one]) => field !== "kind" && one.includes(term.text))));

function options(values) {
  const known = new Map();
  for (const [value, label] of values) {
    const one = known.get(value) || { label, number: 0 };
    one.number += 1;
    known.set(value, one);
  }
  return known;
}

// A filter: all, or one of the values that there are, with how often.
function choice(name, label, values, order) {
  wanted[name] = "";
  const known = options(values);
  const sorted = [...known].sort(([a], [b]) => (order ? order.indexOf(a) - order.indexOf(b) : a.localeCompare(b, "en", { numeric: true })));
  const select = el("select", { id: `filter-${name}`, onchange: (event) => narrow({ [name]: event.target.value }, false) },
    el("option", { value: "" }, "all"),
    sorted.map(([value, one]) => el("option", { value }, `${one.label} (${one.number})`)));
  return el("label", { class: "filter" }, el("span", {}, label), select);
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

// Says how much is left.
function counted(text, isAny) {
  byId("found").textContent = text;
  byId("nothing").hidden = isAny;
  byId("clear").disabled = !isNarrowed();
}

// The part with the tree: search, filters, and what `more` has for the first line.
function treeSection(title, label, placeholder, filters, more) {
  const search = el("input", {
    id: "search", type: "search", placeholder, "aria-label": "Search", autocomplete: "off", spellcheck: "false",
    "aria-keyshortcuts": "/", "aria-controls": "tree",
    oninput: (event) => narrow({ query: event.target.value }, false),
    onkeydown: (event) => {
      if (event.key === "Escape" && event.target.value !== "") narrow({ query: "" }, false);
      else if (["Escape", "Enter", "ArrowDown"].includes(event.key)) tree.step(0);
      else return;
      event.preventDefault();
    },
  });
  tree = new Tree(label);
  tree.root.id = "tree";
  return el("section", { id: "details", "aria-labelledby": "details-title" },
    el("h2", { id: "details-title" }, title),
    el("div", { class: "bar" },
      el("div", { class: "find", role: "search" }, search, more),
      el("div", { class: "filters", role: "group", "aria-label": "Filters" }, filters),
      el("div", { class: "result" },
        el("span", { id: "found", role: "status" }),
        el("button", { type: "button", id: "clear", onclick: clear }, "Clear"),
        el("button", { type: "button", onclick: () => tree.openAll(2000) }, "Open all"),
        el("button", { type: "button", onclick: () => tree.closeAll() }, "Close all"))),
    el("p", { id: "nothing", hidden: true, class: "lead" }, "Nothing is like that. Clear the search and the filters to see all."),
    tree.root);
}

// Opens an artifact; what is narrowed away is brought back for it.
function goTo(name) {
  const item = () => [...tree.root.children].find((one) => tree.nodes.get(one).artifact?.name === name);
  if (!item()) clear();
  let found = item();
  while (!found) {
    const more = tree.root.lastElementChild && tree.nodes.get(tree.root.lastElementChild).more;
    if (!more) return;
    more();
    found = item();
  }
  tree.open(found);
  tree.focus(found);
  found.scrollIntoView({ block: "start" });
}

const artifactLink = (name) => el("a", { href: "#details", onclick: (event) => { event.preventDefault(); goTo(name); } }, code(name));

// Keys that every page with a tree has.
function pageKeys() {
  key(["/"], "search", () => { byId("search").focus(); byId("search").select(); });
  treeKeys(tree);
  key(["x"], "clear search and filters", clear);
  key(["s"], "to the summary", () => { window.scrollTo({ top: 0 }); byId("title").focus(); });
  key(["d"], "to the details", () => { byId("details").scrollIntoView(); tree.step(0); });
  key(["t"], "theme: auto, light, dark", nextTheme);
  key(["?"], "these keys", showHelp);
  key(["Escape"], "in the search: clear it, then go to the tree", null);
}
