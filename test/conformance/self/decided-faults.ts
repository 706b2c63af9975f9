import { isObject } from '../../../src/conformance/expectation.ts';
import { PATHS } from '../../../src/conformance/session.ts';
import { type Breakage, breaks } from './breakage.ts';
import { answering, changing, controlling, headed, put, refusingNothing, rewriting, status } from './fault-kinds.ts';
import { type Fault, jsonReply, pathOf, type ServerRequest } from './handler.ts';

const none: Fault = (next) => next;
const at = (path: string) => (request: ServerRequest) => pathOf(request) === path;
const withHeader = (name: string) => (request: ServerRequest) =>
  request.rawHeaders.some((one) => one.toLowerCase() === name);
const says = (text: string) => (request: ServerRequest) => String(request.body).includes(text);
const not = (code: number) =>
  jsonReply(code, { protocol: 'rdcp/1.0', error: { code: 'RDCP_OTHER_REFUSAL', message: 'no' } });
const fine = jsonReply(200, { protocol: 'rdcp/1.0' });

/** Entries of the trail, changed by position. */
const entries = (change: (entry: Readonly<Record<string, unknown>>, index: number) => unknown) =>
  rewriting('audit', (body) =>
    isObject(body) && Array.isArray(body.entries)
      ? { ...body, entries: body.entries.map((entry, index) => (isObject(entry) ? change(entry, index) : entry)) }
      : body,
  );

/** A control request that does nothing is said to have done what was asked. */
const onlySaying =
  (from: string): Fault =>
  (next) =>
  (request) =>
    says(`"action":"${from}"`)(request)
      ? next({ ...request, body: Buffer.from(String(request.body).replace(`"${from}"`, '"status"')) })
      : next(request);

/** After a refused control request the first category it names is toggled. */
const applyingAnyway: Fault = (next) => async (request) => {
  const reply = await next(request);
  const [name] = /"[A-Z]+_[A-Z]+"/.exec(String(request.body)) ?? [];
  if (reply.status < 400 || request.method !== 'POST' || name === undefined) return reply;
  const body = Buffer.from(`{"action":"toggle","categories":[${name}]}`);
  const rawHeaders = request.rawHeaders.map((value, index, all) =>
    all[index - 1]?.toLowerCase() === 'x-rdcp-request-id' ? `again-${value}` : value,
  );
  await next({ ...request, rawHeaders, body });
  return reply;
};

/** The action status does not tell when a temporary control ends. */
const told: Fault = (next) => (request) =>
  says('"action":"status"')(request) ? put('control', 'changes[].expiresAt', undefined)(next)(request) : next(request);

const requests: readonly Breakage[] = [
  breaks('W-REQU-01', headed('any', 'x-rdcp-request-id', undefined)),
  breaks('W-REQU-02', headed('refusal', 'x-rdcp-request-id', 'mine')),
  breaks(
    'W-REQU-03 W-REQU-04 W-REQU-07 W-REQU-08 W-REQU-11 W-REQU-13 W-REQU-14 W-REQU-15 W-REQU-16 W-REQU-17 W-REQU-20 W-REQU-21 W-REQU-22 W-REQU-26',
    refusingNothing,
  ),
  breaks('W-REQU-05', headed('refusal', 'x-rdcp-protocol', undefined)),
  breaks('W-REQU-06', answering(withHeader('x-rdcp-protocol'), not(400))),
  breaks('W-REQU-07', put('refusal', 'error.details', {})),
  breaks('W-REQU-09', answering(says('"protocol"'), not(400))),
  breaks('W-REQU-10', headed('status', 'content-type', 'application/json')),
  breaks('W-REQU-10', headed('status', 'content-type', 'application/vnd.rdcp.v1+json')),
  breaks(
    'W-REQU-12',
    answering((request) => request.headers['content-type']?.includes('vnd') === true, not(415)),
  ),
  breaks('W-REQU-17', headed('refusal', 'allow', 'GET')),
  breaks(
    'W-REQU-18',
    answering(({ method }) => method === 'HEAD', not(405)),
  ),
  breaks(
    'W-REQU-19',
    answering(({ url }) => url.includes('?'), not(400)),
  ),
  breaks('W-REQU-20', applyingAnyway),
  breaks('W-REQU-20', put('refusal', 'error.details.field', 'body')),
  breaks('W-REQU-21', put('refusal', 'error.details.reason', 'date')),
  // What stands in front of the server is an ordinary one: it refuses without the envelope and knows no host names.
  breaks('W-REQU-23 W-REQU-24', none),
  breaks('W-REQU-25', put('refusal', 'protocol', undefined)),
];

