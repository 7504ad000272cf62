/**
 * Script for the reader's browser, once Vega is loaded: each chart's picture is replaced by a live one with tooltips, as
 * narrow as the page, and tables sort. Without scripts the pictures stay.
 */
export const CLIENT = `
document.documentElement.classList.add('scripted');
const tip = document.getElementById('tip');
function showTip(handler, event, item, value) {
  const text = value == null || value === '' ? '' : typeof value === 'object' ? Object.values(value).join(', ') : String(value);
  tip.style.display = text ? 'block' : 'none';
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = event.clientY + 16 + 'px';
}
for (const figure of document.querySelectorAll('figure[data-chart]')) {
  const spec = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
  const place = figure.querySelector('.interactive');
  const picture = figure.querySelector('.picture');
  const spare = picture.parentNode.clientWidth - parseFloat(picture.style.getPropertyValue('--natural'));
  const view = new vega.View(vega.parse(spec), { renderer: 'svg', container: place, hover: true, tooltip: showTip });
  const isNarrowed = spare < 0 && spec.usermeta.fluid;
  if (isNarrowed) view.width(Math.max(200, view.width() + spare));
  view.runAsync().then(() => {
    figure.classList.add('live');
    if (isNarrowed) picture.style.setProperty('--natural', place.querySelector('svg').getAttribute('width') + 'px');
  }, () => place.remove());
}
for (const heading of document.querySelectorAll('.sortable th')) {
  heading.tabIndex = 0;
  heading.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    heading.click();
  });
  heading.addEventListener('click', () => {
    const body = heading.closest('table').tBodies[0];
    const column = heading.cellIndex;
    const down = heading.getAttribute('aria-sort') === 'ascending';
    for (const other of heading.parentNode.children) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
    const compare = (a, b) => (isNaN(a) || isNaN(b) ? String(a).localeCompare(String(b)) : a - b);
    const rows = [...body.rows].sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1));
    body.append(...rows);
  });
}
`;
