// Visible text whose contrast with what is behind it is under 4.5, as WCAG 2 AA asks.
(() => {
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const poor = [];
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    const hidden = !element.getClientRects().length || element.closest("script, style, [hidden], :disabled, option");
    if (hidden || !node.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const colour = numbers(element instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [luminance(colour), luminance(behind(element))].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.push(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
})();
