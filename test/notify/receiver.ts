import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { portOf } from '../support/listening.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real receiver that answers 204, or as `answer` says. */
export async function openReceiver(
  t: TestContext,
  answer: (response: ServerResponse) => void = (response) => void response.writeHead(204).end(),
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ path: request.url ?? '', headers: request.headers, body });
    server.emit('received');
    answer(response);
  });
  return {
    url: `http://127.0.0.1:${await portOf(t, server)}`,
    received,
    /** Resolves once that many requests have arrived. */
    async arrived(count: number): Promise<readonly Received[]> {
      while (received.length < count) await once(server, 'received');
      return received;
    },
  };
}
