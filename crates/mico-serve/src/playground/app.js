// The playground of `mico serve`: one picture, one question, up to three prunings side by side.
// Served as it is; the only requests go to this server's own API.
//
// What tests may rely on:
//   #file #question #model #ask #stop #compare #sample #key #max-tokens #follow   the inputs
//   #notice            what is wrong with the page as a whole, in words; else hidden
//   #history-list li   one per finished comparison, newest first; its button shows it again
//   body[data-ready]   "true" once models and picture are there, "error" if they cannot be
//   .column[data-column="0".."2"]
//     [data-state]     idle | waiting | streaming | done | stopped | error
//     [data-stale]     "true" while the settings are not those of the answer shown
//     [data-plan]      pending | ready | error: whether the plan shown is the slider's
//     [data-role]      method, slider, budget; plan-seen, plan-entered, plan-kept, plan-error; answer,
//                      status, stop, remove; seen, entered, kept, average, cache; count-dropped,
//                      count-stage1, count-stage2; layer (by data-layer: dropped, stage1, stage2),
//                      group, summary, token; total, bar, legend; curl, python
//     canvas           data-drawn: picture | moving | final; data-token: the token pointed at. Inside, a
//                      kept token has the picture's colors, others those of `mico run --overlay`.

const MAX_COLUMNS = 3;
const MAX_HISTORY = 12;
const LOWEST_BUDGET = 16;
const SLIDER_STEPS = 64;
const PLAN_DELAY_MS = 120;
const FOLLOW_DELAY_MS = 250;
/** Settings are followed by themselves while the last answer took less than this. */
const FOLLOW_SECONDS = 3;
const REVEAL_MS = 900;
/** Answers with fewer characters are written large. */
const SHORT = 24;
/** How often a picture that the server finds too large is sent at a quarter of its area. */
const MAX_SHRINKS = 5;
/** The long side of a drawn picture, in pixels. */
const LONG_SIDE = [672, 1024];
/** What became of a token. */
const DROPPED = 0, STAGE1 = 1, KEPT = 2;
/** Parts of the time bar, in the order of a request, with the server's components in each. */
const PARTS = [
  ['waiting', 'queue', 'media'],
  ['preprocess', 'preprocess'],
  ['vision', 'vision', 'projector'],
  ['selection', 'stage1', 'stage2_relevance', 'stage2_select'],
  ['prefill', 'decoder_prefill'],
  ['decode', 'decode'],
];

const $ = (id) => document.getElementById(id);
const on = (target, type, listener) => target.addEventListener(type, listener);
const number = (value) => value?.toLocaleString('en-US', { maximumFractionDigits: 2 }) ?? '–';
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
/** Whether a setting has a budget. */
const prunes = ({ method }) => method !== 'none' && method !== 'default';
const named = ({ method, budget }) => ({ none: 'unpruned', default: 'the server’s own' }[method] ?? `${method} · ${budget}`);
const still = matchMedia('(prefers-reduced-motion: reduce)');

const state = { models: [], picture: null, total: 576, columns: [], history: [] };
const each = (action) => state.columns.forEach(action);
let pictureLoads = 0;

function element(tag, options = {}, ...children) {
  const made = Object.assign(document.createElement(tag), options);
  made.append(...children);
  return made;
}

function seconds(value) {
  if (value >= 0.9995) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  return value >= 0.00095 ? `${Math.round(value * 1000)} ms` : '< 1 ms';
}

function notice(words) {
  $('notice').textContent = words;
  $('notice').hidden = !words;
}

function toast(words) {
  $('toast').textContent = words;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { $('toast').textContent = ''; }, 2500);
}

/** A function that runs once, `delay` after its last call. */
function settled(delay, action) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, delay); };
}

// ---- The server

/** An error whose message is for the person in front of the page. */
class ApiError extends Error {}

/** An error of the server, in words. */
function inWords(status, { message = `The server answered with status ${status}.` } = {}, retryAfter = 'a few') {
  if (status === 401) return 'This server asks for an API key: enter a valid one under Settings.';
  if (status === 429) return `The server is busy. Try again in ${retryAfter} seconds.`;
  return status === 503 ? `${message} Try again in ${retryAfter} seconds.` : message;
}

/** Calls the API; a body makes it a POST. Throws an `ApiError` unless the status is a good one. */
async function call(path, body, signal) {
  const headers = {};
  if ($('key').value) headers.Authorization = `Bearer ${$('key').value}`;
  if (body) headers['Content-Type'] = 'application/json';
  const options = { method: body ? 'POST' : 'GET', headers, signal, cache: 'no-store', body: body && JSON.stringify(body) };
  const response = await fetch(path, options).catch((cause) => {
    throw cause.name === 'AbortError' ? cause : new ApiError('The server cannot be reached. Is `mico serve` still running?');
  });
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  if (response.status === 401) $('settings').open = true;
  const words = inWords(response.status, error, response.headers.get('retry-after') ?? undefined);
  throw Object.assign(new ApiError(words), { status: response.status, code: error?.code });
}

/** The events of a streamed completion, as parsed JSON. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError('The connection ended before the answer did.');
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5).trim();
      if (data.startsWith('[DONE]')) return;
      const event = JSON.parse(data);
      if (event.error) throw new ApiError(inWords(0, event.error));
      yield event;
    }
  }
}

/** The `mico` object of a request that stands for a column's setting. */
function pruning({ method, budget }) {
  if (method === 'none') return { off: true };
  return method === 'default' ? {} : { method, budget };
}

