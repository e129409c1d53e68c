// Values and lines, unified or side by side.

const view = { side: false };

// A value as text; `null` if it is not there.
function worded(shown) {
  if (shown === null || shown === undefined) return null;
  if (shown === "secret") return "(secret)";
  if (typeof shown === "string") return shown;
  if (shown.bytes) return `${count(shown.bytes.size, "byte")}, blake3 ${shown.bytes.blake3.slice(0, 12)}`;
  return shown.text;
}

// The part in the middle that differs, as [start, end of old, end of new].
function middle(old, fresh) {
  const most = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < most && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  // Words are read, not letters.
  while (start > 0 && /[\w.]/.test(old[start - 1])) start -= 1;
  while (end > 0 && /[\w.]/.test(old[old.length - end])) end -= 1;
  return start + end === 0 ? null : [start, old.length - end, fresh.length - end];
}

function hot(text, range, terms) {
  if (!range || range[0] >= range[1]) return said(text, terms);
  return [said(text.slice(0, range[0]), terms), el("b", {}, said(text.slice(range[0], range[1]), terms)), said(text.slice(range[1]), terms)];
}

// One line of one side: `{sign, text, number, range}`; nothing at all is an empty place.
function lineOf(one, terms, numbered) {
  const kind = one ? { "+": "add", "-": "del" }[one.sign] || "" : "none";
  return el("div", { class: `line ${kind}` },
    numbered && el("span", { class: "number", "aria-hidden": "true" }, one ? String(one.number) : ""),
    el("span", { class: "sign" }, one ? one.sign : ""),
    el("code", {}, one ? hot(one.text, one.range, terms) : ""));
}

// Runs of removed lines beside the runs of added lines that took their place.
function paired(lines) {
  const pairs = [];
  for (let at = 0; at < lines.length;) {
    if (lines[at].sign === " ") {
      pairs.push([lines[at], lines[at]]);
      at += 1;
      continue;
    }
    const run = (sign) => {
      const from = at;
      while (at < lines.length && lines[at].sign === sign) at += 1;
      return lines.slice(from, at);
    };
    const [old, fresh] = lines[at].sign === "-" ? [run("-"), run("+")] : [[], run("+")];
    for (let pair = 0; pair < Math.max(old.length, fresh.length); pair += 1) {
      if (old[pair] && fresh[pair]) {
        const range = middle(old[pair].text, fresh[pair].text);
        if (range) {
          old[pair].range = [range[0], range[1]];
          fresh[pair].range = [range[0], range[2]];
        }
      }
      pairs.push([old[pair], fresh[pair]]);
    }
  }
  return pairs;
}

function block(lines, terms, numbered) {
  const pairs = paired(lines);
  const kind = `lines${numbered ? " numbered" : ""}`;
  if (!view.side) return el("div", { class: kind }, lines.map((one) => lineOf(one, terms, numbered)));
  // Rows of a grid, so that both sides of a pair have one height.
  const cells = pairs.flatMap(([old, fresh]) => [
    lineOf(old && { ...old, number: old.old }, terms, numbered),
    lineOf(fresh, terms, numbered),
  ]);
  return el("div", { class: `${kind} side` }, cells);
}

function hunk(one, terms) {
  let [old, fresh] = [one.old_start, one.new_start];
  const lines = one.lines.map(({ sign, text }) => {
    const line = { sign, text, number: sign === "-" ? old : fresh, old };
    if (sign !== "+") old += 1;
    if (sign !== "-") fresh += 1;
    return line;
  });
  return [el("div", { class: "hunk" }, `line ${one.old_start} → ${one.new_start}`), block(lines, terms, true)];
}

const split = (text, sign) => text.replace(/\n$/, "").split("\n").map((line) => ({ sign, text: line }));

// What happened to one place.
function change(difference, terms) {
  const { edit } = difference;
  if (edit === "lines") {
    const cut = difference.cut > 0 ? el("div", { class: "hunk" }, `and ${count(difference.cut, "more place", "more places")}, not kept`) : null;
    return [difference.hunks.map((one) => hunk(one, terms)), cut];
  }
  if (difference.old === "secret" && difference.new === "secret") return el("div", { class: "secret" }, "(secret), changed");
  const old = edit === "added" ? [] : split(worded(difference.old), "-");
  const fresh = edit === "removed" ? [] : split(worded(difference.new), "+");
  return block([...old, ...fresh], terms, false);
}

// How many lines that is.
function height(difference) {
  if (difference.edit === "lines") return difference.hunks.reduce((sum, one) => sum + one.lines.length, 0);
  const lines = (shown) => (shown && shown.text ? shown.text.split("\n").length : 1);
  return lines(difference.old) + lines(difference.new);
}

// `old → new`, on one line.
function moved(old, fresh, short = (text) => text) {
  const side = (shown, kind) => {
    const text = worded(shown);
    return text === null ? null : code(short(text), { class: kind, title: text });
  };
  const [from, to] = [side(old, "del"), side(fresh, "add")];
  return from && to ? [from, " → ", to] : from ? ["− ", from] : ["+ ", to];
}
