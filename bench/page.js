// Sorting and filtering; without it, the table is complete all the same.
const table = document.getElementById('table'), body = table.tBodies[0], rows = [...body.rows];
const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
[...table.tHead.rows[0].cells].forEach((th, i) => {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = th.textContent;
  th.replaceChildren(button);
  button.onclick = () => {
    // Numbers begin with the largest.
    const up = th.hasAttribute('aria-sort') ? th.getAttribute('aria-sort') !== 'ascending' : !th.classList.contains('n');
    [...th.parentNode.cells].forEach(c => c.removeAttribute('aria-sort'));
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const number = s => parseFloat(s) || 0; // – is 0
    rows.sort((a, b) => {
      const x = value(a, i), y = value(b, i);
      return (th.classList.contains('n') ? number(x) - number(y) : x.localeCompare(y, 'en', { numeric: true })) * (up ? 1 : -1);
    });
    body.append(...rows);
  };
});
const filter = document.getElementById('filter');
filter.oninput = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of rows) {
    const text = (row.textContent + (row.classList.contains('marked') ? ' !' : '')).toLowerCase();
    row.hidden = !words.every(w => text.includes(w));
    n += !row.hidden;
  }
  document.getElementById('shown').textContent = words.length ? n + ' of ' + rows.length : '';
};
document.querySelector('.filter').hidden = false;
