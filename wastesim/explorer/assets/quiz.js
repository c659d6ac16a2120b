// Panel (d): questions; an answer shows at once whether it was right, and the number behind it.
(() => {
  const { $, make } = W;
  const questions = W.data.questions;
  Object.assign(W.defaults, { answers: "" });

  const answers = () => questions.map((_, at) => {
    const text = String(W.state.answers).split("-")[at];
    return text === undefined || text === "" ? null : Number(text);
  });

  function answer(at, option) {
    const all = answers();
    all[at] = option;
    W.update({ answers: all.map((one) => (one === null ? "" : one)).join("-") });
  }

  function question(asked, at) {
    const options = asked.options.map((text, option) => make("label", { "data-option": option },
      make("input", { type: "radio", name: `question-${at}`, value: option, onchange: () => answer(at, option) }), make("span", { text })));
    const why = make("div", { class: "why", hidden: true, role: "status" });
    return make("fieldset", { class: "question" }, make("legend", { text: `${at + 1}. ${asked.text}` }), make("div", { class: "options" }, ...options), why);
  }

  function explain(asked, element, chosen) {
    const why = element.querySelector(".why");
    why.hidden = chosen === null;
    if (chosen === null) return;
    const right = chosen === asked.answer;
    why.classList.toggle("wrong", !right);
    const verdict = right ? "Right. " : `Not quite: ${asked.options[asked.answer]}. `;
    const link = make("a", { href: `#${asked.go}`, text: "See it", onclick: (event) => { event.preventDefault(); W.update(Object.fromEntries(new URLSearchParams(asked.go))); } });
    why.replaceChildren(make("strong", { text: verdict }), asked.why, ...(asked.go ? [" ", link] : []));
  }

  function render() {
    const all = answers();
    [...$("q-list").children].forEach((element, at) => {
      const [asked, chosen] = [questions[at], all[at]];
      element.querySelectorAll("input").forEach((input, option) => { input.checked = option === chosen; });
      element.querySelectorAll("label").forEach((label, option) => label.classList.toggle("right", chosen !== null && option === asked.answer));
      if (element.dataset.shown !== String(chosen)) explain(asked, element, chosen);
      element.dataset.shown = String(chosen);
    });
    const given = all.filter((one) => one !== null).length;
    const right = all.filter((one, at) => one === questions[at].answer).length;
    $("q-score").textContent = given ? `${right} of ${given} right, ${questions.length - given} to go.` : `${questions.length} questions. Every answer comes with a number that the simulator computed.`;
  }

  const fill = () => $("q-list").replaceChildren(...questions.map(question));
  W.panels = { ...W.panels, quiz: { fill, render } };
})();
