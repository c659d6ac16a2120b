// The same question for every model of the catalog; a click chooses the model.
(() => {
  const HEADS = ["model", "per token", "cache", "weights", "largest number"];

  function row(model, asked, chosen) {
    const found = W.bill(model, asked);
    const fits = found.free_bytes >= 0n;
    const name = W.make("button", {
      type: "button", text: model.name, "aria-pressed": String(model === chosen),
      onclick: () => W.update({ model: model.name }),
    });
    const cells = [W.kilobytes(found.bytes_per_token), W.gib(found.cache_bytes), W.gib(found.weights_bytes)];
    const largest = W.make("td", { class: fits ? "" : "no", text: `${W.count(found.largest)}${fits ? "" : " (fewer than asked)"}` });
    return W.make("tr", { class: model === chosen ? "chosen" : "", "data-model": model.name },
      W.make("th", { scope: "row" }, name), ...cells.map((text) => W.make("td", { text })), largest);
  }

  W.billTable = (asked, chosen) => {
    const focused = document.activeElement?.closest?.("#b-all tr")?.dataset.model;
    const head = W.make("thead", {}, W.make("tr", {}, ...HEADS.map((text) => W.make("th", { scope: "col", text }))));
    const rows = W.data.catalog.models.map((model) => row(model, asked, chosen));
    W.$("b-all").replaceChildren(head, W.make("tbody", {}, ...rows));
    if (focused) W.$("b-all").querySelector(`[data-model="${CSS.escape(focused)}"] button`)?.focus();
  };
})();