const authentication: readonly Breakage[] = [
  breaks('W-AUTH-01 W-AUTH-03 W-AUTH-04 W-AUTH-10', put('refusal', 'error.code', 'RDCP_AUTH_DENIED')),
  breaks('W-AUTH-02', headed('refusal', 'www-authenticate', undefined)),
  breaks('W-AUTH-03 W-AUTH-04 W-AUTH-06', put('refusal', 'error.details.reason', 'no')),
  breaks('W-AUTH-03 W-AUTH-04 W-AUTH-10', put('refusal', 'error.method', 'password')),
  breaks(
    'W-AUTH-05',
    answering((request) => request.headers['x-rdcp-auth-method'] === undefined && at(PATHS.status)(request), not(401)),
  ),
  breaks('W-AUTH-07 W-AUTH-08', status('refusal', 401)),
  breaks('W-AUTH-09', put('health', 'checks', [{ name: 'memory', status: 'pass', duration: '1ms' }])),
  breaks('W-AUTH-09', put('health', 'checks', undefined)),
  breaks('W-AUTH-10', put('refusal', 'error.details.providedScopes', ['control'])),
  breaks('W-AUTH-11', answering(at(PATHS.audit), fine)),
  breaks('W-AUTH-11', answering(at(PATHS.discovery), not(403))),
  breaks('W-AUTH-12', put('session', 'userId', undefined)),
  breaks('W-AUTH-12', put('session', 'scopes', ['everything'])),
  breaks('W-AUTH-13', put('wellKnown', 'otelrdcp_endpoints', undefined)),
  breaks(
    'W-AUTH-14',
    changing('refusal', (reply, request) => (at(PATHS.audit)(request) ? not(401) : reply)),
  ),
];

const control: readonly Breakage[] = [
  breaks(
    'W-CTRL-01 W-CTRL-03 W-CTRL-04 W-CTRL-05 W-CTRL-15 W-CTRL-16 W-CTRL-17 W-CTRL-18 W-CTRL-19 W-CTRL-24',
    refusingNothing,
  ),
  breaks('W-CTRL-02', put('control', 'changes', [])),
  breaks(
    'W-CTRL-02 W-CTRL-08',
    rewriting('control', (body) =>
      isObject(body) && Array.isArray(body.changes)
        ? { ...body, changes: body.changes.map((one) => ({ ...one, previousState: !one.newState })) }
        : body,
    ),
  ),
  breaks('W-CTRL-03', applyingAnyway),
  breaks('W-CTRL-05', put('refusal', 'error.details', undefined)),
  breaks('W-CTRL-06 W-CTRL-07', put('control', 'status', 'partial')),
  breaks('W-CTRL-06', put('control', 'changes[].previousState', true)),
  breaks('W-CTRL-07', put('control', 'changes[].previousState', false)),
  breaks(
    'W-CTRL-09',
    controlling((body) =>
      body.action === 'enable' && body.options === undefined ? { ...body, options: { temporary: true } } : body,
    ),
  ),
  breaks('W-CTRL-10', put('discovery', 'categories[].enabled', true)),
  breaks('W-CTRL-11 W-CTRL-13', put('control', 'changes[].temporary', false)),
  breaks('W-CTRL-12 W-CTRL-14', put('control', 'changes[].expiresAt', '2030-01-31T00:00:00.000Z')),
  breaks('W-CTRL-13', told),
  breaks('W-CTRL-14', put('discovery', 'categories[].temporary', false)),
  breaks('W-CTRL-17', put('refusal', 'error.details.maximum', 86_400)),
  breaks('W-CTRL-19', answering(says('xxxx'), not(400))),
  breaks('W-CTRL-20', put('discovery', 'categories[].otelrdcp_origin', 'somewhere')),
  breaks('W-CTRL-20', put('discovery', 'categories[].otelrdcp_default', undefined)),
  breaks('W-CTRL-21 W-CTRL-22', put('discovery', 'categories[].otelrdcp_origin', 'tenant')),
  breaks('W-CTRL-21', put('discovery', 'categories[].otelrdcp_expiresAt', undefined)),
  breaks('W-CTRL-22', onlySaying('reset')),
  breaks('W-CTRL-23', headed('control', 'x-rdcp-replayed', undefined)),
  breaks(
    'W-CTRL-23',
    changing('control', ({ status: code }) => jsonReply(code, { message: `answered at ${performance.now()}` })),
  ),
];

