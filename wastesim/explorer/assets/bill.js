// The memory bill: the formulas of wastesim's catalog, in whole numbers.
// tests/explorer/bill_cases.csv is the table that these and Python's must both satisfy.
W.bill = (() => {
  const LIMITED = ["window", "chunked"];
  const STORING = ["full", "window", "chunked", "latent"];
  const big = (value) => BigInt(value);
  const ceiling = (value, unit) => (value + unit - 1n) / unit;

  // Whole blocks of a type, and a scale per stored vector where the type has one.
  function stored(dtype, elements, vectors) {
    const [block, bytes, perHead] = W.data.catalog.formats[dtype].map(big);
    if (!elements) return 0n;
    return ceiling(elements, block) * bytes + vectors * perHead;
  }

  function sides(dtype) {
    const [keys, values] = dtype.split("/");
    return [keys, values || keys];
  }

  // Bytes of one token in one layer.
  function layerToken(kind, dtype) {
    if (!STORING.includes(kind.kind)) return 0n;
    const [keyType, valueType] = sides(dtype);
    if (kind.latent !== null) return stored(keyType, big(kind.latent), 1n);
    const heads = big(kind.heads);
    return stored(keyType, heads * big(kind.k), heads) + stored(valueType, heads * big(kind.v), heads);
  }

  function perToken(model, dtype) {
    return model.kinds.reduce((sum, kind) => sum + big(kind.layers) * layerToken(kind, dtype), 0n);
  }

  // Bytes of one request; `capped` keeps windows at their length.
  function perRequest(model, context, dtype, capped) {
    return model.kinds.reduce((sum, kind) => {
      const short = capped && LIMITED.includes(kind.kind) && big(kind.window) < context;
      const tokens = short ? big(kind.window) : context;
      return sum + big(kind.layers) * (layerToken(kind, dtype) * tokens + big(kind.fixed));
    }, 0n);
  }

  function weights(model) {
    if (model.weights !== null) return big(model.weights);
    return stored(model.weights_dtype, big(model.params), 1n);
  }

  // asked: {dtype, context, requests, cardBytes, share, overheadBytes}
  function bill(model, asked) {
    const [context, requests] = [big(asked.context), big(asked.requests)];
    const usable = big(Math.ceil(asked.cardBytes * asked.share));
    const whole = perRequest(model, context, asked.dtype, false);
    const windowed = perRequest(model, context, asked.dtype, true);
    const room = usable - weights(model) - big(asked.overheadBytes);
    const some = room > 0n ? room : 0n;
    const cells = some / perToken(model, asked.dtype);
    return {
      bytes_per_token: perToken(model, asked.dtype),
      cache_bytes: requests * whole,
      windowed_cache_bytes: requests * windowed,
      weights_bytes: weights(model),
      usable_bytes: usable,
      free_bytes: room - requests * whole,
      capacity_cells: cells,
      largest: cells / context,
      windowed_largest: some / windowed,
    };
  }

  // For tests: one row of the table of cases, all numbers as text.
  bill.row = (name, asked) => {
    const found = bill(W.data.catalog.models.find((model) => model.name === name), asked);
    return Object.fromEntries(Object.entries(found).map(([key, value]) => [key, String(value)]));
  };
  bill.layerToken = layerToken;
  return bill;
})();
