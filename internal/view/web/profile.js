"use strict";
// The profile: numbers along a line through a point of a section, as curves. It follows the
// section's zoom. Curves of the section's quantity share its scale. Any other curve is stretched
// over the plot, dashed, and the legend says what it spans.

const CURVES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]; // Okabe and Ito
const NOTE = "#555";

class Profile {
  constructor() {
    this.root = document.getElementById("profile");
    this.menu = document.getElementById("profile-along");
    this.curves = [];
    this.hidden = new Set(); // names of curves that are switched off
    this.asked = 0;          // number of the latest request
  }
  $(name) { return this.root.querySelector("." + name); }
  get open() { return !this.root.hidden; }
  get down() { return this.menu.value === "down"; }
  // along is the axis of the profile, across the other one of the section.
  get along() { return this.panel.axes[this.down ? this.panel.down : this.panel.right]; }
  get across() { return this.panel.axes[this.down ? this.panel.right : this.panel.down]; }

  prepare(along) {
    this.menu.value = along;
    this.menu.addEventListener("change", () => this.turn());
    this.$("close").addEventListener("click", () => this.choose("none"));
    this.$("own").addEventListener("change", () => { this.legend(); this.draw(); });
    const plot = this.$("plot");
    plot.addEventListener("keydown", (e) => this.key(e));
    plot.addEventListener("mousemove", (e) => { byId("readout").textContent = this.say(this.under(e)); });
    plot.addEventListener("click", (e) => { this.point.set(this.along.name, this.under(e)); this.refresh(); });
    new ResizeObserver(() => this.draw()).observe(plot);
    addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
      if (e.key === "p") this.choose({ none: "down", down: "right", right: "none" }[this.menu.value]);
      if (e.key === "Escape" && this.open) this.choose("none");
    });
  }
  choose(along) {
    this.menu.value = along;
    this.turn();
  }
  // turn takes the direction that was picked. Without a click yet the point is the picture's centre.
  turn() {
    if (this.menu.value === "none") { this.close(); return; }
    const panel = this.panel || panels[0];
    if (!this.panel) this.take(panel, panel.map.getCenter());
    this.lay();
    this.refresh();
  }
  click(panel, p, event) {
    if (this.menu.value === "none" || event.shiftKey) return;
    this.take(panel, p);
    this.lay();
    this.refresh();
  }
  take(panel, p) {
    this.panel = panel;
    this.point = new Map([[panel.axes[panel.right].name, p.lng], [panel.axes[panel.down].name, p.lat]]);
  }
  close() {
    if (this.mark) this.mark.remove();
    this.mark = null;
    this.curves = [];
    if (!this.open) return;
    this.root.hidden = true;
    this.fit();
  }
  // lay gives the profile its place: to the right of the sections or below them.
  lay() {
    const stage = byId("stage"), below = !this.down;
    if (this.open && stage.classList.contains("below") === below) return;
    stage.classList.toggle("below", below);
    this.root.hidden = false;
    this.fit();
  }
  // fit lets whole pictures take the room that they now have. A part that was zoomed to stays.
  fit() {
    for (const p of [...panels, gatherPanel]) {
      if (!p || !p.$("map").clientWidth) continue;
      if (p.map.getZoom() === 0) p.rebuild();
      else p.map.invalidateSize({ animate: false });
    }
  }

  // at are the indices of the point in the section's array.
  at() {
    const { panel } = this;
    return panel.axes.map((axis, i) => (i !== panel.right && i !== panel.down ? panel.at[i] : index(axis, this.point.get(axis.name))));
  }
  // places are the point's coordinates by the names of the axes, at samples of the section's array.
  places() {
    const at = this.at();
    return new Map(this.panel.axes.map((axis, i) => [axis.name, axis.origin + at[i] * axis.spacing]));
  }
  // sources are the arrays to draw: that of the section, what lies beneath it, those of other sections
  // and the images of other files.
  sources() {
    const own = this.panel.shown, list = [own, this.panel.list[this.panel.$("beneath").value]];
    if (byId("arrangement").value !== "one") list.push(...panels.map((p) => p.shown));
    if (["/image", "/reflectivity"].includes(own.info.name))
      list.push(...this.panel.list.filter((a) => ["/image", "/reflectivity"].includes(a.info.name)));
    const same = (a) => (b) => b.file === a.file && b.array === a.array;
    return list.filter((a, i) => a && list.findIndex((b) => b && same(a)(b)) === i);
  }
  // indices are those of the sample of a source that is nearest to the point, null outside.
  indices(source, places) {
    const at = source.info.axes.map((axis) => {
      const own = this.panel.axes.find((other) => other.name === axis.name && other.unit === axis.unit), c = places.get(axis.name);
      if (!own || JSON.stringify(own.values) !== JSON.stringify(axis.values)) return -1;
      if (axis.name === this.along.name) return 0;
      return c >= begin(axis) && c <= end(axis) ? index(axis, c) : -1;
    });
    return at.includes(-1) || !source.info.axes.some((axis) => axis.name === this.along.name) ? null : at;
  }
  // refresh asks for the curves, after a change of a panel or of the point.
  refresh(panel) {
    if (!this.open || (panel && panel !== this.panel && !panels.includes(panel))) return;
    if (byId("arrangement").value === "one" && panels.includes(this.panel)) this.panel = panels[0]; // the other is hidden
    const { right, down, axes } = this.panel;
    if (![right, down].every((i) => this.point.has(axes[i].name))) this.take(this.panel, this.panel.map.getCenter());
    const asked = ++this.asked, places = this.places();
    const ask = async (source) => {
      const at = this.indices(source, places), { axes, unit, of } = source.info;
      if (!at) return null;
      const along = axes.findIndex((axis) => axis.name === this.along.name);
      const answer = await fetch("api/profile?" + new URLSearchParams({ file: source.file, array: source.array, along, at }));
      if (!answer.ok) throw new Error(await answer.text());
      const off = axes.map((axis, i) => [axis, axis.origin + at[i] * axis.spacing]).filter(([axis, c], i) => i !== along && Math.abs(c - places.get(axis.name)) > 1e-6 * axis.spacing);
      const note = off.map(([axis, c]) => `, ${axis.name} ${number(c)} ${axis.unit}`).join("");
      return { ...await answer.json(), name: source.name + note, axis: axes[along], scale: `${of} ${unit}`, of, unit };
    };
    pending++;
    Promise.all(this.sources().map(ask)).then((curves) => {
      if (asked !== this.asked || !this.open) return;
      this.curves = curves.filter((c) => c).map((c, i) => ({ ...c, color: CURVES[i % CURVES.length] }));
      this.legend();
      this.draw();
    }).catch((fault) => fail(fault.message)).finally(() => { pending--; settled(); });
  }
  // follow keeps to what the panel shows.
  follow(panel) {
    if (panel === this.panel) this.draw();
  }

  // shares reports whether a curve has the scale of the axis of numbers.
  shares(c) { return c === this.curves[0] || (c.scale === this.curves[0].scale && !this.$("own").checked); }
  shown() { return this.curves.filter((c) => !this.hidden.has(c.name)); }
  // legend names the curves and switches them.
  legend() {
    const first = this.curves[0], rows = [];
    for (const c of this.curves) {
      let text = c.name;
      if (c.deviation) text += " ± one standard deviation";
      if (!this.shares(c)) text += `, ${this.span(c).map(short).join(" to ")} ${c.unit}`;
      rows.push(this.row(c.name, text, { ...c, dash: this.shares(c) ? [] : [6, 3] }));
      if (c.resolution) rows.push(this.row(this.resolution(c), `${this.resolution(c)}, 0 to 1`, { color: c === first ? NOTE : c.color, dash: [2, 2], thin: true }));
    }
    this.$("legend").replaceChildren(...rows);
    this.root.querySelector("strong").textContent = `along ${this.along.name}`;
    this.$("scales").hidden = !this.curves.some((c) => c !== first && c.scale === first.scale);
  }
  resolution(c) { return this.curves.filter((other) => other.resolution).length > 1 ? `resolution of ${c.name}` : "resolution"; }
  row(name, text, look) {
    const row = document.createElement("li"), label = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("canvas");
    Object.assign(box, { type: "checkbox", checked: !this.hidden.has(name) });
    box.addEventListener("change", () => { if (box.checked) this.hidden.delete(name); else this.hidden.add(name); this.draw(); });
    Object.assign(swatch, { width: 52, height: 28 });
    const context = swatch.getContext("2d");
    context.scale(2, 2);
    if (look.deviation) { context.fillStyle = look.color + "40"; context.fillRect(0, 1, 26, 12); }
    stroke(context, look);
    context.beginPath();
    context.moveTo(0, 7);
    context.lineTo(26, 7);
    context.stroke();
    label.append(box, swatch, text);
    row.append(label);
    return row;
  }

  // extent is the part of the profile's axis that the section shows, from where its picture begins.
  extent() {
    const { map, axes, right, down } = this.panel, bounds = map.getBounds();
    if (!this.down) return [bounds.getWest(), bounds.getEast()];
    const ends = [bounds.getSouth(), bounds.getNorth()];
    return upward(axes[right], axes[down]) ? ends.reverse() : ends;
  }
  // samples are the first and last sample of a curve that are drawn: those on the screen and one more.
  samples(c) {
    const [from, to] = this.extent().map((at) => (at - c.axis.origin) / c.axis.spacing).sort((a, b) => a - b);
    return [Math.max(0, Math.floor(from)), Math.min(c.values.length - 1, Math.ceil(to))];
  }
  // span are the least and greatest of some samples of a curve, with their deviations.
  span(c, [first, last] = [0, c.values.length - 1]) {
    let low = Infinity, high = -Infinity;
    for (let i = first; i <= last; i++) {
      if (c.values[i] === null) continue;
      const d = (c.deviation && c.deviation[i]) || 0;
      low = Math.min(low, c.values[i] - d);
      high = Math.max(high, c.values[i] + d);
    }
    return [low, high];
  }
  // range is what the axis of numbers spans: what the screen shows of the curves on it, and zero for
  // signed numbers.
  range() {
    const spans = this.shown().filter((c) => this.shares(c)).map((c) => this.span(c, this.samples(c))).filter(([low, high]) => low <= high);
    if (spans.length === 0) return [0, 1];
    const { info } = this.panel.shown, zero = info.low === -info.high ? [0] : [];
    return pad(Math.min(...spans.map((s) => s[0]), ...zero), Math.max(...spans.map((s) => s[1]), ...zero));
  }
  // stretch is the range of a curve with a scale of its own. Zero stays where it is for the quantity
  // of the axis.
  stretch(c, range) {
    const first = this.curves[0], most = (curve) => Math.max(...this.span(curve).map(Math.abs)) || 1;
    return c.scale === first.scale ? range.map((v) => v * most(c) / most(first)) : pad(...this.span(c));
  }
  // pixel is where a number at a place along the profile lies on the plot.
  pixel(along, value, [low, high]) {
    const plot = this.$("plot"), [from, to] = this.extent(), a = (along - from) / (to - from), v = (value - low) / (high - low);
    return this.down ? [v * plot.clientWidth, a * plot.clientHeight] : [a * plot.clientWidth, (1 - v) * plot.clientHeight];
  }
  draw() {
    if (!this.open || this.curves.length === 0) return;
    this.$("head").style.minHeight = this.down ? this.panel.$("controls").offsetHeight + "px" : ""; // depths lie side by side
    const plot = this.$("plot"), ratio = window.devicePixelRatio || 1, first = this.curves[0], range = this.range(), [from, to] = this.extent();
    plot.width = plot.clientWidth * ratio;
    plot.height = plot.clientHeight * ratio;
    const context = plot.getContext("2d");
    context.scale(ratio, ratio);
    const numbers = { name: first.of, unit: first.unit, room: this.down ? 50 : 30 };
    if (this.down) { ruler(this.$("left"), this.along, from, to, true); ruler(this.$("top"), numbers, ...range, false); }
    else { ruler(this.$("top"), this.along, from, to, false); ruler(this.$("left"), numbers, range[1], range[0], true); }
    const here = this.places().get(this.along.name), stretched = (c) => (this.shares(c) ? range : this.stretch(c, range));
    this.line(context, [[from, 0], [to, 0]], range, { color: "#bbb", thin: true });
    this.line(context, [[here, range[0]], [here, range[1]]], range, { color: "#b31023", thin: true });
    for (const c of this.shown()) if (c.deviation) this.band(context, c, stretched(c));
    for (const c of this.curves) if (c.resolution && !this.hidden.has(this.resolution(c))) this.curve(context, c, c.resolution, [0, 1], { color: c === first ? NOTE : c.color, dash: [2, 2], thin: true });
    for (const c of this.shown()) this.curve(context, c, c.values, stretched(c), { color: c.color, dash: this.shares(c) ? [] : [6, 3] });
    this.$("here").textContent = this.say(here);
    plot.setAttribute("aria-label", `profile along ${this.along.name}: ${this.$("here").textContent}`);
    this.markPoint();
  }
  // line draws through places and numbers.
  line(context, points, range, look) {
    stroke(context, look);
    context.beginPath();
    for (const [along, value] of points) context.lineTo(...this.pixel(along, value, range));
    context.stroke();
  }
  // runs are the stretches of a curve's samples that have numbers.
  runs(c, values) {
    const [first, last] = this.samples(c), runs = [[]];
    for (let i = first; i <= last; i++) {
      if (values[i] === null) runs.push([]);
      else runs[runs.length - 1].push(i);
    }
    return runs.filter((run) => run.length > 0);
  }
  curve(context, c, values, range, look) {
    for (const run of this.runs(c, values)) this.line(context, run.map((i) => [c.axis.origin + i * c.axis.spacing, values[i]]), range, look);
  }
  // band fills one standard deviation to either side of a curve.
  band(context, c, range) {
    context.fillStyle = c.color + "40";
    for (const run of this.runs(c, c.values.map((v, i) => (c.deviation[i] === null ? null : v)))) {
      const edge = (i, sign) => this.pixel(c.axis.origin + i * c.axis.spacing, c.values[i] + sign * c.deviation[i], range);
      context.beginPath();
      for (const i of run) context.lineTo(...edge(i, 1));
      for (const i of run.reverse()) context.lineTo(...edge(i, -1));
      context.fill();
    }
  }
  // markPoint shows line and point on the section.
  markPoint() {
    if (this.mark) this.mark.remove();
    const { panel } = this, places = this.places(), x = places.get(panel.axes[panel.right].name), z = places.get(panel.axes[panel.down].name);
    const [a, b] = [begin(this.along), end(this.along)], line = this.down ? [[a, x], [b, x]] : [[z, a], [z, b]];
    const marks = (look) => [L.polyline(line, look), L.circleMarker([z, x], { ...look, radius: 4, fill: false })];
    const both = [{ weight: 3, color: "#fff", opacity: 0.6 }, { weight: 1, color: CURVES[0] }]; // seen on light and dark
    this.mark = L.layerGroup(both.flatMap((look) => marks({ ...look, interactive: false }))).addTo(panel.map);
  }

  // under is where along the profile the mouse is.
  under(e) {
    const box = this.$("plot").getBoundingClientRect(), [from, to] = this.extent();
    return from + (this.down ? (e.clientY - box.y) / box.height : (e.clientX - box.x) / box.width) * (to - from);
  }
  // say tells the numbers at a place along the profile.
  say(along) {
    if (this.curves.length === 0) return "";
    const place = (axis, c) => `${axis.name} ${axis.values ? label(axis, index(axis, c)) : number(c)} ${axis.unit}`;
    const at = this.along.origin + index(this.along, along) * this.along.spacing;
    const parts = [place(this.across, this.places().get(this.across.name)), place(this.along, at)];
    for (const c of this.shown()) {
      const i = Math.round((at - c.axis.origin) / c.axis.spacing), v = c.values[i];
      if (v === undefined || v === null) continue;
      const deviation = c.deviation && c.deviation[i] !== null ? ` ± ${short(c.deviation[i])}` : "";
      parts.push(`${this.curves.length > 1 ? c.name : c.of} ${short(v)}${deviation} ${c.unit}`.trim());
      if (c.resolution && c.resolution[i] !== null) parts.push(`resolution ${short(c.resolution[i])}`);
    }
    return parts.join("   ");
  }
  // key moves the point by a sample, with shift by ten.
  key(e) {
    const { right, down } = this.panel, step = e.shiftKey ? 10 : 1;
    const move = { ArrowLeft: [right, -step], ArrowRight: [right, step], ArrowUp: [down, -step], ArrowDown: [down, step] }[e.key];
    if (!move) return;
    e.preventDefault();
    const axis = this.panel.axes[move[0]], i = Math.max(0, Math.min(axis.size - 1, this.at()[move[0]] + move[1]));
    this.point.set(axis.name, axis.origin + i * axis.spacing);
    this.panel.map.panInside([this.point.get(this.panel.axes[down].name), this.point.get(this.panel.axes[right].name)], { animate: false });
    this.refresh();
  }
}

const short = (v) => number(+v.toPrecision(3));

// pad widens a range a little, so that no curve runs along the edge.
function pad(low, high) {
  const more = (high - low) * 0.04 || Math.abs(high) * 0.04 || 1;
  return [low - more, high + more];
}

function stroke(context, { color, dash = [], thin = false }) {
  context.strokeStyle = color;
  context.lineWidth = thin ? 1 : 1.8;
  context.setLineDash(dash);
}

const profile = new Profile();
