// Measures, so nothing runs beside it: how soon the lines of one request among many are there.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/built.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { start } from './child.ts';
import { startGuided } from './guided.ts';
import { withProgram } from './required-program.ts';

const PER_SECOND = 200;
const REQUESTS = 5;
/** From the answer of a request until its lines are shown, in milliseconds. */
const SHOWN_MS = 2000;

/** Service, category and message of the lines of one request, in order. */
const LINES = [
  'storefront ORDERS order asked for',
  'stock STOCK looked up',
  'shipping ORDERS route for tea',
  'shipping ORDERS tea arrives in 1 days',
  'stock STOCK reserved',
  'storefront ORDERS order accepted',
];

/** Such as `14:05:12.345Z ORDERS order accepted name=orders sku=tea storefront host:12 trace_id=…`. */
function parsed(line: string): { what: string; trace: string } {
  const form = /^[\d:.]+Z (?<category>\w+) (?<message>.+?) \w+=.* (?<service>\w+) \S+:\d+ trace_id=(?<trace>\w{32})$/;
  const { category, message, service, trace = '' } = form.exec(line)?.groups ?? assert.fail(line);
  return { what: `${service} ${category} ${message}`, trace };
}

test(`of ${PER_SECOND} requests a second through three services, rdcp request --tail shows the lines of one`, (t) =>
  withProgram(t, 'redis-server', async () => {
    const ports = { PORT: '0', RDCP_PORT: `${await freePort()}`, SHIPPING_RDCP_PORT: `${await freePort()}` };
    const example = await startGuided('examples/one-request/main.ts', { env: { ...ports, RATE: `${PER_SECOND}` } });
    t.after(() => example.end());
    const run = (command: string) => {
      const own = command.replace('npx rdcp', `${process.execPath} ${join(ROOT, 'dist/cli/main.js')}`);
      // Its signals are for the command, not for the shell.
      return start('sh', ['-c', own.replace(/^( *)(RDCP_URL=\S+)?/, '$1$2 exec ')], { cwd: example.cwd });
    };
    const [request, url, tail] = example.child.output.stdout
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.trim());
    assert.ok(request && url && tail);

    await t.test(`in order, each with its service, within ${SHOWN_MS / 1000} seconds`, async (t) => {
      const command = await run(request);
      t.after(() => command.end('SIGKILL'));
      const { output } = command;
      const notes = ['All 2 processes take part.', ': Tailing ORDERS in 1 process '];
      await until('both tails have begun', () => notes.every((note) => output.stderr.includes(note))).catch((cause) => {
        throw new Error(output.stderr, { cause });
      });
      const [curl = ''] = output.stdout.split('\n');
      assert.match(curl, /^curl -H 'baggage: rdcp\.debug=eyJ\S+' URL$/);
      const lines = () => output.stdout.split('\n').slice(1, -1);
      const took: number[] = [];
      for (let count = 1; count <= REQUESTS; count += 1) {
        const visit = await start('sh', ['-c', curl.replace('URL', `-sS --fail ${url}`)], {});
        assert.equal(await visit.ended, 0, visit.output.stderr);
        const answeredAt = performance.now();
        await until(`the lines of request ${count}`, () => lines().length >= count * LINES.length);
        took.push(Math.round(performance.now() - answeredAt));
      }
      assert.ok(Math.max(...took) <= SHOWN_MS, `${took} ms`);
      assert.notEqual(await command.end('SIGINT'), null);
      assert.match(output.stderr, /: 10 lines from 1 process, 0 dropped\.$/m);
      const shown = lines().map(parsed);
      assert.deepEqual(
        shown.map(({ what }) => what),
        Array.from({ length: REQUESTS }, () => LINES).flat(),
      );
      const traces = shown.filter((_, index) => index % LINES.length === 0).map(({ trace }) => trace);
      assert.equal(new Set(traces).size, REQUESTS);
      for (const [index, { trace }] of shown.entries()) assert.equal(trace, traces[Math.floor(index / LINES.length)]);
      t.diagnostic(`lines shown after ${took.join(', ')} ms`);
    });

    await t.test('the lines of a path need no header', async () => {
      const command = await run(tail);
      assert.equal(await command.ended, 0, command.output.stderr);
      assert.match(command.output.stdout, /^(?:\S+ ORDERS order (?:asked for|accepted) .* sku=tea .*\n){4}$/);
    });

    await t.test('SIGTERM ends all of it with exit code 0, after every request was answered', async () => {
      assert.equal(await example.child.end(), 0, example.child.output.stderr);
      const [, answered, sent, seconds] =
        /^(\d+) of (\d+) requests were answered in ([\d.]+) s\.$/m.exec(example.child.output.stdout) ?? [];
      assert.equal(answered, sent, example.child.output.stderr);
      assert.ok(Number(sent) / Number(seconds) > PER_SECOND * 0.95, `${sent} in ${seconds} s`);
    });
  }));
