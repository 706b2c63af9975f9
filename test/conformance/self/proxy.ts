import { request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Handler, Reply } from './handler.ts';

/** Hands every request on to a server with its headers and body as they are, so that a fault can stand in between. */
export function proxyTo(base: string): Handler {
  const { hostname, port, host } = new URL(base);
  return (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    // A fault in front may have changed the body.
    const replaced: Readonly<Record<string, string>> = { host, 'content-length': String(request.body.length) };
    const headers = request.rawHeaders.map((value, index, all) =>
      index % 2 === 0 ? value : (replaced[all[index - 1]?.toLowerCase() ?? ''] ?? value),
    );
    const outgoing = httpRequest(
      { hostname, port, agent: false, method: request.method, path: request.url, headers },
      async (incoming) => {
        const kept = Object.entries(incoming.headers).filter(
          ([name]) => !['connection', 'transfer-encoding', 'keep-alive', 'content-length'].includes(name),
        );
        resolve({
          status: incoming.statusCode ?? 0,
          headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
          body: await buffer(incoming),
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(request.body);
    return promise;
  };
}
