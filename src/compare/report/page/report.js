// A build: its graph with times, sizes, certificates, nodes, and where every object comes from.

const STATES = { built: ["built", "notable"], kept: ["as before", "info"], found: ["found in the store", "good"] };
const byName = new Map(data.artifacts.map((artifact) => [artifact.name, artifact]));
const users = new Map(data.artifacts.map((artifact) => [artifact.name, []]));
data.artifacts.forEach((artifact) => new Set(artifact.inputs.map((input) => input.from)).forEach((from) => users.get(from)?.push(artifact.name)));

function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  let left = number;
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${at === 0 ? left : left.toFixed(1)} ${units[at]}`;
}

function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${milliseconds} ms`;
  const seconds = milliseconds / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function left(hours) {
  const [text, past] = [Math.abs(hours), hours < 0];
  const words = text < 48 ? `${text} h` : text < 24 * 90 ? `${Math.floor(text / 24)} days` : text < 24 * 730 ? `${Math.floor(text / 24 / 30)} months` : `${Math.floor(text / 24 / 365)} years`;
  return past ? `${words} ago` : words;
}

const day = (time) => time.replace("T", " ").replace(/:\d\dZ$/, " UTC");
const right = (text) => el("span", { class: "whole" }, text);

// A bar, as long as its part of the most.
function bar(value, most) {
  const meter = el("meter", { min: "0", max: String(Math.max(most, 1)), value: String(value), "aria-hidden": "true" });
  return meter;
}

function reportTiles() {
  const of = (state) => data.artifacts.filter((artifact) => artifact.state === state).length;
  const tile = (value, text, kind) => el("div", { class: `tile ${kind || ""}` }, el("b", {}, value), " ", text);
  const worked = data.artifacts.filter((artifact) => artifact.state === "built").reduce((sum, artifact) => sum + (artifact.milliseconds || 0), 0);
  const { boots_until: until, expired } = data.expiry;
  return el("div", { class: "tiles" },
    tile(String(data.artifacts.length), "artifacts"), tile(String(of("built")), "built", "chg"),
    of("kept") > 0 && tile(String(of("kept")), "as before"), of("found") > 0 && tile(String(of("found")), "found in the store", "add"),
    tile(duration(worked), "of work"), tile(bytes(data.artifacts.reduce((sum, artifact) => sum + artifact.size, 0)), "in all"),
    until && tile(day(until), expired ? "was the last time to boot" : "is the last time to boot", expired ? "breaking" : ""));
}

// --- the graph: columns by depth, as `graph --format svg` has them

const BOX = { width: 210, height: 24, right: 60, below: 8 };

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key_, value]) => made.setAttribute(key_, value));
  made.append(...children.filter(Boolean));
  return made;
}

function places() {
  const depth = new Map();
  const rows = [];
  const found = new Map();
  // Where the files have changed since, inputs may come late: those count as none.
  for (const { name, inputs } of data.artifacts) {
    const column = Math.max(-1, ...inputs.map((input) => depth.get(input.from) ?? -1)) + 1;
    depth.set(name, column);
    rows[column] = (rows[column] || 0) + 1;
    found.set(name, [column * (BOX.width + BOX.right) + 2, (rows[column] - 1) * (BOX.height + BOX.below) + 2]);
  }
  return [found, rows];
}