/** The body of a request, without what only a streamed one has. */
function request(setting, url, more = {}) {
  const question = $('question').value.trim() || '?';
  const content = [{ type: 'image_url', image_url: { url } }, { type: 'text', text: question }];
  return { model: $('model').value, messages: [{ role: 'user', content }], mico: { ...pruning(setting), ...more } };
}

// ---- Pictures

const pen = (canvas) => canvas.getContext('2d', { willReadFrequently: true });

function canvasOf(width, height) {
  const canvas = element('canvas', { width, height });
  return [canvas, pen(canvas)];
}

const encoded = (canvas, type) => new Promise((done) => canvas.toBlob(done, type, 0.92));

function dataUrlOf(blob) {
  return new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(blob);
  });
}

/** The picture as drawn for each outcome of a token: as in `mico run --overlay`. */
function shades(bitmap) {
  const long = Math.max(bitmap.width, bitmap.height);
  const scale = clamp(long, ...LONG_SIDE) / long;
  const [width, height] = [bitmap.width, bitmap.height].map((s) => Math.max(1, Math.round(s * scale)));
  const [plain, context] = canvasOf(width, height);
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  const shaded = (light, gray, tint) => {
    const [canvas, target] = canvasOf(width, height), image = context.getImageData(0, 0, width, height), { data } = image;
    for (let at = 0; at < data.length; at += 4) {
      const luma = 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
      [64, 150, 255].forEach((blue, c) => { data[at + c] = (gray ? luma : data[at + c]) * light * (1 - tint) + blue * tint; });
    }
    target.putImageData(image, 0, 0);
    return canvas;
  };
  return { plain, stage1: shaded(0.62, false, 0.22), dropped: shaded(0.38, true, 0), unseen: shaded(0.12, true, 0) };
}

/** Takes a file as the picture, to be sent as it is. */
async function takePicture(blob, name, { sample = false, shrinks = 0 } = {}) {
  const load = ++pictureLoads;
  if (!blob.type.startsWith('image/')) blob = new Blob([blob], { type: 'image/png' }); // The server looks at the content.
  try {
    const bitmap = await createImageBitmap(blob);
    const { width, height } = bitmap, dataUrl = await dataUrlOf(blob);
    const picture = { name, sample, shrinks, blob, dataUrl, width, height, id: load, shades: shades(bitmap) };
    bitmap.close();
    if (load === pictureLoads) usePicture(picture);
  } catch {
    if (load === pictureLoads) notice(`“${name}” is not a picture that this browser can read.`);
  }
}

/** Replaces a picture that the server finds too large by a JPEG of a quarter of its area. */
async function sendSmaller({ blob, name, width, height, shrinks }) {
  toast('The picture is over the server’s limit and is sent smaller.');
  const [canvas, context] = canvasOf(Math.ceil(width / 2), Math.ceil(height / 2));
  context.drawImage(await createImageBitmap(blob), 0, 0, canvas.width, canvas.height);
  const smaller = await encoded(canvas, 'image/jpeg');
  takePicture(smaller, name.replace(/(-smaller)?(\.\w+)?$/, '-smaller.jpg'), { shrinks: shrinks + 1 });
}

function usePicture(picture) {
  state.picture = picture;
  notice('');
  URL.revokeObjectURL($('save').href);
  $('save').href = URL.createObjectURL(picture.blob);
  $('save').download = picture.name;
  $('preview').src = picture.shades.plain.toDataURL('image/jpeg', 0.85);
  $('picture-name').textContent = `${picture.name} · ${picture.width} × ${picture.height}`;
  $('suggestions').hidden = !picture.sample;
  hintAtModel();
  each((column) => { column.pictureChanged(); column.planSoon(); });
}

/** The objects of the sample: outline, color, center and bitmap of the letter. */
const SAMPLE = [
  ['M21 85h88v88H21z', '#2d4ad9', 65, 129, '3f3330180c0c0c'],
  ['M157 157a32 32 0 1 1 0 64 32 32 0 1 1 0-64z', '#8f3ca6', 157, 189, '7f46161e16467f'],
  ['M270 22l10 23 25 2-19 16 6 25-22-13-22 13 6-25-19-16 25-2z', '#c22023', 270, 59, '3f66663e06060f'],
  ['M226 192l35 58h-70z', '#f68e0e', 226, 229, '6363361c1c3663'],
  ['M291 145l38 38-38 38-38-38z', '#2c9244', 291, 183, '6766361e366667'],
  ['M58 221h30v22h22v30H88v22H58v-22H36v-30h22z', '#ecfaff', 73, 258, '7f46161e16467f'],
];

