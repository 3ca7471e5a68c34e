// Draws each chart from the specification beside it. Text and axes take their colours from the style sheet, so that the
// charts follow light, dark and paper; lines keep their own.
(async () => {
  const config = {
    background: "transparent",
    autosize: { type: "fit-x", contains: "padding" },
    // Room for the last label of a time axis, which is as wide as its number.
    padding: { left: 4, top: 4, right: 18, bottom: 6 },
    legend: { disable: true },
    view: { stroke: null },
    axis: { labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal" },
    font: "system-ui, sans-serif",
  };
  const paper = matchMedia("print");
  const views = [];
  for (const place of document.querySelectorAll(".chart")) {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    const drawn = await vegaEmbed(place, spec, { mode: "vega-lite", renderer: "svg", actions: false, config });
    // What the chart says stands on its place, once.
    place.querySelector("svg").setAttribute("aria-hidden", "true");
    views.push(drawn.view);
  }
  paper.addEventListener("change", () => views.forEach((view) => view.resize().run()));
  document.documentElement.dataset.drawn = views.length;
})();
