import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { start } from '../examples/child.ts';
import { writeCertificate } from '../support/certificate.ts';
import { newFolder } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { adapted, blockOf, listening } from './recipe.ts';

export interface Haproxy {
  readonly port: number;
  readonly cert: string;
  /** Of one server: its status, how its last check ended, and how many checks have failed. */
  stateOf(server: string): Promise<{ status: string; check: string; failed: number }>;
}

/** The recipe in a HAProxy of its own, which checks more often. */
export async function startHaproxy(t: TestContext, ports: readonly [number, number]): Promise<Haproxy> {
  const folder = newFolder(t);
  const port = await freePort();
  const { cert, keyFile } = writeCertificate();
  const pem = join(folder, 'both.pem');
  writeFileSync(pem, `${cert}${readFileSync(keyFile, 'utf8')}`);
  const recipe = adapted(blockOf('HAProxy', 'haproxy'), [
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/tls/debug.example.com.pem', pem],
    ['10.0.0.11:9465', `127.0.0.1:${ports[0]}`],
    ['10.0.0.12:9465', `127.0.0.1:${ports[1]}`],
    ['inter 2s', 'inter 500ms'],
  ]);
  const file = join(folder, 'haproxy.cfg');
  const socket = join(folder, 'stats.sock');
  writeFileSync(file, `global\n  stats socket ${socket} mode 600\n\n${recipe}`);
  const haproxy = await start('haproxy', ['-db', '-f', file], {});
  t.after(() => haproxy.end('SIGKILL'));
  // It binds its sockets one after the other, before it listens on them.
  const answers = () =>
    new Promise<boolean>((resolve) => {
      const probe = createConnection(socket, () => resolve(true)).on('error', () => resolve(false));
      probe.on('close', () => probe.destroy()).end();
    });
  await Promise.race([
    listening(port).then(() => until('its statistics can be asked for', answers)),
    haproxy.ended.then((code) => assert.fail(`haproxy ended with ${code}: ${haproxy.output.stderr}`)),
  ]);
  return {
    port,
    cert,
    async stateOf(server) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      let text = '';
      createConnection(socket, function (this: ReturnType<typeof createConnection>) {
        this.end('show stat\n');
      })
        .setEncoding('utf8')
        .on('data', (chunk) => {
          text += chunk;
        })
        .once('error', reject)
        .once('end', () => resolve(text));
      const [head = '', ...lines] = (await promise).replace(/^# /, '').split('\n');
      const row = lines.map((line) => line.split(',')).find(([, name]) => name === server) ?? [];
      const value = (name: string) => row[head.split(',').indexOf(name)] ?? '';
      return { status: value('status'), check: value('check_status'), failed: Number(value('chkfail')) };
    },
  };
}

/** The recipe's addresses, on this machine. */
export const ADDRESSES = [
  ['0.0.0.0', '127.0.0.1'],
  ['10.0.0.5', '127.0.0.1'],
] as const;
