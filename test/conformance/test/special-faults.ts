import { readFileSync } from 'node:fs';
import type { ServerOptions } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { writeCertificate } from '../../support/certificate.ts';
import { catalogue } from '../src/catalogue.ts';
import { type Result, runChecks } from '../src/check.ts';
import type { Target } from '../src/http.ts';
import { apiKey, type Credentials, Session } from '../src/session.ts';
import { changing, headed, put } from './fault-kinds.ts';
import { type Fault, jsonReply, serve } from './handler.ts';
import { passingTime } from './passing-time.ts';
import { KEYS } from './reference-credentials.ts';
import { referenceServer } from './reference-server.ts';

/** A fault of the connection or of the rate limit, which takes a server of its own. */
export interface SpecialFault {
  readonly finds: readonly string[];
  readonly run: (only: readonly string[]) => Promise<readonly Result[]>;
}

const CREDENTIALS: Credentials = { main: apiKey('key', KEYS.main), tenants: [] };
const { cert, keyFile } = writeCertificate();
const key = readFileSync(keyFile, 'utf8');

/** The checks alone, without the look at the well-known document that a whole run begins with. */
function check(target: Target, only: readonly string[]): Promise<readonly Result[]> {
  const session = new Session({ target, credentials: CREDENTIALS, notice: () => undefined });
  return runChecks(catalogue, session, { level: 3, exhaust: true, only });
}

async function checkSocketServer(server: Server, only: readonly string[], scheme = 'http'): Promise<readonly Result[]> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  const results = await check({ url: new URL(`${scheme}://127.0.0.1:${port}`), ca: cert }, only);
  server.close();
  for (const socket of sockets) socket.destroy();
  return results;
}

async function checkTls(options: ServerOptions, only: readonly string[], host?: string): Promise<readonly Result[]> {
  const served = await serve(referenceServer(), { cert, key, ...options });
  const url = new URL(served.url);
  if (host !== undefined) url.hostname = host;
  const results = await check({ url, ca: cert }, only);
  served.close();
  return results;
}

/** A reference server that takes few control requests, with a fault in how it refuses more. */
function limited(fault: Fault): SpecialFault['run'] {
  return async (only) => {
    const served = await serve(fault(referenceServer({ controlLimit: 60, clock: passingTime().clock })));
    const results = await check({ url: new URL(served.url) }, only);
    served.close();
    return results;
  };
}

const ANSWER = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}';

export const specialFaults: readonly SpecialFault[] = [
  {
    finds: ['L1-TRAN-01'],
    // An address that is kept for documentation (RFC 5737): nothing is connected to.
    run: (only) => check({ url: new URL('http://192.0.2.1') }, only),
  },
  {
    finds: ['L1-TRAN-04'],
    run: (only) =>
      checkSocketServer(
        createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(ANSWER))),
        only,
      ),
  },
  { finds: ['L1-TRAN-06'], run: (only) => checkTls({ maxVersion: 'TLSv1.2' }, only) },
  {
    finds: ['L1-TRAN-07'],
    run: (only) => checkTls({ minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' }, only),
  },
  // The unspecified address is reached here, and is no loopback address.
  { finds: ['L1-TRAN-08'], run: (only) => checkTls({}, only, '0.0.0.0') },
  {
    finds: ['L1-TRAN-09'],
    run: (only) =>
      checkSocketServer(
        createServer((socket) => {
          socket.on('error', () => undefined);
          socket.once('data', (first) => {
            const secure = first[0] === 0x16;
            if (!secure) return void socket.end(ANSWER);
            socket.pause();
            socket.unshift(first);
            new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => undefined);
          });
        }),
        only,
        'https',
      ),
  },
  { finds: ['L3-CAPA-04'], run: (only) => check({ url: new URL('http://127.0.0.1:9') }, only) },
  {
    finds: ['L1-LIMI-02'],
    run: async (only) => {
      const served = await serve(referenceServer());
      const results = await check({ url: new URL(served.url) }, only);
      served.close();
      return results;
    },
  },
  { finds: ['L1-LIMI-03'], run: limited(put('refusal', 'error.code', 'RDCP_UNAVAILABLE')) },
  { finds: ['L1-LIMI-04'], run: limited(headed('refusal', 'Retry-After', undefined)) },
  {
    finds: ['L1-LIMI-05'],
    run: limited(
      changing('refusal', (reply, { headers }) =>
        headers['x-rdcp-client-id'] === 'somebody-else' ? jsonReply(200, {}) : reply,
      ),
    ),
  },
  { finds: ['L1-LIMI-06'], run: limited(headed('refusal', 'Retry-After', '3600')) },
];
