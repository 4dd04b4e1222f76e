// Runs behind report.js in the browser test: looks at every chart, uses it, and leaves what it saw in the page.
(() => {
  const ink = canvas => {  // pixels that are neither transparent nor grey: lines and dots of runs
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) ++n;
    return n;
  };
  const charts = () => Object.fromEntries([...document.querySelectorAll("figure")].map(f => {
    const canvas = f.querySelector("canvas");
    return [f.id, canvas ? ink(canvas) : 0];
  }));
  const hover = figure => {
    const over = figure.querySelector(".u-over"), box = over.getBoundingClientRect(), at = {clientX: box.left + box.width * .5, clientY: box.top + box.height * .5, bubbles: true};
    over.dispatchEvent(new MouseEvent("mouseenter", at));
    over.dispatchEvent(new MouseEvent("mousemove", at));
    return figure.querySelector(".tip").textContent;
  };
  const first = () => document.querySelector("#results tbody th").textContent;
  addEventListener("load", () => setTimeout(() => {
    const seen = {drawn: charts()};
    setTimeout(() => {
      seen.tip = hover(document.getElementById("loss"));
      document.querySelectorAll("#legend button")[3].click();
      seen.pressed = document.querySelectorAll("#legend button")[3].getAttribute("aria-pressed");
      document.querySelector("#results thead th:nth-child(5) button").click();
      seen.first = first();
      [...document.querySelectorAll("#q-w4 .controls button")].find(b => b.textContent === "linear").click();
      setTimeout(() => {
        seen.without = charts();
        const pass = Object.values(seen.drawn).every(n => n > 300) && Object.keys(seen.drawn).length === 6 && /^step \d+.*muon/.test(seen.tip) &&
          seen.pressed === "false" && seen.first === "muon" && seen.without.loss > 300 && seen.without.loss < seen.drawn.loss;
        document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: (pass ? "charts-drawn " : "charts-wrong ") + JSON.stringify(seen)}));
      }, 200);
    }, 200);
  }, 300));
})();
