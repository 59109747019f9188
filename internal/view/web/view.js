"use strict";
// The page of lsm view. Leaflet pans, zooms and keeps tiles; a tile's values come from
// api/window. Coordinates on a map are those of the array's axes: lng to the right, lat down, and up where x and y make a map.

const TILE = 256;
const byId = (id) => document.getElementById(id);
let files, tables, panels = [], gatherPanel = null, pending = 0;

function fail(text) {
  const p = byId("fault");
  p.textContent = text;
  p.hidden = false;
}

const number = (v) => (v === 0 || (Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6) ? String(+v.toPrecision(5)) : v.toExponential(3));
const begin = (axis) => axis.origin - axis.spacing / 2;
const end = (axis) => axis.origin + (axis.size - 0.5) * axis.spacing;
const index = (axis, at) => Math.max(0, Math.min(axis.size - 1, Math.round((at - axis.origin) / axis.spacing)));
const upward = (right, down) => right.name === "x" && down.name === "y"; // a map, as lsm plot draws it
const label = (axis, i) => number(axis.values ? axis.values[i] : axis.origin + i * axis.spacing);

// All arrays of all files, as a list.
const arrays = () => files.flatMap((f, file) => f.arrays.map((a, array) => ({ file, array, info: a, name: files.length > 1 ? `${f.name}: ${a.title}` : a.title })));

