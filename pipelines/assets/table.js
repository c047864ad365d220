(() => {
  'use strict';
  const kFilterFrom = 7;  // rows from which looking for one takes longer than typing
  const element = (tag, attributes = {}, text) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text !== undefined) e.textContent = text;
    return e;
  };

  // What a cell says, in characters that other programs read: powers of ten stand as superscripts in the page.
  const said = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll('sup').forEach((s) => (s.textContent = /^[\u2212-]?\d+$/.test(s.textContent) ? '^' + s.textContent : s.textContent));
    return copy.textContent.replace(/\u2212/g, '-').replace(/[\u00A0\u2009\u202F]/g, ' ').replace(/\u2011/g, '-').replace(/\u00D710\^(-?\d+)/g, 'e$1').replace(/\s+/g, ' ').trim();
  };
  // The number a cell begins with; what holds none sorts behind.
  const number = (text) => {
    const m = text.match(/^(?:at least|at most|above|below|<|>|\D{0,3}=)?\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/);
    return m ? Number(m[1]) : /^-?∞/.test(text) ? (text[0] === '-' ? -Infinity : Infinity) : NaN;
  };
  const byWords = new Intl.Collator(undefined, {numeric: true, sensitivity: 'base'}).compare;

  const start = (table) => {
    const head = table.tHead?.rows[0], body = table.tBodies[0], caption = table.caption;
    if (!head || !body || body.rows.length === 0) return;
    const rows = [...body.rows], scroll = table.closest('.scroll');
    const tools = element('div', {class: 'table-tools'}), status = element('span', {class: 'where', role: 'status'});
    const title = (caption?.textContent ?? '').trim() || scroll.getAttribute('aria-label') || table.closest('section')?.querySelector('h2')?.textContent || 'table';
    let box = scroll.closest('.data-table');
    if (box) {
      box.firstElementChild.remove();  // of the table that stood here before
    } else {
      box = element('div', {class: 'data-table'});
      scroll.before(box);
      box.append(scroll);
    }
    box.prepend(tools);
    // The caption stands on one line with the controls, where it does not scroll away sideways; it stays the table's own for those who listen.
    if (caption) {
      tools.append(element('span', {class: 'table-title', 'aria-hidden': 'true'}));
      tools.lastChild.append(...[...caption.cloneNode(true).childNodes]);
      caption.classList.add('away');
    }

    const shown = () => [...body.rows].filter((row) => !row.hidden);
    let direction = 0, column = -1;
    const sort = (k) => {
      direction = column === k && direction === 1 ? -1 : 1;
      column = k;
      const cell = (row) => said(row.cells[k]), numeric = head.cells[k].classList.contains('n');
      const keyed = rows.map((row, i) => ({row, i, text: cell(row), value: numeric ? number(cell(row)) : NaN}));
      keyed.sort((a, b) => {
        if (numeric) {
          const none = Number(Number.isNaN(a.value)) - Number(Number.isNaN(b.value));
          if (none) return none;
          if (a.value !== b.value && !Number.isNaN(a.value)) return direction * (a.value - b.value);
        }
        return direction * byWords(a.text, b.text) || a.i - b.i;
      });
      body.append(...keyed.map((one) => one.row));
      [...head.cells].forEach((th, j) => (j === k ? th.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending') : th.removeAttribute('aria-sort')));
    };
    if (rows.length > 2)
      [...head.cells].forEach((th, k) => {
        if (!th.textContent.trim()) return;
        const button = element('button', {type: 'button', class: 'sort'});
        button.append(...th.childNodes);
        button.addEventListener('click', () => sort(k));
        th.append(button);
      });

    if (rows.length >= kFilterFrom) {
      const input = element('input', {type: 'search', placeholder: 'Filter rows', 'aria-label': 'Filter rows of: ' + title});
      let texts = null;  // taken when they are asked for: a page may hold thousands of rows
      input.addEventListener('input', () => {
        texts ??= new Map(rows.map((row) => [row, [...row.cells].map(said).join(' \u241F ').toLowerCase()]));
        // Every word must stand somewhere in the row.
        const words = input.value.toLowerCase().replace(/\u2212/g, '-').split(/\s+/).filter(Boolean);
        for (const row of rows) row.hidden = !words.every((word) => texts.get(row).includes(word));
        status.textContent = words.length ? `${shown().length} of ${rows.length} rows` : '';
      });
      tools.append(input);
    }
    const lines = (quote, separator) => [head, ...shown()].map((row) => [...row.cells].map((cell) => quote(said(cell))).join(separator)).join('\n') + '\n';
    const tell = (text) => {
      status.textContent = text;
      setTimeout(() => status.textContent === text && (status.textContent = ''), 2500);
    };
    const copy = element('button', {type: 'button', class: 'copy', 'aria-label': 'Copy: ' + title}, 'Copy');
    copy.addEventListener('click', async () => {
      if (!(await copyText(lines((cell) => cell, '\t')))) return tell('the browser refused');
      tell(`${shown().length} rows copied`);
    });
    const csv = element('button', {type: 'button', class: 'csv', 'aria-label': 'Save as CSV: ' + title}, 'CSV');
    csv.addEventListener('click', () => {
      const text = lines((cell) => (/[",\n]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell), ',');
      const link = element('a', {download: title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) + '.csv'});
      link.href = URL.createObjectURL(new Blob(['\uFEFF' + text], {type: 'text/csv'}));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    tools.append(copy, csv, status);
  };
  document.querySelectorAll('.scroll > table').forEach(start);
  // Tables that a script draws later.
  window.startTable = start;
})();
