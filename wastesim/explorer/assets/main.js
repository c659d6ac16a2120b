// Tabs, and the first look: what is on screen is drawn first, runs are unpacked after that.
(() => {
  const { $ } = W;
  const NAMES = ["mechanism", "bill", "pool", "quiz"];
  const tabs = NAMES.map((name) => $(`tab-${name}`));
  let [ready, shown] = [false, null];

  const panel = () => (NAMES.includes(W.state.panel) ? W.state.panel : NAMES[0]);

  function render(changes = {}) {
    const now = panel();
    if (shown !== now) {
      if (shown && W.panels[shown].leave) W.panels[shown].leave();
      NAMES.forEach((name, at) => {
        $(name).hidden = name !== now;
        tabs[at].setAttribute("aria-selected", String(name === now));
        tabs[at].tabIndex = name === now ? 0 : -1;
      });
      if (shown && "panel" in changes) window.scrollTo(0, 0);
      shown = now;
    }
    if (now !== "pool" || ready) W.panels[now].render();
  }

  function choose(event) {
    const at = tabs.indexOf(event.currentTarget);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    W.update({ panel: next.dataset.panel });
  }

  async function start() {
    W.runs = [];
    W.read();
    $("kicker").textContent = `wastesim explorer${W.data.headline ? ` · ${W.data.headline}` : ""}`;
    if (W.data.report) $("foot").append(" ", W.make("a", { href: W.data.report, text: "Back to the report" }));
    for (const name of ["mechanism", "bill", "quiz"]) W.panels[name].fill();
    for (const tab of tabs) {
      tab.addEventListener("click", () => W.update({ panel: tab.dataset.panel }));
      tab.addEventListener("keydown", choose);
    }
    W.listeners.push(render);
    window.addEventListener("hashchange", W.restore);
    render();
    await W.loadRuns();
    W.panels.pool.fill();
    ready = true;
    render();
    for (const change of ["resize"]) window.addEventListener(change, () => render());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
    document.documentElement.dataset.ready = "true";
  }
  start();
})();