// ArrayLayer draws one array on a map. It keeps the values of its tiles, so that other colours
// need no request.
const ArrayLayer = L.GridLayer.extend({
  initialize(source, view, options) {
    L.GridLayer.prototype.initialize.call(this, { tileSize: TILE, minNativeZoom: -30, keepBuffer: 1, updateWhenZooming: false, noWrap: true, ...options });
    this.source = source;
    this.view = view;
    this.values = new Map();
    this.on("tileunload", (e) => this.values.delete(e.tile));
  },
  createTile(coords, done) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = TILE;
    const { crs } = this._map.options, at = coords.scaleBy(L.point(TILE, TILE));
    const nw = crs.pointToLatLng(at, coords.z), se = crs.pointToLatLng(at.add([TILE, TILE]), coords.z);
    const query = new URLSearchParams({
      file: this.source.file, array: this.source.array, axes: [this.view.right, this.view.down],
      at: this.view.at, edges: [nw.lng, Math.min(nw.lat, se.lat), se.lng, Math.max(nw.lat, se.lat)], pixels: [TILE, TILE],
    });
    pending++;
    fetch("api/window?" + query).then(async (answer) => {
      if (!answer.ok) throw new Error(await answer.text());
      const v = new DataView(await answer.arrayBuffer());
      const values = new Float32Array(v.byteLength / 4);
      const turn = nw.lat > se.lat ? TILE * (TILE - 1) : 0; // the last row first, on a map
      for (let i = 0; i < values.length; i++) values[i] = v.getFloat32(4 * (turn ? turn - i + 2 * (i % TILE) : i), true);
      this.values.set(tile, { values, nw, se });
      this.paint(tile);
      done(null, tile);
    }).catch((fault) => { fail(fault.message); done(fault, tile); }).finally(() => { pending--; settled(); });
    return tile;
  },
  paint(tile) {
    const { values } = this.values.get(tile), { low, high, colors } = this.look, table = tables[colors];
    const context = tile.getContext("2d"), image = context.createImageData(TILE, TILE), scale = 255 / (high - low);
    for (let i = 0; i < values.length; i++) {
      if (Number.isNaN(values[i])) continue; // transparent
      const c = table[Math.max(0, Math.min(255, Math.round((values[i] - low) * scale)))];
      image.data.set([c[0], c[1], c[2], 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  },
  recolor(look) {
    this.look = look;
    for (const tile of this.values.keys()) this.paint(tile);
  },
  // valueAt is the value of the pixel at a place, undefined where no tile shows it.
  valueAt(p) {
    let best;
    for (const { values, nw, se } of this.values.values()) {
      const x = Math.floor((p.lng - nw.lng) / (se.lng - nw.lng) * TILE), y = Math.floor((p.lat - nw.lat) / (se.lat - nw.lat) * TILE);
      if (x < 0 || y < 0 || x >= TILE || y >= TILE) continue;
      if (!best || se.lng - nw.lng < best.width) best = { width: se.lng - nw.lng, value: values[y * TILE + x] };
    }
    return best && best.value;
  },
});

// settled tells, for whoever waits, that no request is under way.
function settled() {
  if (pending === 0) document.body.dataset.settled = String(1 + Number(document.body.dataset.settled || 0));
}

// Panel is one picture with its controls.
class Panel {
  constructor(start) {
    this.root = byId("panel").content.cloneNode(true).firstElementChild;
    byId("panels").append(this.root);
    this.list = arrays();
    this.$("array").append(...this.list.map((a, i) => new Option(a.name, i)));
    this.$("beneath").append(new Option("nothing", -1), ...this.list.map((a, i) => new Option(a.name, i)));
    this.$("colors").append(...Object.keys(tables).map((name) => new Option(name, name)));
    this.$("array").value = start;
    this.on("array", "change", () => this.choose());
    this.on("section", "change", () => this.turn());
    this.on("colors", "change", () => this.recolor());
    this.on("clip", "input", () => recolorAll(this));
    this.on("beneath", "change", () => this.draw());
    this.on("opacity", "input", () => this.top.setOpacity(this.opacity()));
    this.on("whole", "click", () => this.whole());
    this.map = null;
    this.choose();
  }
  $(name) { return this.root.querySelector("." + name); }
  on(name, event, act) { this.$(name).addEventListener(event, act); }
  get shown() { return this.list[this.$("array").value]; }
  get axes() { return this.shown.info.axes; }
  opacity() { return this.below ? Number(this.$("opacity").value) : 1; }

  // choose takes the array that was picked.
  choose() {
    const { axes, info } = { axes: this.axes, info: this.shown.info }, last = axes.length - 1;
    const sections = [];
    for (let right = 0; right < axes.length; right++)
      for (let down = right + 1; down < axes.length; down++) sections.push([right, down]);
    sections.sort((p, q) => (q[1] === last) - (p[1] === last) || (axes[p[0]].name === "x" ? -1 : 0) - (axes[q[0]].name === "x" ? -1 : 0));
    this.$("section").replaceChildren(...sections.map((s) => new Option(s.map((i) => axes[i].name).join(" – "), s)));
    this.$("section").hidden = sections.length < 2;
    this.$("colors").value = info.colors;
    this.at = axes.map((axis) => Math.floor(axis.size / 2));
    this.turn();
  }
  // turn takes the section that was picked.
  turn() {
    [this.right, this.down] = this.$("section").value.split(",").map(Number);
    this.part = [begin(this.axes[this.right]), end(this.axes[this.right])];
    const sliders = this.axes.map((axis, i) => this.slider(axis, i)).filter((s) => s);
    if (this.shown.info.shots) sliders.push(this.shots(this.shown.info.shots));
    this.$("sliders").replaceChildren(...sliders);
    for (const option of this.$("beneath").options) option.disabled = option.value >= 0 && !this.lies(this.list[option.value]);
    this.rebuild();
  }
  slider(axis, i) {
    if (i === this.right || i === this.down) return null;
    const row = document.createElement("label"), input = document.createElement("input"), text = document.createElement("output");
    Object.assign(input, { type: "range", min: 0, max: axis.size - 1, value: this.at[i] });
    input.dataset.axis = axis.name;
    const say = () => { text.textContent = ` ${axis.name} = ${label(axis, this.at[i])} ${axis.unit}`; };
    input.addEventListener("input", () => { this.at[i] = Number(input.value); say(); });
    input.addEventListener("change", () => this.draw());
    say();
    row.append(input, text);
    return row;
  }
  // shots is a slider that brings the traces of one shot to the screen.
  shots(first) {
    const row = document.createElement("label"), input = document.createElement("input"), text = document.createElement("output");
    Object.assign(input, { type: "range", min: -1, max: first.length - 1, value: -1 });
    input.dataset.axis = "shot";
    text.textContent = " all shots";
    input.addEventListener("input", () => {
      const [h, v] = [this.axes[this.right], this.axes[this.down]], k = Number(input.value);
      text.textContent = k < 0 ? " all shots" : ` traces ${first[k]} to ${(first[k + 1] ?? h.size) - 1}`;
      this.zoomTo(k < 0 ? begin(h) : first[k] - 0.5, k < 0 ? end(h) : (first[k + 1] ?? h.size) - 0.5);
    });
    row.append(input, text);
    return row;
  }
  // zoomTo stretches part of the axis to the right over the whole width.
  zoomTo(from, to) {
    this.part = [from, to];
    this.rebuild();
  }
  // rebuild makes the map, whose scales are those of the axes.
  rebuild() {
    if (this.map) this.map.remove();
    const box = this.$("map"), [h, v] = [this.axes[this.right], this.axes[this.down]], [from, to] = this.part;
    let a = (box.clientWidth || 1) / (to - from), c = (box.clientHeight || 1) / (end(v) - begin(v));
    if (byId("true-scale").checked && h.unit === v.unit) a = c = Math.min(a, c);
    const down = upward(h, v) ? [-c, c * end(v)] : [c, -c * begin(v)];
    const crs = L.extend({}, L.CRS.Simple, { transformation: new L.Transformation(a, -a * begin(h), ...down) });
    this.map = L.map(box, { crs, zoomSnap: 0.25, minZoom: -3, maxZoom: 12, attributionControl: false, fadeAnimation: false, zoomAnimation: false });
    this.whole();
    this.map.on("move zoom resize", () => { this.rulers(); follow(this); profile.follow(this); });
    this.map.on("mousemove", (e) => this.read(e.latlng));
    this.map.on("click", (e) => { profile.click(this, e.latlng, e.originalEvent); showGather(this, e.latlng, e.originalEvent); });
    this.below = this.top = null;
    this.draw();
  }
  whole() {
    const v = this.axes[this.down];
    this.map.fitBounds([[begin(v), this.part[0]], [end(v), this.part[1]]], { animate: false });
  }
  // draw replaces the layers.
  draw() {
    for (const layer of [this.below, this.top]) if (layer) layer.remove();
    if (!this.lies(this.list[this.$("beneath").value])) this.$("beneath").value = -1;
    const under = this.list[this.$("beneath").value], view = { right: this.right, down: this.down, at: this.at };
    this.below = under ? this.beneath(under) : null;
    this.$("opacity").hidden = !this.below;
    this.top = new ArrayLayer(this.shown, view, { opacity: this.opacity(), zIndex: 2 });
    this.recolor();
    if (this.below) this.below.addTo(this.map);
    this.top.addTo(this.map);
    this.rulers();
    this.drawPicks();
    profile.refresh(this);
  }
  // drawPicks shows picks: points on sections along x, curves on gathers.
  drawPicks() {
    if (this.picks) this.picks.remove();
    this.picks = null;
    if (!picks) return;
    const [h, v] = [this.axes[this.right], this.axes[this.down]];
    if (h.name === "x" && picks.vertical(v)) this.picks = picks.points();
    if (h.name === picks.across && picks.vertical(v)) this.picks = picks.curves(h, this.place());
    if (this.picks) this.picks.addTo(this.map);
  }
  // place is the x of a gather, and half the distance to the next.
  place() {
    const i = this.axes.findIndex((axis) => axis.name === "x");
    return { x: this.axes[i].origin + this.at[i] * this.axes[i].spacing, half: this.axes[i].spacing / 2 };
  }
  // lies reports whether a source has the axes of this picture, and so can lie beneath it.
  lies(source) {
    const has = (axis) => source && source.info.axes.some((other) => other.name === axis.name && other.unit === axis.unit);
    return has(this.axes[this.right]) && has(this.axes[this.down]);
  }
  // beneath is a layer of another array.
  beneath(source) {
    const find = (axis) => source.info.axes.findIndex((other) => other.name === axis.name);
    const right = find(this.axes[this.right]), down = find(this.axes[this.down]);
    const at = source.info.axes.map((axis) => {
      const same = this.axes.findIndex((other) => other.name === axis.name);
      return same < 0 ? Math.floor(axis.size / 2) : index(axis, this.axes[same].origin + this.at[same] * this.axes[same].spacing);
    });
    const layer = new ArrayLayer(source, { right, down, at }, { zIndex: 1 });
    layer.look = { low: source.info.low, high: source.info.high, colors: source.info.colors };
    return layer;
  }
  // look is what the colours mean.
  look() {
    const from = byId("common").checked ? panels[0] : this;
    const { low, high } = from.shown.info, factor = 10 ** Number(from.$("clip").value), colors = this.$("colors").value;
    if (low === -high) return { low: low * factor, high: high * factor, colors };
    const middle = (low + high) / 2, half = (high - low) / 2 * factor;
    return { low: middle - half, high: middle + half, colors };
  }
  recolor() {
    const look = this.look(), unit = this.shown.info.unit ? " " + this.shown.info.unit : "";
    this.top.recolor(look);
    this.$("high").textContent = number(look.high) + unit;
    this.$("low").textContent = number(look.low) + unit;
    const context = this.root.querySelector(".bar canvas").getContext("2d");
    tables[look.colors].forEach((c, i) => { context.fillStyle = `rgb(${c})`; context.fillRect(0, 255 - i, 14, 1); });
  }
  read(p) {
    const parts = [this.right, this.down].map((i, k) => {
      const axis = this.axes[i], at = k ? p.lat : p.lng;
      return `${axis.name} ${axis.values ? label(axis, index(axis, at)) : number(at)} ${axis.unit}`;
    });
    const value = this.top.valueAt(p);
    if (value !== undefined && !Number.isNaN(value)) parts.push(`value ${number(value)} ${this.shown.info.unit}`);
    byId("readout").textContent = parts.join("   ");
  }
  // rulers draws ticks along the top and the left edge.
  rulers() {
    const bounds = this.map.getBounds(), [h, v] = [this.axes[this.right], this.axes[this.down]];
    ruler(this.$("top"), h, bounds.getWest(), bounds.getEast(), false);
    const ends = [bounds.getSouth(), bounds.getNorth()]; // lat grows downward here, but on a map
    ruler(this.$("left"), v, ...(upward(h, v) ? ends.reverse() : ends), true);
  }
}

function ruler(canvas, axis, a, b, upright) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d"), length = upright ? height : width, [from, to] = [Math.min(a, b), Math.max(a, b)];
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  context.textAlign = upright ? "right" : "center";
  context.textBaseline = upright ? "middle" : "bottom";
  if (!(to > from)) return; // b may be the lesser: the axis then grows the other way
  const raw = (to - from) / Math.max(2, length / (axis.room || (upright || axis.values ? 60 : 90))), power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  if (axis.values) step = Math.max(1, Math.round(step));
  for (let k = Math.ceil(from / step); k * step <= to; k++) {
    const at = k * step, px = (at - a) / (b - a) * length;
    if (axis.values && !(at >= 0 && at < axis.size)) continue;
    const text = axis.values ? label(axis, at) : number(at);
    if (upright) { context.fillRect(56, px, 6, 1); context.fillText(text, 52, Math.max(7, Math.min(length - 7, px))); }
    else { context.fillRect(px, 30, 1, 6); context.fillText(text, Math.max(20, Math.min(length - 20, px)), 29); }
  }
  context.save();
  context.fillStyle = "#666";
  const name = axis.unit ? `${axis.name} (${axis.unit})` : axis.name;
  if (upright) { context.translate(11, length / 2); context.rotate(-Math.PI / 2); context.textAlign = "center"; context.fillText(name, 0, 0); }
  else context.fillText(name, length / 2, 14);
  context.restore();
}

// follow brings the other picture to where this one is.
let following = false;
function follow(panel) {
  if (following || !panels.includes(panel)) return;
  following = true;
  for (const other of panels) {
    const same = (i, k) => other.axes[i] && other.axes[i].name === panel.axes[k].name;
    if (other !== panel && same(other.right, panel.right) && same(other.down, panel.down) && other.$("map").clientWidth)
      other.map.fitBounds(panel.map.getBounds(), { animate: false });
  }
  following = false;
}

function recolorAll(panel) {
  for (const p of byId("common").checked ? panels : [panel]) p.recolor();
}

// Picks are the residual moveouts of a file, which a hand may change.
class Picks {
  constructor(file, list) {
    Object.assign(this, { file, list, changed: false, across: "offset" });
  }
  vertical(axis) { return axis.name === "z" || axis.name === "time"; }
  // touch draws them anew after a change.
  touch() {
    this.changed = true;
    byId("saved").textContent = "";
    for (const p of [...panels, gatherPanel]) if (p) p.drawPicks();
  }
  remove(pick) {
    this.list = this.list.filter((p) => p !== pick);
    this.touch();
  }
  // points are the picks of a section, blue where the migration was too slow and red where too fast.
  points() {
    return L.layerGroup(this.list.map((p) => L.circleMarker([p.z, p.x], { radius: 4, weight: 1, color: "#222", fillOpacity: 0.9,
      fillColor: p.gamma < 0.995 ? "#346ac1" : p.gamma > 1.005 ? "#cd5a52" : "#f6f6f6" })
      .bindTooltip(`γ ${p.gamma.toFixed(3)}`).on("contextmenu", (e) => { L.DomEvent.stop(e); this.remove(p); })));
  }
  // here are the picks at the place that is nearest to x.
  here(x) {
    const at = this.list.reduce((best, p) => (Math.abs(p.x - x) < Math.abs(best - x) ? p.x : best), Infinity);
    return this.list.filter((p) => p.x === at);
  }
  // depth is where the curve of a pick lies at an offset.
  depth(p, gamma, offset) {
    const z = p.z - p.datum;
    return p.datum + Math.sqrt(Math.max(0, z * z + (gamma * gamma - 1) * (offset / p.speed) ** 2));
  }
  // curves are those of a gather, with a handle at the far end of each.
  curves(axis, { x }) {
    return L.layerGroup(this.here(x).flatMap((p) => {
      const classes = axis.values.map((h, k) => [h, k]).filter(([h]) => h <= p.far);
      if (classes.length < 2) return [];
      const [far, end] = classes[classes.length - 1];
      const line = () => classes.map(([h, k]) => [this.depth(p, p.gamma, h), k]);
      const curve = L.polyline(line(), { weight: 2, color: "#e8a000", interactive: false });
      const handle = L.marker([this.depth(p, p.gamma, far), end], { draggable: true, title: "drag: another γ; right button: take out", icon: L.divIcon({ className: "handle", iconSize: [12, 12] }) });
      handle.on("drag", () => {
        const z = handle.getLatLng().lat - p.datum, z0 = p.z - p.datum, square = 1 + (z * z - z0 * z0) * (p.speed / far) ** 2;
        p.gamma = Math.max(0.2, Math.min(5, Math.sqrt(Math.max(0, square))));
        handle.setLatLng([this.depth(p, p.gamma, far), end]);
        curve.setLatLngs(line());
      });
      handle.on("dragend", () => this.touch());
      handle.on("contextmenu", (e) => { L.DomEvent.stop(e); this.remove(p); });
      return [curve, handle];
    }));
  }
  // add makes a pick at a depth of the gather at x, flat, with the rest of the one nearest to it.
  add({ x }, z) {
    const near = this.here(x).reduce((best, p) => (!best || Math.abs(p.z - z) < Math.abs(best.z - z) ? p : best), null);
    if (!near || z <= near.datum) return;
    this.list.push({ ...near, x: near.x, z, gamma: 1 });
    this.touch();
  }
  async save() {
    const answer = await fetch("api/picks", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ file: this.file, picks: this.list }) });
    const text = await answer.text();
    if (!answer.ok) { fail(text); return; }
    byId("saved").textContent = text;
    this.changed = false;
  }
}

