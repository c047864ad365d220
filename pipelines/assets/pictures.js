// What the cameras of a recording saw, in step with its replay: cuts of frames, with the markers drawn on them.
window.startPictures = (root) => {
  'use strict';
  let views = [], now = 0;
  const kNear = 1e-4;  // of the step between frames: times are rounded
  // Of the dark colours: the pictures are gray in either light.
  const kFound = '#5aaee6', kFitted = '#f0884a';
  const stroke = (context, colour, width, path) => {
    context.beginPath();
    path(context);
    // A dark rim keeps it legible on any ground.
    for (const [style, w] of [['rgba(0, 0, 0, .55)', width + 2], [colour, width]]) {
      context.strokeStyle = style;
      context.lineWidth = w;
      context.stroke();
    }
  };
  const nearest = (frames) => frames.reduce((best, frame, k) => (Math.abs(frame[1] - now) < Math.abs(frames[best][1] - now) ? k : best), 0);
  const tell = (view, k) => {
    const {one, canvas, caption} = view, [index, t, marks] = one.frames[k], fitted = marks.filter((mark) => mark.length > 3);
    const step = one.frames.length > 1 ? Math.abs(one.frames[one.frames.length - 1][1] - one.frames[0][1]) / (one.frames.length - 1) : 0;
    const off = t - now, away = Math.abs(off) > (0.5 + kNear) * step ? `; the nearest that was kept, ${Number((1e3 * Math.abs(off)).toPrecision(2))} ms ${off < 0 ? 'before' : 'after'} the moment shown` : '';
    const far = Math.max(...fitted.map((mark) => mark[5]));
    const marked = fitted.length ? `; rings where the fit says the markers were, within ${Number(far.toPrecision(2))} px` : marks.length ? '; in no fit' : '; no marker found';
    caption.textContent = `${one.camera}: frame ${index}, t = ${t.toFixed(4)} s${marked}${away}`;
    const drawn = fitted.length ? `${fitted.length} of ${marks.length} markers with a ring where the fit says they were, at most ${Number(far.toPrecision(2))} pixels of the video from where they were found`
      : marks.length ? `${marks.length} markers where they were found; this frame is in no fit` : 'no marker was found';
    canvas.setAttribute('aria-label', `What camera ${one.camera} saw in frame ${index} at ${t.toFixed(4)} s: ${drawn}`);
  };
  const draw = (view) => {
    const {one, canvas, image} = view, [wide, high] = one.tile, k = nearest(one.frames), ratio = window.devicePixelRatio || 1;
    tell(view, k);
    const width = canvas.clientWidth || wide, scale = width / wide;
    canvas.width = Math.round(ratio * width);
    canvas.height = Math.round(ratio * scale * high);
    if (!image.complete || image.naturalWidth === 0) return;
    const context = canvas.getContext('2d');
    context.setTransform(ratio * scale, 0, 0, ratio * scale, 0, 0);
    context.drawImage(image, (k % one.columns) * wide, Math.floor(k / one.columns) * high, wide, high, 0, 0, wide, high);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const [, x, y, u, v] of one.frames[k][2]) {
      const [a, b, arm] = [scale * x, scale * y, 4];
      stroke(context, kFound, 1.5, (c) => { c.moveTo(a - arm, b); c.lineTo(a + arm, b); c.moveTo(a, b - arm); c.lineTo(a, b + arm); });
      if (u !== undefined) stroke(context, kFitted, 1.8, (c) => c.arc(scale * u, scale * v, 8, 0, 7));
    }
  };
  const load = (pictures) => {
    views = pictures.map((one) => {
      const figure = document.createElement('figure'), canvas = document.createElement('canvas'), caption = document.createElement('figcaption');
      canvas.setAttribute('role', 'img');
      canvas.style.aspectRatio = one.tile.join(' / ');
      figure.append(canvas, caption);
      const view = {one, canvas, caption, figure, image: new Image()};
      view.image.onload = () => draw(view);
      view.image.src = 'data:image/jpeg;base64,' + one.jpeg;
      return view;
    });
    root.replaceChildren(...views.map((view) => view.figure));
    root.hidden = views.length === 0;
  };
  const drawAll = () => views.forEach(draw);
  new ResizeObserver(drawAll).observe(root);
  return {load, moment: (t) => { now = t; drawAll(); }};
};
