import type { IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import { serve } from '../support/serve.ts';

export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

type Said = object | string | number | Refusal;

/** A status with a body or a challenge. */
export class Refusal {
  readonly status: number;
  readonly body: object | undefined;
  readonly challenge: string | undefined;

  constructor(status: number, body?: object, challenge?: string) {
    this.status = status;
    this.body = body;
    this.challenge = challenge;
  }
}

export interface IntrospectionServer {
  readonly endpoint: string;
  /** Every request so far. */
  readonly asked: Asked[];
  /** What a token is answered: an object is sent as JSON with 200, a number as a status, a refusal as both. */
  answer: (token: string) => Said | Promise<Said>;
}

/** A real HTTP server that says what it knows of tokens (RFC 7662). */
export async function serveIntrospection(
  t: TestContext,
  answer: IntrospectionServer['answer'],
): Promise<IntrospectionServer> {
  const asked: Asked[] = [];
  const { url } = await serve(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    asked.push({ headers: request.headers, form });
    const said = await state.answer(form.get('token') ?? '');
    if (said instanceof Refusal) {
      response
        .writeHead(said.status, said.challenge === undefined ? {} : { 'WWW-Authenticate': said.challenge })
        .end(said.body && JSON.stringify(said.body));
    } else if (typeof said === 'number') response.writeHead(said, said === 302 ? { Location: '/elsewhere' } : {}).end();
    else response.end(typeof said === 'string' ? said : JSON.stringify(said));
  });
  const state: IntrospectionServer = { endpoint: `${url}/introspect`, asked, answer };
  return state;
}
