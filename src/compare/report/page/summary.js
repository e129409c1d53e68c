// The comparison's first page: what it means for nodes, images, flags, gates, API types, certificates; and why.

const EFFECTS = {
  reinstall: ["re-install", "breaking"], reboot: ["reboot", "breaking"], restart: ["restart CRI-O", "notable"], reload: ["reload CRI-O", "notable"],
  written: ["write files", "info"], "first-boot": ["nothing", "info"],
};

const short = (image) => image.match(/sha256:([0-9a-f]{12})/)?.[1] || image;

function causeLine(cause) {
  const values = cause.from === null && cause.to === null ? null : [": ", moved(cause.from, cause.to, (text) => (text.length > 90 ? `${text.slice(0, 89)}…` : text))];
  const places = (cause.places || []).map((place) => [place.file, place.line].filter(Boolean).join(":"));
  return [el("span", { class: "kind" }, { release: "release image", config: "config field" }[cause.kind] || cause.kind), " ",
    code(cause.what), values, places.length > 0 ? el("span", { class: "note" }, ` ${places.join("; ")}`) : null];
}

function tiles() {
  const { counts: number } = data.summary;
  const real = entries.filter((entry) => entry.difference);
  const of = (severity) => real.filter((entry) => entry.difference.severity === severity).length;
  const tile = (value, text, kind) => (value > 0 ? el("div", { class: `tile ${kind || ""}` }, el("b", {}, value.toLocaleString("en")), " ", text) : null);
  return el("div", { class: "tiles" },
    tile(number.changed, "changed", "chg"), tile(number.added, "added", "add"), tile(number.removed, "removed", "del"),
    tile(number.renamed, "renamed", "chg"), tile(number.same, "the same"),
    tile(real.length, real.length === 1 ? "difference" : "differences"), tile(of("breaking"), "breaking", "breaking"), tile(of("notable"), "notable", "notable"));
}

// Files, the first few at once.
function files(names) {
  const few = names.slice(0, 3).map((name) => el("div", {}, code(name)));
  if (names.length <= 3) return few;
  return [few, el("details", {}, el("summary", {}, `and ${names.length - 3} more`), names.slice(3).map((name) => el("div", {}, code(name))))];
}

function nodes() {
  // Nodes that do the same because of the same are one row.
  const groups = new Map();
  for (const node of data.summary.nodes) {
    const fate = JSON.stringify([node.effect, node.because, node.units]);
    groups.set(fate, [...(groups.get(fate) || []), node]);
  }
  const order = Object.keys(EFFECTS);
  const rows = [...groups.values()].sort(([a], [b]) => order.indexOf(a.effect) - order.indexOf(b.effect)).map((some) => {
    const [does, kind] = EFFECTS[some[0].effect] || ["on one side only", "notable"];
    const names = some.map(({ node }) => el("button", { type: "button", class: "link", title: "only what reaches this node", onclick: () => narrow({ node }) }, code(node)));
    return row(el("div", { class: "names" }, names), tag(does, kind), files(some[0].because), files(some[0].units));
  });
  return rows.length > 0 ? section("nodes", "Nodes", "What each would do if it runs already.", table(["Node", "Would", "Because of", "Units that restart"], rows)) : null;
}

const part = (id, title, lead, heads, rows) => (rows.length > 0 ? section(id, title, lead, table(heads, rows, 8)) : null);

function causes() {
  const rows = data.causes.map((cause, at) => row(causeButton(at), causeLine(cause),
    el("span", { class: "note whole" }, count(data.artifacts.filter((artifact) => artifact.causes.includes(at)).length, "artifact"))));
  return part("causes", "Causes", "What changed first; the rest follows from it. Choose one to see only that.", ["", "What", "Reaches"], rows);
}

function summary() {
  const { images, flags, gates, schemas, certificates } = data.summary;
  if (data.artifacts.length === 0) return section("summary", "Summary", "There is no difference.", tiles());
  const unlike = [...new Map(schemas.map((one) => [JSON.stringify(one), one])).values()];
  const used = unlike.filter((one) => one.used_by.length > 0);
  const others = unlike.filter((one) => one.used_by.length === 0);
  const schema = (one) => row(code(one.crd), code(one.field), one.what, one.used_by.map((name) => el("div", {}, code(name))));
  return el("div", { id: "summary" }, tiles(), nodes(),
    part("used", "API fields that our own objects use", "They go away, or refuse more than before.", ["Type", "Field", "What", "Used by"], used.map(schema)),
    causes(),
    el("div", { class: "columns" },
      part("images", "Images", null, ["Component", "Digest"], images.map((one) => row(code(one.component), moved(one.old, one.new, short)))),
      part("gates", "Feature gates", null, ["Gate", "State"], gates.map((one) => row(code(one.gate), moved(one.old, one.new))))),
    part("flags", "Flags", null, ["Program", "Flag", "Value"], flags.map((one) => row([one.program, el("div", { class: "note" }, artifactLink(one.artifact))], code(one.flag), moved(one.old, one.new)))),
    part("schemas", "API fields that refuse more", "None of our own objects uses them.", ["Type", "Field", "What"], others.map((one) => row(code(one.crd), code(one.field), one.what))),
    part("certificates", "Certificates", null, ["Certificate", "Key", "Fields"],
      certificates.map((one) => row(artifactLink(one.artifact), one.rekeyed ? tag("new key", "notable") : "the same key", one.fields.join(", ")))));
}
