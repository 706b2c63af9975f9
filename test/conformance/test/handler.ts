import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** A request as the server under judgement reads it. */
export interface ServerRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly rawHeaders: readonly string[];
  /** By lower-case name; what was sent repeatedly is joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** The client's certificate was presented and is trusted. */
  readonly certified: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: the connection is closed without an answer. */
  readonly body: Buffer | undefined;
}

export type Handler = (request: ServerRequest) => Promise<Reply>;

/** A fault that is put in front of a handler. */
export type Fault = (next: Handler) => Handler;

export interface Served {
  readonly url: string;
  /** Method and path of every request, in order. */
  readonly seen: readonly string[];
  close(): void;
}

/** Serves the handler on a port of its own. */
export async function serve(handler: Handler, tls?: ServerOptions): Promise<Served> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const listener: RequestListener = async (incoming, outgoing) => {
    const request = await readRequest(incoming);
    seen.push(`${request.method} ${request.url}`);
    const { status, headers, body } = await handler(request);
    if (body === undefined) return void incoming.socket.destroy();
    outgoing.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
    outgoing.end(request.method === 'HEAD' ? undefined : body);
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    seen,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ServerRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers: Record<string, string | undefined> = {};
  for (const [name, values] of Object.entries(incoming.headersDistinct)) headers[name] = values?.join(', ');
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    rawHeaders: incoming.rawHeaders,
    headers,
    body: Buffer.concat(chunks),
    certified: (incoming.socket as Partial<TLSSocket>).authorized === true,
  };
}

export function pathOf({ url }: ServerRequest): string {
  return url.replace(/\?.*$/, '');
}

export function jsonReply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  };
}
