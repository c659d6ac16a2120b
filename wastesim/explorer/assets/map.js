// One run's map on a canvas: addresses by time, the pool at the chosen moment, axes, a mark.
(() => {
  const EDGE = { left: 64, right: 40, bottom: 24, top: 6 };
  const STRIP = 24;
  const LEGIBLE = 5; // a box of fewer pixels gets no outline

  const ratio = () => Math.min(2, window.devicePixelRatio || 1);
  const css = (name, alpha = 1) => `rgb(${W.colour(name).join(" ")} / ${alpha})`;

  W.mapOf = (run, canvas) => {
    const map = { run, canvas, base: null, stamp: "" };
    map.plot = () => ({
      x: EDGE.left, y: EDGE.top,
      width: Math.max(40, canvas.clientWidth - EDGE.left - EDGE.right),
      height: Math.max(40, canvas.clientHeight - EDGE.top - EDGE.bottom),
    });
    map.draw = (view, moment, mark, playing) => draw(map, view, moment, mark, playing);
    map.at = (event, view, moment) => at(map, event, view, moment);
    return map;
  };

  function draw(map, view, moment, mark, playing) {
    const pen = prepared(map.canvas);
    const plot = map.plot();
    const place = placing(plot, view);
    pen.drawImage(base(map, view, plot, place), plot.x, plot.y, plot.width, plot.height);
    if (playing) {
      pen.fillStyle = css("surface", 0.86);
      pen.fillRect(place.x(moment), plot.y, plot.x + plot.width - place.x(moment), plot.height);
    }
    if (mark) marked(pen, map.run, mark, view, plot, place);
    line(pen, place.x(moment), plot);
    strip(pen, map.run, view, moment, plot);
    axes(pen, view, plot, place);
  }

  function prepared(canvas) {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.round(size * ratio()));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  const placing = (plot, view) => ({
    x: (t) => plot.x + ((t - view.from) / (view.to - view.from)) * plot.width,
    y: (cell) => plot.y + plot.height - ((cell - view.low) / (view.high - view.low)) * plot.height,
  });

  // The pixels, kept until the view, the size or the scheme changes.
  function base(map, view, plot, place) {
    const stamp = JSON.stringify([view, plot, ratio(), W.colour("surface")]);
    if (map.stamp === stamp) return map.base;
    const [width, height] = [plot.width, plot.height].map((size) => Math.round(size * ratio()));
    map.base = Object.assign(document.createElement("canvas"), { width, height });
    const pen = map.base.getContext("2d");
    pen.putImageData(W.painted(map.run, view, width, height), 0, 0);
    pen.setTransform(ratio(), 0, 0, ratio(), -plot.x * ratio(), -plot.y * ratio());
    outlines(pen, map.run, view, plot, place);
    map.stamp = stamp;
    return map.base;
  }

  function outlines(pen, run, view, plot, place) {
    const { box } = run;
    const least = (LEGIBLE * (view.high - view.low)) / plot.height;
    pen.strokeStyle = css("surface");
    pen.lineWidth = 1;
    const large = [...box.size.keys()].filter((at) => box.size[at] >= least);
    if (2 * large.length < box.size.length) return; // a few frames among dust would say nothing
    for (const at of large) pen.strokeRect(...rectangle(box, at, place));
  }

  function rectangle(box, at, place) {
    const base_s = W.data.recorded.from_s;
    const [left, right] = [place.x(box.from_s[at] + base_s), place.x(box.to_s[at] + base_s)];
    const [top, bottom] = [place.y(box.start[at] + box.size[at]), place.y(box.start[at])];
    return [left, top, right - left, bottom - top];
  }

  // All boxes of one request; thin ones are drawn thick enough to be seen.
  function marked(pen, run, mark, view, plot, place) {
    pen.save();
    pen.beginPath();
    pen.rect(plot.x, plot.y, plot.width, plot.height);
    pen.clip();
    for (let at = 0; at < run.box.start.length; at += 1) {
      if (run.request.request_id[run.box.request[at]] !== mark) continue;
      const [x, y, width, height] = rectangle(run.box, at, place);
      [pen.strokeStyle, pen.lineWidth] = [css("surface"), 5];
      pen.strokeRect(x, y, width, Math.max(1, height));
      [pen.strokeStyle, pen.lineWidth] = [css("ink"), 2];
      pen.strokeRect(x, y, width, Math.max(1, height));
    }
    pen.restore();
  }

  function line(pen, x, plot) {
    if (x < plot.x - 1 || x > plot.x + plot.width + 1) return;
    for (const [colour, width] of [["surface", 4], ["ink", 2]]) {
      pen.fillStyle = css(colour);
      pen.fillRect(x - width / 2, plot.y, width, plot.height);
    }
  }

  // The pool at the moment, as one column beside the map.
  function strip(pen, run, view, moment, plot) {
    const height = Math.round(plot.height * ratio());
    const now = { ...view, from: moment, to: moment + (view.to - view.from) / 1e5 };
    const image = W.painted(run, now, 1, height);
    const column = Object.assign(document.createElement("canvas"), { width: 1, height });
    column.getContext("2d").putImageData(image, 0, 0);
    const x = plot.x + plot.width + EDGE.right - STRIP;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(column, x, plot.y, STRIP, plot.height);
    pen.imageSmoothingEnabled = true;
    pen.fillStyle = css("muted");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText("now", plot.x + plot.width + EDGE.right, plot.y + plot.height + 17);
  }

  function axes(pen, view, plot, place) {
    pen.fillStyle = css("muted");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    const times = steps(view.from, view.to, plot.width / 90);
    times.forEach((t) => {
      const x = W.clamp(place.x(t), plot.x + 10, plot.x + plot.width - 14);
      pen.fillText(t === times[times.length - 1] ? `${number(t)} s` : number(t), x, plot.y + plot.height + 17);
    });
    pen.textAlign = "right";
    for (const cell of steps(view.low, view.high, plot.height / 44)) {
      pen.fillText(number(cell), plot.x - 7, W.clamp(place.y(cell) + 4, plot.y + 10, plot.y + plot.height));
    }
  }

  const number = (value) => W.count(Number(value.toPrecision(6)));

  function steps(low, high, wanted) {
    const rough = (high - low) / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
    return found;
  }

  // Moment and cell under a pointer; null outside of the map and of the column beside it.
  function at(map, event, view, moment) {
    const plot = map.plot();
    const frame = map.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left - plot.x, event.clientY - frame.top - plot.y];
    if (x < 0 || y < 0 || y >= plot.height) return null;
    const cell = Math.floor(view.high - (y / plot.height) * (view.high - view.low));
    if (x <= plot.width) return { moment: view.from + (x / plot.width) * (view.to - view.from), cell };
    return x >= plot.width + EDGE.right - STRIP ? { moment, cell } : null;
  }

  W.mapEdges = EDGE;
  W.css = css;
  W.prepared = prepared;
})();
