// Panel (b): what is asked, the bar, and every term with its arithmetic.
(() => {
  const { $, make } = W;
  const models = W.data.catalog.models;
  const FIELDS = {
    model: "llama-3-8b", context: 4096, requests: 32, memory: 80, dtype: "float16", overhead: 2, share: 1,
  };
  Object.assign(W.defaults, FIELDS);

  // What the state asks for; null with a reason where a number makes no sense.
  W.asked = () => {
    const number = (name, low, high, whole) => {
      const value = Number(W.state[name]);
      const fine = W.state[name] !== "" && value >= low && value <= high && (!whole || Number.isInteger(value));
      return fine ? value : null;
    };
    return {
      dtype: W.data.catalog.dtypes[W.state.dtype] ? W.state.dtype : FIELDS.dtype,
      context: number("context", 1, 10485760, true),
      requests: number("requests", 1, 100000, true),
      cardBytes: scaled(number("memory", 0.1, 100000)),
      share: number("share", 0.01, 1),
      overheadBytes: scaled(number("overhead", 0, 100000)),
    };
  };
  const scaled = (gib) => (gib === null ? null : Math.round(gib * 2 ** 30));
  const NAMES = {
    context: "Context must be a whole number of tokens, 1 to 10,485,760.",
    requests: "Requests must be a whole number, 1 to 100,000.",
    cardBytes: "GPU memory must be 0.1 to 100,000 GiB.",
    share: "gpu_memory_utilization must be 0.01 to 1.",
    overheadBytes: "Overhead must be 0 to 100,000 GiB.",
  };
  const problem = (asked) => Object.keys(NAMES).filter((name) => asked[name] === null).map((name) => NAMES[name]).join(" ");

  const chosen = () => models.find((model) => model.name === W.state.model) || models.find((model) => model.name === FIELDS.model);

  function terms(model, asked, found) {
    const tokens = W.count(asked.context);
    put("per-token", W.kilobytes(found.bytes_per_token), product(model, asked, found));
    put("cache", W.gib(found.cache_bytes), `${W.count(found.bytes_per_token)} B × ${tokens} tokens × ${W.plural(asked.requests, "request")}`);
    const bytes = model.weights === null ? `${W.count(model.params)} parameters in ${model.weights_dtype}` : "as stated by its file";
    put("weights", W.gib(found.weights_bytes), bytes);
    put("over", W.gib(asked.overheadBytes), "what is neither weights nor keys and values");
    const room = `${W.count(found.capacity_cells)} tokens have room; divided by ${tokens}`;
    put("largest", W.count(found.largest), found.capacity_cells > 0n ? room : "weights and overhead leave no room");
    const limited = model.kinds.filter((kind) => kind.window !== null);
    const layers = limited.reduce((sum, kind) => sum + kind.layers, 0);
    $("b-windows").textContent = limited.length
      ? `${layers} of its layers look at the last ${W.count(limited[0].window)} tokens only. The numbers above charge every token in every layer, as a unified cache does; with windows kept at their length the cache is ${W.gib(found.windowed_cache_bytes)} and ${W.count(found.windowed_largest)} requests fit.`
      : "";
  }

  function put(name, value, why) {
    $(`b-${name}`).textContent = value;
    $(`b-${name}-why`).textContent = why;
  }

  // "32 layers × 8 KV heads × (128 + 128) × 2 B"
  function product(model, asked, found) {
    const kinds = new Map();
    for (const kind of model.kinds) {
      const one = kind.latent === null ? `${kind.heads} KV heads × (${kind.k} + ${kind.v})` : `one latent of ${kind.latent}`;
      kinds.set(one, (kinds.get(one) || 0) + kind.layers);
    }
    const words = [...kinds].map(([one, layers]) => `${layers} layers × ${one}`);
    const type = asked.dtype === "float16" ? "× 2 B" : `in ${W.data.catalog.dtypes[asked.dtype]}`;
    return `${W.count(found.bytes_per_token)} B = ${words.join(" + ")} ${type}`;
  }

  function bar(asked, found) {
    const parts = [["written", "KV cache", found.cache_bytes], ["muted", "weights", found.weights_bytes], ["idle", "overhead", BigInt(asked.overheadBytes)]];
    const used = parts.reduce((sum, part) => sum + part[2], 0n);
    const card = BigInt(asked.cardBytes);
    const usable = found.usable_bytes;
    const whole = Number(used > card ? used : card);
    const over = used > usable;
    const colour = (name) => (over && name === "written" ? "unused" : name);
    const pieces = parts.map(([name, , bytes]) => make("span", { style: `width:${(100 * Number(bytes)) / whole}%;background:var(--${colour(name)})` }));
    const edge = make("span", { class: "edge", style: `left:calc(${(100 * Number(usable)) / whole}% - 3px)` });
    $("b-bar").replaceChildren(...pieces, ...(Number(usable) < whole ? [edge] : []));
    $("b-bar").classList.toggle("over", over);
    const said = parts.map(([, text, bytes]) => `${text} ${W.gib(bytes)}`);
    const rest = over ? `${W.gib(used - usable)} too much` : `${W.gib(usable - used)} free`;
    $("b-bar").setAttribute("aria-label", `${said.join(", ")}; ${rest} of ${W.gib(usable)}`);
    W.key($("b-key"), parts.map(([name, , ], at) => [colour(name), said[at]]).concat(over ? [] : [["raised", rest]]));
    return { over, rest };
  }

  function say(model, asked, found, { over, rest }) {
    const what = `${W.plural(asked.requests, "request")} of ${W.count(asked.context)} tokens`;
    const verdict = over ? `do not fit: ${rest}` : `fit, with ${rest}`;
    const largest = make("strong", { text: `${what} ${verdict}.` });
    const share = Number(found.cache_bytes) / Number(found.cache_bytes + found.weights_bytes);
    const longest = model.longest !== null && asked.context > model.longest ? ` ${model.name} states a longest context of ${W.count(model.longest)}.` : "";
    $("b-said").replaceChildren(largest, ` At most ${W.count(found.largest)} of them fit. The cache is ${Math.round(100 * share)}\u00a0% of weights and cache together.${longest}`);
  }

  function render() {
    for (const name of Object.keys(FIELDS)) {
      const field = $(`b-${name}`);
      if (document.activeElement !== field || field.tagName === "SELECT") field.value = W.state[name];
    }
    const asked = W.asked();
    $("b-problem").textContent = problem(asked);
    if (problem(asked)) return;
    const model = chosen();
    const found = W.bill(model, asked);
    terms(model, asked, found);
    say(model, asked, found, bar(asked, found));
    W.billTable(asked, model);
  }

  function fill() {
    $("b-model").replaceChildren(...models.map((model) => make("option", { value: model.name, text: model.name })));
    $("b-dtype").replaceChildren(...Object.entries(W.data.catalog.dtypes).map(([value, text]) => make("option", { value, text })));
    const cards = Object.entries(W.data.catalog.gpus).map(([name, bytes]) => make("option", { value: bytes / 2 ** 30, text: name }));
    $("b-gpu").replaceChildren(make("option", { value: "", text: "or a card …" }), ...cards);
    for (const name of Object.keys(FIELDS)) $(`b-${name}`).addEventListener("input", (event) => W.update({ [name]: event.target.value }));
    $("b-gpu").addEventListener("change", (event) => {
      if (event.target.value) W.update({ memory: event.target.value });
      event.target.value = "";
    });
    $("b-form").addEventListener("submit", (event) => event.preventDefault());
  }

  W.panels = { ...W.panels, bill: { fill, render } };
})();