const answers: readonly Breakage[] = [
  breaks(
    'W-ANSW-01',
    rewriting('discovery', (body) =>
      isObject(body) && Array.isArray(body.categories) ? { ...body, categories: body.categories.toReversed() } : body,
    ),
  ),
  breaks('W-ANSW-02', put('health', 'status', 'good')),
  breaks('W-ANSW-02', put('health', 'checks[].status', 'ok')),
  breaks('W-ANSW-03', put('health', 'checks[].name', 'store')),
  breaks('W-ANSW-04', put('metrics', 'metrics.callsTotal', undefined)),
  breaks('W-ANSW-04', put('metrics', 'metrics{}.measured', false)),
  breaks('W-ANSW-05', put('metrics', 'categories', {})),
  breaks('W-ANSW-06', put('control', 'tenant', { id: 'acme' })),
  breaks('W-ANSW-07', headed('discovery', 'cache-control', 'max-age=60')),
  breaks('W-RATE-01', headed('any', 'ratelimit', '100')),
  breaks('W-RATE-01 W-RATE-03', headed('any', 'ratelimit-policy', undefined)),
  breaks('W-RATE-02', headed('control', 'ratelimit', '"control";r=50;t=10')),
  breaks(
    'W-AUDT-01',
    entries(({ id: _, ...entry }) => entry),
  ),
  breaks('W-AUDT-01 W-AUDT-04 W-AUDT-05', put('audit', 'entries[].compliance.hash', 'none')),
  breaks(
    'W-AUDT-02',
    rewriting('audit', (body) =>
      isObject(body) && Array.isArray(body.entries) ? { ...body, entries: body.entries.toReversed() } : body,
    ),
  ),
  breaks('W-AUDT-03 W-AUDT-04', put('audit', 'entries[].reason', undefined)),
  breaks('W-AUDT-04', put('audit', 'entries[].outcome', 'partial')),
  breaks(
    'W-AUDT-05',
    entries((entry, index) =>
      index === 0 && isObject(entry.compliance)
        ? { ...entry, compliance: { ...entry.compliance, previousHash: '0'.repeat(64) } }
        : entry,
    ),
  ),
  breaks(
    'W-AUDT-06',
    answering(({ url }) => url.includes('cursor'), jsonReply(200, { entries: [] })),
  ),
  breaks('W-AUDT-07', refusingNothing),
  breaks('W-AUDT-08', put('audit', 'entries[].requestId', undefined)),
];

/** The text of a stream with one thing in it replaced. */
const saying = (from: string, to: string) =>
  changing('tail', (reply) => ({ ...reply, body: Buffer.from(String(reply.body).replaceAll(from, to)) }));

const streams: readonly Breakage[] = [
  breaks('W-STRM-01', put('forecast', 'duration', '2s')),
  breaks('W-STRM-02 W-STRM-04 W-STRM-06', refusingNothing),
  breaks('W-STRM-03', saying('"reason":"expired"', '"reason":"over"')),
  breaks('W-STRM-05', headed('events', 'cache-control', 'no-store')),
];

/** Faults put in front of opentelemetry-instrumentation-rdcp. */
export const decidedFaults: readonly Breakage[] = [...requests, ...authentication, ...control, ...answers, ...streams];
