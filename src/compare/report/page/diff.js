// The comparison: its differences, what of them is wanted, and the tree of those.

const SIGNS = { added: "+", removed: "−", changed: "~", renamed: "→", lines: "~" };
const SEVERITIES = ["breaking", "notable", "info"];

// The way to a difference: what it is in (files and objects), and the field there. As `way` of the terminal's rows.
function way(place) {
  const inside = [];
  let field = "";
  for (const { into, name } of place) {
    if (into === "file" || into === "object" || into === "certificate") {
      if (field.trim()) inside.push(field.trim());
      field = "";
      inside.push(name);
    } else if (into === "item") field += `[${name}]`;
    else if (into === "section") field += `[${name}] `;
    else if (into === "flag" || into === "rule") field += ` ${name}`;
    else if (name === "" || /[./[]/.test(name)) field += `[${JSON.stringify(name)}]`;
    else field += field === "" || field.endsWith(" ") ? name : `.${name}`;
  }
  return [inside, field.trim()];
}

const artifactName = (artifact) => (artifact.before ? `${artifact.before} → ${artifact.name}` : artifact.name || "files");

function causeText(cause) {
  return `${cause.kind} ${cause.what} ${cause.from ?? ""} ${cause.to ?? ""} ${(cause.places || []).map((place) => place.file).join(" ")}`;
}

// Which nodes a difference reaches: those whose artifact it is in, and those whose artifact says that a file of it is as here.
function nodesOf(artifacts) {
  const byName = new Map(artifacts.map((artifact) => [artifact.name, artifact]));
  const reach = data.summary.nodes.map(({ node, added, removed, changed }) => {
    const own = [`ignition/${node}`, `iso/${node}`, `infra/${node}`];
    const from = new Set(own);
    const visit = (name) => (byName.get(name)?.same || []).forEach((same) => {
      if (!from.has(same.artifact)) {
        from.add(same.artifact);
        visit(same.artifact);
      }
    });
    own.forEach(visit);
    const files = [...added, ...removed, ...changed];
    return { node, own: new Set(own), from, has: (name) => files.some((file) => file === name || file.endsWith(`/${name}`)) };
  });
  return (artifact, difference) => reach.filter(({ node, own, from, has }) => {
    if (own.has(artifact.name)) return true;
    const files = difference ? difference.place.filter((step) => step.into === "file").map((step) => step.name) : [];
    if (artifact.name === "cluster") return files.some((file) => own.has(file.replace(/\.[a-z]+$/, "")));
    return from.has(artifact.name) && files.some(has);
  }).map(({ node }) => node);
}

// Every difference, with what it is found by; an artifact without one of its own is one entry without a difference.
const entries = [];

function readEntries() {
  const nodes = nodesOf(data.artifacts);
  for (const artifact of data.artifacts) {
    const differences = artifact.differences.length > 0 ? artifact.differences : [null];
    for (const difference of differences) {
      const [inside, field] = difference ? way(difference.place) : [[], ""];
      const edit = difference ? difference.edit : artifact.state;
      entries.push({
        artifact, difference, inside, field, nodes: nodes(artifact, difference),
        state: edit === "lines" ? "changed" : edit,
      });
    }
  }
}

// What of an entry can be searched, in lower case; made once, when it is first asked for.
function searchable(entry) {
  if (!entry.text) {
    const { artifact, difference } = entry;
    const path = [artifactName(artifact), ...entry.inside, entry.field].join(" › ").toLowerCase();
    const cause = artifact.causes.map((at) => causeText(data.causes[at])).join(" ").toLowerCase();
    const values = difference
      ? [worded(difference.old), worded(difference.new), difference.note, ...(difference.hunks || []).flatMap((one) => one.lines.map((line) => line.text))]
      : artifact.same.map((same) => same.artifact);
    entry.text = { path, cause, value: values.filter(Boolean).join("\n").toLowerCase(), kind: difference ? difference.kind : "" };
  }
  return entry.text;
}

function matches(entry, terms) {
  const { artifact, difference } = entry;
  if (wanted.kind && difference?.kind !== wanted.kind) return false;
  if (wanted.severity && difference?.severity !== wanted.severity) return false;
  if (wanted.state && entry.state !== wanted.state) return false;
  if (wanted.cause && !artifact.causes.includes(Number(wanted.cause))) return false;
  if (wanted.node && !entry.nodes.includes(wanted.node)) return false;
  return terms.length === 0 || hasAll(searchable(entry), terms);
}

// --- the tree of what is wanted

const OPEN_AT_ONCE = 30;

function leaf(entry, terms) {
  const { difference, field, state } = entry;
  const name = field || { file: "the file", text: "lines" }[difference.kind] || difference.kind;
  const kind = { added: "add", removed: "del" }[state] || "chg";
  const lines = height(difference);
  return {
    name: `${state}: ${name}, ${difference.kind}, ${difference.severity}`,
    fold: lines > OPEN_AT_ONCE,
    row: () => [
      el("span", { class: `state ${kind}`, "aria-hidden": "true" }, SIGNS[state]),
      field ? code(field, { class: "field" }, terms) : el("span", { class: "field" }, name),
      tag(difference.kind),
      difference.severity === "info" ? null : tag(difference.severity, difference.severity),
      difference.tone ? tag(difference.tone) : null,
      lines > OPEN_AT_ONCE ? el("span", { class: "count" }, count(lines, "line")) : null,
      difference.note ? el("span", { class: "note" }, said(difference.note, terms)) : null,
    ],
    body: () => change(difference, terms),
  };
}

// Nodes of entries below `depth` steps of their way; a step alone in another is one with it.
function branches(found, depth, terms, open) {
  const groups = new Map();
  const nodes = [];
  for (const entry of found) {
    const step = entry.inside[depth];
    if (step === undefined) {
      nodes.push(leaf(entry, terms));
      continue;
    }
    if (!groups.has(step)) {
      const group = [];
      groups.set(step, group);
      nodes.push({ step, group });
    }
    groups.get(step).push(entry);
  }
  return nodes.map((node) => (node.group ? branch(node.group, depth, terms, open) : node));
}

function branch(group, depth, terms, open) {
  const steps = [group[0].inside[depth]];
  let below = depth + 1;
  while (group.every((entry) => entry.inside.length > below && entry.inside[below] === group[0].inside[below])) {
    steps.push(group[0].inside[below]);
    below += 1;
  }
  const label = steps.join(" › ");
  return {
    name: `${label}, ${count(group.length, "difference")}`,
    open,
    row: () => [
      el("span", { class: "steps" }, steps.map((step, at) => [at > 0 ? el("span", { class: "into" }, " › ") : null, code(step, {}, terms)])),
      counts(group),
    ],
    children: () => branches(group, below, terms, open || group.length <= OPEN_AT_ONCE),
  };
}

function counts(group) {
  const worst = SEVERITIES.slice(0, 2)
    .map((severity) => [severity, group.filter((entry) => entry.difference?.severity === severity).length])
    .filter(([, number]) => number > 0)
    .map(([severity, number]) => tag(`${number} ${severity}`, severity));
  return [el("span", { class: "count" }, String(group.filter((entry) => entry.difference).length)), worst];
}

function causeButton(at) {
  const cause = data.causes[at];
  return el("button", {
    type: "button", class: "cause", title: `${cause.kind} ${cause.what}: only what it causes`, "aria-label": `cause ${at + 1}: ${cause.kind} ${cause.what}`,
    onclick: () => narrow({ cause: String(at) }),
  }, String(at + 1));
}

function about(artifact) {
  const { old, new: fresh, via, same } = artifact;
  const items = [];
  if (artifact.causes.length > 0) {
    items.push(["cause", artifact.causes.map((at) => el("div", {}, causeButton(at), " ", causeLine(data.causes[at])))]);
  }
  if (via.length > 0) items.push(["by way of", via.map((name, at) => [at > 0 ? ", " : "", artifactLink(name)])]);
  if (same.length > 0) {
    items.push(["told elsewhere", same.map((one) => el("div", {}, `${count(one.files, "file")} as in `, artifactLink(one.artifact)))]);
  }
  if (old || fresh) items.push(["content", moved(old ?? null, fresh ?? null, (id) => id.slice(0, 12))]);
  return el("dl", { class: "about" }, items.map(([term, what]) => [el("dt", {}, term), el("dd", {}, what)]));
}

function artifactNode(artifact, found, terms, open) {
  const kind = { added: "add", removed: "del" }[artifact.state] || "chg";
  const real = found.filter((entry) => entry.difference);
  const name = artifactName(artifact);
  return {
    name: `${artifact.state}: ${name}, ${count(real.length, "difference")}`,
    artifact,
    open,
    row: () => [
      el("span", { class: `state ${kind}`, "aria-hidden": "true" }, SIGNS[artifact.state]),
      code(name, { class: "artifact" }, terms),
      real.length > 0 ? counts(real) : el("span", { class: "count" }, artifact.same.length > 0 ? "told elsewhere" : "0"),
      el("span", { class: "causes" }, artifact.causes.map(causeButton)),
    ],
    body: () => about(artifact),
    children: () => branches(real, 0, terms, real.length <= OPEN_AT_ONCE),
  };
}

function showTree() {
  const terms = parse(wanted.query);
  const found = entries.filter((entry) => matches(entry, terms));
  const marks = terms.filter((term) => term.field !== "cause" && term.field !== "kind").map((term) => term.text);
  const byArtifact = new Map();
  for (const entry of found) {
    if (!byArtifact.has(entry.artifact)) byArtifact.set(entry.artifact, []);
    byArtifact.get(entry.artifact).push(entry);
  }
  let budget = isNarrowed() || entries.length <= OPEN_AT_ONCE ? OPEN_AT_ONCE * 3 : 0;
  const nodes = [...byArtifact].map(([artifact, some]) => {
    budget -= some.length;
    return artifactNode(artifact, some, marks, budget >= 0);
  });
  tree.show(nodes);
  const all = entries.filter((entry) => entry.difference).length;
  const here = found.filter((entry) => entry.difference).length;
  const text = isNarrowed()
    ? `${here.toLocaleString("en")} of ${count(all, "difference")}, in ${count(byArtifact.size, "artifact")}`
    : `${count(all, "difference")} in ${count(data.artifacts.length, "artifact")}`;
  counted(text, found.length > 0 || entries.length === 0);
}
