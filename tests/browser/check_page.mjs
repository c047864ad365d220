// Opens a page of the program in a browser as a reader would and says what is wrong with it:
//   node check_page.mjs CHROMIUM PAGE SCREENSHOTS FEATURE...
// Features the page must have: plots, tables, replay, pictures, recordings, configuration, switch, paper. Exit code 0 without a fault, 1 with faults (one a line).
import {mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {basename, dirname, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import * as inspect from './inspect.mjs';

const {chromium} = createRequire(import.meta.url)('playwright-core');
const [executablePath, page, screenshots, ...features] = process.argv.slice(2);
const address = pathToFileURL(page).href, folder = pathToFileURL(dirname(page)).href + '/';
mkdirSync(screenshots, {recursive: true});
const faults = [];
const fault = (where, what) => what && faults.push(`${where}: ${what}`);
const all = (where, list) => list.length && fault(where, inspect.brief(list));

// A busy machine is slow, not wrong [ms].
const kPatience = 180000;
const browser = await chromium.launch({executablePath, timeout: kPatience, args: ['--no-sandbox', '--disable-dev-shm-usage']});
const open = async (where, width, colorScheme, more = {}) => {
  const context = await browser.newContext({viewport: {width, height: 900}, colorScheme, offline: true, acceptDownloads: true, permissions: ['clipboard-read', 'clipboard-write'], ...more});
  const tab = await context.newPage();
  tab.setDefaultTimeout(kPatience);
  // A warning about reading a canvas is about this check, which does.
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && !/willReadFrequently/.test(message.text()) && fault(where, `console ${message.type()}: ${message.text()}`));
  tab.on('pageerror', (error) => fault(where, 'script error: ' + error.message));
  tab.on('request', (request) => {
    const url = request.url();
    if (!/^(data|blob):/.test(url) && !url.startsWith(folder)) fault(where, 'asks for ' + url);
  });
  await tab.goto(address);
  return tab;
};
// Everything that is drawn when it comes near has been drawn.
const seeAll = async (tab) => {
  for (let y = 0; y < (await tab.evaluate(() => document.documentElement.scrollHeight)); y += 800) {
    await tab.evaluate((to) => scrollTo({top: to, behavior: 'instant'}), y);
    await tab.waitForTimeout(30);
  }
  await tab.waitForTimeout(200);
};
const picture = async (tab, name) => {
  const [width, height] = await tab.evaluate(() => [innerWidth, document.documentElement.scrollHeight]);
  for (let y = 0, k = 0; y < height; y += 4000) await tab.screenshot({path: join(screenshots, `${name}_${k++}.png`), fullPage: true, clip: {x: 0, y, width, height: Math.min(4000, height - y)}});
};

// Dragging across a plot changes the range of its axes; a double click brings the first range back.
const plotsZoom = async (tab) => {
  const plots = tab.locator('.js-plotly-plot');
  const n = await plots.count();
  if (n === 0) return fault('plots', 'none');
  for (let i = 0; i < n; ++i) {
    const plot = plots.nth(i), area = plot.locator('.nsewdrag').first();
    if (!(await area.isVisible())) continue;
    const range = () => plot.evaluate((e) => [...e._fullLayout.xaxis.range, ...e._fullLayout.yaxis.range].map(Number));
    const name = await plot.evaluate((e) => e.getAttribute('aria-label') ?? e.closest('[id]')?.id ?? '');
    await area.scrollIntoViewIfNeeded();
    const box = await area.boundingBox(), before = await range();
    // Clear of what sticks to the top of the window.
    await tab.evaluate((dy) => scrollBy({top: dy, behavior: 'instant'}), box.y - 200);
    const at = await area.boundingBox();
    await tab.mouse.move(at.x + 0.3 * at.width, at.y + 0.3 * at.height);
    await tab.mouse.down();
    await tab.mouse.move(at.x + 0.5 * at.width, at.y + 0.5 * at.height);
    await tab.mouse.move(at.x + 0.7 * at.width, at.y + 0.7 * at.height);
    await tab.mouse.up();
    await tab.waitForTimeout(60);
    const after = await range(), span = (r) => Math.abs(r[1] - r[0]);
    if (!(span(after) < 0.6 * span(before) && span(after) > 0.2 * span(before))) fault('plots', `dragging across "${name}" takes the range ${before} to ${after}`);
    const drawn = await plot.evaluate((e) => e.querySelectorAll('.trace path, .trace .point').length);
    if (drawn === 0) fault('plots', `"${name}" shows nothing`);
  }
  return n;
};

const cells = (table, column) => table.evaluate((e, k) => [...e.tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[k].textContent.trim()), column);
const numberIn = (text) => {
  const m = text.replace(/[\u2212]/g, '-').replace(/\u00D710(-?\d+)/, 'e$1').match(/-?\d+(\.\d+)?(e-?\d+)?/);
  return m ? Number(m[0]) : NaN;
};

// Headers sort (numbers as numbers), the filter leaves the rows that hold the words, copy and CSV give what is shown.
const tablesWork = async (tab) => {
  const boxes = tab.locator('.data-table');
  const n = await boxes.count();
  if (n === 0) return fault('tables', 'none');
  await tab.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)));
  let sorted = 0, filtered = 0;
  for (let i = 0; i < n; ++i) {
    const box = boxes.nth(i), table = box.locator('table');
    const caption = (await table.locator('caption').textContent()).trim();
    const rows = await table.evaluate((e) => e.tBodies[0].rows.length);
    const buttons = table.locator('thead th button');
    if (rows > 2 && (await buttons.count()) === 0) fault('tables', `"${caption}" cannot be sorted`);
    const columns = await buttons.count();
    for (let k = 0; k < columns; ++k) {
      const number = await table.locator('thead th').nth(k).evaluate((e) => e.classList.contains('n'));
      await buttons.nth(k).evaluate((b) => b.click());
      const up = await cells(table, k);
      await buttons.nth(k).evaluate((b) => b.click());
      const down = await cells(table, k);
      if (number) {
        const values = (list) => list.map(numberIn).filter(Number.isFinite);
        const rising = (v) => v.every((x, j) => j === 0 || v[j - 1] <= x);
        if (up.every((text) => /^[\u2212-]?[\d.]+$/.test(text))) {
          ++sorted;
          if (!rising(values(up)) || !rising(values(down).reverse())) fault('tables', `"${caption}", column ${k} sorts to ${up.slice(0, 8)} and ${down.slice(0, 8)}`);
        }
      } else if (JSON.stringify([...up].sort()) !== JSON.stringify([...down].sort())) fault('tables', `"${caption}" loses rows when sorted`);
      const said = await table.locator('thead th').nth(k).getAttribute('aria-sort');
      if (said !== 'descending') fault('tables', `"${caption}", column ${k} does not say how it is sorted (${said})`);
    }
    const filter = box.locator('input');
    if (await filter.count()) {
      ++filtered;
      const first = (await cells(table, 0))[0];
      await filter.fill(first);
      const left = await table.evaluate((e) => [...e.tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.textContent.toLowerCase()));
      const plain = (text) => text.toLowerCase().replace(/\u2212/g, '-'), words = plain(first).split(/\s+/);
      const holding = await table.evaluate((e, w) => [...e.tBodies[0].rows].filter((r) => w.every((x) => r.textContent.toLowerCase().replace(/\u2212/g, '-').includes(x))).length, words);
      if (left.length === 0 || left.length !== holding) fault('tables', `"${caption}" filtered by "${first}" leaves ${left.length} of ${rows} rows`);
      await filter.fill('no row holds this');
      if ((await cells(table, 0)).length !== 0) fault('tables', `"${caption}" keeps rows that do not hold the words`);
      await filter.fill('');
      if ((await cells(table, 0)).length !== rows) fault('tables', `"${caption}" does not bring its rows back`);
    } else if (rows > 8) fault('tables', `"${caption}" of ${rows} rows cannot be filtered`);
    if (i > 2) continue;  // the same script serves all
    await box.locator('button.copy').evaluate((b) => b.click());
    await tab.waitForTimeout(50);
    const copied = (await tab.evaluate(() => navigator.clipboard.readText())).trimEnd().split('\n');
    if (copied.length !== rows + 1) fault('tables', `"${caption}" copies ${copied.length} lines of ${rows} rows and a header`);
    const [download] = await Promise.all([tab.waitForEvent('download'), box.locator('button.csv').evaluate((b) => b.click())]);
    const path = join(screenshots, 'table.csv');
    await download.saveAs(path);
    const lines = readFileSync(path, 'utf8').trimEnd().split(/\r?\n/);
    if (lines.length !== rows + 1) fault('tables', `"${caption}" saves ${lines.length} lines of ${rows} rows and a header`);
    const first = (await cells(table, 0))[0].replace(/\u2212/g, '-');
    if (!lines[1].replace(/"/g, '').startsWith(first.slice(0, 12).replace(/"/g, ''))) fault('tables', `"${caption}" saves "${lines[1]}" where "${first}" is shown first`);
    if (!download.suggestedFilename().endsWith('.csv')) fault('tables', 'saves as ' + download.suggestedFilename());
  }
  return {tables: n, sorted, filtered};
};

