// Stages and artifacts: what is pointed at or has the focus shows what it needs and what follows from it.

const graph = document.querySelector(".graph");

function relate() {
  const stages = [...graph.querySelectorAll(".stage")];
  const artifacts = new Map([...graph.querySelectorAll(".artifact")].map((one) => [one.dataset.at, one]));
  const needs = (one) => one.dataset.needs.split(" ").filter(Boolean);
  const stageOf = (one) => one.closest(".stage");
  let chosen = null;

  const mark = (ones, name) => ones.forEach((one) => one.classList.add(name));
  const choose = (one) => {
    if (one === chosen) return;
    chosen = one;
    graph.querySelectorAll(".is-input, .is-user, .is-chosen, .near").forEach((old) => old.classList.remove("is-input", "is-user", "is-chosen", "near"));
    graph.classList.toggle("choosing", one !== null);
    if (!one) return;
    one.classList.add("is-chosen");
    const isStage = one.matches(".stage");
    const own = isStage ? one : stageOf(one);
    const at = isStage ? one.dataset.stage : one.dataset.at;
    const inputs = needs(one).map((need) => (isStage ? stages[Number(need)] : artifacts.get(need))).filter(Boolean);
    const users = (isStage ? stages : [...artifacts.values()]).filter((other) => needs(other).includes(at));
    mark(inputs, "is-input");
    mark(users, "is-user");
    if (!isStage) {
      mark(new Set(inputs.map(stageOf).filter((stage) => stage !== own)), "is-input");
      mark(new Set(users.map(stageOf).filter((stage) => stage !== own)), "is-user");
    }
    const near = graph.querySelectorAll(`.from-${own.dataset.stage}, .to-${own.dataset.stage}`);
    mark(near, "near");
    // The whole track of those that lead here, down to here.
    graph.querySelectorAll(`.to-${own.dataset.stage}`).forEach((line) => {
      const from = [...line.classList].find((name) => name.startsWith("from-"));
      stages.slice(0, Number(own.dataset.stage)).forEach((stage) => mark(stage.querySelectorAll(`:scope > summary .${from}:not([class*="to-"])`), "near"));
    });
  };
  const target = (event) => event.target.closest(".artifact > summary, .stage > summary")?.parentElement ?? null;
  const focused = () => document.activeElement.closest?.(".graph .artifact > summary, .graph .stage > summary")?.parentElement ?? null;
  graph.addEventListener("pointerover", (event) => choose(target(event) || focused()));
  graph.addEventListener("pointerleave", () => choose(focused()));
  graph.addEventListener("focusin", (event) => choose(target(event)));
  graph.addEventListener("focusout", () => choose(null));
}

if (graph) relate();
