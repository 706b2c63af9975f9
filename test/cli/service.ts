import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

interface Seen {
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service that always gives the same answer and notes what it was asked. */
export async function service(t: TestContext, answer: object, status = 200): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    seen.push({ target: `${request.method} ${request.url}`, headers: request.headers, body });
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ protocol: 'rdcp/1.0', timestamp: '2026-01-01T00:00:00.000Z', ...answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