// The replay follows its slider, plays, steps with the keyboard and shows the recording that is chosen.
const replayScrubs = async (tab) => {
  const view = tab.locator('#motion-view');
  if ((await view.count()) === 0) return fault('replay', 'none');
  await view.scrollIntoViewIfNeeded();
  await tab.waitForTimeout(200);
  const canvas = view.locator('.sight canvas'), told = view.locator('.told'), slider = view.locator('input.time');
  const pixels = () => canvas.evaluate((c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let h = 0, n = 0; for (let i = 0; i < d.length; i += 4) if (d[i + 3]) h = (h * 31 + d[i] + 7 * d[i + 1] + 13 * d[i + 2] + i) | 0, ++n; return [h, n]; });
  const set = (share) => slider.evaluate((s, x) => { s.value = String(Number(s.min) + x * (Number(s.max) - Number(s.min))); s.dispatchEvent(new Event('input', {bubbles: true})); }, share);
  await set(0);
  const start = await pixels(), first = await told.textContent();
  await set(1);
  const end = await pixels(), last = await told.textContent();
  if (start[1] === 0) fault('replay', 'nothing is drawn');
  if (start[0] === end[0] || first === last) fault('replay', 'the slider changes nothing');
  const time = (text) => Number(text.replace(/\u2212/g, '-').match(/t = (-?[\d.]+)/)?.[1]);
  if (!(time(last) > time(first))) fault('replay', `the slider goes from "${first}" to "${last}"`);
  await set(0.5);
  const middle = time(await told.textContent());
  await slider.focus();
  await tab.keyboard.press('ArrowRight');
  if (!(time(await told.textContent()) > middle)) fault('replay', 'an arrow key on the slider does not step forward');
  await set(0);
  await view.locator('button', {hasText: 'Play'}).evaluate((b) => b.click());
  await tab.waitForTimeout(500);
  if (!(time(await told.textContent()) > time(first))) fault('replay', 'playing does not move');
  await view.locator('button', {hasText: 'Pause'}).evaluate((b) => b.click());
  const choice = view.locator('select.recording');
  if (await choice.count()) {
    const options = await choice.locator('option').count();
    if (options > 1) {
      await set(0);
      const before = await pixels();
      await choice.selectOption({index: options - 1});
      await tab.waitForTimeout(300);
      await set(0);
      if ((await pixels())[0] === before[0]) fault('replay', 'another recording looks the same');
    }
  }
};

