// Draws the plots of the part that is shown, in the colours of the style sheet, and again where these change.
(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const settings = { displayModeBar: false, displaylogo: false, responsive: true, scrollZoom: false, doubleClick: false };
  const variable = /^var\((--[a-z]+)\)$/;

  function colourOf(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Only what stands under the key "color" is a colour; all other texts are left as they are.
  function coloured(value, key) {
    if (Array.isArray(value)) return value.map((one) => coloured(one, key));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, coloured(one, name)]));
    }
    const found = key === "color" && typeof value === "string" && variable.exec(value);
    return found ? colourOf(found[1]) : value;
  }

  function themed(layout) {
    const ink = colourOf("--ink"), line = colourOf("--line"), surface = colourOf("--surface");
    const axis = (one) => Object.assign({ gridcolor: line, linecolor: line, tickcolor: line, fixedrange: true }, one);
    return Object.assign({}, coloured(layout, ""), {
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
      hoverlabel: { bgcolor: surface, bordercolor: ink, align: "left", font: { color: ink, size: 13 } },
    });
  }

  function highlighted(traces, kernel) {
    if (!kernel) return traces;
    return traces.map((trace) => {
      if (!trace.customdata) return trace;
      const chosen = trace.customdata.flatMap((one, place) => (one[1] === kernel ? [place] : []));
      return Object.assign({}, trace, { selectedpoints: chosen });
    });
  }

  function draw(place) {
    const figure = figures[place.dataset.figure];
    const traces = highlighted(coloured(figure.data, ""), place.dataset.kernel);
    Plotly.react(place, traces, themed(figure.layout), settings);
  }

  function drawIn(part) {
    part.querySelectorAll(".plot").forEach(draw);
  }

  document.addEventListener("shown", (event) => drawIn(event.target));
  document.querySelectorAll("select[data-plot]").forEach((choice) => {
    choice.addEventListener("change", () => {
      const place = document.getElementById(choice.dataset.plot);
      place.dataset.kernel = choice.value;
      draw(place);
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.querySelectorAll(".panel:not([hidden])").forEach(drawIn);
  });
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    document.querySelectorAll(".panel").forEach(drawIn);
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    document.querySelectorAll(".panel:not([hidden])").forEach(drawIn);
  });
})();
