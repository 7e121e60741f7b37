// Walks: without this script, the page shows the images of all steps.
for (const walk of document.querySelectorAll('.walk')) {
  const data = JSON.parse(walk.querySelector('script').textContent);
  const sprites = [...walk.querySelectorAll('.sprite')];
  const part = Object.fromEntries([...walk.querySelectorAll('[data-part]')].map(e => [e.dataset.part, e]));
  const pen = part.image.getContext('2d');
  const { width, height } = part.image;
  const text = v => String(Number(v.toPrecision(4))).replace('-', '−');
  let timer = 0;

  // The chart of φ: 50 to 310 across, 120 up to 10.
  const across = step => 50 + 260 * (data.steps ? step / data.steps : 0);
  const show = () => {
    const item = data.items[part.item.value], step = Number(part.step.value);
    const lo = Math.min(...item.phi), hi = Math.max(...item.phi);
    const up = phi => hi > lo ? 120 - 110 * ((phi - lo) / (hi - lo)) : 65;
    const unit = 10 ** (Math.floor(Math.log10(Math.max(Math.abs(lo), Math.abs(hi)) || 1)) - 3);
    const label = phi => text(Math.round(phi / unit) * unit); // as short beside the axis if it is near 0
    const phi = item.phi[step];

    const sprite = sprites[part.item.value];
    sprite.decode().then(() => {
      if (sprite !== sprites[part.item.value] || step !== Number(part.step.value)) return; // another one by now
      const at = Math.min(step, sprite.naturalWidth / width - 1); // a single image may serve all steps
      pen.drawImage(sprite, at * width, 0, width, height, 0, 0, width, height);
    });
    part.image.setAttribute('aria-label', item.name + ' at step ' + step);
    part.said.textContent = item.said;
    part.read.textContent = item.read ? 'predicted at this step: ' + item.read[step] : '';
    part.at.textContent = 'step ' + step + ' of ' + data.steps;
    part.step.setAttribute('aria-valuetext', part.at.textContent + ', φ ' + text(phi));
    part.phi.textContent = text(phi);
    part.line.setAttribute('points', item.phi.map((v, i) => across(i) + ',' + up(v)).join(' '));
    for (const end of ['x1', 'x2']) part.mark.setAttribute(end, across(step));
    part.dot.setAttribute('cx', across(step));
    part.dot.setAttribute('cy', up(phi));
    part.most.textContent = label(hi);
    part.least.textContent = hi > lo ? label(lo) : '';

    [...part.bars.tBodies[0].rows].forEach((row, i) => {
      row.hidden = i >= item.top.length;
      if (row.hidden) return;
      const r = item.r[step][i];
      row.cells[0].textContent = item.top[i];
      row.cells[1].firstChild.style.width = r < 0.0005 ? 0 : 'max(1px, ' + 100 * r + '%)'; // 0.000 has no bar
      row.cells[2].textContent = r.toFixed(3);
    });
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    part.play.textContent = 'Play';
  };
  part.item.oninput = part.step.oninput = () => { stop(); show(); };
  part.play.onclick = () => {
    if (timer) return stop();
    if (Number(part.step.value) === data.steps) part.step.value = 0;
    part.play.textContent = 'Stop';
    timer = setInterval(() => {
      part.step.value = Number(part.step.value) + 1;
      show();
      if (Number(part.step.value) === data.steps) stop();
    }, 200);
  };
  walk.querySelector('.walk-live').hidden = false;
  show();
}