/** Draws the sample: a scene as the embedded model knows them, on a background of smooth noise. */
async function takeSample() {
  const [noise, dots] = canvasOf(13, 13), [canvas, context] = canvasOf(336, 336);
  let seed = 7;
  const level = (base) => base + (seed = seed * 16807 % 2147483647) % 52 - 26;
  for (let at = 0; at < 169; at++) {
    dots.fillStyle = `rgb(${[116, 80, 104].map(level)})`;
    dots.fillRect(at % 13, Math.floor(at / 13), 1, 1);
  }
  context.drawImage(noise, 0.5, 0.5, 12, 12, 0, 0, 336, 336);
  for (const [outline, color, x, y, letter] of SAMPLE) {
    const [plate, ink] = color === '#ecfaff' ? ['#2d2d2d', '#fafafa'] : ['#fafafa', '#0f0f0f'];
    const disc = new Path2D(), cells = new Path2D();
    disc.arc(x, y, 10.25, 0, 2 * Math.PI);
    letter.match(/../g).forEach((bits, row) => {
      for (let column = 0; column < 8; column++) {
        if (parseInt(bits, 16) >> column & 1) cells.rect(x + (column - 3.5) * 1.95, y + (row - 3.5) * 1.95, 1.95, 1.95);
      }
    });
    [[new Path2D(outline), color], [disc, plate], [cells, ink]].forEach(([path, fill]) => {
      context.fillStyle = fill;
      context.fill(path);
    });
  }
  await takePicture(await encoded(canvas, 'image/png'), 'sample.png', { sample: true });
}

// ---- What was kept

/** The tokens of an answer's first image: what became of each, and where it is in the picture. */
class TokenMap {
  constructor(image) {
    const kept = image.stage2 ?? image.stage1;
    this.fates = new Uint8Array(image.visual_tokens).fill(kept ? (image.stage1 ? DROPPED : STAGE1) : KEPT);
    image.stage1?.forEach((token) => { this.fates[token] = STAGE1; });
    kept?.forEach((token) => { this.fates[token] = KEPT; });
    this.image = image;
    this.groups = image.groups ?? [];
  }

  get length() { return this.fates.length; }

  count(fate) { return this.fates.reduce((sum, one) => sum + (one === fate), 0); }

  /** The region of a token in pixels of the picture, or null if it shows nothing of it. */
  region(token) {
    const region = this.image.regions?.slice(token * 4, token * 4 + 4) ?? [];
    return region.length === 4 && region[2] > region[0] && region[3] > region[1] ? region : null;
  }

  shownIn(token, group) { return group < 0 || this.image.tokens?.[token]?.[0] === group; }

  /** The smallest token at a point of the picture, or -1. */
  at(x, y, group) {
    let [best, area] = [-1, Infinity];
    for (let token = 0; token < this.length; token++) {
      const region = this.shownIn(token, group) && this.region(token);
      if (!region || x < region[0] || x >= region[2] || y < region[1] || y >= region[3]) continue;
      const size = (region[2] - region[0]) * (region[3] - region[1]);
      if (size < area) [best, area] = [token, size];
    }
    return best;
  }

  /** The token that a key leads to from another, or that token itself at an edge. */
  beside(token, key, group) {
    const find = (start, step, fates) => {
      for (let one = start; one >= 0 && one < this.length; one += step) {
        if (this.region(one) && this.shownIn(one, group) && fates.includes(this.fates[one])) return one;
      }
      return token;
    };
    const all = [DROPPED, STAGE1, KEPT];
    if (key === 'Home' || token < 0) return find(0, 1, all);
    if (key === 'End') return find(this.length - 1, -1, all);
    if (key === 'PageDown') return find(token + 1, 1, [KEPT]);
    if (key === 'PageUp') return find(token - 1, -1, [KEPT]);
    const [x0, y0, x1, y1] = this.region(token);
    const [right, down] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
    const found = this.at((x0 + x1) / 2 + right * (x1 - x0), (y0 + y1) / 2 + down * (y1 - y0), group);
    return found < 0 ? token : found;
  }

  groupName(group) {
    const { kind = 'whole' } = this.groups[group] ?? {};
    const [[word, place]] = typeof kind === 'string' ? [[kind]] : Object.entries(kind);
    if (word === 'whole') return 'whole picture';
    return place?.row === undefined ? `${word} ${group + 1}` : `${word} in row ${place.row + 1}, column ${place.column + 1}`;
  }

  /** A token in words: its index, where it is, and what became of it. */
  describe(token) {
    const { stage1, stage2, tokens } = this.image;
    const fates = stage1 && stage2 ? ['dropped by Stage 1', 'passed Stage 1, dropped by Stage 2', 'kept by both stages'] : ['dropped', 'dropped inside the decoder', 'kept'];
    const [group, local] = tokens?.[token] ?? [];
    const columns = this.groups[group]?.columns;
    const place = columns ? ` · ${this.groupName(group)}, row ${Math.floor(local / columns) + 1}, column ${local % columns + 1}` : '';
    return `Token ${token}${place} · ${fates[this.fates[token]]}`;
  }

  /** The whole overlay as a sentence. */
  summary() {
    const kept = this.count(KEPT);
    if (kept === this.length) return `All ${number(kept)} tokens kept.`;
    return `${number(kept)} of ${number(this.length)} tokens kept, ${this.where(kept)}.`;
  }