// What the cameras saw follows the replay, says so to those who listen, and leaves no box behind where there is nothing to see.
const picturesFollow = async (tab) => {
  const view = tab.locator('#motion-view'), seen = view.locator('.seen'), slider = view.locator('input.time'), choice = view.locator('select.recording');
  await view.scrollIntoViewIfNeeded();
  const set = (share) => slider.evaluate((s, x) => { s.value = String(Math.round(x * Number(s.max))); s.dispatchEvent(new Event('input', {bubbles: true})); }, share);
  const says = () => seen.locator('canvas').evaluateAll((all) => all.map((c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0, coloured = 0; for (let i = 0; i < d.length; i += 4) { n += d[i + 3] > 0; coloured += Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60; } return {label: c.getAttribute('aria-label'), caption: c.parentElement.querySelector('figcaption').textContent, n, coloured}; }));
  const of = await tab.evaluate(() => recordings.map((one, i) => [i, one.pictures?.length ?? 0, one.drawn]).filter(([, , drawn]) => drawn));
  const with_some = of.find(([, n]) => n > 0), without = of.find(([, n]) => n === 0);
  if (!with_some) return fault('pictures', 'none');
  await choice.selectOption(String(with_some[0]));
  await tab.waitForTimeout(400);
  // Moments of the replay that are those of frames.
  const [times, frames] = await tab.evaluate((i) => [recordings[i].pictures[0].frames.map((f) => f[1]), unpackNumbers(recordings[i].t)], with_some[0]);
  const heard = new Set();
  for (const k of [0, Math.floor(times.length / 2), times.length - 1]) {
    const step = frames.reduce((best, t, i) => (Math.abs(t - times[k]) < Math.abs(frames[best] - times[k]) ? i : best), 0);
    await slider.evaluate((s, x) => { s.value = String(x); s.dispatchEvent(new Event('input', {bubbles: true})); }, step);
    await tab.waitForTimeout(50);
    const all = await says();
    if (all.length !== with_some[1]) fault('pictures', `${all.length} pictures of ${with_some[1]} cameras`);
    for (const one of all) {
      if (one.n === 0) fault('pictures', 'nothing is drawn: ' + one.label);
      if (one.coloured === 0) fault('pictures', 'no mark is drawn: ' + one.label);
      if (!/^What camera .+ saw in frame \d+ at -?[\d.]+ s: /.test(one.label ?? '')) fault('pictures', 'says "' + one.label + '"');
      const shown = Number(one.caption.match(/t = (-?[\d.]+)/)?.[1]), pace = times[1] - times[0];
      if (!(Math.abs(shown - frames[step]) < 0.51 * pace + 1e-3)) fault('pictures', `"${one.caption}" at ${frames[step]} s`);
      heard.add(one.label);
    }
  }
  if (heard.size !== 3 * with_some[1]) fault('pictures', `${heard.size} different words for 3 frames of ${with_some[1]} cameras`);
  await set(0);
  const first = await says();
  if (frames[0] < times[0] - (times[1] - times[0]) && !first.every((one) => /nearest that was kept/.test(one.caption))) fault('pictures', `far from any frame it says "${first[0].caption}"`);
  if (without) {
    await choice.selectOption(String(without[0]));
    await tab.waitForTimeout(300);
    if (await seen.isVisible()) fault('pictures', 'an empty box beside a recording without pictures');
    await choice.selectOption(String(with_some[0]));
    await tab.waitForTimeout(300);
    if (!(await seen.isVisible())) fault('pictures', 'gone for good');
  }
  return with_some[1];
};

