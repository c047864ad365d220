(() => {
  'use strict';
  const root = document.getElementById('motion-view'), source = document.getElementById('motion-data');
  if (!root || !source) return;
  const film = JSON.parse(source.textContent);
  const box = root.querySelector('.sight'), told = root.querySelector('.told'), controls = root.querySelector('.controls');
  box.querySelector('svg')?.remove();
  const canvas = document.createElement('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'Animation of the motion' + (film.planar ? '' : '; drag or use the arrow keys to turn'));
  box.prepend(canvas);
  const context = canvas.getContext('2d');
  const first = film.t[0], last = film.t[film.t.length - 1];
  const view = {azimuth: -0.7, elevation: 0.28, follow: false};
  let now = first, playing = false, speed = 1, stamp = 0, width = 0, height = 0;

  // Controls.
  const add = (tag, options, parent = controls) => parent.appendChild(Object.assign(document.createElement(tag), options));
  const play = add('button', {type: 'button', textContent: 'Play'});
  const slider = add('input', {type: 'range', min: 0, max: 1000, value: 0, className: 'time'});
  slider.setAttribute('aria-label', 'Time');
  const label = add('label', {textContent: 'Speed '});
  const choice = add('select', {}, label);
  const speeds = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 20];
  // As fast as lets one see it: at least four seconds.
  speed = speeds.filter((value) => value <= 1 && (last - first) / value >= 4).pop() ?? speeds[0];
  for (const value of speeds) add('option', {value, textContent: value + '×', selected: value === speed}, choice);
  const follow = add('input', {type: 'checkbox'}, add('label', {textContent: 'Follow '}));

  // Frames: position and quaternion w x y z of every part.
  const lerp = (a, b, s) => a.map((x, i) => x + s * (b[i] - x));
  const poseOf = (part) => {
    let low = 0, high = film.t.length - 1;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (film.t[mid] <= now) low = mid; else high = mid;
    }
    const a = film.poses[low][part], b = film.poses[high][part], gap = film.t[high] - film.t[low];
    const s = gap > 0 ? Math.min(1, Math.max(0, (now - film.t[low]) / gap)) : 0;
    const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
    const q = lerp(a.slice(3), b.slice(3).map((x) => sign * x), s), norm = Math.hypot(...q);
    return {p: lerp(a.slice(0, 3), b.slice(0, 3), s), q: q.map((x) => x / norm)};
  };
  const turn = ([w, x, y, z], [a, b, c]) => {
    const u = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
    return [a + w * u[0] + y * u[2] - z * u[1], b + w * u[1] + z * u[0] - x * u[2], c + w * u[2] + x * u[1] - y * u[0]];
  };
  const place = (pose, p) => turn(pose.q, p).map((x, i) => x + pose.p[i]);

  // The middle of the picture in W, metres it spans, and pixels.
  let frame = null;
  const look = (poses) => {
    const low = film.low, high = film.high;
    let middle = low.map((x, i) => (x + high[i]) / 2), span = low.map((x, i) => high[i] - x);
    if (view.follow) {
      middle = [0, 1, 2].map((i) => poses.reduce((sum, pose) => sum + pose.p[i], 0) / poses.length);
      const far = Math.max(...poses.map((pose) => Math.hypot(...pose.p.map((x, i) => x - middle[i]))));
      span = [1, 1, 1].map(() => 3 * (film.size + far));
    }
    const radius = Math.max(film.size, 0.5 * Math.hypot(...span));
    const scale = film.planar ? Math.min(width / (1.15 * span[0] + film.size), height / (1.15 * span[2] + film.size)) : 0.46 * Math.min(width, height) / radius;
    frame = {middle, radius, scale, ca: Math.cos(view.azimuth), sa: Math.sin(view.azimuth), ce: Math.cos(view.elevation), se: Math.sin(view.elevation)};
  };
  // Pixels, and how far away: larger is further.
  const project = (p) => {
    const [x, y, z] = p.map((v, i) => v - frame.middle[i]);
    if (film.planar) return [width / 2 + frame.scale * x, height / 2 - frame.scale * z, 0, 1];
    const right = frame.ca * x + frame.sa * y, ahead = frame.ca * y - frame.sa * x;
    const up = frame.ce * z + frame.se * ahead, depth = frame.ce * ahead - frame.se * z;
    const near = 4 * frame.radius / Math.max(0.5 * frame.radius, 4 * frame.radius + depth);
    return [width / 2 + frame.scale * near * right, height / 2 - frame.scale * near * up, depth, near];
  };
  const path = (points, close) => {
    context.beginPath();
    points.forEach(([x, y], k) => (k === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    if (close) context.closePath();
  };

  const planeAt = (plane) => plane.offset + (plane.amplitude ? plane.amplitude * Math.sin(plane.frequency * now + plane.phase) : 0);
  const drawPlane = (plane, colour) => {
    const n = plane.normal, d = planeAt(plane) - n.reduce((sum, x, i) => sum + x * frame.middle[i], 0);
    const foot = frame.middle.map((x, i) => x + d * n[i]);
    context.strokeStyle = colour('ink');
    context.fillStyle = colour('grid');
    if (film.planar) {
      const far = 2 * (width + height) / frame.scale, along = [n[2], 0, -n[0]];
      const at = (s, t) => project(foot.map((x, i) => x + s * along[i] - t * n[i]));
      path([at(-far, 0), at(far, 0), at(far, far), at(-far, far)], true);
      context.globalAlpha = 0.75;
      context.fill();
      context.globalAlpha = 1;
      path([at(-far, 0), at(far, 0)]);
      context.lineWidth = 1.5;
      context.stroke();
      return;
    }
    const any = Math.abs(n[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const u = cross(n, any), length = Math.hypot(...u), e = u.map((x) => x / length), f = cross(n, e);
    const reach = frame.radius, lines = 8;
    context.strokeStyle = colour('line');
    context.lineWidth = 1;
    const at = (s, t) => project(foot.map((x, i) => x + s * e[i] + t * f[i]));
    for (let i = -lines; i <= lines; ++i) {
      const s = reach * i / lines;
      path([at(s, -reach), at(s, reach)]);
      context.stroke();
      path([at(-reach, s), at(reach, s)]);
      context.stroke();
    }
  };

  const drawPart = (part, pose, tint, colour, items) => {
    const points = part.points.map((p) => project(place(pose, p)));
    const stroke = (line, w) => () => {
      path(line.map((i) => points[i]));
      context.lineCap = context.lineJoin = 'round';
      context.strokeStyle = tint;
      context.lineWidth = w;
      context.globalAlpha = w > 3 ? 0.85 : 1;
      context.stroke();
      context.globalAlpha = 1;
    };
    part.faces.forEach((face) => {
      const corners = face.map((i) => points[i]);
      const area = corners.reduce((sum, [x, y], k) => { const [a, b] = corners[(k + 1) % corners.length]; return sum + x * b - a * y; }, 0);
      const away = !film.planar && area > 0;  // rows of a picture run downwards
      items.push({depth: corners.reduce((sum, c) => sum + c[2], 0) / corners.length + (away ? 1e-6 : 0), paint: () => {
        if (away) return;
        path(corners, true);
        context.fillStyle = context.strokeStyle = tint;
        context.globalAlpha = film.planar ? 0.35 : 0.25 + 0.6 * Math.min(1, Math.abs(area) / (part.largest * (frame.scale * corners[0][3]) ** 2));
        context.fill();
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.stroke();
      }});
    });
    part.lines.forEach((line) => {
      const thin = part.thickness === 0, middle = points[line[0]];
      items.push({depth: line.reduce((sum, i) => sum + points[i][2], 0) / line.length, paint: stroke(line, thin ? (part.faces.length || part.ball ? 1.5 : 2.5) : Math.max(2, part.thickness * frame.scale * middle[3]))});
    });
    if (part.ball > 0) {
      const [x, y, depth, near] = points[0];
      items.push({depth: depth + 1e-9, paint: () => {
        context.beginPath();
        context.arc(x, y, Math.max(2.5, part.ball * frame.scale * near), 0, 7);
        context.fillStyle = context.strokeStyle = tint;
        context.globalAlpha = film.planar ? 0.35 : 0.7;
        context.fill();
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.stroke();
      }});
    }
  };

  const draw = () => {
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue('--' + name).trim();
    const ratio = window.devicePixelRatio || 1;
    width = box.clientWidth;
    height = box.clientHeight;
    canvas.width = Math.round(ratio * width);
    canvas.height = Math.round(ratio * height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const poses = film.parts.map((_, k) => poseOf(k));
    look(poses);
    film.planes.forEach((plane) => drawPlane(plane, colour));
    // Where the parts have been.
    film.parts.forEach((part, k) => {
      const passed = [];
      for (let i = 0; i < film.t.length && film.t[i] <= now; ++i) passed.push(project(place({p: film.poses[i][k].slice(0, 3), q: film.poses[i][k].slice(3)}, part.trace)));
      path(passed);
      context.strokeStyle = colour('c' + k % 8);
      context.globalAlpha = 0.3;
      context.lineWidth = 1;
      context.stroke();
      context.globalAlpha = 1;
    });
    const items = [];
    film.parts.forEach((part, k) => drawPart(part, poses[k], colour('c' + k % 8), colour, items));
    items.sort((a, b) => b.depth - a.depth).forEach((item) => item.paint());
    slider.value = Math.round(1000 * (now - first) / (last - first || 1));
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(last - first || 1))));
    let before = null;
    for (const event of film.events) if (event.t <= now) before = event; else break;
    told.textContent = 't = ' + now.toFixed(digits) + ' s' + (before ? ' · ' + before.what + ' at ' + before.t.toFixed(digits) + ' s' : '');
  };

  const step = (time) => {
    if (!playing) return;
    now += speed * Math.min(0.1, (time - stamp) / 1000);
    stamp = time;
    if (now >= last) { now = last; start(false); }
    draw();
    if (playing) requestAnimationFrame(step);
  };
  const start = (on) => {
    playing = on;
    play.textContent = on ? 'Pause' : 'Play';
    if (!on) return;
    if (now >= last) now = first;
    stamp = performance.now();
    requestAnimationFrame(step);
  };
  play.addEventListener('click', () => start(!playing));
  slider.addEventListener('input', () => { start(false); now = first + slider.value / 1000 * (last - first); draw(); });
  choice.addEventListener('change', () => { speed = Number(choice.value); });
  follow.addEventListener('change', () => { view.follow = follow.checked; draw(); });
  const rotate = (dx, dy) => {
    if (film.planar) return;
    view.azimuth -= dx;
    view.elevation = Math.min(1.5, Math.max(-0.2, view.elevation + dy));
    draw();
  };
  let grip = null;
  canvas.addEventListener('pointerdown', (e) => { grip = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointerup', () => { grip = null; });
  canvas.addEventListener('pointermove', (e) => {
    if (!grip) return;
    rotate(0.008 * (e.clientX - grip[0]), 0.008 * (e.clientY - grip[1]));
    grip = [e.clientX, e.clientY];
  });
  canvas.addEventListener('keydown', (e) => {
    const turns = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[e.key];
    if (e.key === ' ') start(!playing); else if (turns && !film.planar) rotate(...turns); else return;
    e.preventDefault();
  });
  new ResizeObserver(draw).observe(box);
  draw();
})();
