(() => {
  'use strict';
  const root = document.getElementById('motion-view'), data = (id) => JSON.parse(document.getElementById(id)?.textContent ?? 'null');
  const scene = data('replay-data');
  if (!root || !scene) return;
  const shown = recordings.map((_, i) => i).filter((i) => recordings[i].drawn);
  if (shown.length === 0) {
    root.replaceChildren('There are no poses to show.');
    return;
  }
  const half = (theta) => [Math.cos(theta / 2), 0, -Math.sin(theta / 2), 0];  // theta counts about -W_y
  // Poses of packed channels, each position and quaternion; null where the recording has a gap.
  const posesOf = (channels, planar) => {
    const c = channels.map(unpackNumbers);
    return c[0].map((_, i) => (c.some((values) => values[i] === null) ? null : planar ? [c[0][i], 0, c[1][i], ...half(c[2][i])] : c.map((values) => values[i])));
  };
  const between = (a, b, s) => {
    if (!a || !b) return s < 1e-9 ? a : s > 1 - 1e-9 ? b : null;
    const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
    return a.map((x, i) => x + s * ((i < 3 ? 1 : sign) * b[i] - x));
  };
  const at = (t, times, poses) => {
    if (t < times[0] - 1e-9 || t > times[times.length - 1] + 1e-9) return null;
    let k = 0;
    while (k + 2 < times.length && times[k + 1] <= t) ++k;
    const gap = times[k + 1] - times[k];
    return between(poses[k], poses[k + 1], gap > 0 ? Math.min(1, Math.max(0, (t - times[k]) / gap)) : 0);
  };

  const pictures = startPictures(root.querySelector('.seen'));
  const filmOf = (recording) => {
    const frames = unpackNumbers(recording.t), measured = posesOf(recording.channels, recording.planar);
    const arcs = recording.arcs.map((arc) => {
      const t = unpackNumbers(arc.t), poses = posesOf(arc.channels, recording.planar), order = t.map((_, i) => i).sort((a, b) => t[a] - t[b]);
      return {t: order.map((i) => t[i]), poses: order.map((i) => poses[i])};
    });
    const t = [...new Set([...frames, ...arcs.flatMap((arc) => arc.t)])].sort((a, b) => a - b);
    const poses = t.map((time) => {
      const arc = arcs.find((one) => time >= one.t[0] && time <= one.t[one.t.length - 1]);
      return [at(time, frames, measured), arc ? at(time, arc.t, arc.poses) : null];
    });
    const low = [Infinity, Infinity, Infinity], high = low.map((x) => -x);
    for (const pose of poses.flat())
      for (let i = 0; pose && i < 3; ++i) {
        low[i] = Math.min(low[i], pose[i] - scene.size);
        high[i] = Math.max(high[i], pose[i] + scene.size);
      }
    const events = recording.impacts.filter((impact) => impact.t !== null).map((impact) => ({
      t: impact.t, what: `impact ${impact.impact} (${impact.state})`, point: impact.point, impulse: impact.impulse, slip: impact.slip,
    }));
    // Which end of an arc is at an impact, as far as packed times tell.
    const struck = (arc) => {
      const last = arc.t.length - 1, near = 1e-3 * (arc.t[last] - arc.t[0]);
      for (const event of events)
        for (const pose of [0, last]) if (event.point && Math.abs(arc.t[pose] - event.t) < near) return {poses: arc.poses, strike: {point: event.point, pose}};
      return {poses: arc.poses};
    };
    return {planar: recording.planar, size: scene.size, low, high, t, frames, poses, events, planes: scene.planes, cameras: scene.cameras,
            moment: pictures.moment, arcs: arcs.map(struck).filter((arc) => arc.poses.every(Boolean)), unit: scene.mass_known ? 'N s' : 'N s for each kilogram',
            parts: [{...scene.part, name: 'measured', ghost: true}, {...scene.part, name: 'fitted', markers: scene.markers}]};
  };

  const label = document.createElement('label'), choice = document.createElement('select');
  label.append('Recording ', choice);
  choice.className = 'recording';
  for (const i of shown) choice.append(new Option(recordings[i].name, String(i)));
  const first = shown.find((i) => recordings[i].impacts.some((impact) => impact.accepted)) ?? shown[0];
  choice.value = String(first);
  let view = null;
  const show = (i) => withPart(recordings[i], () => {
    if (choice.value !== String(i)) return;  // another one was asked for meanwhile
    pictures.load(recordings[i].pictures ?? []);
    if (view) return view.load(filmOf(recordings[i]));
    view = startFilm(root, filmOf(recordings[i]));
    root.querySelector('.controls').prepend(label);
  }, (why) => view || root.replaceChildren(why));
  show(first);
  choice.addEventListener('change', () => show(Number(choice.value)));
  // Follows what is looked at in the plots below.
  document.addEventListener('recordingchange', (event) => {
    if (!shown.includes(event.detail) || choice.value === String(event.detail)) return;
    choice.value = String(event.detail);
    show(event.detail);
  });
})();
