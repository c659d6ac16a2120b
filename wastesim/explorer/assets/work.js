// Work of a generation in one layer: columns computed, and columns that queries look at.
W.work = (() => {
  function step(prompt, number, cached) {
    const tokens = prompt + number;
    if (cached && number) return { computed: 1, looked_at: tokens };
    return { computed: tokens, looked_at: (tokens * (tokens + 1)) / 2 };
  }

  function total(prompt, number, cached) {
    const sum = { computed: 0, looked_at: 0 };
    for (let at = 0; at <= number; at += 1) {
      const one = step(prompt, at, cached);
      sum.computed += one.computed;
      sum.looked_at += one.looked_at;
    }
    return sum;
  }
  return { step, total };
})();
