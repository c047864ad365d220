// How long a page takes to open, several times over: node measure_page.mjs CHROMIUM PAGE [TIMES]
// Seconds to the load event and to the first plot that a script has drawn, and of them what the page's main thread computed (the processor
// may be busy with other things).
import {statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const {chromium} = createRequire(import.meta.url)('playwright-core');
const [executablePath, page, times = '3'] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, timeout: 180000, args: ['--no-sandbox', '--disable-dev-shm-usage']});
const rows = [];
for (let k = 0; k < Number(times); ++k) {
  const tab = await browser.newPage({viewport: {width: 1440, height: 900}});
  tab.setDefaultTimeout(180000);
  const session = await tab.context().newCDPSession(tab);
  await session.send('Performance.enable', {timeDomain: 'threadTicks'});
  await tab.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.js-plotly-plot .main-svg')) return;
      observer.disconnect();
      requestAnimationFrame(() => (window.firstPlot = performance.now()));
    }).observe(document, {childList: true, subtree: true});
  });
  await tab.goto(pathToFileURL(page).href);
  await tab.waitForFunction(() => window.firstPlot !== undefined);
  const [load, plot] = await tab.evaluate(() => [performance.getEntriesByType('navigation')[0].loadEventEnd, window.firstPlot]);
  const {metrics} = await session.send('Performance.getMetrics');
  rows.push({load, plot, computed: 1000 * metrics.find((m) => m.name === 'TaskDuration').value});
  await tab.close();
}
await browser.close();
const median = (key) => rows.map((r) => r[key]).sort((a, b) => a - b)[Math.floor(rows.length / 2)] / 1000;
console.log(`${(statSync(page).size / 1e6).toFixed(2)} MB; load ${median('load').toFixed(2)} s, first plot ${median('plot').toFixed(2)} s, computed ${median('computed').toFixed(2)} s (medians of ${rows.length})`);
