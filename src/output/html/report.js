// @ts-nocheck: this script runs in a browser.
/*
 * The script of a report. It searches and filters items, opens and closes them, and opens everything for printing. `data-item` contains
 * the group of an item, and `data-filter` the group of a checkbox. The report is readable without the script.
 */
const all = (selector) => [...document.querySelectorAll(selector)];
const search = document.querySelector('#search');
const items = all('[data-item]');
const texts = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));
const count = document.querySelector('#count');
function update() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = new Set(
    all('[data-filter]')
      .filter((box) => box.checked)
      .map((box) => box.dataset.filter),
  );
  let shown = 0;
  for (const item of items) {
    const fits =
      (wanted.size === 0 || wanted.has(item.dataset.item)) && words.every((word) => texts.get(item).includes(word));
    item.hidden = !fits;
    if (fits) shown++;
  }
  const isAll = words.length === 0 && wanted.size === 0;
  for (const group of all('[data-group]')) {
    group.hidden = group.querySelector('[data-item]:not([hidden])') === null;
    if (!isAll && !group.hidden && group.tagName === 'DETAILS') group.open = true;
  }
  count.textContent = isAll ? '' : `${shown} of ${items.length} shown`;
}
if (search !== null) {
  for (const input of [search, ...all('[data-filter]')]) input.addEventListener('input', update);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && event.target !== search) {
      event.preventDefault();
      search.focus();
    }
    if (event.key === 'Escape' && event.target === search) {
      search.value = '';
      update();
    }
  });
  for (const tool of all('[data-open]')) {
    tool.addEventListener('click', () => {
      for (const each of all('details[data-item], details[data-group], tr[data-item] details')) {
        if (each.closest('[hidden]') === null) each.open = tool.dataset.open === 'yes';
      }
    });
  }
  for (const tools of all('.tools')) tools.hidden = false;
  update();
}
/** Opens the element that a link refers to, because older browsers do not open a closed `details` element. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  for (let each = target; each; each = each.parentElement) if (each.tagName === 'DETAILS') each.open = true;
  if (target !== null) target.scrollIntoView();
}
addEventListener('hashchange', openTarget);
if (location.hash !== '') openTarget();
let closed = [];
addEventListener('beforeprint', () => {
  closed = all('details:not([open])');
  for (const each of closed) each.open = true;
});
addEventListener('afterprint', () => {
  for (const each of closed) each.open = false;
});
