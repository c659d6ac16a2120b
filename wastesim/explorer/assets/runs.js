// Recorded runs: unpacked into typed arrays, and asked about moments and cells.
(() => {
  const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };

  async function unpacked(text) {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function load(about, at) {
    const buffer = await unpacked(W.$(`run-${at}`).textContent);
    const run = { ...about, index: at, box: {}, request: {}, tick: {} };
    let offset = 0;
    for (const [name, kind, length] of about.columns) {
      const [table, column] = name.split(".");
      run[table][column] = new TYPES[kind](buffer, offset, length);
      offset += run[table][column].byteLength;
    }
    return run;
  }

  W.loadRuns = async () => {
    W.runs = await Promise.all(W.data.recorded.runs.map(load));
    const edges = W.runs.map((run) => run.tick.edge_s);
    W.begin = Math.min(...edges.map((edge) => edge[0]));
    W.end = Math.max(...edges.map((edge) => edge[edge.length - 1]));
  };

  // The last index whose edge is <= the moment.
  W.tickAt = (run, moment) => {
    const edges = run.tick.edge_s;
    let [low, high] = [0, edges.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= moment) low = middle;
      else high = middle;
    }
    return low;
  };

  W.inside = (run, moment) => {
    const edges = run.tick.edge_s;
    return moment >= edges[0] && moment < edges[edges.length - 1];
  };

  // Steps that ran before a moment, a part of the running one included.
  W.stepsAt = (run, moment) => {
    const [edges, steps] = [run.tick.edge_s, run.tick.step];
    const at = W.tickAt(run, moment);
    const part = (moment - edges[at]) / (edges[at + 1] - edges[at]);
    return steps[at] + part * (steps[at + 1] - steps[at]);
  };

  // Written cells of a box after so many steps: one more in each, the running one included.
  W.writtenAt = (box, at, steps) => {
    const grown = box.first[at] + Math.ceil(steps - 1e-3 - box.grows[at]);
    return Math.min(box.last[at], Math.max(box.first[at], grown));
  };

  // The box that holds a cell at a moment, -1 for a free one.
  W.boxAt = (run, moment, cell) => {
    const { box } = run;
    const t = moment - W.data.recorded.from_s;
    for (let at = 0; at < box.start.length; at += 1) {
      if (box.start[at] <= cell && cell < box.start[at] + box.size[at] && box.from_s[at] <= t && t < box.to_s[at]) return at;
    }
    return -1;
  };

  // Requests that hold cells at a moment, by their lowest address.
  W.holders = (run, moment) => {
    const t = moment - W.data.recorded.from_s;
    const lowest = new Map();
    for (let at = 0; at < run.box.start.length; at += 1) {
      if (run.box.from_s[at] > t || run.box.to_s[at] <= t) continue;
      const request = run.box.request[at];
      if (!lowest.has(request) || run.box.start[at] < run.box.start[lowest.get(request)]) lowest.set(request, at);
    }
    return [...lowest].sort((one, other) => run.box.start[one[1]] - run.box.start[other[1]]);
  };

  W.levels = (run, moment) => {
    if (!W.inside(run, moment)) return null;
    const at = W.tickAt(run, moment);
    return Object.fromEntries([...W.data.shares, "running", "waiting"].map((name) => [name, run.tick[name][at]]));
  };

  // What one request holds at a moment, over all its boxes.
  W.holding = (run, request, moment) => {
    const [t, steps] = [moment - W.data.recorded.from_s, W.stepsAt(run, moment)];
    const sum = { cells: 0, written: 0, future: 0, unused: 0, padding: 0, pieces: 0 };
    const { box } = run;
    for (let at = 0; at < box.start.length; at += 1) {
      if (box.request[at] !== request || box.from_s[at] > t || box.to_s[at] <= t) continue;
      const written = W.writtenAt(box, at, steps);
      sum.pieces += 1;
      sum.cells += box.size[at];
      sum.written += written;
      sum.future += box.last[at] - written;
      sum.unused += box.claimed[at] - box.last[at];
      sum.padding += box.size[at] - box.claimed[at];
    }
    return sum;
  };
})();