// VelocityPicks are velocities at times, on spectra.
class VelocityPicks extends Picks {
  constructor(file, list) {
    super(file, list);
    this.across = "velocity";
  }
  points() {
    return L.layerGroup(this.list.map((p) => L.circleMarker([p.z, p.x], { radius: 4, weight: 1, color: "#222", fillOpacity: 0.9, fillColor: "#e8a000" })
      .bindTooltip(`${p.velocity.toFixed(0)} m/s`).on("contextmenu", (e) => { L.DomEvent.stop(e); this.remove(p); })));
  }
  // curves is the line through the picks of a place, each a handle.
  curves(axis, { x, half }) {
    const first = axis.values[0], step = axis.values[1] - first;
    const here = this.list.filter((p) => Math.abs(p.x - x) <= half);
    const at = (p) => [p.z, (p.velocity - first) / step];
    const line = () => here.toSorted((p, q) => p.z - q.z).map(at);
    const curve = L.polyline(line(), { weight: 2, color: "#d02020", interactive: false });
    return L.layerGroup([curve, ...here.map((p) => {
      const handle = L.marker(at(p), { draggable: true, title: "drag: another velocity or time; right button: take out", icon: L.divIcon({ className: "handle", iconSize: [12, 12] }) });
      handle.on("drag", () => {
        const { lat, lng } = handle.getLatLng();
        p.z = Math.max(0, lat);
        p.velocity = first + Math.max(0, Math.min(axis.size - 1, lng)) * step;
        handle.setLatLng(at(p));
        curve.setLatLngs(line());
      });
      handle.on("dragend", () => this.touch());
      handle.on("contextmenu", (e) => { L.DomEvent.stop(e); this.remove(p); });
      return handle;
    })]);
  }
  add({ x }, z, axis, k) {
    if (z < 0) return;
    this.list.push({ x, z, velocity: axis.values[0] + k * (axis.values[1] - axis.values[0]), like: -1 });
    this.touch();
  }
}
let picks = null;

