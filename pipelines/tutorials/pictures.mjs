// Takes the pictures of the tutorials from the pages that their commands leave:
//   node pipelines/tutorials/pictures.mjs CHROMIUM FOLDER [NAME...]
// FOLDER is where the commands were run, with two_phones.md in FOLDER/phones, pose_data.md in FOLDER/poses, simulation_and_maps.md in FOLDER/maps.
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const {chromium} = createRequire(import.meta.url)('playwright-core');
const [executablePath, folder, ...wanted] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

// Page, place that stands at the top of the picture, size, and what a reader did before.
const pictures = {
  certificate: ['phones/cameras/calibration.html', null, 900, 640],
  frames: ['phones/tracks/tracking.html', '#frames', 1000, 760],
  overview: ['phones/drops/out/report.html', null, 1000, 900],
  replay: ['phones/drops/out/report.html', '#replay', 1000, 760],
  poses: ['poses/drops/corrected/report.html', null, 1000, 900],
  map: ['maps/maps/index.html', '[id="004_fig_2_09"]', 1000, 700],
  toss: ['maps/toss/page.html', '#motion', 900, 700, (tab) => tab.locator('#motion input[type=range]').first().evaluate((e) => {
    e.value = String(Number(e.max) * 0.35);
    e.dispatchEvent(new Event('input', {bubbles: true}));
  })],
  plan: ['maps/plan/plan.html', '#intervals', 900, 620],
};

const browser = await chromium.launch({executablePath, timeout: 180000, args: ['--no-sandbox', '--disable-dev-shm-usage']});
for (const [name, [page, place, width, height, act]] of Object.entries(pictures)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const context = await browser.newContext({viewport: {width, height}, colorScheme: 'light', offline: true});
  const tab = await context.newPage();
  tab.setDefaultTimeout(180000);
  await tab.goto(pathToFileURL(join(folder, page)).href);
  if (place) {
    await tab.locator(place).first().evaluate((e) => scrollTo({top: e.getBoundingClientRect().top + scrollY - 60, behavior: 'instant'}));
    await tab.waitForTimeout(1500);
  }
  if (act) await act(tab);
  await tab.waitForTimeout(1000);
  await tab.screenshot({path: join(here, 'figures', name + '.png')});
  console.log(name);
  await context.close();
}
await browser.close();