// The text of the experiment is copied as it stands, and the table finds keys by where they came from.
const configurationCopies = async (tab) => {
  const box = tab.locator('#configuration .controls').first();
  if ((await box.count()) === 0) return fault('configuration', 'none');
  const wanted = await tab.evaluate((id) => document.getElementById(id).textContent, await box.getAttribute('data-copies'));
  await box.locator('button').click();
  await tab.waitForTimeout(100);
  if ((await tab.evaluate(() => navigator.clipboard.readText())) !== wanted) fault('configuration', 'another text is copied than stands in the page');
  const lines = wanted.split('\n').length - 1;
  if (!(await box.textContent()).includes(`${lines} lines copied`)) fault('configuration', 'does not say what was copied');
  if (lines < 40 || !/^schema: /.test(wanted)) fault('configuration', `the text begins "${wanted.slice(0, 40)}" and has ${lines} lines`);
  return lines;
};

// Every control is reached by the tabulator, and shows that it is.
const keyboardReaches = async (tab) => {
  await tab.evaluate(() => scrollTo(0, 0));
  const n = await tab.evaluate(inspect.focusable);
  const met = new Set(), unseen = [];
  await tab.evaluate(() => document.activeElement?.blur());
  for (let i = 0; i < n + 60; ++i) {
    await tab.keyboard.press('Tab');
    const [id, bad] = await tab.evaluate(`(() => { const fault = (${inspect.focusFault})(); const e = document.activeElement; return [e?.dataset?.walk ?? (e === document.body ? 'end' : null), fault]; })()`);
    if (bad) unseen.push(bad);
    if (id === 'end' && met.size) break;
    if (id !== null) met.add(id);
  }
  all('keyboard', [...new Set(unseen)]);
  const missed = await tab.evaluate((ids) => [...document.querySelectorAll('[data-walk]')].filter((e) => !ids.includes(e.dataset.walk) && e.checkVisibility({visibilityProperty: true})).map((e) => e.outerHTML.slice(0, 110)), [...met]);
  all('keyboard', missed.map((e) => 'not reached: ' + e));
  return n;
};

// Light and dark by the reader's choice, whatever the system says.
const switchWorks = async (tab) => {
  const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const select = tab.locator('#theme');
  if ((await select.count()) === 0) return fault('switch', 'none');
  const seen = {};
  for (const value of ['light', 'dark', '']) {
    await select.selectOption(value);
    seen[value] = await ground();
  }
  if (seen.light === seen.dark || seen.light !== seen['']) fault('switch', JSON.stringify(seen));
};

