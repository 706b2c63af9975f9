// `npm run record` writes docs/pictures/terminal.svg: an operator's terminal and a service's log, as they are in a real run of the
// shop with two tenants. Nothing is retyped; only pauses are shorter. It needs tmux.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTerminal } from '../../test/cli/tmux.ts';
import { freePort } from '../../test/support/free-port.ts';
import { runsOf } from './ansi.ts';
import { animation, type Frame, type Pane } from './svg.ts';

const ROOT = join(import.meta.dirname, '../..');
const OPERATOR: Pane = { title: 'operator', rows: 12 };
const SHOP: Pane = { title: "the shop's own log (stderr)", rows: 8 };
/** Of both terminals: what is longer goes to the next row, so that nothing is cut. */
const COLUMNS = 80;

/** A command, what shows that it has done its work, and for how long its output is to be read. */
export const SCENES = [
  { command: 'rdcp tail ORDERS -m user.id=42 --lines 3', done: /3 lines from/, readMs: 5000 },
  { command: 'rdcp list --on', done: /CATEGORY/, readMs: 2000 },
  { command: "rdcp enable ORDERS -m user.id=42 --for 8s --reason 'order 17'", done: /until \d/, readMs: 2000 },
  { command: 'rdcp audit --limit 3', done: /expire/, readMs: 5000 },
] as const;

/** The lines of the log after which the next command is typed. */
const OVER = /ORDERS off again/;

/** Longest time without a change that the picture keeps. */
const PAUSE_MS = 600;
const LOOK_MS = 40;

export async function record(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-record-'));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join(ROOT, 'dist/cli/main.js'), join(folder, 'bin/rdcp'));
  const tenants = { acme: { name: 'Acme Ltd' }, globex: { name: 'Globex Corp' } };
  writeFileSync(join(folder, 'rdcp.json'), JSON.stringify({ tenancy: { isolation: 'organization', tenants } }));
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    RDCP_URL: `http://127.0.0.1:${await freePort()}`,
    TZ: 'UTC',
  };
  const shop = openTerminal(
    {
      ...env,
      RDCP_CONFIG: 'rdcp.json',
      RDCP_PORT: new URL(env.RDCP_URL).port,
      SHOP_PORT: '0',
      SHOP_TENANTS: Object.keys(tenants).join(),
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_PROMETHEUS_PORT: '0',
    },
    folder,
    { prompt: '', columns: COLUMNS, rows: SHOP.rows + 1 },
  );
  const operator = openTerminal(env, folder, { prompt: '$ ', columns: COLUMNS, rows: OPERATOR.rows });
  const film = filmOf(() => [runsOf(operator.screen()), runsOf(shop.screen())]);
  try {
    const node = [process.execPath, '--import', join(ROOT, 'dist/register.js'), join(ROOT, 'examples/shop/main.ts')];
    shop.type(`clear; ${node.map((word) => `'${word}'`).join(' ')} > guide`);
    await shop.until(/rdcp: /);
    await operator.until(/\$ /);
    film.roll();
    for (const { command, done, readMs } of SCENES) {
      await operator.clear();
      for (const [letters] of command.matchAll(/..?/g)) {
        operator.keys(letters);
        await sleep(90);
      }
      operator.press('Enter');
      await operator.until(done);
      if (command.includes('enable')) await shop.until(OVER);
      await sleep(300);
      film.hold(readMs);
    }
    writeFileSync(file, animation(LABEL, [OPERATOR, SHOP], await film.cut()));
  } finally {
    operator.close();
    shop.press('C-c');
    shop.close();
    rmSync(folder, { recursive: true });
  }
}

const LABEL =
  'A recorded terminal: rdcp shows the lines of one user of a running shop, whose order is refused, with the trace; nothing is ' +
  'on for that. Then it switches the category on for this user for eight seconds, after which it is off by itself, and shows ' +
  'the audit trail.';

/** Looks again and again, and keeps what has changed. */
function filmOf(look: () => Frame['screens']) {
  const frames: { screens: Frame['screens']; at: number; holdMs: number }[] = [];
  const stop = new AbortController();
  let rolling: Promise<void> | undefined;
  const roll = async () => {
    for (; !stop.signal.aborted; await sleep(LOOK_MS)) {
      const screens = look();
      if (JSON.stringify(frames.at(-1)?.screens) !== JSON.stringify(screens)) {
        frames.push({ screens, at: performance.now(), holdMs: 0 });
      }
    }
  };
  return {
    roll: () => {
      rolling = roll();
    },
    /** What is shown now stays that much longer. */
    hold: (ms: number) => {
      const last = frames.at(-1);
      if (last) last.holdMs += ms;
    },
    cut: async (): Promise<Frame[]> => {
      stop.abort();
      await rolling;
      return frames.map(({ screens, at, holdMs }, index) => {
        const untilNext = (frames[index + 1]?.at ?? at) - at;
        return { screens, shownMs: Math.round(Math.min(untilNext, PAUSE_MS) + holdMs) };
      });
    },
  };
}

if (import.meta.main) await record(process.argv[2] ?? join(import.meta.dirname, 'terminal.svg'));