function graph() {
  const [found, rows] = places();
  const [width, height] = [rows.length * (BOX.width + BOX.right) - BOX.right + 4, Math.max(...rows) * (BOX.height + BOX.below) + 4];
  const lines = data.artifacts.flatMap(({ name, inputs }) => [...new Set(inputs.map((input) => input.from))].filter((from) => found.has(from)).map((from) => {
    const [[x, y], [toX, toY]] = [found.get(from), found.get(name)];
    const [start, middle] = [x + BOX.width, (x + BOX.width + toX) / 2];
    const [fromY, endY] = [y + BOX.height / 2, toY + BOX.height / 2];
    const path = svg("path", { d: `M${start} ${fromY}C${middle} ${fromY} ${middle} ${endY} ${toX} ${endY}` });
    path.ends = [from, name];
    return path;
  }));
  const boxes = data.artifacts.map((artifact) => {
    const [x, y] = found.get(artifact.name);
    const label = artifact.name.length > 22 ? `${artifact.name.slice(0, 21)}…` : artifact.name;
    const title = svg("title", {}, `${artifact.name}: ${artifact.summary || ""} (${STATES[artifact.state][0]}, ${duration(artifact.milliseconds)}, ${bytes(artifact.size)})`);
    const box = svg("g", { class: artifact.state }, title, svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 5 }),
      svg("text", { x: x + 8, y: y + 16 }, label),
      svg("text", { x: x + BOX.width - 6, y: y + 16, class: "time" }, artifact.state === "built" ? duration(artifact.milliseconds) : ""));
    box.addEventListener("click", () => goTo(artifact.name));
    const near = (isOn) => lines.filter((line) => line.ends.includes(artifact.name)).forEach((line) => line.classList.toggle("near", isOn));
    box.addEventListener("mouseenter", () => near(true));
    box.addEventListener("mouseleave", () => near(false));
    return box;
  });
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Graph of all artifacts; the list below says the same in words" }, ...lines, ...boxes);
  const legend = el("p", { class: "lead" }, "Inputs are left of what is made from them. ", tag("built for this generation", "notable"), " ", tag("as before"), " ", tag("found in the store", "good"));
  return section("graph", "Graph", null, legend, el("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": "Graph, scrolls" }, drawing));
}

// --- tables

function largest(id, title, lead, value, show) {
  const sorted = data.artifacts.filter((artifact) => value(artifact) > 0).sort((a, b) => value(b) - value(a));
  const most = sorted.length > 0 ? value(sorted[0]) : 0;
  return sorted.length === 0 ? null : section(id, title, lead, table(["Artifact", "", ""],
    sorted.map((artifact) => row(artifactLink(artifact.name), right(show(value(artifact))), bar(value(artifact), most))), 10));
}

function calendar() {
  const { certificates, handed_over: handed, boots_until: until } = data.expiry;
  if (certificates.length === 0) return null;
  const whole = (hours) => tag(left(hours), hours < 0 ? "breaking" : hours < 48 ? "breaking" : hours < 24 * 45 ? "notable" : "");
  const rows = certificates.map((one) => row(whole(one.hours_left), right(day(one.not_after)), [code(one.name), " ", one.authority ? tag("authority") : null],
    one.issuer === one.subject ? "itself" : code(one.issuer), artifactLink(one.derivation)));
  const taken = handed.map((one) => row(whole(one.hours_left), right(day(one.adopted_until)), code(one.object), code(one.authority), artifactLink(one.derivation)));
  return section("calendar", "Certificates", `As of ${day(data.expiry.now)}. ${until ? `A boot must begin before ${day(until)}.` : ""}`,
    table(["Left", "Ends", "Certificate", "Issuer", "From"], rows, 8),
    taken.length > 0 && [el("h3", {}, "Authorities that are handed over"), el("p", { class: "lead" }, "Operators adopt them until then; later they make their own."),
      table(["Left", "Adopted until", "Secret", "Authority", "From"], taken, 8)]);
}

function nodeTables() {
  if (data.nodes.length === 0) return null;
  const entry = (one) => row(tag(one.kind), [code(one.path), one.secret ? [" ", tag("secret", "notable")] : null],
    [one.mode, one.owner, one.state].filter(Boolean).join(" "), right(one.size === undefined ? "" : bytes(one.size)),
    one.from.map((from) => el("div", {}, byName.has(from.split(":")[0]) ? [artifactLink(from.split(":")[0]), code(from.slice(from.split(":")[0].length))] : code(from))));
  const parts = data.nodes.map(({ node, entries }) => {
    const number = (kind) => entries.filter((one) => one.kind === kind).length;
    const made = el("details", { class: "node" }, el("summary", {}, code(node), " ",
      el("span", { class: "note" }, `${count(number("file"), "file")}, ${count(number("unit"), "unit")}, ${count(entries.filter((one) => one.secret).length, "secret")}`)));
    // Made when it is opened for the first time.
    made.addEventListener("toggle", () => {
      if (made.open && made.children.length === 1) made.append(table(["Kind", "Path", "Mode, owner, state", "Size", "From"], entries.map(entry), 50));
    });
    return made;
  });
  return section("nodes", "Nodes", "What each gets, and where it comes from.", parts);
}