  /** Where in the picture more than half of the kept tokens are. */
  where(kept) {
    const { width, height } = this.image, spots = {};
    this.fates.forEach((fate, token) => {
      const region = fate === KEPT && this.region(token);
      if (!region) return;
      const [x, y] = [(region[0] + region[2]) / 2 / width, (region[1] + region[3]) / 2 / height];
      const [row, side] = [y < 0.5 ? 'upper' : 'lower', x < 0.5 ? 'left' : 'right'];
      const center = Math.max(Math.abs(x - 0.5), Math.abs(y - 0.5)) < 0.25;
      for (const spot of [`${row} ${side}`, center && 'center', `${row} half`, `${side} half`]) spots[spot] = (spots[spot] ?? 0) + 1;
    });
    const most = (names, share) => names.find((name) => spots[name] > share * kept);
    const spot = most(['upper left', 'upper right', 'lower left', 'lower right', 'center'], 0.5)
      ?? most(['upper half', 'lower half', 'left half', 'right half'], 0.6);
    return spot ? `most in the ${spot}` : 'spread over the picture';
  }
}

/**
 * Draws a picture and what became of its tokens. `progress` runs from 0, the bare picture, over 1,
 * where Stage 1's drops are dark, to 2, where Stage 2's are dim: pixels of several tokens show the best.
 */
function drawTokens(canvas, picture, map, { layers, group, token, progress }) {
  const { plain, stage1, dropped, unseen } = picture.shades;
  const context = pen(canvas);
  const [sx, sy] = [plain.width / map.image.width, plain.height / map.image.height];
  const box = (region) => {
    const [x, y] = [Math.round(region[0] * sx), Math.round(region[1] * sy)];
    return [x, y, Math.round(region[2] * sx) - x, Math.round(region[3] * sy) - y];
  };
  const drawnAs = [layers.dropped ? dropped : plain];
  drawnAs[STAGE1] = layers.stage1 ? stage1 : drawnAs[DROPPED];
  drawnAs[KEPT] = layers.stage2 ? plain : drawnAs[STAGE1];
  const boxes = [[], [], []];
  map.fates.forEach((fate, one) => {
    const region = map.shownIn(one, group) && map.region(one);
    if (region) boxes[fate].push(box(region));
  });
  context.drawImage(plain, 0, 0);
  if (layers.dropped) context.globalAlpha = clamp(progress, 0, 1), context.drawImage(unseen, 0, 0);
  boxes.forEach((list, fate) => {
    if (!list.length) return;
    const path = new Path2D();
    list.forEach((one) => path.rect(...one));
    context.save();
    context.clip(path);
    context.globalAlpha = 1;
    context.drawImage(plain, 0, 0);
    context.globalAlpha = clamp(progress - (fate !== DROPPED), 0, 1);
    context.drawImage(drawnAs[fate], 0, 0);
    context.restore();
    const outline = fate === KEPT && layers.stage2 ? '#ffce40' : fate && layers.stage1 && 'rgb(90 150 225 / .6)';
    if (!outline || list.length === map.length) return;
    context.globalAlpha = clamp(progress - (fate === KEPT), 0, 1);
    context.strokeStyle = outline;
    context.lineWidth = fate === KEPT && layers.stage2 ? 2 : 1;
    list.forEach(([x, y, w, h]) => context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1));
  });
  context.globalAlpha = 1;
  const focus = token >= 0 && map.region(token);
  if (!focus) return;
  for (const [color, width] of [['#000', 8], ['#fff', 4]]) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.strokeRect(...box(focus));
  }
}

// ---- Columns

/** The budgets a slider stops at: evenly spread on a logarithmic scale, round ones among them. */
function stops(total) {
  const low = Math.min(LOWEST_BUDGET, total);
  const spread = Array.from({ length: SLIDER_STEPS + 1 }, (_, i) => Math.round(low * (total / low) ** (i / SLIDER_STEPS)));
  const round = [32, 64, 128, 192, 256, 512, 1024, 2048].filter((stop) => stop > low && stop < total);
  return [...new Set([low, ...spread, ...round, total])].sort((a, b) => a - b);
}

const plans = new Map();

/** One pruning of the picture: its setting, its plan and its answer. */
class Column {
  constructor({ method, budget }) {
    this.root = $('column-template').content.cloneNode(true).firstElementChild;
    this.parts = Object.fromEntries([...this.root.querySelectorAll('[data-role]')].map((part) => [part.dataset.role, part]));
    this.setting = { method, budget };
    this.layers = { dropped: true, stage1: true, stage2: true };
    this.group = -1;
    this.token = -1;
    const planLater = settled(PLAN_DELAY_MS, () => this.plan());
    this.planSoon = () => { this.root.dataset.plan = 'pending'; planLater(); };
    this.followSoon = settled(FOLLOW_DELAY_MS, () => this.follow());
    this.listen();
    this.offerMethods();
    this.showSetting();
    this.showTimes();
    if (state.picture) this.pictureChanged();
    this.planSoon();
  }

  text(role, words) { if (this.parts[role].textContent !== words) this.parts[role].textContent = words; }

  get running() { return Boolean(this.abort); }

  listen() {
    const { parts } = this;
    const set = (change) => { Object.assign(this.setting, change); this.showSetting(); this.planSoon(); };
    on(parts.method, 'change', ({ target }) => { set({ method: target.value }); this.followSoon(); });
    on(parts.slider, 'input', ({ target }) => set({ budget: stops(state.total)[target.value] }));
    on(parts.slider, 'change', this.followSoon);
    on(parts.stop, 'click', () => { this.abort?.abort(); parts.answer.focus(); });
    on(parts.remove, 'click', () => removeColumn(this));
    on(parts.curl, 'click', () => copy(curl(this.setting), 'curl'));
    on(parts.python, 'click', () => copy(python(this.setting), 'Python'));
    on(parts.group, 'change', ({ target }) => { this.group = Number(target.value); this.point(-1); });
    this.root.querySelectorAll('[data-layer]').forEach((button) => on(button, 'click', () => {
      const shown = this.layers[button.dataset.layer] = !this.layers[button.dataset.layer];
      button.setAttribute('aria-pressed', shown);
      this.draw();
    }));
    this.listenToCanvas(parts.canvas);
  }

