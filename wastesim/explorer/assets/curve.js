// The six shares of the whole run under its map, with the part that the map shows.
(() => {
  const plotOf = (canvas) => ({ x: W.mapEdges.left, width: Math.max(40, canvas.clientWidth - W.mapEdges.left - W.mapEdges.right), height: canvas.clientHeight });

  // Mean shares in each column, weighted with time, as parts of the pool.
  function columns(run, width) {
    const step = (W.end - W.begin) / width;
    const edges = run.tick.edge_s;
    return Array.from({ length: width }, (_, x) => {
      const [from, to] = [W.begin + x * step, W.begin + (x + 1) * step];
      const sums = W.data.shares.map(() => 0);
      for (let at = W.tickAt(run, from); at < edges.length - 1 && edges[at] < to; at += 1) {
        const seconds = Math.min(to, edges[at + 1]) - Math.max(from, edges[at]);
        if (seconds > 0) W.data.shares.forEach((name, k) => { sums[k] += seconds * run.tick[name][at]; });
      }
      return sums.map((sum) => sum / step / run.capacity);
    });
  }

  W.curveOf = (run, canvas) => {
    let [kept, stamp] = [null, ""];
    const draw = (view, moment) => {
      const pen = W.prepared(canvas);
      const plot = plotOf(canvas);
      const wanted = `${plot.width}`;
      if (stamp !== wanted) [kept, stamp] = [columns(run, Math.round(plot.width)), wanted];
      stacked(pen, kept, plot);
      shown(pen, plot, view, moment);
    };
    const at = (event) => {
      const plot = plotOf(canvas);
      const x = (event.clientX - canvas.getBoundingClientRect().left - plot.x) / plot.width;
      return W.begin + W.clamp(x, 0, 1) * (W.end - W.begin);
    };
    return { draw, at };
  };

  function stacked(pen, kept, plot) {
    const fills = W.data.shares.map((name) => W.css(name));
    kept.forEach((sums, x) => {
      let bottom = plot.height;
      sums.forEach((part, k) => {
        pen.fillStyle = fills[k];
        pen.fillRect(plot.x + x, bottom - part * plot.height, 1.2, part * plot.height);
        bottom -= part * plot.height;
      });
    });
  }

  function shown(pen, plot, view, moment) {
    const place = (t) => plot.x + ((t - W.begin) / (W.end - W.begin)) * plot.width;
    const [left, right] = [place(view.from), place(view.to)];
    if (right - left < plot.width - 2) {
      pen.strokeStyle = W.css("ink");
      pen.lineWidth = 2;
      pen.strokeRect(left, 1, right - left, plot.height - 2);
    }
    for (const [colour, width] of [["surface", 4], ["ink", 2]]) {
      pen.fillStyle = W.css(colour);
      pen.fillRect(place(moment) - width / 2, 0, width, plot.height);
    }
    pen.fillStyle = W.css("muted");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText("whole", plot.x - 7, plot.height / 2 - 3);
    pen.fillText("run", plot.x - 7, plot.height / 2 + 11);
  }
})();
