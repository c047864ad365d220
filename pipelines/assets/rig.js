(() => {
  'use strict';
  const root = document.getElementById('rig-view'), source = document.getElementById('rig-data');
  if (!root || !source) return;
  const scene = JSON.parse(source.textContent);
  const box = root.querySelector('.sight'), controls = root.querySelector('.controls'), told = root.querySelector('.told');
  const canvas = document.createElement('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'Cameras and boards in space; drag or use the arrow keys to turn, plus and minus to zoom');
  box.querySelector('svg')?.remove();
  box.prepend(canvas);
  const context = canvas.getContext('2d');
  const kStart = {azimuth: -0.6, elevation: 0.45};
  const view = {...kStart, zoom: 1, x: 0, y: 0, fitted: true};
  let hover = -1, width = 0, height = 0;

  // Coordinates come with z up and y ahead of the cameras, about the middle of the scene.
  const project = ([x, y, z]) => {
    const ca = Math.cos(view.azimuth), sa = Math.sin(view.azimuth), ce = Math.cos(view.elevation), se = Math.sin(view.elevation);
    const right = ca * x + sa * y, ahead = ca * y - sa * x, scale = view.zoom * 0.46 * Math.min(width, height) / scene.radius;
    return [width / 2 + scale * (right - view.x), height / 2 - scale * (ce * z + se * ahead - view.y), ce * ahead - se * z];
  };
  // Zoom and shift that show everything from the present direction.
  const fit = () => {
    Object.assign(view, {zoom: 1, x: 0, y: 0});
    const all = [...scene.boards.flatMap((b) => b.corners), ...scene.cameras.flatMap((c) => [c.eye, ...c.corners])].map(project);
    const range = (k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))];
    const [left, right] = range(0), [top, bottom] = range(1), scale = 0.46 * Math.min(width, height) / scene.radius;
    view.x = ((left + right) / 2 - width / 2) / scale;
    view.y = (height / 2 - (top + bottom) / 2) / scale;
    view.zoom = Math.min((width - 110) / Math.max(1, right - left), (height - 110) / Math.max(1, bottom - top));
  };
  const path = (points, close) => {
    context.beginPath();
    points.forEach(([x, y], k) => (k === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    if (close) context.closePath();
  };
  const look = () => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue('--' + name).trim();
  };

  const draw = () => {
    const colour = look(), ratio = window.devicePixelRatio || 1;
    width = box.clientWidth;
    height = box.clientHeight;
    if (view.fitted) fit();
    canvas.width = Math.round(ratio * width);
    canvas.height = Math.round(ratio * height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const items = [];
    scene.boards.forEach((board, index) => {
      const corners = board.corners.map(project);
      items.push({depth: corners.reduce((sum, c) => sum + c[2], 0) / 4, paint: () => {
        const tint = board.used ? (board.worst ? colour('c1') : colour('c0')) : colour('c7');
        path(corners, true);
        context.fillStyle = context.strokeStyle = tint;
        context.globalAlpha = index === hover ? 0.4 : 0.1;
        context.fill();
        context.globalAlpha = index === hover ? 1 : 0.7;
        context.lineWidth = index === hover ? 2.5 : 1.2;
        context.stroke();
        // The first point tells how the board was turned.
        context.beginPath();
        context.arc(corners[0][0], corners[0][1], 2.6, 0, 7);
        context.fill();
        context.globalAlpha = 1;
      }});
    });
    scene.cameras.forEach((camera) => {
      const eye = project(camera.eye), corners = camera.corners.map(project);
      items.push({depth: eye[2], paint: () => {
        context.strokeStyle = context.fillStyle = colour('ink');
        context.lineWidth = 1.5;
        path(corners, true);
        context.stroke();
        corners.forEach((corner) => { path([eye, corner]); context.stroke(); });
        // Thick: the upper edge of the picture.
        context.lineWidth = 3.5;
        path([corners[0], corners[1]]);
        context.stroke();
        context.font = '600 13px ' + getComputedStyle(document.body).fontFamily;
        context.fillText(camera.name, eye[0] + 8, eye[1] + 16);
      }});
    });
    items.sort((a, b) => b.depth - a.depth).forEach((item) => item.paint());
    // Axes of W and a ruler.
    const origin = project(scene.origin);
    scene.axes.forEach((end, k) => {
      const tip = project(end);
      context.strokeStyle = context.fillStyle = colour(['c1', 'c2', 'c0'][k]);
      context.lineWidth = 2;
      path([origin, tip]);
      context.stroke();
      context.fillText('xyz'[k], tip[0] + 3, tip[1] - 3);
    });
    const scale = view.zoom * 0.46 * Math.min(width, height) / scene.radius;
    const power = Math.pow(10, Math.floor(Math.log10(120 / scale)));
    const length = [5, 2, 1].map((k) => k * power).find((l) => l * scale <= 130) || power;
    context.strokeStyle = context.fillStyle = colour('soft');
    context.lineWidth = 1.5;
    path([[16, height - 22], [16, height - 16], [16 + length * scale, height - 16], [16 + length * scale, height - 22]]);
    context.stroke();
    context.font = '12px ' + getComputedStyle(document.body).fontFamily;
    context.fillText(length >= 1 ? `${length} m` : length >= 0.01 ? `${Math.round(100 * length)} cm` : `${Number((1000 * length).toPrecision(1))} mm`, 16, height - 28);
  };

  const say = () => {
    const board = scene.boards[hover];
    told.textContent = board ? `${board.name}: ${board.note}` : '';
  };
  const inside = (corners, x, y) => {
    let in_ = false;
    for (let i = 0, j = 3; i < 4; j = i++) {
      const [xi, yi] = corners[i], [xj, yj] = corners[j];
      if ((yi > y) !== (yj > y) && x < (xj - xi) * (y - yi) / (yj - yi) + xi) in_ = !in_;
    }
    return in_;
  };
  const clamp = (v, a, b) => Math.min(b, Math.max(a, v));
  const turn = (dx, dy) => {
    view.fitted = false;
    view.azimuth -= dx;
    view.elevation = clamp(view.elevation + dy, -Math.PI / 2, Math.PI / 2);
    draw();
  };
  const zoom = (factor) => { view.fitted = false; view.zoom = clamp(view.zoom * factor, 0.2, 20); draw(); };
  let last = null;
  canvas.addEventListener('pointerdown', (event) => {
    last = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (last) {
      turn(0.008 * (event.clientX - last[0]), 0.008 * (event.clientY - last[1]));
      last = [event.clientX, event.clientY];
      return;
    }
    const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
    let best = -1, nearest = Infinity;
    scene.boards.forEach((board, k) => {
      const corners = board.corners.map(project), depth = corners.reduce((sum, c) => sum + c[2], 0);
      if (inside(corners, x, y) && depth < nearest) [best, nearest] = [k, depth];
    });
    if (best !== hover) { hover = best; say(); draw(); }
  });
  for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) canvas.addEventListener(name, () => { last = null; });
  canvas.addEventListener('pointerleave', () => { if (hover >= 0) { hover = -1; say(); draw(); } });
  // The wheel alone scrolls the page.
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(-0.002 * event.deltaY));
  }, {passive: false});
  canvas.addEventListener('keydown', (event) => {
    const keys = {ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]};
    if (keys[event.key]) turn(...keys[event.key]);
    else if (event.key === '+' || event.key === '=') zoom(1.2);
    else if (event.key === '-') zoom(1 / 1.2);
    else return;
    event.preventDefault();
  });
  const button = (label, act) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = label;
    b.addEventListener('click', act);
    controls.append(b);
  };
  const set = (values) => { Object.assign(view, values, {fitted: true}); draw(); };
  button('Start', () => set(kStart));
  button('From behind', () => set({azimuth: 0, elevation: 0.05}));
  button('From the side', () => set({azimuth: -Math.PI / 2, elevation: 0.05}));
  button('From above', () => set({azimuth: 0, elevation: Math.PI / 2}));
  button('+', () => zoom(1.25));
  button('−', () => zoom(0.8));
  new ResizeObserver(draw).observe(box);
  document.addEventListener('themechange', draw);
  draw();
})();
