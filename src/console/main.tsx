import { render } from 'preact';
import { App } from './app.tsx';
import { baseUrlOf, Connection } from './state/connection.ts';

/** The one-time code of `rdcp console` leaves the address, and with it the history, before anything else happens. */
function takeCode(): string | undefined {
  const code = /^#code=([\w-]{1,200})$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

const code = takeCode();
const connection = new Connection({
  baseUrl: baseUrlOf(location.href),
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  random: () => Math.random(),
  after: (milliseconds, task) => {
    const timer = setTimeout(task, milliseconds);
    return () => clearTimeout(timer);
  },
});
const root = document.getElementById('console');
if (root !== null) render(<App connection={connection} />, root);
document.addEventListener('visibilitychange', () => connection.setVisible(!document.hidden));
addEventListener('online', () => connection.wake());
connection.setVisible(!document.hidden);
void connection.begin(code);