  listenToCanvas(canvas) {
    on(canvas, 'pointermove', (event) => {
      if (!this.map) return;
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const [x, y] = [(event.clientX - left) / width, (event.clientY - top) / height];
      this.point(this.map.at(x * this.map.image.width, y * this.map.image.height, this.group));
    });
    for (const leave of ['pointerleave', 'blur']) on(canvas, leave, () => this.point(-1));
    on(canvas, 'keydown', (event) => {
      if (!this.map || !/^(Arrow|Page|Home|End)/.test(event.key)) return;
      event.preventDefault();
      this.point(this.map.beside(this.token, event.key, this.group));
    });
  }

  point(token) {
    this.token = token;
    const canvas = this.parts.canvas;
    if (token >= 0) canvas.dataset.token = token; else delete canvas.dataset.token;
    this.text('token', token >= 0 ? this.map.describe(token) : '');
    this.draw();
  }

  offerMethods() {
    const about = modelInUse()?.mico ?? {};
    const names = (about.methods ?? ['mico']).filter((name) => name !== 'none');
    const options = [...names.map((name) => new Option(name, name)), new Option('unpruned', 'none')];
    if (about.default || $('model').value.includes('@')) options.push(new Option('the server’s own', 'default'));
    this.parts.method.replaceChildren(...options);
    if (!options.some((option) => option.value === this.setting.method)) this.setting.method = options[0].value;
    this.parts.method.value = this.setting.method;
  }

  showSetting() {
    const { method, budget } = this.setting, pruned = prunes(this.setting), steps = stops(state.total), slider = this.parts.slider;
    this.text('title', named(this.setting));
    this.root.setAttribute('aria-label', named(this.setting));
    this.parts.method.value = method;
    slider.disabled = !pruned;
    this.text('budget', pruned ? number(budget) : '–');
    slider.max = steps.length - 1;
    slider.value = pruned ? steps.findIndex((stop) => stop >= budget) : slider.max;
    slider.setAttribute('aria-valuetext', pruned ? `${budget} of ${state.total} tokens` : 'all tokens');
    this.text('slider-min', number(steps[0]));
    this.text('slider-max', number(state.total));
    this.showStale();
  }

  /** The question of the column as it is set now, to tell whether an answer still belongs to it. */
  get asking() {
    return JSON.stringify([$('model').value, state.picture?.id, $('question').value.trim(), pruning(this.setting)]);
  }

  showStale() {
    this.root.dataset.stale = String(Boolean(this.run) && this.run.asking !== this.asking);
    if (!this.running && this.run) this.showStatus();
  }

  async plan() {
    const { picture } = state;
    if (!picture || !modelInUse()) return;
    const key = JSON.stringify([$('model').value, picture.id, pruning(this.setting)]);
    this.planning?.abort();
    this.planKey = key;
    const abort = this.planning = new AbortController();
    let plan = plans.get(key);
    try {
      if (!plan) {
        const body = request(this.setting, picture.dataUrl);
        const response = await call('/v1/chat/completions/input_tokens', body, abort.signal);
        plan = (await response.json()).mico;
        plans.set(key, plan);
      }
      if (this.planKey === key) this.showPlan(plan);
    } catch (cause) {
      if (cause.name === 'AbortError' || this.planKey !== key) return;
      this.showPlan(null, cause.message);
      if (tooLarge(cause) && picture === state.picture && !picture.outgrown && picture.shrinks < MAX_SHRINKS) {
        picture.outgrown = true;
        sendSmaller(picture);
      }
    }
  }

  showPlan(plan, error = '') {
    const { visual_tokens: seen, entered, kept } = plan?.images?.[0] ?? {};
    this.text('plan-error', error);
    this.root.dataset.plan = error ? 'error' : 'ready';
    for (const [role, count] of Object.entries({ seen, entered, kept })) {
      this.text(`plan-${role}`, number(count));
      if (role !== 'seen') this.parts[`funnel-${role}`].style.width = `${100 * count / seen || 0}%`;
    }
    if (seen) setTotal(seen);
  }

  pictureChanged() {
    this.map = null;
    this.token = -1;
    this.parts.canvas.width = state.picture.shades.plain.width;
    this.parts.canvas.height = state.picture.shades.plain.height;
    this.showTokens();
    this.draw();
    this.showStale();
  }

  follow() {
    const { run } = this;
    const quick = run?.mico && (run.mico.seconds?.total ?? Infinity) < FOLLOW_SECONDS;
    if ($('follow').checked && quick && run.picture === state.picture && run.asking !== this.asking) this.ask();
  }

