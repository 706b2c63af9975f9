import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FromService } from './protocol.ts';

/** Tells the benchmark that this process can be asked, and answers what processor time it has used. */
export function announce(port: number): void {
  const tell = (message: FromService) => process.send?.(message);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    tell({ cpuMicroseconds: user + system });
  });
  process.on('disconnect', () => process.exit());
  tell({ port });
}

/** Serves on a port of its own, on loopback. */
export function serve(listener: RequestListener): void {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
}
