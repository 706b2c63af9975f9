import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

export interface IntrospectionServer {
  readonly endpoint: string;
  /** Every request so far. */
  readonly asked: Asked[];
  /** What a token is answered: an object is sent as JSON with 200, a number as a status. */
  answer: (token: string) => object | string | number | Promise<object | string | number>;
}

/** A real HTTP server that says what it knows of tokens (RFC 7662). */
export async function serveIntrospection(
  t: TestContext,
  answer: IntrospectionServer['answer'],
): Promise<IntrospectionServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    asked.push({ headers: request.headers, form });
    const said = await state.answer(form.get('token') ?? '');
    if (typeof said === 'number') response.writeHead(said, said === 302 ? { Location: '/elsewhere' } : {}).end();
    else response.end(typeof said === 'string' ? said : JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const state: IntrospectionServer = { endpoint: `http://127.0.0.1:${port}/introspect`, asked, answer };
  return state;
}
