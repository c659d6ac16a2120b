"use strict";
// Shared by every panel: data, elements, numbers as words, colours, and the state in the URL.
const W = { data: JSON.parse(document.getElementById("data").textContent) };
window.wastesim = W;

W.$ = (id) => document.getElementById(id);

W.make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
};

W.clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Numbers as words; the same forms as in reports.
W.count = (value) => Number(value).toLocaleString("en-US", { maximumFractionDigits: 2 });
W.percent = (share) => {
  if (share === null || !Number.isFinite(share)) return "–";
  return share > 0 && share < 0.0005 ? "<0.1\u00a0%" : `${(100 * share).toFixed(1)}\u00a0%`;
};
W.gib = (bytes) => {
  const digits = (Number(bytes) / 2 ** 30).toFixed(2).replace(/0$/, "");
  return `${digits.replace(/\B(?=(\d{3})+(?!\d))/, ",")}\u00a0GiB`;
};
W.kilobytes = (bytes) => `${(Number(bytes) / 1000).toFixed(1)}\u00a0kB`;
W.seconds = (value) => {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return `${W.count(Math.round(value))}\u00a0s`;
  if (Math.abs(value) >= 1 || value === 0) return `${Number(value.toPrecision(3))}\u00a0s`;
  return `${Number((1000 * value).toPrecision(3))}\u00a0ms`;
};
W.plural = (value, noun) => `${W.count(value)}\u00a0${noun}${Number(value) === 1 ? "" : "s"}`;

W.key = (list, entries) => {
  list.replaceChildren(...entries.map(([colour, text]) =>
    W.make("li", {}, W.make("i", { style: `background:var(--${colour})`, "aria-hidden": "true" }), text)));
};

// Colours of the scheme in force, as [r, g, b].
W.colour = (name) => {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
};

// The state: what differs from the defaults stands in the fragment, so that a link shows the same.
W.defaults = { panel: W.data.recorded.runs.length && W.data.report ? "pool" : "mechanism" };
W.state = {};
W.listeners = [];

W.read = () => {
  const found = new URLSearchParams(location.hash.slice(1));
  W.state = { ...W.defaults };
  for (const [name, value] of found) if (name in W.defaults) W.state[name] = value;
};

W.update = (changes, { quiet = false } = {}) => {
  for (const [name, value] of Object.entries(changes)) W.state[name] = String(value);
  if (!quiet) W.write();
  for (const listener of W.listeners) listener(changes);
};

W.fragment = () => {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(W.state)) {
    if (String(value) !== String(W.defaults[name])) kept.set(name, value);
  }
  return kept.toString();
};

W.write = () => {
  clearTimeout(W.writing);
  W.writing = setTimeout(() => {
    const fragment = W.fragment();
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  }, 120);
};

W.restore = () => {
  W.read();
  for (const listener of W.listeners) listener(W.state);
};