  async ask() {
    this.abort?.abort();
    const abort = this.abort = new AbortController();
    const { picture } = state, model = $('model').value, question = $('question').value.trim();
    const run = this.run = { asking: this.asking, setting: { ...this.setting }, picture, model, question, text: '', started: performance.now() };
    this.begin();
    try {
      const body = {
        ...request(run.setting, picture.dataUrl, { return: ['indices', 'layout'] }), max_tokens: Number($('max-tokens').value) || 128,
        stream: true, stream_options: { include_usage: true },
      };
      const response = await call('/v1/chat/completions', body, abort.signal);
      for await (const event of events(response)) if (this.run === run) this.receive(run, event);
      this.end(run, 'done');
    } catch (cause) {
      run.error = cause.name === 'AbortError' ? '' : cause instanceof ApiError ? cause.message : 'The answer could not be read.';
      this.end(run, cause.name === 'AbortError' ? 'stopped' : 'error');
    }
  }

  begin() {
    this.setState('waiting');
    this.parts.answer.replaceChildren();
    this.parts.answer.classList.remove('error');
    this.showStale();
    clearInterval(this.clock);
    this.clock = setInterval(() => this.showStatus(), 200);
    this.showStatus();
    runsChanged();
  }

  receive(run, event) {
    const choice = event.choices?.[0], answer = this.parts.answer;
    if (choice?.delta?.content) {
      if (!run.text) this.setState('streaming');
      run.text += choice.delta.content;
      answer.append(choice.delta.content);
      answer.classList.toggle('short', run.text.length < SHORT);
      answer.scrollTop = answer.scrollHeight;
    }
    if (choice?.finish_reason) run.finish = choice.finish_reason;
    if (event.usage) run.usage = event.usage;
    if (event.mico) run.mico = event.mico;
  }

  end(run, outcome) {
    if (this.run !== run) return;
    clearInterval(this.clock);
    this.abort = null;
    run.outcome = outcome;
    this.show(run, true);
    runsChanged();
  }

  close() {
    this.run = null;
    this.abort?.abort();
    this.planning?.abort();
    clearInterval(this.clock);
    this.root.remove();
  }

  setState(name) {
    this.root.dataset.state = name;
    this.parts.stop.hidden = !this.running;
    this.parts.answer.setAttribute('aria-busy', String(this.running));
  }

  /** Shows a finished run: one that has just ended, or one of the history. */
  show(run, reveal = false) {
    this.run = run;
    this.setState(run.outcome);
    this.parts.answer.classList.toggle('error', Boolean(run.error));
    this.parts.answer.classList.toggle('short', run.text.length < SHORT && !run.error);
    this.text('answer', run.error || run.text || (run.outcome === 'done' ? '(an empty answer)' : ''));
    const image = run.picture === state.picture ? run.mico?.images?.[0] : null;
    this.map = image ? new TokenMap(image) : null;
    this.group = -1;
    this.token = -1;
    this.showTokens();
    this.showStale();
    this.showStatus();
    each((column) => column.showTimes());
    if (reveal && this.map) this.reveal(); else this.draw();
  }

  showStatus() {
    const { run } = this, { state: now, stale } = this.root.dataset;
    const waited = seconds((performance.now() - run.started) / 1000), first = run.mico?.seconds?.first_token;
    const told = {
      waiting: `Waiting for the first token · ${waited}`, streaming: `Answering · ${waited}`, stopped: 'Stopped.', error: 'No answer.',
      done: [first && `First token after ${seconds(first)}`, run.usage && `tokens: ${number(run.usage.completion_tokens)}`,
        run.finish === 'length' && 'cut at the longest answer', ...(run.mico?.warnings ?? [])].filter(Boolean).join(' · '),
    };
    this.text('status', stale === 'true' && !this.running ? 'Settings changed since this answer: ask again.' : told[now]);
  }

  /** Counters, toggle buttons and the overlay in words. */
  showTokens() {
    const { map, run, parts } = this, mico = map && run.mico, image = map?.image;
    const rows = mico?.cache_lengths?.reduce((sum, length) => sum + length, 0);
    const whole = rows && mico.prompt_tokens_unpruned * mico.cache_lengths.length;
    const counts = {
      seen: image?.visual_tokens, entered: image?.entered, kept: image?.kept, average: mico?.layer_average,
      'count-dropped': map?.count(DROPPED), 'count-stage1': map?.count(STAGE1), 'count-stage2': map?.count(KEPT),
    };
    for (const [role, count] of Object.entries(counts)) this.text(role, number(count ?? undefined));
    this.text('cache', whole ? `${number(rows)} of ${number(whole)} rows · ${Math.round(100 * rows / whole)} %` : '–');
    const summary = map ? map.summary() : 'Ask to see which tokens are kept.';
    this.text('summary', summary);
    this.text('token', '');
    parts.canvas.setAttribute('aria-label', `${summary} Arrow keys go from token to token, Page Up and Page Down to kept ones.`);
    const views = map?.groups.map((_, group) => new Option(map.groupName(group), group)) ?? [];
    parts.group.replaceChildren(new Option('all', -1), ...views);
    parts.group.parentElement.hidden = views.length < 2;
  }

