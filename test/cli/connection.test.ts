import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { patient } from '../../src/tools/cli/connection.ts';
import { newFolder } from '../support/folder.ts';
import { rdcp } from './run.ts';
import { service } from './service.ts';

describe('where the command finds the service', () => {
  it('on the port of RDCP_PORT, unless RDCP_URL or --url says more', async (t) => {
    const { url, seen } = await service(t, { categories: [] });
    const { port } = new URL(url);
    const cwd = newFolder(t);
    await rdcp(['list'], { cwd, env: { RDCP_PORT: port } });
    await rdcp(['list'], { cwd, env: { RDCP_PORT: '1', RDCP_URL: `http://localhost:${port}` } });
    await rdcp(['list', '--url', `http://localhost:${port}`], { cwd, env: { RDCP_PORT: '1', RDCP_URL: 'http://x' } });
    const asked = seen.map(({ headers }) => headers.host);
    assert.deepEqual(asked, [`127.0.0.1:${port}`, `localhost:${port}`, `localhost:${port}`]);
  });

  it('refuses an RDCP_PORT that is none, and 0, which only the service knows', async (t) => {
    const cwd = newFolder(t);
    for (const port of ['http', '65536', '0']) {
      const { code, stderr } = await rdcp(['list'], { cwd, env: { RDCP_PORT: port } });
      assert.equal(code, 2);
      assert.match(stderr, /^rdcp: RDCP_PORT [^\n]*\n$/);
    }
  });

  it('says what is wrong with an address, and which one was meant', async (t) => {
    const cwd = newFolder(t);
    const most = '--url (or RDCP_URL) must be an address such as https://host:9465, without a credential';
    const front = '--url (or RDCP_URL) must be the address in front of';
    for (const [url, line] of [
      ['localhost:9465', `${most}; did you mean http://localhost:9465?`],
      ['10.0.0.1', `${most}; did you mean http://10.0.0.1?`],
      ['ftp://host', most],
      ['http://me:secret@host', most],
      ['me:secret@host', most],
      ['http://host/ops/rdcp/v1', `${front} /rdcp/v1: use http://host/ops`],
      ['http://host/rdcp/v1/discovery', `${front} /rdcp/v1/discovery: use http://host`],
      ['http://host/.well-known/rdcp', `${front} /.well-known/rdcp: use http://host`],
    ] as const) {
      const shown = await rdcp(['list', '--url', url], { cwd });
      assert.deepEqual(shown, { code: 2, stdout: '', stderr: `rdcp: ${line}\n` }, url);
    }
  });

  it('notes that an answer is slow, except for a forecast, which takes as long as it measures', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const noted: string[] = [];
    const answered = async (url: string, afterMs: number) => {
      const { promise, resolve } = Promise.withResolvers<Response>();
      const answer = patient({ note: (text) => void noted.push(text) }, () => promise)(url, {});
      t.mock.timers.tick(afterMs);
      resolve(new Response(''));
      await answer;
    };
    await answered('http://host/rdcp/v1/status', 4999);
    await answered('http://host/rdcp/v1/forecast', 60_000);
    assert.deepEqual(noted, []);
    await answered('http://host:9465/ops/rdcp/v1/status', 5000);
    assert.deepEqual(noted, ['Waiting for an answer of http://host:9465; Ctrl-C ends it.']);
  });
});

test('a file that cannot be read is named, with its option, in one line', async (t) => {
  const cwd = newFolder(t);
  mkdirSync(join(cwd, 'folder'));
  for (const command of [
    'list --key-file',
    'list --token-file',
    'token refresh --refresh-file',
    'token revoke --refresh-file',
    'token revoke --token-file',
    'keys list --file',
    'keys revoke ID --file',
  ]) {
    for (const [name, problem] of [
      ['missing', 'does not exist'],
      ['folder', 'is a directory'],
    ] as const) {
      const file = join(cwd, name);
      const stderr = `rdcp: ${command.split(' ').at(-1)}: ${file} ${problem}\n`;
      assert.deepEqual(await rdcp([...command.split(' '), file], { cwd }), { code: 2, stdout: '', stderr }, command);
    }
  }
});
