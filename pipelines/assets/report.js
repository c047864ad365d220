(() => {
  'use strict';
  if (typeof Plotly === 'undefined') return;  // the static drawings stay

  const parse = (id) => JSON.parse(document.getElementById(id)?.textContent ?? '[]');
  const figures = parse('figure-data');
  const kImpactsPerRecording = 1000;
  const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'star', 'cross'];
  window.takePlots = (id, first, plots) => plots.forEach((one, k) => Object.assign(figures.find((f) => f.id === id).plots[first + k], one, {part: ''}));
  const redraw = [];  // one function for every plot that stands in the page

  // Everything that reaches Plotly as text is escaped: it reads a small HTML of its own.
  const safe = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const short = (v) => (v === null || v === undefined ? '–' : String(Number(v.toPrecision(4))).replace('-', '−'));
  const element = (tag, text, attributes = {}) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    return e;
  };

  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue('--' + name).trim();
    const palette = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => get('c' + k));
    return {bg: get('bg'), ink: get('ink'), soft: get('soft'), line: get('line'), grid: get('grid'), colour: (k) => (k < 0 ? get('ink') : palette[k % 8])};
  };
  const faded = (colour, alpha) => {
    const n = parseInt(colour.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},${alpha})`;
  };
  const config = (name) => ({
    // Measurements stay in the page: the library would offer to upload them.
    responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: '', modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d'],
    toImageButtonOptions: {format: 'svg', filename: name},
    modeBarButtonsToAdd: [{name: 'png', title: 'Download plot as PNG', icon: Plotly.Icons.camera, click: (node) => Plotly.downloadImage(node, {format: 'png', scale: 2, filename: name})}],
  });
  const axis = (look, title, range) => ({
    title: {text: safe(title), standoff: 8, font: {size: 13, color: look.ink}}, range, gridcolor: look.grid, linecolor: look.line, zeroline: false,
    tickfont: {size: 12, color: look.soft}, automargin: true,
  });
  const layout = (look) => ({
    font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: look.soft}, paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    margin: {l: 62, r: 10, t: 8, b: 48}, hovermode: 'closest', barmode: 'overlay',
    // Fingers scroll the page; the buttons zoom.
    dragmode: matchMedia('(pointer: coarse)').matches ? false : 'zoom',
    legend: {orientation: 'h', x: 0, y: -0.17, yanchor: 'top', font: {size: 12.5, color: look.ink}},
    modebar: {bgcolor: 'rgba(0,0,0,0)', color: look.soft, activecolor: look.ink},
    hoverlabel: {bgcolor: look.bg, bordercolor: look.line, font: {color: look.ink, size: 12.5}},
  });

  const kPaperWidth = 680;  // [px]
  // Draws, for the screen or for paper, and lets the keyboard have the buttons beside the plot.
  const paint = (node, traces, full, name) => {
    Plotly.react(node, traces, isPrinting() ? {...full, width: Math.min(kPaperWidth, node.clientWidth || kPaperWidth)} : full, config(name));
    for (const button of node.querySelectorAll('.modebar-btn')) {
      if (button.tabIndex === 0) continue;
      button.tabIndex = 0;
      button.setAttribute('role', 'button');
      button.setAttribute('aria-label', button.dataset.title);
      button.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        button.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      });
    }
  };

  const place = (code) => {
    const recording = recordings[Math.floor(code / kImpactsPerRecording)];
    return code >= 0 && recording ? `${safe(recording.name)}, impact ${code % kImpactsPerRecording}<br>` : '';
  };
  const trace = (s, look) => {
    const colour = look.colour(s.colour);
    const base = {x: s.x, y: s.y, name: safe(s.name), showlegend: s.name !== ''};
    if (s.mark === 'bar') return {...base, type: 'bar', width: s.width, marker: {color: faded(colour, 0.55)}, hovertemplate: '%{y} at %{x:.3g}<extra></extra>'};
    if (s.mark === 'line' || s.mark === 'dash' || s.mark === 'outline') {
      return {...base, type: 'scatter', mode: 'lines', hoverinfo: 'skip',
              line: {color: colour, width: s.colour < 0 ? 1.1 : 1.8, dash: s.mark === 'dash' ? 'dash' : 'solid', shape: s.mark === 'outline' ? 'hvh' : 'linear'}};
    }
    const bars = (sd) => (sd ? {type: 'data', array: sd, color: faded(colour, 0.35), thickness: 1, width: 0} : undefined);
    const many = s.x.length > 120;
    return {
      ...base, type: 'scatter', mode: 'markers', customdata: s.event, error_x: bars(s.sx), error_y: bars(s.sy),
      marker: {color: colour, size: many ? 5 : 6.5, symbol: symbols[s.colour % 8] + (s.mark === 'ring' ? '-open' : ''), opacity: many ? 0.75 : 0.9, line: {width: s.mark === 'ring' ? 1.5 : 0}},
      text: s.x.map((x, i) => (s.event ? place(s.event[i]) : '') + `x ${short(x)}${s.sx ? ' ± ' + short(s.sx[i]) : ''}, y ${short(s.y[i])}${s.sy ? ' ± ' + short(s.sy[i]) : ''}`),
      hovertemplate: '%{text}<extra>%{fullData.name}</extra>',
    };
  };

  // The plot that agrees with the changed selector and with as many of the others as there can be.
  const nearest = (plots, wanted, changed) => {
    let best = plots[0], score = -1;
    for (const plot of plots) {
      const n = plot.choice.reduce((sum, value, k) => sum + (value === wanted[k] ? (k === changed ? 100 : 1) : 0), 0);
      if (n > score) [best, score] = [plot, n];
    }
    return best;
  };
  const selector = (label, values, onChange) => {
    const box = element('label', label), select = element('select');
    for (const value of values) select.append(element('option', value, {value}));
    select.addEventListener('change', () => onChange(select.value));
    box.append(select);
    return [box, select];
  };

  const startFigure = (figure) => {
    const root = document.getElementById(figure.id);
    if (!root || figure.plots.length === 0) return;
    const drawing = root.querySelector('.drawing'), controls = root.querySelector('.controls');
    const status = element('span', '', {class: 'where', role: 'status'});
    let current = figure.plots[0], node = null;
    const selects = figure.selectors.map((label, k) => {
      const values = [...new Set(figure.plots.map((plot) => plot.choice[k]))];
      if (values.length < 2) return null;
      const [box, select] = selector(label, values, (value) => {
        const wanted = [...current.choice];
        wanted[k] = value;
        const chosen = (current = nearest(figure.plots, wanted, k));
        selects.forEach((s, j) => s && (s.value = current.choice[j]));
        withPart(chosen, () => chosen === current && draw(), (why) => {
          status.textContent = why;
          if (!status.isConnected) controls.append(status);
        });
      });
      controls.append(box);
      return select;
    });
    const draw = () => {
      if (current.part) return;  // drawn when it is there
      const look = theme();
      status.remove();
      // Paper has no selectors: the heading says there what was selected.
      root.querySelector('h3').dataset.choice = current.choice.join(', ');
      if (!node) {
        drawing.textContent = '';
        node = element('div', undefined, {role: 'img', 'aria-label': `${figure.title}: ${current.y} against ${current.x}`});
        drawing.append(node);
        redraw.push(draw);
      }
      paint(node, current.series.map((s) => trace(s, look)),
                   {...layout(look), height: 430, xaxis: axis(look, current.x, [...current.xr]), yaxis: axis(look, current.y, [...current.yr]),
                    showlegend: current.series.filter((s) => s.name !== '').length > 1}, figure.id);
      if (!node.dataset.click) {
        node.dataset.click = '1';
        node.on('plotly_click', (event) => {
          const code = event.points[0].customdata;
          if (code >= 0 && browser) browser.show(Math.floor(code / kImpactsPerRecording), true);
        });
      }
    };
    whenNear(root, draw);
  };

  // Plots are drawn shortly before they scroll into view; drawn all at once they would keep a large page waiting.
  const whenNear = (target, start) => {
    if (!('IntersectionObserver' in window)) return start();
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      start();
    }, {rootMargin: '900px'});
    observer.observe(target);
  };

  const startBrowser = () => {
    const root = document.getElementById('browser');
    if (!root || recordings.length === 0) return null;
    root.textContent = '';
    const states = [...new Set(recordings.flatMap((r) => r.impacts.map((impact) => impact.state)))].filter((s) => s !== 'accepted').sort();
    const controls = element('div', undefined, {class: 'controls'}), plot = element('div'), table = element('div', undefined, {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Impacts of the recording'});
    const status = element('span', '', {class: 'where', 'aria-live': 'polite'});
    const all = 'all recordings', accepted = 'with an accepted impact';
    let visible = [], current = 0, near = false;
    const [filterBox, filter] = selector('Show', [all, accepted, ...states.map((s) => 'with: ' + s)], () => refill());
    const [pickBox, pick] = selector('Recording', [], (value) => show(Number(value)));
    const step = (label, by) => {
      const button = element('button', label, {type: 'button'});
      button.addEventListener('click', () => {
        const at = visible.indexOf(current) + by;
        if (at >= 0 && at < visible.length) show(visible[at]);
      });
      return button;
    };
    const previous = step('Previous', -1), next = step('Next', 1);
    controls.append(filterBox, pickBox, previous, next, status);
    root.append(controls, plot, table);

    const refill = () => {
      const wanted = filter.value;
      visible = recordings.map((_, i) => i).filter((i) => wanted === all || recordings[i].impacts.some((impact) => (wanted === accepted ? impact.accepted : 'with: ' + impact.state === wanted)));
      pick.textContent = '';
      for (const i of visible) pick.append(element('option', recordings[i].name, {value: String(i)}));
      if (visible.length > 0) show(visible.includes(current) ? current : visible[0]);
    };

    const drawTable = (recording) => {
      const headers = ['Impact', 'Time [s]', 'Outcome', 'Approach speed [m/s]', '−vₙ⁺ / vₙ⁻', '|Jₜ| / Jₙ', 'Lean [°]', 'Frames', 'Detail'];
      const t = element('table'), head = element('tr'), body = element('tbody');
      const caption = element('caption');
      caption.append(element('span', 'Impacts of ' + recording.name));
      t.append(caption);
      headers.forEach((h, k) => head.append(element('th', h, {scope: 'col', class: k === 2 || k === 8 ? '' : 'n'})));
      for (const impact of recording.impacts) {
        const row = element('tr');
        const frames = `${impact.frames[0]} + ${impact.frames[1]}` + (impact.lost ? `, ${impact.lost} lost` : '');
        [impact.impact, impact.t === null ? '–' : impact.t.toFixed(4), impact.state, short(impact.speed), short(impact.e), short(impact.ratio), short(impact.lean), frames, impact.detail]
            .forEach((cell, k) => row.append(element(k === 0 ? 'th' : 'td', String(cell), k === 0 ? {scope: 'row', class: 'n'} : {class: k === 2 || k === 8 ? '' : 'n'})));
        body.append(row);
      }
      const thead = element('thead');
      thead.append(head);
      t.append(thead, body);
      table.replaceChildren(t);
      startTable(t);
    };

    const drawPlot = (recording) => {
      const look = theme(), t = unpackNumbers(recording.t), channels = recording.channels.map(unpackNumbers);
      const panels = recording.planar ? [['x [m]', [0], ['x']], ['z [m]', [1], ['z']], ['θ [rad]', [2], ['θ']]]
                                      : [['position [m]', [0, 1, 2], ['x', 'y', 'z']], ['quaternion [1]', [3, 4, 5, 6], ['qw', 'qx', 'qy', 'qz']]];
      const used = t.map((_, i) => recording.used.some(([a, b]) => i >= a && i <= b));
      const traces = [], shapes = [], height = 1 / panels.length, gap = 0.035;
      const full = {...layout(look), height: recording.planar ? 620 : 600, shapes, xaxis: axis(look, 't [s]'), showlegend: !recording.planar, legend: {...layout(look).legend, y: -0.1}};
      panels.forEach(([title, indices, names], p) => {
        const suffix = p === 0 ? '' : String(p + 1), top = 1 - p * height;
        full['yaxis' + suffix] = {...axis(look, title), domain: [top - height + (p === panels.length - 1 ? 0 : gap), top], anchor: 'x'};
        indices.forEach((c, k) => {
          const colour = look.colour(recording.planar ? 0 : p * 3 + k), name = names[k];
          const points = (inside) => ({type: 'scatter', mode: 'markers', x: t, y: channels[c].map((v, i) => (used[i] === inside ? v : null)), yaxis: 'y' + suffix, name, legendgroup: name,
                                       showlegend: false, marker: inside ? {color: colour, size: 5} : {color: faded(colour, 0.4), size: 3.5}, hovertemplate: `%{x:.4f} s, %{y:.4f}<extra>${name}</extra>`});
          traces.push(points(false), points(true));
          const xs = [], ys = [];
          for (const arc of recording.arcs) {
            xs.push(...unpackNumbers(arc.t), null);
            ys.push(...unpackNumbers(arc.channels[c]), null);
          }
          traces.push({type: 'scatter', mode: 'lines', x: xs, y: ys, yaxis: 'y' + suffix, name, legendgroup: name, hoverinfo: 'skip', line: {color: recording.planar ? look.colour(1) : colour, width: 1.6}});
        });
      });
      full.xaxis.anchor = 'y' + (panels.length > 1 ? panels.length : '');
      for (const impact of recording.impacts) {
        if (impact.t === null || impact.t < t[0] || impact.t > t[t.length - 1]) continue;
        shapes.push({type: 'line', xref: 'x', yref: 'paper', x0: impact.t, x1: impact.t, y0: 0, y1: 1, line: {color: impact.accepted ? look.ink : look.soft, width: 1, dash: impact.accepted ? 'solid' : 'dot'}});
      }
      paint(plot, traces, full, 'recording');
    };

    const draw = () => {
      const recording = recordings[current];
      if (recording.part) return;  // drawn when it is there
      if (!recording.drawn) {
        Plotly.purge(plot);
        plot.textContent = 'There are no poses to draw.';
      } else {
        if (!plot.data) plot.textContent = '';
        drawPlot(recording);
      }
    };
    const show = (index, jump = false) => {
      if (!visible.includes(index)) {
        filter.value = all;
        current = index;
        return refill(), jump && document.getElementById('recordings').scrollIntoView();
      }
      current = index;
      pick.value = String(index);
      const at = visible.indexOf(index);
      previous.disabled = at <= 0;
      next.disabled = at >= visible.length - 1;
      near ||= jump;
      const recording = recordings[index];
      withPart(recording, () => {
        if (index !== current) return;  // another one was asked for meanwhile
        status.textContent = `${at + 1} of ${visible.length}` + (recording.stride > 1 ? `, every ${recording.stride}th frame shown` : '');
        drawTable(recording);
        document.dispatchEvent(new CustomEvent('recordingchange', {detail: index}));
        if (near) draw();
      }, (why) => (status.textContent = why));
      if (jump) document.getElementById('recordings').scrollIntoView();
    };
    const first = recordings.findIndex((r) => r.impacts.some((impact) => impact.accepted));
    current = Math.max(0, first);
    refill();
    whenNear(root, () => { near = true; redraw.push(draw); draw(); });
    return {show};
  };

  const browser = startBrowser();
  figures.forEach(startFigure);
  document.addEventListener('themechange', () => redraw.forEach((draw) => draw()));
})();
