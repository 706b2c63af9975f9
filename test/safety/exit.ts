import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { PATHS } from '../../src/wire/constants.ts';
import { newFolder } from '../support/folder.ts';
import { requestText } from '../support/raw-http.ts';
import { type Program, run } from './program.ts';
import { serviceOf, testConfig } from './service.ts';

/** On a machine with much else to do. A request that was begun holds a server up for longer. */
const PATIENCE_MS = 8000;

export const APP = join(import.meta.dirname, 'finishing-app.ts');

/** Clients that hold connections open: one that was served, one in the middle of a request, one that says nothing. */
async function holdConnections(t: TestContext, url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const started = requestText('POST', PATHS.control, [
    ['Host', 'localhost'],
    ['Content-Length', '100'],
  ]);
  for (const text of [`GET ${PATHS.wellKnown} HTTP/1.1\r\nHost: localhost\r\n\r\n`, started, '']) {
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  }
}

/** Has the program switch something for an hour, hold connections, and then finish. */
export async function assertEndsByItself(t: TestContext, program: Program, url: string, before?: () => Promise<void>) {
  const service = serviceOf(program, url);
  const options = { duration: '1h' };
  assert.equal((await service.control({ action: 'enable', categories: 'HTTP', options })).status, 200);
  await holdConnections(t, url);
  await before?.();
  program.child.send('finish');
  assert.equal(await program.endedWithin(PATIENCE_MS), 0, program.output.stderr);
  assert.match(program.output.stderr, /DEBUG HTTP done/);
}

export async function assertEndsWithStore(t: TestContext, store: string, before?: () => Promise<void>) {
  const program = run(t, APP, { args: [JSON.stringify(testConfig({ store }))], cwd: newFolder(t) });
  const [, url = ''] = await program.found(/^ready (\S+)$/m);
  await assertEndsByItself(t, program, url, before);
}
