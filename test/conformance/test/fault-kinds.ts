import { isObject } from '../src/expectation.ts';
import { PATHS } from '../src/session.ts';
import { type Fault, jsonReply, pathOf, type Reply, type ServerRequest } from './handler.ts';

/** Which answers a fault touches: those of an endpoint, successful ones only, or every refusal. */
export type Where = keyof typeof PATHS | 'session' | 'refusal' | 'any';

const ALL_PATHS: Readonly<Record<string, string>> = { ...PATHS, session: '/rdcp/v1/session' };

function matches(where: Where, request: ServerRequest, { status }: Reply): boolean {
  if (where === 'any') return true;
  if (where === 'refusal') return status >= 400;
  return status < 400 && pathOf(request) === ALL_PATHS[where];
}

export function jsonOf(bytes: Buffer | undefined): unknown {
  try {
    return JSON.parse(String(bytes));
  } catch {
    return undefined;
  }
}

/** Answers that match are changed. */
export function changing(where: Where, change: (reply: Reply, request: ServerRequest) => Reply): Fault {
  return (next) => async (request) => {
    const reply = await next(request);
    return matches(where, request, reply) ? change(reply, request) : reply;
  };
}

/**
 * Another value at a path of the body: `a.b` names fields, `[]` every element of an array, `{}` every value of an
 * object. `undefined` takes the field out.
 */
export function put(where: Where, path: string, value: unknown): Fault {
  return changing(where, (reply) => {
    const body = jsonOf(reply.body);
    return {
      ...reply,
      body: Buffer.from(JSON.stringify(replaced(body, path.match(/\[\]|\{\}|[^.[\]{}]+/g) ?? [], value))),
    };
  });
}

function replaced(at: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  if (step === '[]') return Array.isArray(at) ? at.map((element) => replaced(element, rest, value)) : at;
  if (!isObject(at)) return at;
  if (step !== '{}') return { ...at, [step]: replaced(at[step], rest, value) };
  return Object.fromEntries(Object.entries(at).map(([name, member]) => [name, replaced(member, rest, value)]));
}

/** The body as another function of it. */
export function rewriting(where: Where, rewrite: (body: unknown) => unknown): Fault {
  return changing(where, (reply) => ({ ...reply, body: Buffer.from(JSON.stringify(rewrite(jsonOf(reply.body)))) }));
}

export function status(where: Where, code: number): Fault {
  return changing(where, (reply) => ({ ...reply, status: code }));
}

/** Another value of a header, by its usual name; `undefined` takes it out. */
export function headed(where: Where, name: string, value: string | undefined): Fault {
  return changing(where, (reply) => {
    const others = Object.entries(reply.headers).filter(([other]) => other.toLowerCase() !== name.toLowerCase());
    return { ...reply, headers: { ...Object.fromEntries(others), ...(value === undefined ? {} : { [name]: value }) } };
  });
}

/** Requests that match are answered thus, and reach nothing. */
export function answering(match: (request: ServerRequest) => boolean, reply: Reply): Fault {
  return (next) => async (request) => (match(request) ? reply : next(request));
}

/** Requests that match are changed before they are handled. */
export function asking(
  match: (request: ServerRequest) => boolean,
  change: (request: ServerRequest) => Partial<ServerRequest>,
): Fault {
  return (next) => (request) => next(match(request) ? { ...request, ...change(request) } : request);
}

/** Control requests with another body. */
export function controlling(change: (body: Readonly<Record<string, unknown>>) => unknown): Fault {
  return asking(
    (request) => request.method === 'POST' && pathOf(request) === PATHS.control && isObject(jsonOf(request.body)),
    ({ body }) => {
      const json = jsonOf(body);
      return isObject(json) ? { body: Buffer.from(JSON.stringify(change(json))) } : {};
    },
  );
}

/** A refused control request takes effect all the same, or something like it does. */
export function afterRefusal(repair: (request: ServerRequest) => ServerRequest): Fault {
  return (next) => async (request) => {
    const reply = await next(request);
    if (reply.status >= 400 && request.method === 'POST') await next(repair(request));
    return reply;
  };
}

/** Everything that is refused is answered with success instead. */
export const refusingNothing: Fault = changing('refusal', () => jsonReply(200, { protocol: 'rdcp/1.0' }));
