// Boxes mixed into pixels: each pixel gets the colours in proportion to their cells.
(() => {
  const LEVELS = ["written", "future", "unused", "padding"];

  // view: {from, to, low, high} in seconds and cells.
  W.raster = (run, view, width, height) => {
    const grids = Object.fromEntries(LEVELS.map((name) => [name, new Float32Array(width * height)]));
    const base = W.data.recorded.from_s;
    const seconds = (view.to - view.from) / width;
    const steps = Float64Array.from({ length: width }, (_, x) => W.stepsAt(run, view.from + (x + 0.5) * seconds));
    const scale = { t: seconds, c: (view.high - view.low) / height, base, steps };
    for (let at = 0; at < run.box.start.length; at += 1) box(run.box, at, grids, view, scale, width, height);
    return grids;
  };

  function box(boxes, at, grids, view, scale, width, height) {
    const start = boxes.start[at];
    if (start >= view.high || start + boxes.size[at] <= view.low) return;
    const from = (boxes.from_s[at] + scale.base - view.from) / scale.t;
    const to = (boxes.to_s[at] + scale.base - view.from) / scale.t;
    const [first, last] = [Math.max(0, Math.floor(from)), Math.min(width, Math.ceil(to))];
    const row = (cells) => W.clamp((start + cells - view.low) / scale.c, 0, height);
    const [bottom, final, claimed, top] = [row(0), row(boxes.last[at]), row(boxes.claimed[at]), row(boxes.size[at])];
    for (let x = first; x < last; x += 1) {
      const cover = Math.min(x + 1, to) - Math.max(x, from);
      if (cover <= 0) continue;
      const grown = row(W.writtenAt(boxes, at, scale.steps[x]));
      add(grids.written, width, height, x, bottom, grown, cover);
      add(grids.future, width, height, x, grown, final, cover);
      add(grids.unused, width, height, x, final, claimed, cover);
      add(grids.padding, width, height, x, claimed, top, cover);
    }
  }

  function add(grid, width, height, x, low, high, amount) {
    if (high <= low) return;
    const [first, last] = [Math.floor(low), Math.min(Math.floor(high), height - 1)];
    if (first >= last) {
      if (first < height) grid[first * width + x] += (high - low) * amount;
      return;
    }
    grid[first * width + x] += (first + 1 - low) * amount;
    for (let y = first + 1; y < last; y += 1) grid[y * width + x] += amount;
    grid[last * width + x] += (high - last) * amount;
  }

  // The raster in colours, addresses rising; free cells are stranded or idle as their tick says.
  W.painted = (run, view, width, height) => {
    const grids = W.raster(run, view, width, height);
    const image = new ImageData(width, height);
    const colours = LEVELS.map((name) => W.colour(name));
    const levels = LEVELS.map((name) => grids[name]);
    const free = freeColours(run, view, width);
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const from = y * width + x;
        const to = 4 * ((height - 1 - y) * width + x);
        let rest = 1;
        for (const level of levels) rest -= level[from];
        rest = Math.max(0, rest);
        for (let part = 0; part < 3; part += 1) {
          let value = rest * free[x][part];
          for (let k = 0; k < 4; k += 1) value += levels[k][from] * colours[k][part];
          image.data[to + part] = value;
        }
        image.data[to + 3] = 255;
      }
    }
    return image;
  };

  function freeColours(run, view, width) {
    const [stranded, idle, surface] = [W.colour("stranded"), W.colour("idle"), W.colour("surface")];
    return Array.from({ length: width }, (_, x) => {
      const found = W.levels(run, view.from + ((x + 0.5) * (view.to - view.from)) / width);
      if (!found || run.holes) return surface;
      const part = found.stranded + found.idle ? found.stranded / (found.stranded + found.idle) : 0;
      return idle.map((value, at) => value * (1 - part) + stranded[at] * part);
    });
  }
})();