  showTimes() {
    const spentOn = (column) => PARTS.map(([name, ...keys]) =>
      [name, keys.reduce((sum, key) => sum + (column.run?.mico?.seconds?.[key] ?? 0), 0)]);
    const sum = (parts) => parts.reduce((all, [, spent]) => all + spent, 0);
    const parts = spentOn(this), total = sum(parts), bar = this.parts.bar;
    const told = (spent) => (total ? seconds(spent) : '–');
    this.text('total', told(this.run?.mico?.seconds?.total ?? total));
    bar.style.width = `${100 * total / Math.max(...state.columns.map((column) => sum(spentOn(column)))) || 100}%`;
    bar.replaceChildren(...parts.filter(([, spent]) => spent > 0.002 * total).map(([name, spent]) => {
      const segment = element('i', { className: `part-${name}` });
      segment.style.flexGrow = spent / total;
      return segment;
    }));
    bar.setAttribute('aria-label', parts.map(([name, spent]) => `${name} ${told(spent)}`).join(', '));
    this.parts.legend.replaceChildren(...parts.map(([name, spent]) =>
      element('li', {}, element('i', { className: `swatch part-${name}` }), name, element('b', { textContent: told(spent) }))));
  }

  draw(progress = 2) {
    const canvas = this.parts.canvas;
    if (!state.picture) return;
    canvas.dataset.drawn = !this.map ? 'picture' : progress < 2 ? 'moving' : 'final';
    if (this.map) drawTokens(canvas, state.picture, this.map, { ...this, progress });
    else pen(canvas).drawImage(state.picture.shades.plain, 0, 0);
  }

  /** Lets the dropped tokens fade, stage by stage. */
  reveal() {
    const { map } = this;
    if (still.matches || document.hidden) return void this.draw();
    const begun = performance.now();
    const frame = (now) => {
      if (this.map !== map) return;
      const progress = clamp(2 * (now - begun) / REVEAL_MS, 0, 2);
      this.draw(progress);
      if (progress < 2) requestAnimationFrame(frame);
    };
    frame(begun);
  }
}

// ---- The page

const modelInUse = () => state.models.find((model) => model.id === $('model').value);
const tooLarge = (cause) => cause.status === 413 || cause.code === 'image_too_large';

function setTotal(total) {
  if (total === state.total) return;
  state.total = total;
  for (const column of state.columns) {
    if (column.setting.budget > total) column.setting.budget = total, column.planSoon();
    column.showSetting();
  }
}

function addColumn(setting) {
  const column = new Column(setting);
  state.columns.push(column);
  $('columns').append(column.root);
  columnsChanged();
  return column;
}

function removeColumn(column) {
  const at = state.columns.indexOf(column);
  state.columns.splice(at, 1);
  column.close();
  columnsChanged();
  each((other) => other.showTimes());
  runsChanged();
  state.columns[Math.min(at, state.columns.length - 1)].parts.method.focus();
}

function columnsChanged() {
  const { length } = state.columns;
  each((column, at) => {
    column.root.dataset.column = at;
    column.parts.remove.hidden = length === 1;
  });
  $('columns').dataset.count = length;
  $('compare').disabled = length >= MAX_COLUMNS;
}

/** Adds what to compare with next: the unpruned model first, then other methods at the same budget. */
function compare() {
  const used = state.columns.map((column) => column.setting), { budget } = used.find(prunes) ?? { budget: 64 };
  const free = ['none', 'mico', 'divprune', 'random'].find((method) => !used.some((setting) => setting.method === method));
  const answered = state.columns.some(({ root: { dataset } }) => dataset.state === 'done' && dataset.stale === 'false');
  const column = addColumn({ method: free, budget });
  if (answered && $('follow').checked) column.ask();
  column.parts.method.focus();
}

function askAll() {
  const asked = $('question').value.trim();
  notice(asked ? '' : 'Write a question first.');
  if (!asked) $('question').focus();
  else if (!state.picture || !modelInUse()) loadModels();
  else each((column) => column.ask());
}

/** Called when a request begins or ends: buttons, and the history once all have ended. */
function runsChanged() {
  const running = state.columns.some((column) => column.running);
  $('stop').disabled = !running;
  if (!running) remember();
}

function remember() {
  const runs = state.columns.map((column) => column.run).filter((run) => run?.outcome === 'done' && run.picture === state.picture);
  if (!runs.length) return;
  const key = runs.map((run) => run.asking).join();
  state.history = [{ key, runs }, ...state.history.filter((entry) => entry.key !== key)].slice(0, MAX_HISTORY);
  showHistory();
}

function showHistory() {
  $('history').hidden = !state.history.length;
  $('history-list').replaceChildren(...state.history.map((entry) => {
    const [{ picture, question }] = entry.runs;
    const [thumbnail, context] = canvasOf(96, Math.ceil(96 * picture.height / picture.width));
    context.drawImage(picture.shades.plain, 0, 0, thumbnail.width, thumbnail.height);
    const answers = entry.runs.map(({ setting, text }) => element('span', {}, element('small', { textContent: named(setting) }), ` ${text.slice(0, 60)}`));
    const told = element('span', { className: 'told' }, element('b', { textContent: question }), ...answers);
    const button = element('button', { type: 'button' }, thumbnail, told);
    on(button, 'click', () => recall(entry));
    return element('li', {}, button);
  }));
}

function recall({ runs }) {
  state.columns.splice(0).forEach((column) => column.close());
  $('question').value = runs[0].question;
  if (state.models.some((model) => model.id === runs[0].model)) $('model').value = runs[0].model;
  usePicture(runs[0].picture);
  for (const run of runs) addColumn({ ...run.setting }).show(run);
  $('columns').focus();
}

