import { isObject } from '../src/expectation.ts';
import { type Breakage, breaks, range } from './breakage.ts';
import { afterRefusal, answering, controlling, jsonOf, put, refusingNothing, status } from './fault-kinds.ts';
import { type Fault, jsonReply, type ServerRequest } from './handler.ts';
import { KEYS } from './reference-credentials.ts';
import { isControl } from './request-matchers.ts';

const actionOf = (request: ServerRequest) => {
  const body = jsonOf(request.body);
  return isObject(body) ? body.action : undefined;
};

/** `enable` does nothing, and says that it did. */
const hollow: Fault = (next) => async (request) => {
  if (actionOf(request) !== 'enable') return next(request);
  const asked = jsonOf(request.body);
  const body = Buffer.from(JSON.stringify({ ...(isObject(asked) ? asked : {}), action: 'disable' }));
  return put('control', 'changes[].newState', true)(put('control', 'action', 'enable')(next))({ ...request, body });
};

/** Every control request is about all categories. */
const everything: Fault = (next) => async (request) => {
  const body = jsonOf(request.body);
  if (isControl(request) && isObject(body) && body.action === 'enable') {
    const all = { ...body, categories: ['HTTP_REQUESTS', 'DATABASE', 'X-BILLING'], action: 'toggle' };
    await next({ ...request, body: Buffer.from(JSON.stringify(all)) });
  }
  return next(request);
};

const action = (from: string, ...instead: readonly [string]) =>
  controlling((body) => (body.action === from ? { ...body, action: instead[0] } : body));

/** Temporary controls that are set for longer than the answer says. */
const endless: Fault = (next) =>
  controlling((body) =>
    isObject(body.options) && body.options.duration === 2
      ? { ...body, options: { ...body.options, duration: 3600 } }
      : body,
  )(next);

/** What is refused takes effect all the same. */
const enabling = afterRefusal((request) => ({
  ...request,
  headers: { ...request.headers, 'x-rdcp-api-key': KEYS.main },
  body: Buffer.from('{"action":"enable","categories":["HTTP_REQUESTS"]}'),
}));

/** A repeated request is said to be refused, and takes effect all the same. */
const refusingRepeats: Fault = (next) => {
  const seen = new Set<string>();
  return async (request) => {
    const id = request.headers['x-rdcp-request-id'] ?? '';
    const repeat = seen.has(id);
    seen.add(id);
    const reply = await next(request);
    return repeat ? { ...reply, status: 409 } : reply;
  };
};

/** Faults of the control endpoint. */
export const controlFaults: readonly Breakage[] = [
  breaks('L1-CTRL-01 L1-CTRL-10 L1-CTRL-11 L1-CTRL-12', status('control', 202)),
  breaks('L1-CTRL-02', put('control', 'protocol', 'rdcp')),
  breaks('L1-CTRL-03', put('control', 'timestamp', '2026-01-31 00:00:00.000Z')),
  breaks('L1-CTRL-04', put('control', 'action', 'change')),
  breaks('L1-CTRL-05', put('control', 'categories', 'HTTP_REQUESTS')),
  breaks('L1-CTRL-06', put('control', 'status', 'ok')),
  breaks('L1-CTRL-07', put('control', 'status', 'failed')),
  breaks('L1-CTRL-08', put('control', 'message', undefined)),
  breaks('L1-CTRL-09 L1-CHNG-07', put('control', 'changes', undefined)),
  breaks('L1-CTRL-13 L1-SCOP-01', put('refusal', 'error.code', 'RDCP_SERVER_ERROR')),
  breaks('L1-CTRL-14', put('status', 'categories.RDCP_CONFORMANCE_NO_SUCH_CATEGORY', true)),
  breaks('L1-CHNG-01', put('control', 'changes[].category', 'OTHER')),
  breaks('L1-CHNG-02', put('control', 'changes[].category', 'a name')),
  breaks('L1-CHNG-03', put('control', 'changes[].previousState', undefined)),
  breaks('L1-CHNG-04', put('control', 'changes[].newState', 'enabled')),
  breaks('L1-CHNG-05', put('control', 'changes[].temporary', true)),
  breaks('L1-CHNG-06', put('control', 'changes[].effectiveAt', undefined)),
  breaks('L1-CHNG-07', put('control', 'changes[].expiresAt', '2030-01-31T00:00:00.000Z')),
  breaks('L1-TRNS-01', put('control', 'changes[].previousState', true)),
  breaks('L1-TRNS-02 L1-TRNS-03 L1-TRNS-10', hollow),
  breaks('L1-TRNS-04', everything),
  breaks('L1-TRNS-05', action('disable', 'enable')),
  breaks('L1-TRNS-06', action('toggle', 'disable')),
  breaks('L1-TRNS-07', action('toggle', 'enable')),
  breaks('L1-TRNS-08', action('status', 'toggle')),
  breaks(
    'L1-TRNS-09',
    controlling((body) =>
      body.action === 'reset' ? { ...body, action: 'enable', options: { temporary: true } } : body,
    ),
  ),
  breaks('L1-EXT-06', put('control', 'changes[].by', 'me')),
  breaks(`${range('L1-MALF-', 1, 18)}`, refusingNothing),
  breaks(`${range('L1-MALF-', 11, 12)}`, put('refusal', 'error.code', 'RDCP_NOT_FOUND')),
  breaks('L1-MALF-19', enabling),
  breaks(
    'L1-TEMP-01',
    answering((request) => isControl(request) && String(request.body).includes('"duration":2'), jsonReply(400, {})),
  ),
  breaks('L1-TEMP-02', put('control', 'changes[].temporary', false)),
  breaks('L1-TEMP-03 L1-TEMP-04', put('control', 'changes[].expiresAt', '2030-01-31T00:00:00Z')),
  breaks('L1-TEMP-05', put('discovery', 'categories[].temporary', false)),
  breaks(
    'L1-TEMP-06',
    controlling((body) =>
      isObject(body.options) && body.options.duration === 2
        ? { ...body, options: { temporary: true, duration: 1 } }
        : body,
    ),
  ),
  breaks('L1-TEMP-07', endless),
  breaks(
    'L1-TEMP-08 L1-TEMP-09',
    controlling((body) =>
      isObject(body.options) && typeof body.options.duration === 'string'
        ? { ...body, options: { temporary: true, duration: 60 } }
        : body,
    ),
  ),
  breaks('L1-TEMP-10', action('disable', 'enable')),
  breaks(
    'L1-TEMP-11',
    answering(
      (request) => String(request.body).includes('"25h"'),
      jsonReply(200, { changes: [{ effectiveAt: '2026-01-31T00:00:00.000Z', expiresAt: '2026-02-01T01:00:00.000Z' }] }),
    ),
  ),
  breaks('L1-LIMI-01', refusingRepeats),
];
