// n and p turn to the next and the previous chapter.

function turn(by) {
  const chapters = [...document.querySelectorAll("main section")].filter((one) => one.checkVisibility());
  const passed = chapters.filter((one) => one.getBoundingClientRect().top < window.innerHeight / 3).length;
  const next = chapters[Math.min(Math.max(passed - 1 + by, 0), chapters.length - 1)];
  if (!next) return;
  next.scrollIntoView({ block: "start" });
  const title = next.querySelector("h2");
  title.setAttribute("tabindex", "-1");
  title.focus({ preventScroll: true });
}

key(["n"], "next chapter", () => turn(1));
key(["p"], "previous chapter", () => turn(-1));
