import { connect, type Socket } from 'node:net';

/** One answer as it came over the connection. */
export type RawAnswer = NonNullable<ReturnType<typeof parseAnswer>>;

/** Everything that a server sends on a connection until it ends it, after the given bytes were written. */
export async function exchange(url: string, bytes: string | Buffer, after?: (socket: Socket) => void): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''), () => {
    socket.write(bytes);
    after?.(socket);
  });
  socket.on('data', (chunk) => chunks.push(chunk));
  // A reset after the answer is how a server cuts off what it does not want to read.
  socket.on('error', () => undefined);
  socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
  return promise;
}

/** Parses the last answer in what {@link exchange} returned; `undefined` where the server said nothing. */
export function parseAnswer(text: string) {
  const start = text.lastIndexOf('HTTP/1.1 ');
  if (start === -1) return undefined;
  const [head = '', ...rest] = text.slice(start).split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    ),
    body: rest.join('\r\n\r\n'),
  };
}

/** A request as text, by default one that asks for the connection to be closed after it. */
export function requestText(
  method: string,
  target: string,
  headers: readonly (readonly [string, string])[],
  body = '',
): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n${body}`;
}