// Who shows what to whom, where the document says it.
function trust() {
  const shown = data.trust?.presentations;
  if (!Array.isArray(shown)) return null;
  const moment = (one) => (one ? [tag(one.holds ? "holds" : "fails", one.holds ? "good" : "breaking"), " ", one.why] : "");
  return section("trust", "Trust", `${data.trust.verifications} verifications, ${data.trust.failing} fail.`,
    table(["Shows", "What", "To", "Before the pivot", "After it"],
      shown.map((one) => row(one.presenter, code(one.credential), one.verifier, moment(one.before), moment(one.after))), 12));
}

// --- every artifact

function provenance(artifact) {
  const { drv, object, path, builder, recipe, isolation, time, inputs, summary: why } = artifact;
  const using = users.get(artifact.name);
  const links = (names) => names.map((name, at) => [at > 0 ? ", " : "", byName.has(name) ? artifactLink(name) : code(name)]);
  const items = [
    ["why", why], ["recipe", recipe && code(recipe)], ["builder", builder && code(builder)], ["isolation", isolation],
    ["built", time && `${day(time)}, ${duration(artifact.milliseconds)}`], ["identity", code(drv)], ["object", code(object)], ["path", code(path)],
    ["inputs", inputs.length > 0 && inputs.map((input) => el("div", {}, code(input.alias), " ← ", links([input.from]), input.path ? code(`:${input.path}`) : null, " ", el("span", { class: "note" }, code(input.object.slice(0, 12)))))],
    ["used by", using.length > 0 && links(using)],
  ];
  return el("dl", { class: "about" }, items.filter(([, what]) => what).map(([term, what]) => [el("dt", {}, term), el("dd", {}, what)]));
}

function showTree() {
  const terms = parse(wanted.query, ["name", "input", "builder"]);
  const text = (artifact) => ({
    name: artifact.name.toLowerCase(), input: artifact.inputs.map((input) => input.from).join(" ").toLowerCase(), builder: (artifact.builder || "").toLowerCase(),
    rest: `${artifact.summary || ""} ${artifact.recipe || ""} ${artifact.drv} ${artifact.object}`.toLowerCase(),
  });
  const found = data.artifacts.filter((artifact) => (!wanted.state || artifact.state === wanted.state)
    && (!wanted.builder || (artifact.builder || "").split("@")[0] === wanted.builder)
    && (!wanted.folder || artifact.name.split("/")[0] === wanted.folder) && hasAll(text(artifact), terms));
  const marks = terms.map((term) => term.text);
  tree.show(found.map((artifact) => ({
    artifact,
    name: `${artifact.name}, ${STATES[artifact.state][0]}`,
    open: found.length <= 3,
    fold: true,
    row: () => [code(artifact.name, { class: "artifact" }, marks), tag(...STATES[artifact.state]), artifact.secret ? tag("secret", "notable") : null,
      el("span", { class: "count" }, `${duration(artifact.milliseconds)} · ${bytes(artifact.size)} · ${count(artifact.files, "file")}`),
      el("span", { class: "note" }, said(artifact.summary || "", marks))],
    body: () => provenance(artifact),
  })));
  counted(isNarrowed() ? `${found.length} of ${count(data.artifacts.length, "artifact")}` : count(data.artifacts.length, "artifact"), found.length > 0);
}

function startReport() {
  const kind = (artifact) => (artifact.builder || "").split("@")[0];
  const filters = [
    choice("state", "State", data.artifacts.map(({ state }) => [state, STATES[state][0]])),
    choice("builder", "Builder", data.artifacts.map((artifact) => [kind(artifact), kind(artifact)])),
    choice("folder", "Folder", data.artifacts.map(({ name }) => [name.split("/")[0], name.split("/")[0]])),
  ];
  byId("main").append(el("div", { id: "summary" }, reportTiles(), graph(),
    el("div", { class: "columns" },
      largest("times", "Time", "What took longest, whenever it was built.", (artifact) => artifact.milliseconds || 0, duration),
      largest("sizes", "Size", "Equal files are stored once; here they count every time.", (artifact) => artifact.size, bytes)),
    calendar(), nodeTables(), trust()),
  treeSection("Artifacts", "Artifacts with where they come from", "Search: text, name:…, input:…, builder:…", filters, null));
  showTree();
  pageKeys();
}
