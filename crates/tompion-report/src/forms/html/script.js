"use strict";
// The page is whole without this. It adds values under the pointer, series to hide,
// linear axes, and plots arranged by a factor of the reader's choice.
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

  // Values under the pointer, and the line nearest to it.
  const tip = element("div", "", { id: "tip", hidden: true });
  document.body.append(tip);
  const nearest = (svg, at) => {
    let best = [14, null];
    for (const path of svg.querySelectorAll("path.l[data-s]")) {
      if (path.classList.contains("off")) continue;
      const points = pointsOf(path);
      for (let i = 1; i < points.length; i++) {
        const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
        if (at.x < Math.min(x0, x1) - 14 || at.x > Math.max(x0, x1) + 14) continue;
        const [dx, dy] = [x1 - x0, y1 - y0];
        const k = Math.max(0, Math.min(1, ((at.x - x0) * dx + (at.y - y0) * dy) / (dx * dx + dy * dy || 1)));
        const far = Math.hypot(x0 + k * dx - at.x, y0 + k * dy - at.y);
        if (far < best[0]) best = [far, path.dataset.s];
      }
    }
    return best[1];
  };
  document.addEventListener("pointermove", (event) => {
    const svg = event.target.closest?.("svg.plot");
    const matrix = svg?.getScreenCTM();
    if (!matrix) { tip.hidden = true; return; }
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const frame = framesOf(svg).find((f) => at.x >= f.left && at.x <= f.right && at.y >= f.top && at.y <= f.bottom);
    tip.hidden = !frame;
    if (!frame) return;
    const x = say(valueAt(svg.linear || frame.x, (at.x - frame.left) / (frame.right - frame.left)), frame.x.unit);
    const y = say(valueAt(frame.y, (frame.bottom - at.y) / (frame.bottom - frame.top)), frame.y.unit);
    const series = nearest(svg, at);
    const figure = svg.closest("figure");
    tip.textContent = [series && nameOf(figure, series), [x, y].filter(Boolean).join(", ")].filter(Boolean).join(": ");
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + "px";
    tip.style.top = Math.max(4, event.clientY - 34) + "px";
  });

  // A click on a legend's line hides that series in its whole part of the page.
  const toggle = (item) => {
    const off = item.getAttribute("aria-pressed") === "true";
    const part = item.closest(".part") || item.closest("figure");
    for (const one of part.querySelectorAll(`[data-s="${item.dataset.s}"]`)) {
      one.classList.toggle("off", off);
      if (one.tagName === "LI") one.setAttribute("aria-pressed", String(!off));
    }
  };
  const press = (item) => {
    item.setAttribute("role", "button");
    item.setAttribute("tabindex", "0");
    item.setAttribute("aria-pressed", String(!item.classList.contains("off")));
  };
  document.querySelectorAll("li[data-s]").forEach(press);
  document.addEventListener("click", (event) => {
    const item = event.target.closest?.("li[data-s]");
    if (item) toggle(item);
  });
  document.addEventListener("keydown", (event) => {
    const item = event.target.closest?.("li[data-s]");
    if (item && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); toggle(item); }
  });

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

  // One plot for each level of a factor that the reader chooses.
  const cells = JSON.parse(document.getElementById("cells")?.textContent || "[]");
  const looks = (i) => `c${i % 8} d${Math.floor(i / 8) % 5}`;
  const arrange = (box, printed, factor, factors) => {
    box.replaceChildren(...printed);
    if (!factor) return;
    const paths = new Map();
    for (const path of printed.flatMap((f) => [...f.querySelectorAll("path[data-s]")])) {
      paths.set(path.dataset.s, [...(paths.get(path.dataset.s) || []), path]);
    }
    const levels = Map.groupBy ? Map.groupBy(paths.keys(), (s) => cells[s][factor] ?? "default") : new Map();
    if (!Map.groupBy) for (const s of paths.keys()) {
      const level = cells[s][factor] ?? "default";
      levels.set(level, [...(levels.get(level) || []), s]);
    }
    const figures = [...levels].map(([level, series]) => {
      const figure = printed[0].cloneNode(true);
      figure.querySelector("h4").replaceChildren(`${factor} ${level}`);
      figure.querySelectorAll("path[data-s], li[data-s], .own, .means").forEach((e) => e.remove());
      figure.querySelectorAll("svg .off").forEach((e) => e.classList.remove("off"));
      const svg = figure.querySelector("svg.plot");
      svg.setAttribute("aria-label", `${factor} ${level}`);
      series.forEach((s, i) => {
        for (const path of paths.get(s)) {
          const copy = path.cloneNode();
          copy.setAttribute("d", path.dataset.d ?? path.getAttribute("d"));
          copy.setAttribute("class", path.getAttribute("class").split(" ")[0] + " " + looks(i));
          svg.append(copy);
        }
        const words = factors.filter((f) => f !== factor).map((f) => cells[s][f]).filter(Boolean).join(", ");
        const item = element("li", "");
        item.dataset.s = s;
        item.innerHTML = `<svg class="key" viewBox="0 0 30 10" aria-hidden="true"><path class="l ${looks(i)}" d="M1 5H29"/></svg>`;
        item.append(element("span", words));
        press(item);
        figure.querySelector("ul.legend").append(item);
      });
      offerLinear(figure);
      return figure;
    });
    box.replaceChildren(...figures);
  };
  for (const part of document.querySelectorAll(".part")) {
    const box = [...part.querySelectorAll(".figures")].find((b) => b.querySelector("svg.ccdf"));
    if (!box) continue;
    const series = [...box.querySelectorAll("li[data-s]")].map((li) => cells[li.dataset.s]);
    const factors = [...new Set(series.flatMap((s) => Object.keys(s || {})))]
      .filter((f) => f !== "probe" && new Set(series.map((s) => s[f] ?? "")).size > 1);
    if (factors.length < 2) continue;
    const printed = [...box.children];
    const choice = element("select", "", { ariaLabel: "one plot for each" });
    choice.append(element("option", "as printed", { value: "" }));
    for (const f of factors) choice.append(element("option", f, { value: f }));
    choice.onchange = () => arrange(box, printed, choice.value, factors);
    const label = element("label", "One plot for each ", { className: "facets" });
    label.append(choice);
    box.before(label);
  }
})();
