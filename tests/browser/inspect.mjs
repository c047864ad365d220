// What a page must hold whatever it shows, measured inside the page. Each function is sent to the browser and returns a list of faults.

const kShown = 6;

// Text whose contrast with what is painted behind it is below 4.5 (3 for large letters), as WCAG 2 computes it.
export function contrastFaults() {
  const parse = (text) => {
    const m = text.match(/rgba?\(([^)]+)\)/);
    if (!m) return null;
    const v = m[1].split(/[\s,/]+/).filter(Boolean).map(Number);
    return {rgb: v.slice(0, 3), a: v.length > 3 ? v[3] : 1};
  };
  const over = (top, under) => top.rgb.map((c, i) => top.a * c + (1 - top.a) * under[i]);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map(), shares = new Map();
  const behind = (element) => {
    if (!grounds.has(element)) grounds.set(element, layered(element));
    return grounds.get(element);
  };
  const opacityOf = (element) => {
    if (!element) return 1;
    if (!shares.has(element)) shares.set(element, Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement));
    return shares.get(element);
  };
  const layered = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour && colour.a > 0) layers.push(colour);
      if (colour && colour.a === 1) break;
    }
    let rgb = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    for (const layer of layers.reverse()) rgb = over(layer, rgb);
    return rgb;
  };
  const faults = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const text = node.textContent.trim(), element = node.parentElement;
    if (!text || element.closest('script, style, noscript, :disabled, .away')) continue;
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (box.width < 2 || box.height < 2 || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const svg = element instanceof SVGElement, colour = parse(svg ? style.fill : style.color);
    if (!colour) continue;
    const opacity = opacityOf(element) * (svg ? Number(style.fillOpacity) : 1);
    const ground = behind(element), ink = over({rgb: colour.rgb, a: colour.a * opacity}, ground);
    const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a), ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) faults.set(`${style.color} on rgb(${ground.map(Math.round)}) has ${ratio.toFixed(2)}: "${text.slice(0, 40)}" in <${element.tagName.toLowerCase()} class="${element.getAttribute('class') ?? ''}">`, 1);
  }
  return [...faults.keys()];
}

// Controls without a name that a screen reader could say, pictures without one, headings that skip a level.
export function nameFaults() {
  const faults = [], where = (e) => e.outerHTML.slice(0, 110);
  const text = (e) => (e?.textContent ?? '').trim();
  const name = (e) => e.getAttribute('aria-label')?.trim() || (e.getAttribute('aria-labelledby') ?? '').split(/\s+/).filter(Boolean).map((id) => text(document.getElementById(id))).join(' ').trim() ||
    [...(e.labels ?? [])].map(text).join(' ').trim() || (['BUTTON', 'A', 'SUMMARY'].includes(e.tagName) ? text(e) : '') || e.getAttribute('title')?.trim() || e.getAttribute('data-title')?.trim() || e.getAttribute('alt')?.trim();
  for (const e of document.querySelectorAll('a, button, input, select, textarea, summary, [tabindex="0"], [role="button"], [role="img"], img, canvas'))
    if (e.checkVisibility() && !name(e)) faults.push('no name: ' + where(e));
  let level = 0;
  for (const h of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const at = Number(h.tagName[1]);
    if (at > level + 1) faults.push(`a heading of level ${at} follows one of level ${level}: ` + text(h));
    level = at;
  }
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  if (!document.querySelector('main')) faults.push('no main');
  if (!document.documentElement.lang) faults.push('no language');
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) if (!e.closest('svg') && ids.size === ids.add(e.id).size) faults.push('an id twice: ' + e.id);
  for (const th of document.querySelectorAll('table thead th')) if (!th.getAttribute('scope')) faults.push('a column header without scope: ' + where(th));
  return faults;
}

// Elements that reach past the window, unless a box of their own scrolls or clips them.
export function widthFaults() {
  const width = document.documentElement.clientWidth, faults = [];
  if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${width}`);
  for (const e of document.querySelectorAll(':is(main, nav) *:not(svg *)')) {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= width + 1 || !e.checkVisibility()) continue;
    let held = false;
    for (let up = e.parentElement; up && !held; up = up.parentElement) held = getComputedStyle(up).overflowX !== 'visible' && up.getBoundingClientRect().right <= width + 1;
    if (!held) faults.push(`reaches to ${Math.round(box.right)} of ${width}: ` + e.outerHTML.slice(0, 110));
  }
  return faults.slice(0, 20);
}

// On paper: drawings that do not fit a page of `height`, or may be cut between pages; controls that nobody can press there (headers of
// tables that sort stay: they print as what they say).
export function paperFaults(height) {
  const faults = [];
  for (const e of document.querySelectorAll('figure:not(:has(details)), .plot, .plot-container, .sight')) {
    const box = e.getBoundingClientRect();
    if (box.height === 0) continue;
    let kept = false;
    for (let up = e; up && !kept; up = up.parentElement) kept = getComputedStyle(up).breakInside.startsWith('avoid');
    if (!kept) faults.push('may be cut between pages: ' + e.outerHTML.slice(0, 110));
    if (box.height > height) faults.push(`${Math.round(box.height)} high on a page of ${height}: ` + e.outerHTML.slice(0, 110));
  }
  for (const e of document.querySelectorAll('main button, main select, main input, nav')) if (e.checkVisibility() && !e.closest('thead')) faults.push('a control on paper: ' + e.outerHTML.slice(0, 110));
  return faults.slice(0, 20);
}

// Whether the element that has the keyboard shows it, and whether it can be seen at all.
export function focusFault() {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const ring = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== 'none';
  const seen = box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;
  return ring && seen ? null : (ring ? 'out of sight' : 'no visible focus') + ': ' + e.outerHTML.slice(0, 110);
}

// Everything the keyboard should reach, marked so that a walk can tell what it met.
export function focusable() {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"], .modebar-btn')];
  let n = 0;
  for (const e of all) if (e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex !== -1 || e.matches('.modebar-btn')) e.dataset.walk = String(n++);
  return n;
}

export const brief = (faults) => faults.slice(0, kShown).join('\n    ') + (faults.length > kShown ? `\n    and ${faults.length - kShown} more` : '');
