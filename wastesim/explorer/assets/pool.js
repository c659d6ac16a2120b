// Panel (c): which runs are shown, what part of them, and what is said of a moment and a cell.
(() => {
  const { $, make } = W;
  const MOST = 4; // maps side by side before somebody chooses
  const MEANINGS = {
    written: "written", future: "future: set aside for tokens still to come", unused: "unused: claimed, never written",
    padding: "padding: rounded up", stranded: "stranded: free, but the next request does not fit", idle: "idle: free, and nobody waits for memory",
  };
  Object.assign(W.defaults, { t: "", from: "", to: "", low: "", high: "", runs: "", speed: 1, mark: "" });
  const recorded = W.data.recorded;
  const pool = { shown: [], playing: false, pointed: null };
  W.pool = pool;

  const given = (name, otherwise) => {
    const value = Number(W.state[name]);
    return W.state[name] === "" || !Number.isFinite(value) ? otherwise : value;
  };

  pool.top = () => Math.max(...W.runs.map((run) => run.capacity));
  pool.view = () => {
    const from = W.clamp(given("from", recorded.from_s), recorded.from_s, recorded.to_s);
    const low = W.clamp(given("low", 0), 0, pool.top());
    const to = W.clamp(given("to", recorded.to_s), recorded.from_s, recorded.to_s);
    const high = W.clamp(given("high", pool.top()), 0, pool.top());
    return { from: to > from ? from : recorded.from_s, to: to > from ? to : recorded.to_s, low: high > low ? low : 0, high: high > low ? high : pool.top() };
  };
  pool.moment = () => W.clamp(given("t", busiest()), W.begin, W.end);

  // The middle of the moments at which most requests run, so that there is something to see.
  function busiest() {
    const { edge_s: edges, running } = W.runs[0].tick;
    const inside = [...running.keys()].filter((at) => edges[at] >= recorded.from_s && edges[at] < recorded.to_s);
    const most = inside.reduce((best, at) => Math.max(best, running[at]), 0);
    const busy = inside.filter((at) => running[at] === most);
    const at = busy[busy.length >> 1] ?? 0;
    return (edges[at] + edges[at + 1]) / 2;
  }

  // Chosen by name; otherwise a few, from the one that wrote least to the one that wrote most.
  pool.chosen = () => {
    const names = W.state.runs ? W.state.runs.split(",") : [];
    const found = W.runs.filter((run) => names.includes(run.name));
    return found.length ? found : spread();
  };

  function spread() {
    const sorted = [...W.runs].sort((one, other) => one.mean.written - other.mean.written);
    const last = Math.min(MOST, sorted.length) - 1;
    const kept = new Set(Array.from({ length: last + 1 }, (_, at) => sorted[Math.round((at * (sorted.length - 1)) / Math.max(1, last))]));
    const alike = (one, other) => Math.abs(one.mean.written - other.mean.written) < 1e-9;
    return [...new Set([...kept].map((run) => W.runs.find((first) => alike(first, run))))]
      .sort((one, other) => one.index - other.index);
  }

  pool.build = () => {
    const chosen = pool.chosen();
    pool.shown = chosen.map(figure);
    $("p-maps").replaceChildren(...pool.shown.map((one) => one.element));
    $("p-maps").classList.toggle("many", chosen.length > 1);
    pool.names = chosen.map((run) => run.name).join();
  };

  function figure(run) {
    const canvas = make("canvas", { class: "map", tabindex: 0, role: "application", "aria-label": described(run), "data-run": run.name });
    const curve = make("canvas", { class: "curve", role: "img", "aria-label": `Shares of the pool over the whole run of ${run.name}` });
    const now = make("p", { class: "now" });
    const title = make("h3", { text: W.runs.length > 1 ? run.name : run.policy });
    const element = make("section", { class: "run", "aria-label": run.name }, title, now, canvas, curve);
    const one = { run, canvas, now, element, map: W.mapOf(run, canvas), curve: W.curveOf(run, curve), curveCanvas: curve };
    pool.listen(one);
    return one;
  }

  const described = (run) => `Map of ${run.name}: who holds which of ${W.count(run.capacity)} cells, over time. On average ${W.percent(run.mean.written)} of the pool is written.`;

  pool.render = () => {
    if (!W.runs.length) return;
    if (pool.names !== pool.chosen().map((run) => run.name).join()) pool.build();
    const [view, moment] = [pool.view(), pool.moment()];
    const mark = W.state.mark === "" ? null : Number(W.state.mark);
    for (const one of pool.shown) {
      one.map.draw(view, moment, mark, pool.playing);
      one.curve.draw(view, moment);
      one.now.replaceChildren(...nowWords(one.run, moment));
    }
    controls(view, moment);
    pool.say(moment);
  };

  function nowWords(run, moment) {
    const found = W.levels(run, moment);
    if (!found) return [`nothing of ${run.name} was recorded at this moment`];
    const held = ["written", "future", "unused", "padding", "stranded", "idle"].filter((name) => found[name] > 0);
    const shares = held.map((name) => make("span", {}, `${name} `, make("b", { text: W.percent(found[name] / run.capacity) })));
    const counts = `${W.count(Math.round(found.running))} running, ${W.count(Math.round(found.waiting))} waiting`;
    return [make("b", { text: W.seconds(moment) }), ...shares, counts];
  }

  function controls(view, moment) {
    const part = (moment - view.from) / (view.to - view.from);
    $("p-scrub").value = Math.round(1000 * W.clamp(part, 0, 1));
    $("p-scrub").setAttribute("aria-valuetext", W.seconds(moment));
    $("p-play").textContent = pool.playing ? "Pause" : "Play";
    $("p-play").setAttribute("aria-pressed", String(pool.playing));
    $("p-speed").value = W.state.speed;
    for (const box of $("p-runs").querySelectorAll("input")) box.checked = pool.chosen().some((run) => run.name === box.value);
    const all = view.from === recorded.from_s && view.to === recorded.to_s && view.low === 0 && view.high === pool.top();
    $("p-reset").disabled = all;
  }

  // What is under the pointer, or what is marked.
  pool.say = (moment) => {
    const { pointed } = pool;
    if (pointed) {
      $("p-said").textContent = cellWords(pointed.run, pointed.moment, pointed.cell);
    } else if (W.state.mark !== "") {
      $("p-said").textContent = pool.shown.map(({ run }) => markWords(run, Number(W.state.mark), moment)).join(" ");
    } else {
      $("p-said").textContent = "";
    }
  };

  function cellWords(run, moment, cell) {
    const at = W.boxAt(run, moment, cell);
    const where = `Cell ${W.count(cell)} at ${W.seconds(moment)}`;
    if (at >= 0) return `${where}. ${requestWords(run, run.box.request[at], moment)}`;
    const found = W.levels(run, moment);
    if (!found || run.holes || cell >= run.capacity) return `${where}: nothing is recorded.`;
    if (found.stranded > 0) return `${where} is free, but stranded: ${W.plural(Math.round(found.waiting), "request")} wait, and the first does not fit into what is free.`;
    return `${where} is free: no request waits for memory.`;
  }

  function markWords(run, id, moment) {
    const request = run.request.request_id.indexOf(id);
    const name = pool.shown.length > 1 ? `${run.name}: ` : "";
    return request < 0 ? `${name}Request ${W.count(id)} is not on this map.` : `${name}${requestWords(run, request, moment)}`;
  }

  function requestWords(run, request, moment) {
    const facts = Object.fromEntries(Object.entries(run.request).map(([name, column]) => [name, column[request]]));
    const about = `Request ${W.count(facts.request_id)}, prompt ${W.count(facts.prompt_tokens)} + output ${W.count(facts.output_tokens)} tokens`;
    const held = W.holding(run, request, moment);
    if (!held.cells) return `${about}, holds nothing at ${W.seconds(moment)}.`;
    const never = run.told_apart
      ? [[held.unused, "claimed and never written"], [held.padding, "rounded up"]]
      : [[held.unused + held.padding, "never written"]];
    const parts = [[held.written, "written"], [held.future, "still to come"], ...never].filter(([cells]) => cells > 0);
    const pieces = held.pieces > 1 ? ` in ${W.count(held.pieces)} pieces` : "";
    const again = facts.preemptions ? ` Preempted ${W.count(facts.preemptions)} times.` : "";
    return `${about}, holds ${W.plural(held.cells, "cell")}${pieces}: ${parts.map(([cells, text]) => `${W.count(cells)} ${text}`).join(", ")}. Here from ${W.seconds(facts.arrival_s)} to ${W.seconds(facts.finished_s)}.${again}`;
  }

  pool.lead = () => {
    if (!W.runs.length) return "No run is recorded here: nothing ran.";
    const best = [...W.runs].sort((one, other) => other.mean.written - one.mean.written)[0];
    const worst = [...W.runs].sort((one, other) => one.mean.written - other.mean.written)[0];
    const running = (run) => `${run.running.toFixed(1)} requests ran at once`;
    if (W.runs.length === 1) return `On average ${W.percent(best.mean.written)} of the pool was written and ${running(best)}. What set the limit: ${best.ceiling_reason}.`;
    return `The same requests, ${W.runs.length} policies: ${best.name} wrote to ${W.percent(best.mean.written)} of the pool on average and ${running(best)}; ${worst.name} wrote to ${W.percent(worst.mean.written)}, and ${running(worst)}.`;
  };

  pool.fill = () => {
    W.key($("p-key"), Object.entries(MEANINGS));
    $("p-lead").textContent = pool.lead();
    const averaged = W.runs.filter((run) => run.step_s !== null);
    const notes = [...recorded.notes];
    if (averaged.length) notes.push(`The curves are exact means over ${W.seconds(Math.max(...averaged.map((run) => run.step_s)))} each: single ticks are not shown.`);
    const mixed = W.runs.filter((run) => !run.told_apart).map((run) => run.name);
    if (mixed.length) notes.push(`${mixed.join(", ")}: the records do not tell unused from padding request by request, so the map shows both as unused.`);
    $("p-notes").replaceChildren(...notes.map((text) => make("p", { class: "muted", text })));
    pool.controls();
  };

  W.panels = { ...W.panels, pool: { fill: pool.fill, render: pool.render, leave: () => pool.play(false) } };
})();
