// @ts-nocheck: this script runs in a browser.
/*
 * The script of every page. It updates ages and the server's clock, follows changes, and reports failed updates. After a change, it fetches
 * the whole page again and replaces only the regions that differ. The page is readable without the script.
 */
const body = document.body;
let skew = Date.parse(body.dataset.now) - Date.now();
/** The time of the last contact with the server, while the server cannot be reached. */
let lostAt;
function durationText(seconds) {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  const days = Math.round(seconds / 86400);
  return days + (days === 1 ? ' day' : ' days');
}
/** Converts a local time to the server's clock and formats it. */
function timeOf(at) {
  return `${new Date(at + skew).toISOString().slice(11, 19)} UTC`;
}
function tick() {
  const now = Date.now() + skew;
  for (const time of document.querySelectorAll('time[data-age]')) {
    const seconds = Math.round((now - Date.parse(time.dateTime)) / 1000);
    const past = time.dataset.age === 'planned' ? 'due' : `${durationText(seconds)} ago`;
    const text = seconds >= 0 ? past : `in ${durationText(-seconds)}`;
    const age = time.querySelector('.age');
    if (age.textContent !== text) age.textContent = text;
  }
  const clock = document.querySelector('#clock');
  const at = lostAt ?? Date.now();
  clock.dateTime = new Date(at + skew).toISOString();
  clock.textContent = timeOf(at);
}
document.documentElement.classList.add('scripted');
tick();
setInterval(tick, 1000);

const banner = document.querySelector('#connection');
let source;
/** The time of the last event from the server. */
let lastEventAt;
let followTimer;
let refreshTimer;
let failures = 0;
let isLoading = false;
/** True if a change arrived while the page was loading. */
let isDue = false;
function showLost(text, at = Date.now()) {
  lostAt ??= at;
  body.classList.add('lost');
  tick();
  banner.textContent = text;
  banner.hidden = false;
}
function showDisconnected(reason, at = Date.now()) {
  showLost(`No live updates since ${timeOf(lostAt ?? at)}: ${reason}. This page may be out of date.`, at);
}
function keyOf(details) {
  return `${details.closest('[data-live]')?.id ?? ''} ${details.querySelector('summary')?.textContent}`;
}
function replace(old, fresh) {
  const known = new Set([...old.querySelectorAll('details')].map(keyOf));
  const open = new Set([...old.querySelectorAll('details[open]')].map(keyOf));
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const href = focused?.getAttribute('href');
  old.replaceWith(fresh);
  for (const details of fresh.querySelectorAll('details'))
    if (known.has(keyOf(details))) details.open = open.has(keyOf(details));
  if (focused === null) return;
  const same = [...fresh.querySelectorAll('a, button, summary')].find((each) =>
    href === null ? each.textContent === focused.textContent : each.getAttribute('href') === href,
  );
  (same ?? document.querySelector('main')).focus({ preventScroll: true });
}
function enable(isPossible) {
  for (const button of document.querySelectorAll('.confirm button')) button.disabled = !isPossible;
}
function showConnected() {
  body.classList.remove('lost');
  banner.hidden = true;
  lostAt = undefined;
  failures = 0;
}
async function refresh() {
  clearTimeout(refreshTimer);
  if (isLoading) {
    isDue = true;
    return;
  }
  isLoading = true;
  try {
    const response = await fetch(location.href, {
      headers: { accept: 'text/html' },
      signal: AbortSignal.timeout(30000),
    });
    // For example, the overview redirects once there is only one workspace.
    if (response.redirected) return location.replace(response.url);
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (response.status === 401 || response.status === 404) stop();
    if (response.status === 401) return showLost('You are signed out. Reload the page to sign in.');
    const reason = page.querySelector('main > p')?.textContent;
    const isRefused = [403, 404, 409].includes(response.status) && Boolean(reason);
    enable(!isRefused);
    if (isRefused) return showLost(`${reason} The contents of this page are out of date.`);
    if (!response.ok) throw new Error(String(response.status));
    for (const old of document.querySelectorAll('[data-live]')) {
      const fresh = page.getElementById(old.id);
      if (fresh !== null && serverHtml(fresh) !== serverHtml(old)) replace(old, fresh);
    }
    body.dataset.version = page.body.dataset.version;
    skew = Date.parse(page.body.dataset.now) - Date.now();
    if (source?.readyState === EventSource.OPEN) showConnected();
    tick();
  } catch {
    showDisconnected('the server does not respond');
    if (source !== undefined)
      refreshTimer = setTimeout(refresh, Math.min(60000, 1000 * 2 ** failures++) * (0.5 + Math.random() / 2));
  } finally {
    isLoading = false;
    if (isDue) {
      isDue = false;
      refresh();
    }
  }
}
/** Returns the HTML of a region as the server sent it, without ages and with all details folded, for comparisons. */
function serverHtml(region) {
  const copy = region.cloneNode(true);
  for (const age of copy.querySelectorAll('.age')) age.textContent = '';
  for (const details of copy.querySelectorAll('details')) details.open = false;
  return copy.innerHTML;
}
function follow() {
  clearTimeout(followTimer);
  source = new EventSource(body.dataset.events);
  lastEventAt = Date.now();
  source.addEventListener('version', (event) => {
    lastEventAt = Date.now();
    if (event.data === body.dataset.version) showConnected();
    else refresh();
  });
  source.addEventListener('ping', () => {
    lastEventAt = Date.now();
  });
  source.addEventListener('error', () => {
    showDisconnected('the connection was lost');
    if (source.readyState === EventSource.CLOSED) followTimer = setTimeout(follow, 10000);
  });
}
function stop() {
  source?.close();
  source = undefined;
  clearTimeout(followTimer);
  clearTimeout(refreshTimer);
}
if (body.dataset.events !== undefined) {
  follow();
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : (source ?? follow())));
  // The person may have signed out in another tab.
  addEventListener('focus', refresh);
  addEventListener('pagehide', stop);
  addEventListener('pageshow', (event) => {
    if (event.persisted) follow();
  });
  setInterval(() => {
    if (source === undefined || Date.now() - lastEventAt < 45000) return;
    stop();
    showDisconnected('no data from the server', lastEventAt);
    follow();
  }, 5000);
}
