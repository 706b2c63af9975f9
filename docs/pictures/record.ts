// `npm run record` writes docs/pictures/terminal.svg: an operator's terminal and a service's log, as they are in a real run of the
// shop with two tenants. Nothing is retyped; only pauses are shorter. Beside it, terminal-80.txt and terminal-120.txt have the
// screens of more commands, as they are in a terminal of that width. It needs tmux.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTerminal, type TerminalWindow } from '../../test/cli/tmux.ts';
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

/** What the screens of a width show. */
export const READ = [
  'rdcp',
  'rdcp list',
  'rdcp failures --limit 3',
  "rdcp enable ORDERS -m user.id=42 --for 5m --reason 'order 17'",
  'rdcp list --on',
  'rdcp audit --limit 3',
  'rdcp health',
  'rdcp enable ORDERS --for 3w',
] as const;
export const WIDTHS = [80, 120] as const;

export async function record(file: string): Promise<void> {
  await withShop({ columns: COLUMNS, rows: OPERATOR.rows }, async (operator, shop) => {
    const film = filmOf(() => [runsOf(operator.screen()), runsOf(shop.screen())]);
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
  });
}

/** @returns the screens of all commands in a terminal of this width */
export async function screensAt(columns: number): Promise<string> {
  const screens: string[] = [];
  await withShop({ columns, rows: 50, env: { RDCP_RECORD: '*' } }, async (operator) => {
    operator.type('until rdcp failures -o json | grep -q \'"lines"\'; do sleep 1; done; echo something failed');
    await operator.until(/^something failed$/m);
    for (const command of READ) {
      await operator.clear();
      operator.type(`${command}; echo "[$?]"`);
      await operator.until(/^\[\d+\]$/m);
      const rows = runsOf(operator.screen()).map((runs) =>
        runs.reduce((row, { column, text }) => row.padEnd(column) + text, ''),
      );
      const end = rows.findLastIndex((row) => /^\[\d+\]$/.test(row));
      screens.push([`$ ${command}`, ...rows.slice(1, end), ''].join('\n'));
    }
  });
  return screens.join('\n');
}

interface Window {
  readonly columns: number;
  readonly rows: number;
  /** Further variables of the shop. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the shop in one terminal, and hands over another one for the operator. */
async function withShop(
  { columns, rows, env: more = {} }: Window,
  use: (operator: TerminalWindow, shop: TerminalWindow) => Promise<void>,
): Promise<void> {
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
      ...more,
      RDCP_CONFIG: 'rdcp.json',
      RDCP_PORT: new URL(env.RDCP_URL).port,
      SHOP_PORT: '0',
      SHOP_TENANTS: Object.keys(tenants).join(),
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_PROMETHEUS_PORT: '0',
    },
    folder,
    { prompt: '', columns, rows: SHOP.rows + 1 },
  );
  const operator = openTerminal(env, folder, { prompt: '$ ', columns, rows });
  try {
    const node = [process.execPath, '--import', join(ROOT, 'dist/register.js'), join(ROOT, 'examples/shop/main.ts')];
    shop.type(`clear; ${node.map((word) => `'${word}'`).join(' ')} > guide`);
    await shop.until(/rdcp: /);
    await operator.until(/\$ /);
    await use(operator, shop);
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

if (import.meta.main) {
  await record(join(import.meta.dirname, 'terminal.svg'));
  for (const columns of WIDTHS) {
    writeFileSync(join(import.meta.dirname, `terminal-${columns}.txt`), await screensAt(columns));
  }
}
