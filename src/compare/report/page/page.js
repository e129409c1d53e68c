"use strict";
// The shell of every page: elements, text that is never parsed, the theme, the keys.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

// Makes an element. Children are nodes or text; text stays text, so nothing that artifacts hold becomes markup.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return made;
}

// Characters that hide, or that turn the order of others: shown by their number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

// Text as nodes, with what is searched for marked.
function said(text, terms) {
  const nodes = [];
  const plain = (part) => {
    if (!HIDDEN.test(part)) {
      if (part) nodes.push(part);
      return;
    }
    for (const piece of part.split(new RegExp(`(${HIDDEN.source})`))) {
      if (piece.length === 1 && HIDDEN.test(piece)) {
        const number = piece.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
        nodes.push(el("span", { class: "hidden-character" }, `U+${number}`));
      } else if (piece) nodes.push(piece);
    }
  };
  const wanted = (terms || []).filter((term) => term.length > 0);
  if (wanted.length === 0) {
    plain(text);
    return nodes;
  }
  const low = text.toLowerCase();
  // Where lower case has another length, places would be wrong: no marks then.
  if (low.length !== text.length) return said(text);
  let at = 0;
  while (at < text.length) {
    let start = -1;
    let found = "";
    for (const term of wanted) {
      const here = low.indexOf(term, at);
      if (here >= 0 && (start < 0 || here < start || (here === start && term.length > found.length))) {
        start = here;
        found = term;
      }
    }
    if (start < 0) break;
    plain(text.slice(at, start));
    nodes.push(el("mark", {}, text.slice(start, start + found.length)));
    at = start + found.length;
  }
  plain(text.slice(at));
  return nodes;
}

const code = (text, attributes, terms) => el("code", attributes, said(String(text), terms));
const tag = (text, kind) => el("span", { class: `tag ${kind || ""}` }, text);
const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;
const announce = (text) => { byId("say").textContent = text; };

// A table; more rows than `few` wait behind a button.
function table(heads, rows, few = 12) {
  // On a narrow screen cells stand below one another, each with its head before it.
  rows.forEach((one) => [...one.children].forEach((cell, at) => {
    if (at > 0 && heads && heads[at] && cell.hasChildNodes()) cell.dataset.head = heads[at];
  }));
  const body = el("tbody", {}, rows.slice(0, few));
  const head = heads && el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text))));
  const made = el("div", { class: "table" }, el("table", {}, head, body));
  if (rows.length > few) {
    const more = el("button", { type: "button", class: "more" }, `Show all ${rows.length}`);
    more.addEventListener("click", () => {
      const first = rows[few];
      body.append(...rows.slice(few));
      more.remove();
      first.setAttribute("tabindex", "-1");
      first.focus();
    });
    made.append(more);
  }
  return made;
}

const row = (...cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)));

// A titled part of the page; nothing if it has nothing to say.
function section(id, title, lead, ...content) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    lead && el("p", { class: "lead" }, lead),
    content);
}

// --- theme: what the system says, until someone says otherwise

const THEMES = ["auto", "light", "dark"];

function remembered(name) {
  try { return localStorage.getItem(`tinderbox-${name}`); } catch { return null; }
}

function remember(name, value) {
  try { localStorage.setItem(`tinderbox-${name}`, value); } catch { /* a page without storage forgets */ }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").querySelector("span").textContent = theme;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  setTheme(theme);
  remember("theme", theme);
  announce(`theme: ${theme}`);
}

// --- keys: one table, which the help shows

const keys = [];

// `what` is for the help; `act` may say `false` to leave the key to the browser.
function key(names, what, act) {
  keys.push({ names, what, act });
}

function showHelp() {
  const list = byId("help-keys");
  list.replaceChildren(...keys.filter((one) => one.what).flatMap((one) => [
    el("dt", {}, one.names.map((name) => el("kbd", {}, name === " " ? "Space" : name.replace("Arrow", "")))),
    el("dd", {}, one.what),
  ]));
  byId("help").showModal();
}

const isField = (target) => target.closest && target.closest("input, select, textarea") !== null;

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (isField(event.target)) return;
  // Buttons, links and summaries keep what Enter and Space mean to them.
  if ((event.key === "Enter" || event.key === " ") && !event.target.matches("[role=treeitem]")) return;
  const found = keys.find((one) => one.names.includes(event.key));
  if (found && found.act && found.act(event) !== false) event.preventDefault();
}

function shell() {
  setTheme(THEMES.includes(remembered("theme")) ? remembered("theme") : "auto");
  byId("tools").hidden = false;
  byId("theme").addEventListener("click", nextTheme);
  byId("keys").addEventListener("click", showHelp);
  document.addEventListener("keydown", pressed);
}
