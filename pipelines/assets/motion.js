// Shows a film in `root` and returns what loads another in its place.
window.startFilm = (root, start_film) => {
  'use strict';
  let film = start_film;
  const box = root.querySelector('.sight'), told = root.querySelector('.told'), controls = root.querySelector('.controls');
  box.querySelector('svg')?.remove();
  const canvas = document.createElement('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'Animation of the motion; space plays and pauses' + (film.planar ? '' : ', arrow keys turn') + ', plus and minus zoom');
  box.prepend(canvas);
  const context = canvas.getContext('2d');
  // The slider goes by these times: frames of a recording, samples of a simulation.
  let steps = film.frames ?? film.t, first = film.t[0], last = film.t[film.t.length - 1];
  const view = {azimuth: -0.7, elevation: 0.28, zoom: 1, follow: false, cameras: false};
  let now = first, playing = false, speed = 1, stamp = 0, width = 0, height = 0;

  // Controls.
  const add = (tag, options, parent = controls) => parent.appendChild(Object.assign(document.createElement(tag), options));
  const play = add('button', {type: 'button', textContent: 'Play'});
  const back = add('button', {type: 'button', className: 'step', textContent: '‹'}), ahead = add('button', {type: 'button', className: 'step', textContent: '›'});
  back.setAttribute('aria-label', 'One frame back');
  ahead.setAttribute('aria-label', 'One frame ahead');
  const slider = add('input', {type: 'range', min: 0, max: steps.length - 1, value: 0, className: 'time'});
  slider.setAttribute('aria-label', 'Frame');
  const label = add('label', {textContent: 'Speed '});
  const choice = add('select', {}, label);
  const speeds = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 20];
  for (const value of speeds) add('option', {value, textContent: value + '×'}, choice);
  // As fast as lets one see it: at least four seconds.
  const fitSpeed = () => {
    speed = speeds.filter((value) => value <= 1 && (last - first) / value >= 4).pop() ?? speeds[0];
    choice.value = String(speed);
  };
  fitSpeed();
  const follow = add('input', {type: 'checkbox'}, add('label', {textContent: 'Follow '}));
  const cameras = film.cameras?.length && !film.planar ? add('input', {type: 'checkbox'}, add('label', {textContent: 'Cameras '})) : null;
  cameras?.addEventListener('change', () => { view.cameras = cameras.checked; draw(); });

  // Frames: position and quaternion w x y z of every part.
  const lerp = (a, b, s) => a.map((x, i) => x + s * (b[i] - x));
  const poseOf = (part) => {
    let low = 0, high = film.t.length - 1;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (film.t[mid] <= now) low = mid; else high = mid;
    }
    const gap = film.t[high] - film.t[low], s = gap > 0 ? Math.min(1, Math.max(0, (now - film.t[low]) / gap)) : 0;
    let a = film.poses[low][part], b = film.poses[high][part];
    // A part may be away for a while.
    if (!a || !b) a = b = s < 1e-6 ? a : s > 1 - 1e-6 ? b : null;
    if (!a) return null;
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
    let low = film.low, high = film.high;
    if (view.cameras) {
      const all = [low, high, ...film.cameras.flatMap((camera) => [camera.eye, ...camera.corners])];
      low = low.map((_, i) => Math.min(...all.map((p) => p[i])));
      high = high.map((_, i) => Math.max(...all.map((p) => p[i])));
    }
    let middle = low.map((x, i) => (x + high[i]) / 2), span = low.map((x, i) => high[i] - x);
    if (view.follow && poses.length > 0) {
      middle = [0, 1, 2].map((i) => poses.reduce((sum, pose) => sum + pose.p[i], 0) / poses.length);
      const far = Math.max(...poses.map((pose) => Math.hypot(...pose.p.map((x, i) => x - middle[i]))));
      span = [1, 1, 1].map(() => 3 * (film.size + far));
    }
    const radius = Math.max(film.size, 0.5 * Math.hypot(...span));
    const scale = film.planar ? Math.min(width / (1.15 * span[0] + film.size), height / (1.15 * span[2] + film.size)) : 0.46 * Math.min(width, height) / radius;
    frame = {middle, radius, scale: view.zoom * scale, ca: Math.cos(view.azimuth), sa: Math.sin(view.azimuth), ce: Math.cos(view.elevation), se: Math.sin(view.elevation)};
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

  // The last of the steps that has begun.
  const stepAt = () => {
    let k = 0;
    while (k + 1 < steps.length && steps[k + 1] <= now + 1e-12) ++k;
    return k;
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
        if (away && !part.ghost) return;
        path(corners, true);
        if (part.ghost) {
          context.strokeStyle = tint;
          context.lineWidth = 1;
          context.globalAlpha = away ? 0.35 : 0.9;
          context.stroke();
          context.globalAlpha = 1;
          return;
        }
        context.fillStyle = context.strokeStyle = tint;
        context.globalAlpha = film.planar ? 0.35 : 0.25 + 0.6 * Math.min(1, Math.abs(area) / (part.largest * (frame.scale * corners[0][3]) ** 2));
        context.fill();
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.stroke();
      }});
    });
    part.lines.forEach((line) => {
      const thin = part.thickness === 0 || part.ghost, middle = points[line[0]];
      items.push({depth: line.reduce((sum, i) => sum + points[i][2], 0) / line.length, paint: stroke(line, thin ? (part.faces.length || part.ball ? 1.5 : 2.5) : Math.max(2, part.thickness * frame.scale * middle[3]))});
    });
    if (part.ball > 0) {
      const [x, y, depth, near] = points[0];
      items.push({depth: depth + 1e-9, paint: () => {
        context.beginPath();
        context.arc(x, y, Math.max(2.5, part.ball * frame.scale * near), 0, 7);
        context.fillStyle = context.strokeStyle = tint;
        context.globalAlpha = film.planar ? 0.35 : 0.7;
        if (!part.ghost) context.fill();
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.stroke();
      }});
    }
    for (const marker of part.markers ?? []) {
      const [x, y, depth] = project(place(pose, marker));
      items.push({depth: depth - 1e-6, paint: () => {
        context.beginPath();
        context.arc(x, y, 2.5, 0, 7);
        context.fillStyle = tint;
        context.fill();
      }});
    }
  };

  const line = (points, tint, w, dash = []) => {
    path(points.map(project));
    context.strokeStyle = tint;
    context.lineWidth = w;
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
  };
  // An arrow of W, at least long enough for its head.
  const arrow = (from, along, tint, dash) => {
    const to = from.map((x, i) => x + along[i]);
    line([from, to], tint, 2.2, dash);
    const [a, b] = [project(from), project(to)], angle = Math.atan2(b[1] - a[1], b[0] - a[0]), head = Math.min(9, Math.hypot(b[0] - a[0], b[1] - a[1]));
    path([-0.45, 0, 0.45].map((turned) => (turned === 0 ? b : [b[0] - head * Math.cos(angle + turned), b[1] - head * Math.sin(angle + turned)])), true);
    context.fillStyle = tint;
    context.fill();
  };
  const scaled = (v, length) => {
    const size = Math.hypot(...v);
    return size > 0 ? v.map((x) => x * length / size) : null;
  };
  const drawCameras = (colour) => {
    for (const {name, eye, corners} of film.cameras) {
      line([...corners, corners[0]], colour('ink'), 1.2);
      for (const corner of corners) line([eye, corner], colour('soft'), 1);
      const [x, y] = project(eye);
      context.fillStyle = colour('ink');
      context.font = '12px system-ui, sans-serif';
      context.fillText(name, x + 6, y - 6);
    }
  };
  // Arcs, the path of the point that struck, and at an impact its impulse and slip.
  const drawImpacts = (colour) => {
    for (const {poses, strike} of film.arcs ?? []) {
      line(poses.map((pose) => pose.slice(0, 3)), colour('c1'), 1.5);
      if (!strike) continue;
      // The point of the body that struck, carried along the arc.
      const [x, y, z, qw, qx, qy, qz] = poses[strike.pose], p_B = turn([qw, -qx, -qy, -qz], [strike.point[0] - x, strike.point[1] - y, strike.point[2] - z]);
      line(poses.map((pose) => place({p: pose.slice(0, 3), q: pose.slice(3)}, p_B)), colour('c2'), 1.2, [3, 2]);
    }
    const largest = Math.max(...film.events.map((event) => Math.hypot(...(event.impulse ?? [0])))), fastest = Math.max(...film.events.flatMap((event) => event.slip ?? [[0]]).map((v) => Math.hypot(...v)));
    film.events.forEach((event, k) => {
      if (!event.point) return;
      const [x, y] = project(event.point), near = k + 1 < film.events.length ? film.events[k + 1].t : Infinity;
      context.beginPath();
      context.arc(x, y, 3.5, 0, 7);
      context.fillStyle = colour('c3');
      context.fill();
      if (now < event.t - 1e-9 || now >= near) return;
      event.slip.forEach((v, after) => {
        const along = scaled(v, fastest > 0 ? 1.6 * film.size * Math.hypot(...v) / fastest : 0);
        if (along) arrow(event.point, along, colour('c2'), after ? [] : [4, 3]);
      });
      const along = scaled(event.impulse, 2 * film.size * Math.hypot(...event.impulse) / largest);
      if (along) arrow(event.point, along, colour('c3'), []);
    });
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
    look(poses.filter(Boolean));
    film.planes.forEach((plane) => drawPlane(plane, colour));
    // Where the parts have been.
    film.parts.forEach((part, k) => {
      const passed = [];
      for (let i = 0; i < film.t.length && film.t[i] <= now; ++i) if (film.poses[i][k]) passed.push(project(place({p: film.poses[i][k].slice(0, 3), q: film.poses[i][k].slice(3)}, part.trace)));
      path(passed);
      context.strokeStyle = colour('c' + k % 8);
      context.globalAlpha = 0.3;
      context.lineWidth = 1;
      context.stroke();
      context.globalAlpha = 1;
    });
    const items = [];
    film.parts.forEach((part, k) => poses[k] && drawPart(part, poses[k], colour('c' + k % 8), colour, items));
    items.sort((a, b) => b.depth - a.depth).forEach((item) => item.paint());
    if (view.cameras) drawCameras(colour);
    drawImpacts(colour);
    slider.value = String(stepAt());
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(last - first || 1))));
    let before = null;
    for (const event of film.events) if (event.t <= now + 1e-9) before = event; else break;
    told.textContent = 't = ' + now.toFixed(digits) + ' s' + (before ? ' · ' + before.what + ' at ' + before.t.toFixed(digits) + ' s' : '') +
      (before?.impulse ? ` · impulse ${Math.hypot(...before.impulse).toPrecision(3)} ${film.unit}, slip ${before.slip.map((v) => Math.hypot(...v).toFixed(2)).join(' to ')} m/s` : '');
    slider.setAttribute('aria-valuetext', told.textContent);
    film.moment?.(now);
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
  const goTo = (k) => { start(false); now = steps[Math.min(steps.length - 1, Math.max(0, k))]; draw(); };
  slider.addEventListener('input', () => goTo(Number(slider.value)));
  back.addEventListener('click', () => goTo(stepAt() - 1));
  ahead.addEventListener('click', () => goTo(stepAt() + 1));
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
    const closer = {'+': 1.25, '=': 1.25, '-': 0.8}[e.key];
    if (e.key === ' ') start(!playing);
    else if (closer) { view.zoom = Math.min(50, Math.max(0.2, view.zoom * closer)); draw(); }
    else if (turns && !film.planar) rotate(...turns);
    else return;
    e.preventDefault();
  });
  new ResizeObserver(draw).observe(box);
  document.addEventListener('themechange', draw);
  const load = (next) => {
    start(false);
    film = next;
    steps = film.frames ?? film.t;
    first = now = film.t[0];
    last = film.t[film.t.length - 1];
    slider.max = String(steps.length - 1);
    fitSpeed();
    draw();
  };
  draw();
  return {load};
};
(() => {
  const source = document.getElementById('motion-data'), root = document.getElementById('motion-view');
  if (root && source) startFilm(root, JSON.parse(source.textContent));
})();
