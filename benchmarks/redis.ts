import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A Redis of its own for a benchmark, or that of REDIS_URL. */
export async function openRedis(): Promise<{ url: string; close(): void }> {
  const given = process.env.REDIS_URL;
  if (given !== undefined) return { url: given, close: () => {} };
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    stdio: 'ignore',
  });
  await once(server, 'spawn');
  await sleep(500);
  return { url: `redis://127.0.0.1:${port}`, close: () => void server.kill() };
}
