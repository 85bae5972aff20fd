"use strict";
// The page is whole without this. It adds a crosshair with the values under it, series to
// hide, linear axes, and plots arranged by a factor of the reader's choice.
(() => {
  const axisOf = (kind, from, to, unit) => ({ log: kind === "log", from: +from, to: +to, unit });
  // As the frames were written: left, right, bottom, top, then both axes.
  const framesOf = (svg) => (svg.dataset.frames || "").split("|").filter(Boolean).map((text) => {
    const t = text.split(" ");
    return { left: +t[0], right: +t[1], bottom: +t[2], top: +t[3],
      x: axisOf(t[4], t[5], t[6], t[7]), y: axisOf(t[8], t[9], t[10], t[11]) };
  });
  const valueAt = (axis, share) => axis.log
    ? axis.from * (axis.to / axis.from) ** share : axis.from + share * (axis.to - axis.from);
  const shareOf = (axis, value) => axis.log
    ? Math.log(value / axis.from) / Math.log(axis.to / axis.from) : (value - axis.from) / (axis.to - axis.from);
  const three = (x) => String(Number(x.toPrecision(3)));
  const time = (ns) => {
    const a = Math.abs(ns);
    return a >= 1e9 ? three(ns / 1e9) + " s" : a >= 1e6 ? three(ns / 1e6) + " ms"
      : a >= 1e3 ? three(ns / 1e3) + " µs" : three(ns) + " ns";
  };
  const say = (value, unit) => ({
    ns: () => time(value), s: () => time(value * 1e9), us: () => three(value) + " µs",
    share: () => three(value * 100) + " %", count: () => three(value),
  }[unit] || (() => ""))();
  const steps = (d) => [...d.matchAll(/([MLHV])(-?[\d.]+)(?: (-?[\d.]+))?/g)];
  const pointsOf = (path) => {
    if (!path.points || path.pointsOf !== path.getAttribute("d")) {
      let [x, y] = [0, 0];
      path.pointsOf = path.getAttribute("d");
      path.points = steps(path.pointsOf).map(([, c, a, b]) => {
        if (c === "H") x = +a; else if (c === "V") y = +a; else [x, y] = [+a, +b];
        return [x, y];
      });
    }
    return path.points;
  };
  const element = (name, text, properties) =>
    Object.assign(document.createElement(name), { textContent: text }, properties);
  const nameOf = (figure, series) =>
    figure.querySelector(`li[data-s="${series}"] span`)?.textContent || "";

  // Paper cannot be unfolded. The style sheet does it where browsers know how.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });

  // Who follows a link to what is folded wants to see it.
  const unfold = () => {
    const aim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!aim?.closest("details")) return;
    for (let d = aim.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    aim.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  const all = element("button", "Unfold all", { type: "button", className: "all" });
  all.onclick = () => {
    const open = all.textContent === "Unfold all";
    for (const d of document.querySelectorAll("details.section")) d.open = open;
    all.textContent = open ? "Fold all" : "Unfold all";
  };
  document.querySelector("nav")?.append(all);

  // A crosshair, and beside it what stands under it: lines by their names, the rows of a plot,
  // the samples of a moment.
  const tip = element("div", "", { id: "tip", hidden: true });
  document.body.append(tip);
  const cross = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cross.setAttribute("class", "x");
  const hide = () => { tip.hidden = true; cross.remove(); };
  // Where a line is at x: on a stair the step, not the drop.
  const heights = (path, x) => {
    const points = pointsOf(path), found = [];
    for (let i = 1; i < points.length; i++) {
      const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
      if (x0 === x1 || x < Math.min(x0, x1) || x > Math.max(x0, x1)) continue;
      found.push(y0 + (x - x0) / (x1 - x0) * (y1 - y0));
    }
    return found;
  };
  const within = (f, [x, y]) => x >= f.left - 1 && x <= f.right + 1 && y >= f.top - 1 && y <= f.bottom + 1;
  const row = (key, name, value) => {
    const line = element("div", "");
    if (key) line.append(key.cloneNode(true));
    line.append(element("span", name));
    if (value) line.append(element("b", value));
    return line;
  };
  const told = (svg) => JSON.parse(svg.dataset.told || "[]");
  const rowsAt = (svg, frame, number, at) => {
    const figure = svg.closest("figure");
    const y = (height) => say(valueAt(frame.y, (frame.bottom - height) / (frame.bottom - frame.top)), frame.y.unit);
    const lines = [];
    for (const path of svg.querySelectorAll("path.l[data-s]:not(.off)")) {
      const height = heights(path, at.x)[0];
      if (height === undefined) continue;
      const item = figure.querySelector(`li[data-s="${path.dataset.s}"]`);
      lines.push([height, row(item?.querySelector("svg"), nameOf(figure, path.dataset.s), y(height))]);
    }
    if (lines.length) return lines.sort((a, b) => a[0] - b[0]).map((line) => line[1]);
    const texts = told(svg)[number] || [];
    const share = (at.y - frame.top) / (frame.bottom - frame.top);
    const text = texts[Math.min(texts.length - 1, Math.floor(share * texts.length))];
    if (!frame.y.unit || frame.y.unit === "-") return text ? [row(null, text)] : [];
    // Bars have their height, clouds from where to where they go here.
    const bars = [...svg.querySelectorAll("path.f")].flatMap((p) => heights(p, at.x)).filter((h) => within(frame, [at.x, h]));
    // The column of samples that is nearest, since a cloud is thinned.
    const points = [...svg.querySelectorAll("path.p, path.r")].flatMap(pointsOf)
      .filter((p) => Math.abs(p[0] - at.x) <= 12 && within(frame, p));
    const near = points.reduce((least, p) => Math.min(least, Math.abs(p[0] - at.x)), 12) + 3;
    const cloud = points.filter((p) => Math.abs(p[0] - at.x) <= near).map((p) => p[1]);
    let value = y(at.y);
    if (bars.length) value = y(Math.min(...bars));
    else if (svg.querySelector("path.f")) value = "none";
    else if (cloud.length) {
      const [low, high] = [y(Math.max(...cloud)), y(Math.min(...cloud))];
      value = low === high ? low : `${low} to ${high}`;
    } else if (svg.querySelector("path.p")) value = "no sample";
    return [row(null, text || "", value)];
  };
  document.addEventListener("pointermove", (event) => {
    const svg = event.target.closest?.("svg.plot");
    const matrix = svg?.getScreenCTM();
    if (!matrix) return hide();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const frames = framesOf(svg);
    const number = frames.findIndex((f) => within(f, [at.x, at.y]));
    if (number < 0) return hide();
    const frame = frames[number];
    const x = say(valueAt(svg.linear || frame.x, (at.x - frame.left) / (frame.right - frame.left)), frame.x.unit);
    tip.replaceChildren(row(null, x), ...rowsAt(svg, frame, number, at));
    tip.hidden = false;
    cross.setAttribute("d", `M${at.x.toFixed(1)} ${frame.top}V${frame.bottom}`);
    if (cross.parentNode !== svg) svg.append(cross);
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const room = document.documentElement.clientWidth - wide - 8;
    const left = event.clientX + 16 <= room ? event.clientX + 16 : event.clientX - wide - 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY - high - 12, innerHeight - high - 4)) + "px";
  });
  addEventListener("scroll", hide, { passive: true });

  // A click on a legend's line hides that series in its whole part of the page.
  const toggle = (item) => {
    const off = item.querySelector("button").getAttribute("aria-pressed") === "true";
    const part = item.closest(".part") || item.closest("figure");
    for (const one of part.querySelectorAll(`[data-s="${item.dataset.s}"]`)) {
      one.classList.toggle("off", off);
      one.querySelector?.("button")?.setAttribute("aria-pressed", String(!off));
    }
  };
  const press = (item) => {
    const button = element("button", "", { type: "button" });
    button.setAttribute("aria-pressed", String(!item.classList.contains("off")));
    button.append(...item.childNodes);
    button.onclick = () => toggle(item);
    item.replaceChildren(button);
  };
  document.querySelectorAll("li[data-s]").forEach(press);

  // Linear axes of values in place of logarithmic ones.
  const make = (svg, name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text) e.textContent = text;
    return svg.insertBefore(e, svg.firstChild);
  };
  const setLinear = (svg, linear) => {
    const frame = framesOf(svg)[0];
    svg.querySelectorAll(".own").forEach((e) => e.remove());
    // Up to the largest value that is shown.
    const shown = [...svg.querySelectorAll("path.l[data-s]:not(.off)")].flatMap((p) => pointsOf(p).map((q) => q[0]));
    const last = Math.max(frame.left + 1, ...shown);
    const to = valueAt(frame.x, (last - frame.left) / (frame.right - frame.left));
    svg.linear = linear ? { log: false, from: 0, to } : null;
    const isTick = (t) => +t.getAttribute("y") > frame.bottom && t.classList.contains("t");
    svg.querySelectorAll("path.g").forEach((e) => e.classList.toggle("off", linear));
    svg.querySelectorAll("text").forEach((t) => t.classList.toggle("off", linear && isTick(t)));
    const move = (x) => frame.left + (frame.right - frame.left)
      * Math.min(1, Math.max(0, shareOf(svg.linear, valueAt(frame.x, (x - frame.left) / (frame.right - frame.left)))));
    for (const path of svg.querySelectorAll("path[data-s]")) {
      path.dataset.d ??= path.getAttribute("d");
      path.setAttribute("d", !linear ? path.dataset.d : path.dataset.d.replace(
        /([MLH])(-?[\d.]+)/g, (_, c, x) => c + move(+x).toFixed(1)));
    }
    if (!linear) return;
    for (let i = 0; i <= 4; i++) {
      const x = frame.left + i * (frame.right - frame.left) / 4;
      make(svg, "path", { class: "g own", d: `M${x} ${frame.top}V${frame.bottom}` });
      make(svg, "text", { class: "t own", x, y: frame.bottom + 16, "text-anchor": "middle" },
        i ? say(to * i / 4, frame.x.unit) : "0");
    }
    const decades = Math.round(Math.log10(frame.y.to / frame.y.from));
    for (let i = 0; i <= decades; i++) {
      const y = frame.bottom + i * (frame.top - frame.bottom) / decades;
      make(svg, "path", { class: "g own", d: `M${frame.left} ${y}H${frame.right}` });
    }
  };
  const offerLinear = (figure) => {
    const svg = figure.querySelector("svg.ccdf, svg.curve");
    if (!svg) return;
    const button = element("button", "linear axis", { type: "button", className: "axis" });
    button.setAttribute("aria-pressed", "false");
    button.onclick = () => {
      const linear = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(linear));
      setLinear(svg, linear);
    };
    figure.querySelector("h4").append(button);
  };
  document.querySelectorAll("figure").forEach(offerLinear);

  // Plots of their own for each level of a factor that the reader chooses, with as many lines
  // in each as an eye can follow.
  const MOST_LINES = 4;
  const cells = JSON.parse(document.getElementById("cells")?.textContent || "[]");
  const arrange = (boxes, printed, factor, factors) => {
    boxes.forEach((box, i) => {
      box.replaceChildren(...printed[i]);
      if (i) box.closest("details").hidden = Boolean(factor);
    });
    if (!factor) return;
    const paths = new Map();
    for (const path of printed.flat().flatMap((f) => [...f.querySelectorAll("path[data-s]")])) {
      paths.set(path.dataset.s, [...(paths.get(path.dataset.s) || []), path]);
    }
    const levels = new Map();
    for (const s of paths.keys()) {
      const level = cells[s][factor] ?? "default";
      levels.set(level, [...(levels.get(level) || []), s]);
    }
    const drawn = (title, series) => {
      const figure = printed[0][0].cloneNode(true);
      figure.querySelector("h4").replaceChildren(title);
      figure.querySelectorAll("path[data-s], path.x, li[data-s], .own, .means").forEach((e) => e.remove());
      figure.querySelectorAll("svg .off").forEach((e) => e.classList.remove("off"));
      const svg = figure.querySelector("svg.plot");
      svg.setAttribute("aria-label", title);
      series.forEach((s, i) => {
        const look = `c${i} d${i}`;
        for (const path of paths.get(s)) {
          const copy = path.cloneNode();
          copy.setAttribute("d", path.dataset.d ?? path.getAttribute("d"));
          copy.setAttribute("class", path.getAttribute("class").split(" ")[0] + " " + look);
          svg.append(copy);
        }
        const words = factors.filter((f) => f !== factor).map((f) => cells[s][f]).filter(Boolean).join(", ");
        const item = element("li", "");
        item.dataset.s = s;
        item.innerHTML = `<svg class="key" viewBox="0 0 30 10" aria-hidden="true"><path class="l ${look}" d="M1 5H29"/></svg>`;
        item.append(element("span", words));
        press(item);
        figure.querySelector("ul.legend").append(item);
      });
      offerLinear(figure);
      return figure;
    };
    const figures = [...levels].flatMap(([level, series]) => {
      const all = Math.ceil(series.length / MOST_LINES);
      return Array.from({ length: all }, (_, i) => drawn(
        `${factor} ${level}` + (all > 1 ? `, ${i + 1} of ${all}` : ""),
        series.slice(i * MOST_LINES, (i + 1) * MOST_LINES)));
    });
    boxes[0].replaceChildren(...figures);
  };
  for (const part of document.querySelectorAll(".part")) {
    const boxes = [...part.querySelectorAll(".figures")].filter((b) => b.querySelector("svg.ccdf"));
    if (!boxes.length) continue;
    const series = boxes.flatMap((box) => [...box.querySelectorAll("li[data-s]")]).map((li) => cells[li.dataset.s]);
    const factors = [...new Set(series.flatMap((s) => Object.keys(s || {})))]
      .filter((f) => f !== "probe" && new Set(series.map((s) => s[f] ?? "")).size > 1);
    if (factors.length < 2) continue;
    const printed = boxes.map((box) => [...box.children]);
    const choice = element("select", "", { ariaLabel: "plots for each" });
    choice.append(element("option", "as printed", { value: "" }));
    for (const f of factors) choice.append(element("option", f, { value: f }));
    choice.onchange = () => arrange(boxes, printed, choice.value, factors);
    const label = element("label", "Plots for each ", { className: "facets" });
    label.append(choice);
    boxes[0].before(label);
  }
})();
