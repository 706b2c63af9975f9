import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { running, type StoreServer } from './server.ts';

/**
 * The Redis that is named, or one of the example's own: on loopback alone, with nothing kept on disk.
 * @throws when there is no `redis-server` to start
 */
export async function openRedis(url: string | undefined): Promise<StoreServer> {
  if (url !== undefined && url !== '') return running(url);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'rdcp-fleet-'));
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  // In a process group of its own: Ctrl-C in a terminal is for the shops, which still say goodbye to each other through it.
  const server = spawn('redis-server', settings, { stdio: 'ignore', detached: true });
  const close = async () => {
    await end(server);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([answers(port), failed(server)]);
    return { url: `redis://127.0.0.1:${port}`, close };
  } catch (cause) {
    await close();
    throw new Error('needs redis-server (Debian: apt-get install redis-server), or REDIS_URL', { cause });
  }
}

async function answers(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const socket = connect(port, '127.0.0.1');
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (connected) return;
    await sleep(50);
  }
  throw new Error('redis-server does not answer');
}

async function failed(server: ChildProcess): Promise<never> {
  await once(server, 'exit');
  throw new Error('redis-server ended');
}

async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill();
  await ended;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