// showGather opens the gather of the file at the place that was clicked.
function showGather(panel, p, event) {
  if (event && event.shiftKey && picks && panel.axes[panel.right].name === picks.across) {
    picks.add(panel.place(), p.lat, panel.axes[panel.right], p.lng);
    return;
  }
  const { file } = panel.shown, number = panel.list.findIndex((a) => a.file === file && a.info.name === "/gathers");
  if (number < 0 || panel === gatherPanel || panel.shown.info.name === "/gathers") return;
  if (!gatherPanel) {
    gatherPanel = new Panel(number);
    gatherPanel.root.classList.add("gather");
  } else if (Number(gatherPanel.$("array").value) !== number) {
    gatherPanel.$("array").value = number;
    gatherPanel.choose();
  }
  const axes = gatherPanel.axes;
  gatherPanel.$("section").value = `0,${axes.length - 1}`;
  panel.axes.forEach((axis, i) => {
    const at = i === panel.right ? p.lng : i === panel.down ? p.lat : axis.origin + panel.at[i] * axis.spacing;
    gatherPanel.at[axes.findIndex((other) => other.name === axis.name)] = index(axis, at);
  });
  gatherPanel.turn();
  arrangeAgain();
  if (panel.mark) panel.mark.remove();
  const v = panel.axes[panel.down];
  panel.mark = L.polyline([[begin(v), p.lng], [end(v), p.lng]], { weight: 1, color: "#b31023", interactive: false }).addTo(panel.map);
}

