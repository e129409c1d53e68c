// Every site in one table: found by words, narrowed by filters, sorted by its heads. Only so many rows are made at a time, so that
// thousands of sites cost what is looked at.

const ROWS = 100;

// What a head sorts by, and what a cell shows.
const COLUMNS = [
  { name: "site", head: "Site", by: (row) => row.site, cell: (row, words) => code(row.site, {}, words) },
  { name: "groups", head: "Groups", by: (row) => row.groups, cell: (row, words) => said(row.groups, words) },
  { name: "state", head: "State", by: (row) => row.state, cell: (row) => (row.state === "failed" ? tag(row.state, "breaking") : row.state) },
  {
    name: "change", head: "Change", by: (row) => row.change,
    cell: (row) => row.change !== null && el("a", { href: `#change-${row.change + 1}`, title: data.changes[row.change] }, `change ${row.change + 1}`),
  },
  {
    name: "effect", head: "Running nodes", by: (row) => (row.effect === "" ? null : data.effects.indexOf(row.effect)),
    cell: (row) => row.effect !== "" && tag(row.effect, row.effect === "re-install" ? "breaking" : row.effect === "reboot" ? "notable" : ""),
  },
  { name: "nodes", head: "Nodes", by: (row) => (row.state === "changed" ? row.nodes : null), cell: (row) => (row.state === "changed" ? String(row.nodes) : "") },
  { name: "wave", head: "Wave", by: (row) => row.wave, cell: (row) => row.wave !== null && `${row.wave + 1}. ${data.waves[row.wave] || "of no group"}` },
];

// Filters: the values that rows have, as `[value, text]`.
const FILTERS = [
  { name: "group", label: "Group", of: (row) => row.groups.split(" ").filter(Boolean), text: (value) => value },
  { name: "state", label: "State", of: (row) => [row.state], text: (value) => value },
  { name: "change", label: "Change", of: (row) => (row.change === null ? [] : [String(row.change)]), text: (value) => `change ${Number(value) + 1}` },
  { name: "effect", label: "Nodes", of: (row) => (row.effect === "" ? [] : [row.effect]), text: (value) => value },
  { name: "wave", label: "Wave", of: (row) => (row.wave === null ? [] : [String(row.wave)]), text: (value) => `${Number(value) + 1}. ${data.waves[value] || "of no group"}` },
];

const collator = new Intl.Collator("en", { numeric: true });

class Sites {
  constructor(rows) {
    // In the order of natural names once: sorting by it later compares numbers.
    this.rows = rows.map((row) => ({ ...row, text: `${row.site} ${row.groups} ${row.state} ${row.effect}`.toLowerCase() }));
    [...this.rows].sort((one, other) => collator.compare(one.site, other.site)).forEach((row, at) => { row.rank = at; });
    const groups = [...new Set(this.rows.map((row) => row.groups))].sort(collator.compare);
    this.groups = new Map(groups.map((name, at) => [name, at]));
    this.sort = { column: "change", down: false };
    this.shown = 0;
    this.found = [];
  }