async function loadModels() {
  try {
    const { data } = await (await call('/v1/models')).json();
    const chosen = $('model').value;
    state.models = data;
    $('model').replaceChildren(...data.map(({ id }) => new Option(id, id)));
    if (data.some(({ id }) => id === chosen)) $('model').value = chosen;
    notice('');
    modelChanged();
    document.body.dataset.ready = String(Boolean(state.picture));
  } catch (cause) {
    notice(cause.message);
    document.body.dataset.ready = 'error';
    if (cause.status === 503) setTimeout(loadModels, 2000);
  }
}

function modelChanged() {
  each((column) => { column.offerMethods(); column.showSetting(); column.planSoon(); });
  hintAtModel();
}

/** The embedded model has seen nothing but scenes of shapes: better said before it is asked about a cat. */
function hintAtModel() {
  const embedded = /^tiny(@|$)/.test($('model').value) || modelInUse()?.root === 'tiny';
  $('hint').hidden = !embedded || state.picture?.sample;
}

// ---- Copies

/** A command for a POSIX shell. What the shell would expand in the document is escaped. */
function curl(setting) {
  const mark = '@PICTURE@', json = JSON.stringify(request(setting, mark), null, 1).replace(/[\\$`]/g, '\\$&');
  const file = `'${state.picture.name.replaceAll("'", "'\\''")}'`;
  const url = `data:${state.picture.blob.type};base64,$(base64 < ${file} | tr -d '\\n')`;
  const key = $('key').value ? ` \\\n  -H "Authorization: Bearer $MICO_API_KEY"` : '';
  return `curl ${location.origin}/v1/chat/completions -H 'Content-Type: application/json'${key} -d @- <<JSON\n${json.replace(mark, () => url)}\nJSON\n`;
}

/** A program for the openai package. JSON's strings and numbers are Python's; `true` is not. */
function python(setting) {
  const { name, blob } = state.picture, { model, mico, messages: [{ content }] } = request(setting);
  const pruned = JSON.stringify(mico).replace(':true', ':True').replaceAll(':', ': ').replaceAll(',', ', ');
  return `import base64
import os

from openai import OpenAI

client = OpenAI(base_url="${location.origin}/v1", api_key=os.environ.get("MICO_API_KEY", "none"))
with open(${JSON.stringify(name)}, "rb") as file:
    picture = base64.b64encode(file.read()).decode()
answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:${blob.type};base64," + picture}},
        {"type": "text", "text": ${JSON.stringify(content[1].text)}},
    ]}],
    extra_body={"mico": ${pruned}},
)
print(answer.choices[0].message.content)
print(answer.usage.prompt_tokens, "tokens entered the decoder")
`;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied as ${what}. It reads ${state.picture.name} from the current folder.`);
  } catch { // There is no clipboard outside secure contexts: a page to copy from.
    open(URL.createObjectURL(new Blob([text], { type: 'text/plain' })));
  }
}

// ---- Start

const imageAmong = (files) => [...(files ?? [])].find((file) => file.type.startsWith('image/'));

function takeFile(file) { takePicture(file, file.name || 'picture.png'); }

function listenToPage() {
  on($('composer'), 'submit', (event) => { event.preventDefault(); askAll(); });
  on($('question'), 'keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) event.preventDefault(), askAll();
  });
  on($('question'), 'input', () => each((column) => column.showStale()));
  on($('stop'), 'click', () => { each((column) => column.abort?.abort()); $('ask').focus(); });
  on($('suggestions'), 'click', ({ target }) => {
    if (target.type === 'button') $('question').value = target.textContent, askAll();
  });
  on($('compare'), 'click', compare);
  on($('sample'), 'click', takeSample);
  on($('clear'), 'click', () => { state.history = []; showHistory(); $('question').focus(); });
  on($('model'), 'change', modelChanged);
  on($('file'), 'change', ({ target }) => { if (target.files[0]) takeFile(target.files[0]); target.value = ''; });
  on($('key'), 'change', () => { sessionStorage.setItem('mico-api-key', $('key').value); loadModels(); });
  on($('settings'), 'submit', (event) => { event.preventDefault(); $('settings').open = false; });
  on($('settings'), 'keydown', (event) => {
    if (event.key === 'Escape') $('settings').open = false, $('settings').firstElementChild.focus();
  });
  on(document, 'paste', (event) => {
    const file = imageAmong(event.clipboardData?.files);
    if (file) event.preventDefault(), takeFile(file);
  });
  const carriesFiles = (event) => event.dataTransfer?.types.includes('Files');
  on(document, 'dragover', (event) => { if (carriesFiles(event)) event.preventDefault(), document.body.classList.add('dragging'); });
  on(document, 'dragleave', (event) => { if (!event.relatedTarget) document.body.classList.remove('dragging'); });
  on(document, 'drop', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    document.body.classList.remove('dragging');
    const file = imageAmong(event.dataTransfer.files);
    if (file) takeFile(file); else notice('That is not a picture.');
  });
}

async function start() {
  $('key').value = sessionStorage.getItem('mico-api-key') ?? '';
  listenToPage();
  addColumn({ method: 'mico', budget: 64 });
  await takeSample();
  await loadModels();
}

start();