// arrangeAgain lets the maps take the room that they now have.
function arrangeAgain() {
  for (const panel of panels) panel.map.invalidateSize({ animate: false });
  profile.draw();
}

let flicker = 0;
function arrange() {
  const how = byId("arrangement").value;
  clearInterval(flicker);
  if (how !== "one" && panels.length < 2) panels.push(new Panel(Math.min(1, panels[0].list.length - 1)));
  if (gatherPanel) byId("panels").append(gatherPanel.root);
  panels.forEach((p, i) => p.root.classList.toggle("hidden", i > 0 && how !== "beside"));
  if (how === "flicker") {
    let shown = 0;
    flicker = setInterval(() => {
      shown = 1 - shown;
      panels.forEach((p, i) => p.root.classList.toggle("hidden", i !== shown));
      panels[shown].map.invalidateSize({ animate: false });
    }, 700);
  }
  for (const p of panels) if (p.$("map").clientWidth) p.rebuild();
  profile.refresh();
}

fetch("api/files").then(async (answer) => {
  if (!answer.ok) throw new Error(await answer.text());
  const told = await answer.json();
  ({ files, colors: tables } = told);
  const file = files.findIndex((f) => f.picks);
  if (file >= 0) picks = new (files[file].picks[0].velocity ? VelocityPicks : Picks)(file, files[file].picks);
  byId("save").hidden = !picks || !told.saves;
  byId("save").addEventListener("click", () => picks.save());
  addEventListener("beforeunload", (e) => { if (picks && picks.changed && told.saves) e.preventDefault(); });
  if (arrays().length === 0) throw new Error("these files hold picks alone: name their image as well");
  profile.prepare(files.some((f) => f.arrays.some((a) => a.name === "/gathers")) ? "none" : "down");
  document.title = files.map((f) => f.name).join(", ") + " – lsm view";
  panels.push(new Panel(0));
  byId("arrangement").addEventListener("change", arrange);
  byId("common").addEventListener("change", () => panels.forEach((p) => p.recolor()));
  byId("true-scale").addEventListener("change", () => panels.forEach((p) => p.rebuild()));
  new ResizeObserver(arrangeAgain).observe(byId("panels"));
}).catch((fault) => fail(fault.message));
