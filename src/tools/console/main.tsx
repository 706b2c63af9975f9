import { render } from 'preact';
import { App } from './app.tsx';
import { connection } from './page.ts';
import { Boundary } from './parts/notice.tsx';

/** The one-time code of `rdcp console` leaves the address, and with it the history, before anything else happens. */
function takeCode(): string | undefined {
  const code = /^#code=([\w-]{1,200})$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

const code = takeCode();
const root = document.getElementById('console');
const page = (
  <Boundary>
    <App />
  </Boundary>
);
if (root !== null) render(page, root);
document.addEventListener('visibilitychange', () => connection.setVisible(!document.hidden));
addEventListener('online', () => connection.wake());
connection.setVisible(!document.hidden);
void connection.begin(code);
