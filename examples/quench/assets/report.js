// Draws the report's charts from the JSON beside it. Everything that comes from records reaches the page as text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => darkQuery.matches && !root.dataset.print;

  // ---- one colour an optimizer (the same in every report), one dash pattern for each further run of it
  const palette = {
    light: ["#6b7280", "#1f6fb4", "#c8560c", "#0b7f57", "#8e4bb8", "#c4336b", "#0e7c8b", "#75700a", "#8a5a2b"],
    dark: ["#a9b2bd", "#6cb2ee", "#f59a5b", "#4fcf9f", "#c79bea", "#f281ab", "#5ccbd8", "#d3cf4f", "#d6a878"],
  };
  const known = ["sgd", "adamw", "lion", "muon", "shampoo", "soap", "psgd", "scion"];
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const names = [...known], seen = {};
  const runs = data.runs.map(run => {
    const name = run.optimizer || run.label;
    if (!names.includes(name)) names.push(name);
    const copies = seen[name] = (seen[name] || 0) + 1;
    return {...run, colour: names.indexOf(name), dash: dashes[(copies - 1) % dashes.length], shown: true};
  });
  const colourOf = run => palette[dark() ? "dark" : "light"][run.colour % palette.light.length];
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();

  // ---- small things
  const make = (tag, text, attributes = {}) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    return e;
  };
  const finite = v => typeof v === "number" && Number.isFinite(v);
  const trim = text => text.includes("e") ? text : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const show = (v, digits = 4) => !finite(v) ? "n/a" : v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-4 ? trim(v.toExponential(2)) : trim(v.toPrecision(digits));
  const percent = v => finite(v) ? trim((100 * v).toPrecision(3)).replace(/e\+?(-?\d+)/, "e$1") + " %" : "n/a";
  const bits = q => /^w\d+(a\d+)?$/.test(q) ? q.toUpperCase() : q;  // w4a4 is written W4A4
  const column = (run, key) => run.values[key] || run.steps.map(() => null);
  const swatch = run => {
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg"), line = document.createElementNS(ns, "line");
    for (const [k, v] of Object.entries({width: 22, height: 10, "aria-hidden": "true"})) svg.setAttribute(k, v);
    for (const [k, v] of Object.entries({x1: 0, x2: 22, y1: 5, y2: 5, stroke: colourOf(run), "stroke-width": 3, "stroke-dasharray": run.dash.join(" ")})) line.setAttribute(k, v);
    svg.append(line);
    return svg;
  };

  const redraws = [];  // one function a figure; each replaces its chart
  const redraw = () => redraws.forEach(f => f());

  // ---- controls
  const choice = (parent, options, value, change) => {
    const set = make("span", undefined, {class: "set", role: "group"});
    for (const [key, label] of options) {
      const b = make("button", label, {type: "button", "aria-pressed": String(key === value)});
      b.addEventListener("click", () => change(key));
      set.append(b);
    }
    parent.append(set);
  };
  const select = (parent, label, options, value, change) => {
    const l = make("label", label + " "), s = make("select");
    for (const [key, text] of options) {
      const o = make("option", text, {value: key});
      o.selected = key === value;
      s.append(o);
    }
    s.addEventListener("change", () => change(s.value));
    l.append(s);
    parent.append(l);
  };

  // ---- drawing on top of uPlot
  const pixels = () => devicePixelRatio || 1;
  const coolDown = () => {
    const starts = new Set(runs.map(r => r.cooldown));
    return starts.size === 1 && finite([...starts][0]) ? [...starts][0] : null;
  };
  const shade = u => {
    const start = coolDown();
    if (start === null || start >= u.scales.x.max) return;
    const x = Math.max(u.valToPos(start, "x", true), u.bbox.left), c = u.ctx, right = u.bbox.left + u.bbox.width;
    c.save();
    c.fillStyle = css("--shade");
    c.fillRect(x, u.bbox.top, right - x, u.bbox.height);
    c.fillStyle = css("--soft");
    c.font = `${11 * pixels()}px system-ui, sans-serif`;
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText("cool-down", right - 6 * pixels(), u.bbox.top + 5 * pixels());
    c.restore();
  };
  const lastDrawn = ys => {
    for (let i = ys.length - 1; i >= 0; --i) if (finite(ys[i])) return i;
    return -1;
  };
  const cross = (c, x, y, r) => {
    c.beginPath();
    c.moveTo(x - r, y - r), c.lineTo(x + r, y + r), c.moveTo(x - r, y + r), c.lineTo(x + r, y - r);
    c.stroke();
  };
  // Marks runs that did not finish, and names every line at its end (labels pushed apart).
  const endings = (u, drawn, named) => {
    const c = u.ctx, p = pixels(), labels = [];
    c.save();
    c.setLineDash([]);
    drawn.forEach((run, i) => {
      const ys = u.data[i + 1], at = lastDrawn(ys);
      if (at < 0) return;
      const x = u.valToPos(u.data[0][at], "x", true), y = u.valToPos(ys[at], "y", true);
      c.strokeStyle = c.fillStyle = colourOf(run);
      if (run.status !== "ok") {
        c.lineWidth = 2.5 * p;
        cross(c, x, y, 6 * p);
      }
      labels.push({y, run});
    });
    if (named) {
      labels.sort((a, b) => a.y - b.y);
      const gap = 13 * p, bottom = u.bbox.top + u.bbox.height;
      labels.forEach((l, i) => { if (i && l.y < labels[i - 1].y + gap) l.y = labels[i - 1].y + gap; });
      for (let i = labels.length - 1, limit = bottom; i >= 0; --i, limit -= gap) labels[i].y = Math.min(labels[i].y, limit);
      c.font = `600 ${11.5 * p}px system-ui, sans-serif`;
      c.textBaseline = "middle";
      c.textAlign = "left";
      for (const l of labels) {
        c.fillStyle = colourOf(l.run);
        c.fillText(l.run.label.length > 16 ? l.run.label.slice(0, 15) + "…" : l.run.label, u.bbox.left + u.bbox.width + 7 * p, l.y);
      }
    }
    c.restore();
  };

  const tooltip = (u, chart) => {
    let tip = chart.querySelector(".tip");
    if (!tip) chart.append(tip = make("div", undefined, {class: "tip"}));
    return {
      show(head, rows) {
        tip.replaceChildren(make("strong", head));
        for (const [run, text] of rows) {
          const d = make("div"), dot = make("i");
          dot.style.background = colourOf(run);
          d.append(dot, make("span", run.label), make("span", text));
          tip.append(d);
        }
        tip.style.display = "block";
        const left = u.over.offsetLeft + u.cursor.left, room = chart.clientWidth;
        tip.style.left = (left + 16 + tip.offsetWidth > room ? Math.max(0, left - tip.offsetWidth - 16) : left + 16) + "px";
        tip.style.top = Math.max(0, u.over.offsetTop + u.cursor.top - tip.offsetHeight / 2) + "px";
      },
      hide() { tip.style.display = "none"; },
    };
  };

  const axis = (label, more = {}) => ({
    label, labelSize: 22, labelFont: "12px system-ui, sans-serif", font: "11.5px system-ui, sans-serif", stroke: css("--soft"),
    grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1, size: 5}, ...more,
  });
  const place = (figure, options, columns) => {
    const chart = figure.querySelector(".chart");
    chart.replaceChildren();
    const size = () => ({width: Math.max(260, chart.clientWidth), height: options.height});
    const u = new uPlot({...options, ...size(), legend: {show: false}}, columns, chart);
    u.over.addEventListener("mouseenter", () => { u.inside = true; });
    u.over.addEventListener("mouseleave", () => { u.inside = false; });
    if (figure.watch) figure.watch.disconnect();
    figure.watch = new ResizeObserver(() => { if (Math.abs(size().width - u.width) > 1) u.setSize(size()); });
    figure.watch.observe(chart);
    return u;
  };
  const nothing = (figure, text) => figure.querySelector(".chart").replaceChildren(make("div", text, {class: "none"}));
  const logRange = (u, min, max) => finite(min) && finite(max) ? [min / 1.25, max * 1.25] : [0.1, 1];
  // A log axis is ruled at 1 to 9 times each power of ten; fewer of these get a label the more decades there are.
  const rules = (_, axisIndex, min, max) => {
    const out = [];
    for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10)
      for (let lead = 1; lead < 10; ++lead) if (lead * power >= min && lead * power <= max) out.push(lead * power);
    return out;
  };
  const ticks = (format, log) => (_, values) => {
    const decades = log ? Math.log10(values[values.length - 1] / values[0]) : 0;
    const kept = decades < .7 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades < 1.3 ? [1, 2, 3, 5, 7] : decades < 2.5 ? [1, 2, 5] : [1];
    return values.map(v => !log || kept.includes(Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9))) ? format(v) : null);
  };
  const ruled = (format, log) => log ? {splits: rules, filter: (_, splits) => splits, values: ticks(format, log)} : {values: ticks(format, log)};
  const endRoom = drawn => Math.min(120, 18 + 8 * Math.max(0, ...drawn.map(r => Math.min(16, r.label.length))));

  // Lines against the step: value(run) gives a column; `second` adds columns on a right-hand axis.
  const lines = (figure, {value, label, format, log, second, height = 300}) => {
    const chart = figure.querySelector(".chart");
    const positive = v => finite(v) && (!log || v > 0) ? v : null;
    const drawn = runs.filter(r => r.shown && value(r).some(v => positive(v) !== null));
    if (!drawn.length) return nothing(figure, "No run shown has values here.");
    // Learning rates that coincide are one line, in no run's colour.
    const longest = drawn.reduce((a, r) => r.steps.length > a.steps.length ? r : a, drawn[0]);
    const same = r => second.value(r).every((v, i) => {
      const w = second.value(longest)[longest.steps.indexOf(r.steps[i])];
      return !finite(v) || !finite(w) || Math.abs(v - w) < 1e-3;
    });
    const extra = !second ? [] : drawn.every(same) ? [longest] : drawn;
    const columns = uPlot.join([...drawn.map(r => [r.steps, value(r).map(positive)]), ...extra.map(r => [r.steps, second.value(r)])]);
    let tip;
    const u = place(figure, {
      height,
      padding: [10, second ? 8 : endRoom(drawn), 0, 4],
      cursor: {sync: {key: "steps"}, drag: {x: true, y: false}, points: {size: 7}},
      scales: {x: {time: false}, y: log ? {distr: 3, range: logRange} : {}, lr: {range: [0, 1.04]}},
      axes: [
        axis("step", {values: ticks(v => show(v, 7), false), size: 38}),
        axis(label, {size: 62, ...ruled(format, log)}),
        ...second ? [axis(second.label, {scale: "lr", side: 1, size: 44, grid: {show: false}})] : [],
      ],
      series: [
        {},
        ...drawn.map(r => ({label: r.label, stroke: colourOf(r), width: 2, dash: r.dash, points: {show: r.steps.length < 60, size: 4.5, fill: colourOf(r)}})),
        ...extra.map(r => ({scale: "lr", stroke: extra.length === 1 ? css("--soft") : colourOf(r), width: 1.2, dash: [2, 4], points: {show: false}})),
      ],
      hooks: {
        drawAxes: [shade],
        draw: [c => endings(c, drawn, !second)],
        setCursor: [c => {
          if (!tip) return;
          if (!c.inside || c.cursor.idx == null) return tip.hide();
          const rows = drawn.map((r, i) => [r, c.data[i + 1][c.cursor.idx], second ? second.tip(r, c.data[0][c.cursor.idx]) : ""]).filter(x => finite(x[1]));
          rows.sort((a, b) => a[1] - b[1]);
          if (rows.length) tip.show("step " + show(c.data[0][c.cursor.idx], 7), rows.map(([r, v, more]) => [r, format(v, true) + more]));
          else tip.hide();
        }],
      },
    }, columns);
    tip = tooltip(u, chart);
  };

  // ---- the figures
  const byId = id => document.getElementById(id);
  redraws.push(() => {
    const figure = byId("loss"), peak = r => Math.max(...column(r, "lr").filter(finite));
    lines(figure, {
      height: 360, label: "validation loss, nats per token", value: r => column(r, "val_loss"), format: v => show(v),
      second: {
        label: "learning rate / peak", value: r => column(r, "lr").map(v => finite(v) ? v / peak(r) : null),
        tip: (r, step) => "   lr " + show(column(r, "lr")[r.steps.indexOf(step)], 3),
      },
    });
  });

  const damage = {measure: "rel", axis: "log"};
  for (const q of data.quantizers) redraws.push(() => {
    const figure = byId("q-" + q), controls = figure.querySelector(".controls");
    controls.replaceChildren();
    const set = part => v => { damage[part] = v; redraw(); };
    choice(controls, [["rel", "relative"], ["abs", "absolute"], ["loss", "loss"]], damage.measure, set("measure"));
    choice(controls, [["log", "log"], ["linear", "linear"]], damage.axis, set("axis"));
    const labels = {rel: "quantized / full loss − 1", abs: "quantized − full loss, nats", loss: "quantized loss, nats"};
    lines(figure, {
      value: r => column(r, `${q}_${damage.measure}`), label: labels[damage.measure], log: damage.axis === "log",
      format: damage.measure === "rel" ? percent : v => show(v),
    });
  });

  const has = key => runs.some(r => column(r, key).some(finite));
  const metrics = data.metrics.filter(m => has(m.key));
  const outlier = {metric: metrics.length ? metrics[0].key : "", axis: "log"};
  const metricOptions = metrics.map(m => [m.key, m.label]);
  const metricLabel = key => (metrics.find(m => m.key === key) || {label: key}).label;
  redraws.push(() => {
    const figure = byId("metric"), controls = figure.querySelector(".controls");
    if (!metrics.length) return nothing(figure, "The records hold no outlier metrics.");
    controls.replaceChildren();
    select(controls, "metric", metricOptions, outlier.metric, v => { outlier.metric = v; redraw(); });
    choice(controls, [["log", "log"], ["linear", "linear"]], outlier.axis, v => { outlier.axis = v; redraw(); });
    lines(figure, {value: r => column(r, outlier.metric), label: metricLabel(outlier.metric), log: outlier.axis === "log", format: v => show(v)});
  });

  const ranks = xs => {
    const order = xs.map((x, i) => [x, i]).sort((a, b) => a[0] - b[0]), out = [];
    for (let i = 0, j; i < order.length; i = j) {
      for (j = i; j < order.length && order[j][0] === order[i][0]; ++j);
      for (let k = i; k < j; ++k) out[order[k][1]] = (i + j + 1) / 2;
    }
    return out;
  };
  const pearson = (xs, ys) => {
    const mean = v => v.reduce((a, b) => a + b, 0) / v.length, mx = mean(xs), my = mean(ys);
    let xx = 0, yy = 0, xy = 0;
    xs.forEach((x, i) => { xx += (x - mx) ** 2; yy += (ys[i] - my) ** 2; xy += (x - mx) * (ys[i] - my); });
    return xs.length > 2 && xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : NaN;
  };
  const scatter = {q: data.quantizers[data.quantizers.length - 1], axis: "log"};
  redraws.push(() => {
    const figure = byId("scatter"), chart = figure.querySelector(".chart"), controls = figure.querySelector(".controls");
    if (!metrics.length || !scatter.q) return nothing(figure, "The records hold no outlier metrics or no quantized losses.");
    controls.replaceChildren();
    select(controls, "across", metricOptions, outlier.metric, v => { outlier.metric = v; redraw(); });
    select(controls, "up", data.quantizers.map(q => [q, "relative error at " + bits(q)]), scatter.q, v => { scatter.q = v; redraw(); });
    choice(controls, [["log", "log"], ["linear", "linear"]], scatter.axis, v => { scatter.axis = v; redraw(); });
    const log = scatter.axis === "log", dots = [];
    let hidden = 0;
    for (const run of runs.filter(r => r.shown)) {
      const xs = column(run, outlier.metric), ys = column(run, scatter.q + "_rel"), last = run.steps[run.steps.length - 1];
      run.steps.forEach((step, i) => {
        if (!(step > 0) || !finite(xs[i]) || !finite(ys[i])) return;
        if (log && !(xs[i] > 0 && ys[i] > 0)) return void ++hidden;
        dots.push({x: xs[i], y: ys[i], run, step, size: 2.5 + 3.5 * step / last, end: step === last});
      });
    }
    const X = dots.map(d => d.x), Y = dots.map(d => d.y);
    controls.append(make("output", `Spearman ${show(pearson(ranks(X), ranks(Y)), 2)}, Pearson ${show(pearson(X, Y), 2)}, n = ${dots.length}` +
                         (hidden ? ` (${hidden} at or below zero not shown)` : "")));
    if (!dots.length) return nothing(figure, "No dots to show.");
    dots.sort((a, b) => a.x - b.x);
    let tip;
    const scale = log ? {distr: 3, range: logRange} : {range: (_, a, b) => [a - (b - a || 1) * .06, b + (b - a || 1) * .06]};
    const u = place(figure, {
      height: 380, padding: [10, 16, 0, 4],
      cursor: {drag: {x: false, y: false}, points: {show: false}},
      scales: {x: {time: false, ...scale}, y: scale},
      axes: [
        axis(metricLabel(outlier.metric), {size: 38, ...ruled(v => show(v), log)}),
        axis("relative error at " + bits(scatter.q), {size: 66, ...ruled(percent, log)}),
      ],
      series: [{}, {paths: () => null, points: {show: false}}],
      hooks: {
        draw: [c => {
          const x = c.ctx, p = pixels();
          x.save();
          x.setLineDash([]);
          for (const d of dots) {
            x.beginPath();
            x.arc(c.valToPos(d.x, "x", true), c.valToPos(d.y, "y", true), d.size * p, 0, 2 * Math.PI);
            x.fillStyle = colourOf(d.run);
            x.globalAlpha = d.end ? 1 : .6;
            x.fill();
            x.globalAlpha = 1;
            if (d.end) x.strokeStyle = css("--ink"), x.lineWidth = 1.5 * p, x.stroke();
          }
          x.restore();
        }],
        setCursor: [c => {
          if (!tip) return;
          const {left, top} = c.cursor;
          if (left < 0 || !c.inside) return tip.hide();
          let best = null, near = 24 ** 2;
          for (const d of dots) {
            const away = (c.valToPos(d.x, "x") - left) ** 2 + (c.valToPos(d.y, "y") - top) ** 2;
            if (away < near) near = away, best = d;
          }
          if (best) tip.show("step " + show(best.step, 7), [[best.run, `${metricLabel(outlier.metric)} ${show(best.x)}, error ${percent(best.y)}`]]);
          else tip.hide();
        }],
      },
    }, [X, Y]);
    tip = tooltip(u, chart);
  });

  // ---- legend: switches runs on and off in every figure
  const legend = byId("legend");
  const drawLegend = () => {
    legend.replaceChildren();
    for (const run of runs) {
      const b = make("button", undefined, {type: "button", "aria-pressed": String(run.shown), title: "show or hide in every figure"});
      b.append(swatch(run), run.label + (run.status === "ok" ? "" : " ✕ " + run.status));
      b.addEventListener("click", () => { run.shown = !run.shown; everything(); });
      legend.append(b);
    }
  };

  // ---- tables: swatches, best values, sorting, shades of correlation
  const table = byId("results");
  const rows = () => [...table.tBodies[0].rows];
  const drawTables = () => {
    for (const th of table.querySelectorAll("th[data-run]")) {
      const run = runs.find(r => r.id === th.dataset.run);
      th.querySelectorAll("svg").forEach(s => s.remove());
      if (run) th.prepend(swatch(run));
    }
    for (const td of document.querySelectorAll("#associations td[data-r]")) {
      const r = parseFloat(td.dataset.r);
      if (finite(r)) td.style.background = `rgba(${r < 0 ? "200, 86, 12" : "31, 111, 180"}, ${(.42 * Math.abs(r)).toFixed(2)})`;
    }
  };
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    const number = row => row.cells[i].dataset.v === undefined ? null : row.cells[i].dataset.v === "" ? NaN : parseFloat(row.cells[i].dataset.v);
    if (/ loss$| error$/.test(th.textContent) && rows().length > 1) {
      const good = rows().filter(r => r.classList.contains("ok") && finite(number(r)));
      const best = Math.min(...good.map(number));
      good.filter(r => number(r) === best).forEach(r => r.cells[i].classList.add("best"));
    }
    th.firstElementChild.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sorted = rows().sort((a, b) => {
        const x = number(a), y = number(b);
        if (x === null) return (up ? 1 : -1) * a.cells[i].textContent.localeCompare(b.cells[i].textContent);
        return finite(x) && finite(y) ? (up ? x - y : y - x) : finite(y) - finite(x);
      });
      table.tBodies[0].append(...sorted);
    });
  });

  const everything = () => { drawLegend(); drawTables(); redraw(); };
  const panels = document.querySelectorAll(".pair > figure:not(#scatter)");
  if (panels.length % 2) panels[panels.length - 1].classList.add("wide");
  everything();
  darkQuery.addEventListener("change", everything);
  addEventListener("beforeprint", () => { root.dataset.print = "1"; everything(); });
  addEventListener("afterprint", () => { delete root.dataset.print; everything(); });
})();
