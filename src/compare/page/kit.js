"use strict";
// What every page does: elements and text that is never parsed, theme, keys, folds, search, times.

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

// --- folds: a link opens what it leads to, and what that is in

const folds = (root = document) => [...root.querySelectorAll("details.fold")];

function openTo(target) {
  for (let at = target; at; at = at.parentElement) if (at.matches("details")) at.open = true;
}

function follow() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  openTo(target);
  target.scrollIntoView({ block: "start" });
  if (target.matches("details")) target.querySelector("summary").focus({ preventScroll: true });
}

// Goes to the next or previous fold that can be seen.
function stepFold(by) {
  const all = [...document.querySelectorAll("details.fold > summary")].filter((one) => one.checkVisibility());
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function foldKeys() {
  key(["j"], "next line that opens", () => stepFold(1));
  key(["k"], "line before", () => stepFold(-1));
  key(["e"], "open all", () => folds().forEach((one) => { one.open = true; }));
  key(["c"], "close all", () => folds().forEach((one) => { one.open = false; }));
  key(["s"], "to the top", () => { window.scrollTo({ top: 0 }); byId("title").focus(); });
  key(["t"], "theme: auto, light, dark", nextTheme);
  key(["?"], "these keys", showHelp);
}

// --- search: items with every word stay, groups with an item stay, folds of what is found open

function find(finder, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const items = [...finder.querySelectorAll(".item")];
  let number = 0;
  for (const item of items) {
    const found = words.every((word) => item.textContent.toLowerCase().includes(word));
    item.hidden = !found;
    number += found ? 1 : 0;
  }
  for (const group of [...finder.querySelectorAll(".group")].reverse()) {
    group.hidden = !group.querySelector(".item:not([hidden])");
    if (group.matches("details") && words.length > 0) group.open = !group.hidden;
  }
  finder.querySelector(".found").textContent = words.length > 0 ? `${number} of ${items.length}` : `${items.length}`;
  finder.querySelector(".nothing").hidden = number > 0;
}

function startFinders() {
  const finders = [...document.querySelectorAll(".finder")];
  for (const finder of finders) {
    const input = finder.querySelector("input[type=search]");
    finder.querySelector(".finder-bar").hidden = false;
    input.addEventListener("input", () => find(finder, input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || input.value === "") return;
      event.preventDefault();
      input.value = "";
      find(finder, "");
    });
    finder.querySelectorAll("[data-folds]").forEach((button) => button.addEventListener("click", () => {
      folds(finder).filter((one) => one.checkVisibility() || button.dataset.folds === "close").forEach((one) => { one.open = button.dataset.folds === "open"; });
    }));
    find(finder, "");
  }
  if (finders.length > 0) key(["/"], "search", () => { const input = finders[0].querySelector("input"); input.focus(); input.select(); });
}

// --- times: how far away, as of now

function away(time, now) {
  const hours = Math.trunc((time - now) / 3600000);
  const some = Math.abs(hours);
  const words = some < 1 ? "less than an hour" : some < 48 ? count(some, "hour") : some < 24 * 90 ? count(Math.floor(some / 24), "day")
    : some < 24 * 730 ? count(Math.floor(some / 24 / 30.44), "month") : count(Math.floor(some / 24 / 365.25), "year");
  return time < now ? `${words} ago` : `in ${words}`;
}

function tellTimes() {
  const now = Date.now();
  document.querySelectorAll("time[data-deadline]").forEach((one) => {
    const at = Date.parse(one.dateTime);
    if (Number.isNaN(at)) return;
    one.classList.toggle("past", at < now);
    one.after(el("span", { class: "away" }, ` ${away(at, now)}`));
  });
}

// The section that is being read, in the contents.
function followContents() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  if (links.size === 0) return;
  const seen = new Set();
  const watch = new IntersectionObserver((changes) => {
    changes.forEach((one) => (one.isIntersecting ? seen.add(one.target.id) : seen.delete(one.target.id)));
    const first = [...links.keys()].find((id) => seen.has(id));
    links.forEach((link, id) => (id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  }, { rootMargin: "-10% 0px -60% 0px" });
  links.forEach((_, id) => byId(id) && watch.observe(byId(id)));
}

// Runs after the page's own script, which may have added parts and keys.
function start() {
  setTheme(THEMES.includes(remembered("theme")) ? remembered("theme") : "auto");
  byId("tools").hidden = false;
  byId("theme").addEventListener("click", nextTheme);
  byId("keys").addEventListener("click", showHelp);
  document.addEventListener("keydown", pressed);
  startFinders();
  if (keys.every((one) => !one.names.includes("e"))) foldKeys();
  tellTimes();
  followContents();
  window.addEventListener("hashchange", follow);
  follow();
}
