// Panel (c): playing, scrubbing, zooming, pointing; by mouse, touch and keyboard.
(() => {
  const { $, make, pool } = W;
  const recorded = W.data.recorded;
  const SWEEP_S = 14; // seconds of watching for the whole view at speed 1

  pool.play = (on) => {
    pool.playing = on && W.runs.length > 0;
    if (!pool.playing) {
      cancelAnimationFrame(pool.frame);
      W.write();
      if (W.state.panel === "pool") pool.render();
      return;
    }
    const view = pool.view();
    if (W.state.t === "" || pool.moment() >= view.to || pool.moment() < view.from) W.state.t = String(view.from);
    let before = performance.now();
    const tick = (now) => {
      const { from, to } = pool.view();
      const moment = pool.moment() + (((to - from) * (now - before)) / 1000 / SWEEP_S) * Number(W.state.speed || 1);
      before = now;
      if (moment >= to) {
        W.state.t = String(to - 1e-6 * (to - from));
        pool.play(false);
        return;
      }
      W.update({ t: moment }, { quiet: true });
      pool.frame = requestAnimationFrame(tick);
    };
    pool.frame = requestAnimationFrame(tick);
    pool.render();
  };

  // Zoom about a moment (or a cell) that stays where it is; factor < 1 shows less.
  pool.zoom = (factor, { time = false, address = false, moment, cell }) => {
    const view = pool.view();
    const changes = {};
    if (time) [changes.from, changes.to] = narrowed(view.from, view.to, moment ?? pool.moment(), factor, recorded.from_s, recorded.to_s);
    if (address) [changes.low, changes.high] = narrowed(view.low, view.high, cell ?? view.low, factor, 0, pool.top()).map(Math.round);
    W.update(changes);
  };

  function narrowed(low, high, fixed, factor, least, most) {
    const centre = fixed < low || fixed > high ? (low + high) / 2 : fixed;
    const smallest = (most - least) / 5000;
    const width = W.clamp((high - low) * factor, smallest, most - least);
    const begin = W.clamp(centre - ((centre - low) / (high - low)) * width, least, most - width);
    return [begin, begin + width];
  }

  pool.pan = (seconds, cells) => {
    const view = pool.view();
    const t = W.clamp(seconds, recorded.from_s - view.from, recorded.to_s - view.to);
    const c = Math.round(W.clamp(cells, -view.low, pool.top() - view.high));
    W.update({ from: view.from + t, to: view.to + t, low: view.low + c, high: view.high + c });
  };

  pool.go = (moment) => {
    const view = pool.view();
    if (moment < view.from || moment > view.to) pool.pan(moment - (view.from + view.to) / 2, 0);
    W.update({ t: moment });
  };

  // From request to request in the order of their addresses.
  function next(run, direction) {
    const holders = W.holders(run, pool.moment());
    if (!holders.length) return;
    const ids = holders.map(([request]) => run.request.request_id[request]);
    const at = ids.indexOf(Number(W.state.mark));
    const to = at < 0 ? (direction > 0 ? 0 : ids.length - 1) : W.clamp(at + direction, 0, ids.length - 1);
    pool.pointed = null;
    W.update({ mark: ids[to] });
  }

  function keys(event, one) {
    const view = pool.view();
    const step = (view.to - view.from) / (event.shiftKey ? 20 : 200);
    const moves = {
      ArrowRight: () => pool.go(Math.min(recorded.to_s, pool.moment() + step)),
      ArrowLeft: () => pool.go(Math.max(recorded.from_s, pool.moment() - step)),
      ArrowUp: () => next(one.run, 1), ArrowDown: () => next(one.run, -1),
      "+": () => pool.zoom(0.5, { time: true }), "=": () => pool.zoom(0.5, { time: true }), "-": () => pool.zoom(2, { time: true }),
      Home: () => pool.go(view.from), End: () => pool.go(view.to),
      " ": () => pool.play(!pool.playing), Escape: () => W.update({ mark: "" }),
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  pool.listen = (one) => {
    const { canvas, map } = one;
    let drag = null;
    const found = (event) => map.at(event, pool.view(), pool.moment());
    canvas.addEventListener("keydown", (event) => keys(event, one));
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => (drag ? dragged(event) : pointed(event)));
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) clicked(event);
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { if (!drag) say(null); });
    canvas.addEventListener("dblclick", (event) => { const at = found(event); if (at) pool.zoom(0.5, { time: true, address: true, ...at }); });
    canvas.addEventListener("wheel", (event) => {
      const at = event.ctrlKey || event.metaKey ? found(event) : null;
      if (!at) return;
      event.preventDefault();
      pool.zoom(Math.exp(event.deltaY / 300), { time: true, address: event.shiftKey, ...at });
    }, { passive: false });

    function dragged(event) {
      const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(x, y) < 5) return;
      const [view, plot] = [pool.view(), map.plot()];
      pool.pan((-x * (view.to - view.from)) / plot.width, (y * (view.high - view.low)) / plot.height);
      drag = { x: event.clientX, y: event.clientY, moved: true };
    }
    function pointed(event) { say(found(event)); }
    function say(at) {
      pool.pointed = at && { ...at, run: one.run };
      pool.say(pool.moment());
    }
    function clicked(event) {
      const at = found(event);
      if (!at) return;
      const box = W.boxAt(one.run, at.moment, at.cell);
      W.update({ t: at.moment, mark: box < 0 ? "" : one.run.request.request_id[one.run.box.request[box]] });
    }
    curve(one);
  };

  function curve(one) {
    const move = (event) => { if (event.buttons) pool.go(W.clamp(one.curve.at(event), recorded.from_s, recorded.to_s)); };
    one.curveCanvas.addEventListener("pointerdown", (event) => { one.curveCanvas.setPointerCapture(event.pointerId); move(event); });
    one.curveCanvas.addEventListener("pointermove", move);
  }

  // A box per run, for comparisons.
  function choices() {
    const boxes = W.runs.map((run) => make("label", {}, make("input", { type: "checkbox", value: run.name, onchange: choose }), run.name));
    $("p-runs").append(...boxes);
    $("p-runs").hidden = W.runs.length < 2;
  }

  function choose(event) {
    const names = [...$("p-runs").querySelectorAll("input:checked")].map((box) => box.value);
    if (names.length) W.update({ runs: names.join(",") });
    else event.target.checked = true;
  }

  pool.controls = () => {
    choices();
    const act = (name, what) => $(name).addEventListener("click", what);
    act("p-play", () => pool.play(!pool.playing));
    act("p-in", () => pool.zoom(0.5, { time: true }));
    act("p-out", () => pool.zoom(2, { time: true }));
    act("p-high", () => pool.zoom(0.5, { address: true }));
    act("p-low", () => pool.zoom(2, { address: true }));
    act("p-reset", () => W.update({ from: "", to: "", low: "", high: "" }));
    $("p-speed").addEventListener("change", (event) => W.update({ speed: event.target.value }));
    $("p-scrub").addEventListener("input", (event) => {
      const view = pool.view();
      W.update({ t: view.from + (Number(event.target.value) / 1000) * (view.to - view.from) });
    });
    for (const name of ["p-play", "p-in", "p-out", "p-high", "p-low", "p-scrub", "p-speed", "p-reset"]) $(name).disabled = !W.runs.length;
  };
})();
