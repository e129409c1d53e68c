// A tree: made when it is opened, gone when it is closed, so that its size is what is looked at.
//
// A node is `{name, row(), body(), children(), open}`: `name` is what is read out, `row` its line, `body` what is below the
// line, `children` its nodes; all but `name` and `row` may be missing.

const CHUNK = 200;

class Tree {
  constructor(label) {
    this.root = el("ul", { role: "tree", "aria-label": label, class: "tree" });
    this.nodes = new WeakMap();
    this.current = null;
    this.root.addEventListener("click", (event) => this.clicked(event));
    this.root.addEventListener("focusin", (event) => this.focused(event));
  }

  show(nodes) {
    this.current = null;
    this.root.replaceChildren(...this.items(nodes, 1, 0));
    const first = this.root.firstElementChild;
    if (first) this.mark(first);
  }

  // Items of `nodes` from `from` on; the last may be one that brings the next.
  items(nodes, level, from) {
    const part = nodes.slice(from, from + CHUNK);
    const made = part.map((node, at) => this.item(node, level, from + at + 1, nodes.length));
    const left = nodes.length - from - part.length;
    if (left > 0) {
      const more = this.item({ name: `show more, ${left} left`, row: () => el("span", { class: "more" }, `Show ${Math.min(left, CHUNK)} more of ${left}`) },
        level, from + part.length + 1, nodes.length);
      this.nodes.get(more).more = () => {
        const items = this.items(nodes, level, from + CHUNK);
        more.replaceWith(...items);
        this.focus(items[0]);
      };
      made.push(more);
    }
    return made;
  }

  item(node, level, at, of) {
    const item = el("li", {
      role: "treeitem", tabindex: "-1", "aria-level": level, "aria-posinset": at, "aria-setsize": of, "aria-label": node.name,
      "aria-expanded": node.children || node.fold ? "false" : undefined,
    }, el("div", { class: "row" }, el("span", { class: "arrow", "aria-hidden": "true" }), node.row()));
    item.querySelectorAll("button, a").forEach((inner) => inner.setAttribute("tabindex", "-1"));
    this.nodes.set(item, node);
    if (node.open) this.open(item);
    else if (node.body && !node.fold && !node.children) item.append(this.body(node));
    return item;
  }

  body(node) {
    const body = el("div", { class: "body" }, node.body());
    body.querySelectorAll("button, a").forEach((inner) => inner.setAttribute("tabindex", "-1"));
    return body;
  }

  isOpen(item) {
    return item.getAttribute("aria-expanded") === "true";
  }

  open(item) {
    const node = this.nodes.get(item);
    if (!item.hasAttribute("aria-expanded") || this.isOpen(item)) return;
    item.setAttribute("aria-expanded", "true");
    node.open = true;
    if (node.body) item.append(this.body(node));
    if (node.children) {
      const level = Number(item.getAttribute("aria-level")) + 1;
      item.append(el("ul", { role: "group" }, this.items(node.children(), level, 0)));
    }
  }

  close(item) {
    if (!this.isOpen(item)) return;
    item.setAttribute("aria-expanded", "false");
    this.nodes.get(item).open = false;
    const inside = item !== this.current && item.contains(this.current);
    [...item.children].slice(1).forEach((child) => child.remove());
    if (inside) this.focus(item);
  }

  act(item) {
    const node = this.nodes.get(item);
    if (node.more) node.more();
    else if (this.isOpen(item)) this.close(item);
    else this.open(item);
  }

  clicked(event) {
    if (event.target.closest("button, a") || String(document.getSelection())) return;
    const line = event.target.closest(".row");
    if (!line) return;
    this.focus(line.parentElement);
    this.act(line.parentElement);
  }

  focused(event) {
    const item = event.target.closest("[role=treeitem]");
    if (item) this.mark(item);
  }

  // One item, and what is on its line, is in the order of Tab.
  mark(item) {
    if (this.current === item) return;
    const set = (of, value) => {
      of.setAttribute("tabindex", value);
      of.querySelectorAll(":scope > .row button, :scope > .row a, :scope > .body button, :scope > .body a")
        .forEach((inner) => inner.setAttribute("tabindex", value));
    };
    if (this.current) set(this.current, "-1");
    set(item, "0");
    this.current = item;
  }

  focus(item) {
    this.mark(item);
    item.focus({ preventScroll: true });
    item.firstElementChild.scrollIntoView({ block: "nearest" });
  }

  step(by) {
    const all = [...this.root.querySelectorAll("[role=treeitem]")];
    if (all.length === 0) return;
    const has = this.root.contains(document.activeElement);
    const at = all.indexOf(this.current);
    this.focus(all[has ? Math.min(Math.max(at + by, 0), all.length - 1) : Math.max(at, 0)]);
  }

  edge(last) {
    const all = this.root.querySelectorAll("[role=treeitem]");
    if (all.length > 0) this.focus(all[last ? all.length - 1 : 0]);
  }

  right() {
    const item = this.current;
    if (!item || !item.hasAttribute("aria-expanded")) return;
    if (!this.isOpen(item)) this.open(item);
    else {
      const child = item.querySelector("[role=treeitem]");
      if (child) this.focus(child);
    }
  }

  left() {
    const item = this.current;
    if (!item) return;
    if (this.isOpen(item)) this.close(item);
    else {
      const parent = item.parentElement.closest("[role=treeitem]");
      if (parent) this.focus(parent);
    }
  }

  // Opens all, as far as `most` items.
  openAll(most) {
    let left = most;
    const closed = () => [...this.root.querySelectorAll("[role=treeitem][aria-expanded=false]")];
    for (let items = closed(); items.length > 0 && left > 0; items = closed()) {
      for (const item of items) {
        if (left-- <= 0) break;
        this.open(item);
      }
    }
    return closed().length === 0;
  }

  closeAll() {
    const top = this.current && [...this.root.children].find((item) => item.contains(this.current));
    [...this.root.children].forEach((item) => this.close(item));
    if (top) this.focus(top);
  }
}

function treeKeys(tree) {
  const inTree = (act) => () => (tree.root.contains(document.activeElement) ? act() : false);
  key(["j", "ArrowDown"], "next line of the tree", (event) => (event.key === "j" || tree.root.contains(event.target) ? tree.step(1) : false));
  key(["k", "ArrowUp"], "line before", (event) => (event.key === "k" || tree.root.contains(event.target) ? tree.step(-1) : false));
  key(["l", "ArrowRight"], "open, then the first line inside", inTree(() => tree.right()));
  key(["h", "ArrowLeft"], "close, then what it is in", inTree(() => tree.left()));
  key(["Enter", " "], "open or close", inTree(() => (document.activeElement === tree.current ? tree.act(tree.current) : false)));
  key(["Home"], "first line of the tree", inTree(() => tree.edge(false)));
  key(["End"], "last line of the tree", inTree(() => tree.edge(true)));
  key(["e"], "open all (2,000 at a time)", () => announce(tree.openAll(2000) ? "all open" : "opened 2,000; press e again for more"));
  key(["c"], "close all", () => tree.closeAll());
}
