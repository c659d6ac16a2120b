// Panel (a): columns of keys and values, and who looks at whom, step by step.
(() => {
  const { $, make } = W;
  const facts = W.data.mechanism;
  const words = [...facts.prompt, ...facts.reply];
  const LAST = facts.reply.length - 1;
  const [LEFT, COLUMN, CELL, TOP] = [78, 30, 11, 88];
  const ROWS = facts.keys[0].length;
  const [KEYS, VALUES] = [TOP + 20, TOP + 34 + ROWS * CELL];
  const GRID = VALUES + ROWS * CELL + 46;
  const WIDTH = LEFT + facts.max_seq * COLUMN + 6;
  Object.assign(W.defaults, { step: 0, cache: 1 });
  let timer = null;

  const now = () => W.clamp(Math.round(Number(W.state.step)) || 0, 0, LAST);
  const cached = () => String(W.state.cache) !== "0";

  function draw(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // What became of a column in this step: new, kept, again (computed once more), later, never.
  function fate(column, step) {
    const tokens = facts.prompt.length + step;
    if (column >= facts.prompt.length + LAST) return "never";
    if (column >= tokens) return "later";
    if (step === 0 || column === tokens - 1) return "new";
    return cached() ? "kept" : "again";
  }
  const FILL = { new: "written", kept: "written", again: "unused", later: "future", never: "idle" };

  function column(at, step) {
    const what = fate(at, step);
    const group = draw("g", { "data-column": at, "data-fate": what });
    const x = LEFT + at * COLUMN;
    if (what !== "later" && what !== "never") group.append(label(words[at], x, what));
    for (const [top, numbers] of [[KEYS, facts.keys[at]], [VALUES, facts.values[at]]]) {
      for (let row = 0; row < ROWS; row += 1) {
        const empty = what === "later" || what === "never";
        const depth = empty ? 0.45 : 0.3 + (0.7 * Math.abs(numbers[row])) / 100;
        group.append(draw("rect", {
          x: x + 2, y: top + row * CELL, width: COLUMN - 4, height: CELL - 1,
          fill: `var(--${FILL[what]})`, "fill-opacity": depth.toFixed(2),
        }));
      }
      if (what === "new") group.append(draw("rect", { x: x + 0.5, y: top - 2, width: COLUMN - 1, height: ROWS * CELL + 3, fill: "none", stroke: "var(--ink)", "stroke-width": 2.5, rx: 2 }));
    }
    return group;
  }

  function label(word, x, what) {
    const weight = what === "new" ? 700 : 400;
    return draw("text", {
      x: 0, y: 0, transform: `translate(${x + COLUMN / 2 + 6} ${TOP + 4}) rotate(-90)`,
      "font-size": 20, "font-weight": weight,
    }, word);
  }

  // Who looks at whom: a row per token that asks, under the columns that it looks at.
  function triangle(step) {
    const tokens = facts.prompt.length + step;
    const group = draw("g", {});
    for (let row = 0; row < tokens; row += 1) {
      const fresh = step === 0 || row === tokens - 1;
      const name = fresh ? "written" : cached() ? "future" : "unused";
      for (let at = 0; at <= row; at += 1) {
        group.append(draw("rect", { x: LEFT + at * COLUMN + 2, y: GRID + row * 14, width: COLUMN - 4, height: 12, rx: 2, fill: `var(--${name})`, "fill-opacity": fresh || !cached() ? 1 : 0.45 }));
      }
    }
    return group;
  }

  function picture(step) {
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${GRID + words.length * 14}`, role: "img", "aria-label": described(step) });
    const tokens = facts.prompt.length + step;
    for (let at = 0; at < facts.max_seq; at += 1) svg.append(column(at, step));
    for (const [text, y] of [["keys", KEYS + 50], ["values", VALUES + 50], ["looks at", GRID + 12]]) {
      svg.append(draw("text", { x: 0, y, "font-size": 18, class: "soft" }, text));
    }
    const held = step && cached() ? tokens - 1 : 0;
    if (held) {
      svg.append(draw("path", { d: `M${LEFT + 2} ${KEYS - 9}H${LEFT + held * COLUMN - 2}`, stroke: "var(--muted)", "stroke-width": 2 }));
      svg.append(draw("text", { x: LEFT + 2, y: VALUES + ROWS * CELL + 20, "font-size": 17, class: "soft" }, "read only, kept from earlier steps"));
    }
    svg.append(triangle(step));
    return svg;
  }

  function described(step) {
    const tokens = facts.prompt.length + step;
    const state = cached() ? (step ? `${tokens - 1} kept, 1 new` : `${tokens} new`) : `${tokens} computed in this step`;
    return `${facts.max_seq} columns set aside: ${state}, ${facts.max_seq - tokens} empty`;
  }

  function say(step) {
    const prompt = facts.prompt.length;
    const one = W.work.step(prompt, step, cached());
    const read = step ? `“${facts.reply[step - 1]}” is read` : `The prompt is read, ${prompt} words at once`;
    const how = step && cached() ? "its column is computed, the others are kept" : `${one.computed} columns are computed${step ? " again" : ""}`;
    const wasted = 1 - (prompt + step) / facts.max_seq;
    $("m-said").replaceChildren(make("strong", { text: `Step ${step + 1} of ${LAST + 1}.` }),
      ` ${read}: ${how}, ${one.looked_at} looked at, and “${facts.reply[step]}” comes out.`,
      cached() ? ` ${W.percent(wasted)} of the ${facts.max_seq} columns set aside are empty.` : "");
  }

  function table(step) {
    const prompt = facts.prompt.length;
    for (const [letter, kept] of [["c", true], ["n", false]]) {
      const [one, all] = [W.work.step(prompt, step, kept), W.work.total(prompt, step, kept)];
      [one.computed, all.computed, one.looked_at, all.looked_at].forEach((value, at) => {
        $(`w-${letter}${at + 1}`).textContent = W.count(value);
        $(`w-${letter}${at + 1}`).classList.toggle("chosen", kept === cached());
      });
    }
  }

  function render() {
    const step = now();
    $("m-with").checked = cached();
    $("m-without").checked = !cached();
    $("m-back").disabled = $("m-first").disabled = step === 0;
    $("m-step").disabled = step === LAST;
    $("m-picture").replaceChildren(picture(step));
    W.key($("m-key"), [["written", cached() ? "kept, or new (outlined)" : "new (outlined)"],
      ...(cached() ? [] : [["unused", "computed again"]]), ["future", "set aside, still to come"], ["idle", "set aside, never written"]]);
    say(step);
    table(step);
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => (now() < LAST ? go(now() + 1) : play(false)), 900) : null;
    $("m-play").setAttribute("aria-pressed", String(Boolean(on)));
    $("m-play").textContent = on ? "Pause" : "Play";
  }

  const go = (step) => W.update({ step: W.clamp(step, 0, LAST) });

  function keys(event) {
    if (/INPUT|SELECT|BUTTON/.test(event.target.tagName) && event.key === " ") return;
    if (event.target.type === "radio" && event.key.startsWith("Arrow")) return;
    const moves = { ArrowRight: () => go(now() + 1), ArrowLeft: () => go(now() - 1), Home: () => go(0), End: () => go(LAST), c: () => W.update({ cache: cached() ? 0 : 1 }), " ": () => toggle() };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  const toggle = () => {
    if (!timer && now() === LAST) go(0);
    play(!timer);
  };

  function fill() {
    $("m-first").addEventListener("click", () => go(0));
    $("m-back").addEventListener("click", () => go(now() - 1));
    $("m-step").addEventListener("click", () => go(now() + 1));
    $("m-play").addEventListener("click", toggle);
    for (const [name, value] of [["m-with", 1], ["m-without", 0]]) $(name).addEventListener("change", () => W.update({ cache: value }));
    $("mechanism").addEventListener("keydown", keys);
    $("m-note").textContent = `The shades are keys and values that wastesim's NumPy transformer computed for these words (model “${facts.model}”, first layer, ${ROWS} numbers of each column; the words are ours, its weights are drawn). The last word is never read, so its column is never stored. Keys: ← → step, c takes the cache away, space plays.`;
  }

  W.panels = { ...W.panels, mechanism: { fill, render, leave: () => play(false) } };
})();