  start(into) {
    this.input = el("input", { type: "search", id: "search", "aria-label": "Search sites", placeholder: "Search sites, groups, states", autocomplete: "off", spellcheck: "false" });
    this.result = el("span", { id: "found", class: "found", role: "status" });
    const clear = el("button", { type: "button", id: "clear", onclick: () => this.clear() }, "Clear");
    this.filters = FILTERS.map((filter) => this.filter(filter)).filter(Boolean);
    this.body = el("tbody");
    this.heads = COLUMNS.map((column) => el("th", { scope: "col" },
      el("button", { type: "button", class: "sort", id: `sort-${column.name}`, onclick: () => this.sortBy(column.name) }, column.head)));
    this.more = el("button", { type: "button", class: "more", id: "more", onclick: () => this.showMore() });
    into.append(
      el("div", { class: "bar", role: "search" },
        el("div", { class: "find" }, this.input, this.result, clear),
        el("div", { class: "filters" }, this.filters.map((one) => one.label))),
      el("div", { class: "table" }, el("table", { class: "sites" }, el("thead", {}, el("tr", {}, this.heads)), this.body)),
      el("p", { class: "lead nothing", id: "nothing", hidden: true }, "No site is like this."),
      this.more,
    );
    this.input.addEventListener("input", () => this.show());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.preventDefault(); this.clear(); }
      if (event.key === "Enter") this.body.querySelector("a")?.focus();
    });
    this.show();
  }

  // A filter; none where all rows have the same.
  filter({ name, label, of, text }) {
    const values = new Map();
    this.rows.forEach((row) => of(row).forEach((value) => values.set(value, (values.get(value) || 0) + 1)));
    if (values.size === 0 || (values.size === 1 && [...values.values()][0] === this.rows.length)) return null;
    const sorted = [...values].sort(([one], [other]) => collator.compare(one, other));
    const select = el("select", { id: `filter-${name}`, onchange: () => this.show() }, el("option", { value: "" }, "all"),
      sorted.map(([value, number]) => el("option", { value }, `${text(value)} (${number.toLocaleString("en")})`)));
    return { of, select, label: el("label", { class: "filter" }, el("span", {}, label), select) };
  }

  clear() {
    this.input.value = "";
    this.filters.forEach((one) => { one.select.value = ""; });
    this.show();
    announce("search and filters cleared");
  }

  sortBy(column) {
    this.sort = { column, down: this.sort.column === column ? !this.sort.down : false };
    this.show();
    announce(`sorted by ${column}, ${this.sort.down ? "descending" : "ascending"}`);
  }

  // The rows that are wanted, in order. What has no value for the column stays last.
  wanted() {
    this.words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = this.filters.filter((one) => one.select.value !== "");
    const rows = this.rows.filter((row) => this.words.every((word) => row.text.includes(word))
      && chosen.every((one) => one.of(row).includes(one.select.value)));
    const { column, down } = this.sort;
    const by = column === "site" ? (row) => row.rank : column === "groups" ? (row) => this.groups.get(row.groups) : COLUMNS.find((one) => one.name === column).by;
    const sign = down ? -1 : 1;
    const compare = (one, other) => {
      const [a, b] = [by(one), by(other)];
      if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
      return a < b ? -sign : a > b ? sign : 0;
    };
    return rows.sort((one, other) => compare(one, other) || one.rank - other.rank);
  }

  show() {
    this.found = this.wanted();
    this.shown = 0;
    this.body.replaceChildren();
    this.heads.forEach((head, at) => head.setAttribute("aria-sort",
      COLUMNS[at].name !== this.sort.column ? "none" : this.sort.down ? "descending" : "ascending"));
    const all = this.rows.length;
    this.result.textContent = this.found.length === all ? count(all, "site") : `${this.found.length.toLocaleString("en")} of ${count(all, "site")}`;
    byId("nothing").hidden = this.found.length > 0;
    this.append();
  }

  append() {
    const part = this.found.slice(this.shown, this.shown + ROWS);
    const made = part.map((row) => el("tr", {}, COLUMNS.map((column, at) =>
      el("td", at > 0 ? { "data-head": column.head } : {}, column.cell(row, this.words)))));
    made.forEach((row) => [...row.children].forEach((cell) => { if (!cell.hasChildNodes()) cell.removeAttribute("data-head"); }));
    this.body.append(...made);
    this.shown += part.length;
    const left = this.found.length - this.shown;
    this.more.hidden = left === 0;
    this.more.textContent = `Show ${Math.min(left, ROWS)} more of ${left.toLocaleString("en")}`;
    return made[0];
  }

  showMore() {
    const first = this.append();
    if (first) {
      first.setAttribute("tabindex", "-1");
      first.focus();
    }
  }
}

function startFleet() {
  const sites = new Sites(data.rows);
  sites.start(byId("rows"));
  key(["/"], "search sites", () => { sites.input.focus(); sites.input.select(); });
  key(["x"], "clear search and filters", () => sites.clear());
  key(["m"], "more sites", () => (sites.more.hidden ? false : sites.showMore()));
}
