(() => {
  'use strict';
  // Light or dark as the system is, or as the reader says. The dark colours stand in one rule of the style sheet, which is switched.
  const kKey = 'impactlab-theme', select = document.getElementById('theme');
  const rule = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).find((one) => one.media && /prefers-color-scheme:\s*dark/.test(one.media.mediaText));
  const bySystem = rule?.media.mediaText;
  let printing = false;
  const kept = () => {
    try {
      return localStorage.getItem(kKey) ?? '';
    } catch {
      return '';  // pages opened as files may not be allowed to keep anything
    }
  };
  const apply = () => {
    const choice = printing ? 'light' : select.value;
    rule.media.mediaText = choice === '' ? bySystem : choice === 'dark' ? 'screen' : 'not all';
    document.documentElement.style.colorScheme = choice;
    document.dispatchEvent(new Event('themechange'));
  };
  if (rule && select) {
    select.value = ['light', 'dark'].includes(kept()) ? kept() : '';
    select.addEventListener('change', () => {
      try {
        localStorage.setItem(kKey, select.value);
      } catch {
        // The choice then holds until the page is closed.
      }
      apply();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.dispatchEvent(new Event('themechange')));
    if (select.value) apply();
    select.closest('label').hidden = false;
    // Paper is white, and nothing on it can be opened.
    const closed = [];
    addEventListener('beforeprint', () => {
      if (printing) return;
      printing = true;
      closed.push(...document.querySelectorAll('details:not([open])'));
      closed.forEach((one) => (one.open = true));
      apply();
    });
    addEventListener('afterprint', () => {
      if (!printing) return;
      printing = false;
      closed.splice(0).forEach((one) => (one.open = false));
      apply();
    });
  }
  window.isPrinting = () => printing;

  // Recordings of a run: everything that is drawn of them, or, of a large run, what lists need; the rest stands in scripts beside the page.
  window.recordings = JSON.parse(document.getElementById('recording-data')?.textContent ?? '[]');
  window.takeRecordings = (first, details) => details.forEach((one, k) => Object.assign(recordings[first + k], one, {part: ''}));
  const parts = new Map();
  const load = (part) => {
    if (!parts.has(part)) parts.set(part, new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.onload = resolve;
      script.onerror = () => {
        parts.delete(part);
        reject(new Error(`What is to be drawn stands in ${part} beside this page and cannot be read: keep both together.`));
      };
      script.src = part.split('/').map(encodeURIComponent).join('/');
      document.head.append(script);
    }));
    return parts.get(part);
  };
  // Calls `then` once all of a recording or plot is there, at once where it is; else `otherwise` with what to say.
  window.withPart = (one, then, otherwise) => {
    if (!one.part) return then();
    load(one.part).then(then, (error) => otherwise(error.message));
  };

  window.copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Older browsers keep the clipboard from pages that were opened as files.
      const area = document.createElement('textarea'), before = document.activeElement;
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      before?.focus();
      return done;
    }
  };
  for (const box of document.querySelectorAll('[data-copies]')) {
    const status = box.querySelector('[role="status"]');
    box.hidden = false;
    box.querySelector('button').addEventListener('click', async () => {
      const text = document.getElementById(box.dataset.copies).textContent, done = await copyText(text);
      status.textContent = done ? `${text.split('\n').length - 1} lines copied` : 'the browser refused';
      setTimeout(() => (status.textContent = ''), 2500);
    });
  }

  // 16-bit numbers between their least and greatest value; 65535 is a gap.
  window.unpackNumbers = ([base64, lower, upper]) => {
    const bytes = atob(base64), values = new Array(bytes.length >> 1);
    for (let i = 0; i < values.length; ++i) {
      const code = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
      values[i] = code === 65535 ? null : lower + (upper - lower) * code / 65534;
    }
    return values;
  };
})();