// A4 less margins of 12 mm, in CSS pixels.
const paperHolds = async (tab) => {
  const kPaper = {width: 703, height: 1031};
  await tab.pdf({path: join(screenshots, 'page.pdf'), format: 'A4', margin: {top: '12mm', bottom: '12mm', left: '12mm', right: '12mm'}, printBackground: true});
  await tab.emulateMedia({media: 'print', colorScheme: 'dark'});
  await tab.setViewportSize(kPaper);
  await tab.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await tab.waitForTimeout(400);
  all('paper', await tab.evaluate(inspect.paperFaults, kPaper.height));
  all('paper', await tab.evaluate(inspect.widthFaults));
  all('paper', await tab.evaluate(inspect.contrastFaults));
  await picture(tab, 'paper');
  await tab.evaluate(() => dispatchEvent(new Event('afterprint')));
  await tab.emulateMedia({media: 'screen', colorScheme: 'dark'});
  await tab.setViewportSize({width: 1440, height: 900});
  return `PDF of ${Math.round(statSync(join(screenshots, 'page.pdf')).size / 1024)} KiB`;
};

// The last recording, and the last choice of every figure, are shown wherever their numbers stand.
const choicesShow = async (tab) => {
  const pick = tab.locator('#browser select').nth(1), n = await pick.locator('option').count();
  const name = await pick.locator('option').last().textContent();
  await pick.selectOption({index: n - 1});
  try {
    await tab.waitForFunction((last) => document.querySelector('#browser caption')?.textContent.includes(last), name, {timeout: 20000});
    if ((await tab.locator('#browser .trace .point').count()) === 0) fault('recordings', `"${name}" shows nothing`);
  } catch {
    fault('recordings', `"${name}" is not shown: ${await tab.locator('#browser .where').first().textContent()}`);
  }
  const figures = tab.locator('.figure:has(.controls select)'), many = await figures.count();
  for (let i = 0; i < many; ++i) {
    const figure = figures.nth(i), select = figure.locator('.controls select').last();
    await figure.scrollIntoViewIfNeeded();
    await select.selectOption({index: (await select.locator('option').count()) - 1});
    const wanted = await select.inputValue(), title = await figure.locator('h3').textContent();
    try {
      await tab.waitForFunction(([e, choice]) => (e.querySelector('h3').dataset.choice ?? '').split(', ').includes(choice), [await figure.elementHandle(), wanted], {timeout: 20000});
    } catch {
      fault('recordings', `"${title}" does not show ${wanted}: ${await figure.locator('.controls').textContent()}`);
    }
  }
  return `${n} recordings`;
};

const notes = [];
for (const width of [390, 1440]) {
  const tab = await open(`${width} px`, width, 'light');
  await seeAll(tab);
  for (const scheme of ['light', 'dark']) {
    const where = `${width} px, ${scheme}`;
    // Drawn anew where the system turns dark while the page is open.
    await tab.emulateMedia({colorScheme: scheme});
    await tab.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await tab.waitForTimeout(300);
    all(where, await tab.evaluate(inspect.contrastFaults));
    all(where, await tab.evaluate(inspect.widthFaults));
    if (scheme === 'light') all(where, await tab.evaluate(inspect.nameFaults));
    await picture(tab, `${width}_${scheme}`);
  }
  if (width === 1440) {
    // Of a reader in the dark, for whom paper is white all the same.
    if (features.includes('paper')) notes.push(await paperHolds(tab));
    await tab.emulateMedia({colorScheme: 'light'});
    if (features.includes('switch')) await switchWorks(tab);
    if (features.includes('keyboard')) notes.push(`${await keyboardReaches(tab)} controls`);
    if (features.includes('plots')) notes.push(`${await plotsZoom(tab)} plots`);
    if (features.includes('replay')) await replayScrubs(tab);
    if (features.includes('pictures')) notes.push(`${await picturesFollow(tab)} pictures`);
    if (features.includes('configuration')) notes.push(`configuration of ${await configurationCopies(tab)} lines`);
    if (features.includes('recordings')) notes.push(await choicesShow(tab));
    if (features.includes('tables')) notes.push(JSON.stringify(await tablesWork(tab)));
  }
  await tab.context().close();
}
await browser.close();
writeFileSync(join(screenshots, 'faults.txt'), faults.join('\n') + '\n');
console.log(`${basename(page)}: ${notes.join(', ')}; ${faults.length ? faults.length + ' faults' : 'no fault'}`);
for (const line of faults) console.log(line);
process.exit(faults.length ? 1 : 0);
