// How long a page takes to open, several times over: node measure_page.mjs CHROMIUM PAGE [TIMES] [FIGURE]
// Seconds to the load event; from then on to the plot that a script draws once the reader is at figure number FIGURE (0 is the first of
// the page; plots are drawn shortly before they scroll into view); and what the page's main thread computed for both, without painting
// (the processor may be busy with other things).
import {statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const {chromium} = createRequire(import.meta.url)('playwright-core');
const [executablePath, page, times = '3', figure = '0'] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, timeout: 180000, args: ['--no-sandbox', '--disable-dev-shm-usage']});
const rows = [];
for (let k = 0; k < Number(times); ++k) {
  const tab = await browser.newPage({viewport: {width: 1440, height: 900}});
  tab.setDefaultTimeout(180000);
  const session = await tab.context().newCDPSession(tab);
  await session.send('Performance.enable', {timeDomain: 'threadTicks'});
  await tab.goto(pathToFileURL(page).href);
  const load = await tab.evaluate(() => performance.getEntriesByType('navigation')[0].loadEventEnd);
  const plot = await tab.evaluate((k) => new Promise((resolve) => {
    const start = performance.now(), target = document.querySelectorAll('.figure')[k];
    const look = () => (target.querySelector('.main-svg') ? resolve(performance.now() - start) : setTimeout(look, 2));
    target.scrollIntoView();
    look();
  }), Number(figure));
  const {metrics} = await session.send('Performance.getMetrics');
  rows.push({load, plot, computed: 1000 * metrics.find((m) => m.name === 'TaskDuration').value});
  await tab.close();
}
await browser.close();
const median = (key) => rows.map((r) => r[key]).sort((a, b) => a - b)[Math.floor(rows.length / 2)] / 1000;
console.log(`${(statSync(page).size / 1e6).toFixed(2)} MB; load ${median('load').toFixed(2)} s, plot ${median('plot').toFixed(2)} s, computed ${median('computed').toFixed(2)} s (medians of ${rows.length})`);
