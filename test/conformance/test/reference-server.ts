import { isObject, type JsonObject } from '../src/expectation.ts';
import { PATHS } from '../src/session.ts';
import { type Handler, jsonReply, pathOf, type Reply, type ServerRequest } from './handler.ts';
import { authenticate, type Holder } from './reference-credentials.ts';
import { CATEGORIES, ReferenceState, type Setting, seconds } from './reference-state.ts';

// A second reading of the specification, to try the suite on. Where the specification is silent it decides otherwise
// than opentelemetry-instrumentation-rdcp does, so that a check which asks for more than is written fails here.

export interface ReferenceOptions {
  readonly level?: 'basic' | 'standard' | 'enterprise';
  readonly isolation?: 'global' | 'organization';
  /** Most control requests in a window. */
  readonly controlLimit?: number;
  /** @default a minute */
  readonly windowMs?: number;
  /** Repeated requests are answered from memory. */
  readonly deduplicate?: boolean;
  /** Milliseconds since the epoch. @default the time of day */
  readonly clock?: () => number;
}

class Refusal extends Error {
  readonly reply: Reply;

  constructor(status: number, code: string, message: string, more: JsonObject = {}, headers = {}) {
    super(message);
    this.reply = jsonReply(status, { error: { code, message, protocol: 'rdcp/1.0', ...more } }, headers);
  }
}

const ACTIONS = ['enable', 'disable', 'toggle', 'reset', 'status'];
const LONGEST_SECONDS = 24 * 3600;

interface Asking {
  readonly holder: Holder;
  readonly state: ReferenceState;
  readonly context: JsonObject;
}

export function referenceServer(options: ReferenceOptions = {}): Handler {
  const {
    level = 'basic',
    isolation = 'organization',
    controlLimit = Infinity,
    windowMs = 60_000,
    deduplicate = false,
    clock = Date.now,
  } = options;
  const states = new Map<string, ReferenceState>();
  const entries: JsonObject[] = [];
  const replies = new Map<string, Reply>();
  const controls: number[] = [];
  const used = () => controls.filter((time) => time > clock() - windowMs);

  const now = () => new Date(clock()).toISOString();
  const answer = (body: JsonObject, context: JsonObject = {}) =>
    jsonReply(
      200,
      { protocol: 'rdcp/1.0', timestamp: now(), ...body, ...context },
      {
        'Strict-Transport-Security': 'max-age=63072000',
        'RateLimit-Remaining': String(Math.min(1000, controlLimit - used().length)),
        'RateLimit-Reset': '1',
      },
    );

  function identify(request: ServerRequest, scope: string): Asking {
    const holder = authenticate(request);
    const denied = typeof holder === 'string' ? { method: 'api-key', details: { reason: holder } } : {};
    if (holder === undefined || typeof holder === 'string' || (level === 'enterprise' && !request.certified)) {
      const code = typeof holder === 'string' ? 'RDCP_AUTH_FAILED' : 'RDCP_AUTH_REQUIRED';
      throw new Refusal(401, code, 'Authentication is needed', denied);
    }
    if (!holder.scopes.includes(scope)) {
      throw new Refusal(403, 'RDCP_FORBIDDEN', 'The credential does not allow this', {
        method: holder.method,
        details: { reason: 'insufficient_scopes', requiredScopes: [scope], providedScopes: holder.scopes },
      });
    }
    return { holder, ...tenantOf(request, holder) };
  }

  function tenantOf({ headers }: ServerRequest, { tenant }: Holder): Pick<Asking, 'state' | 'context'> {
    const shared = level === 'basic' || isolation === 'global' || tenant === undefined;
    const key = shared ? '' : tenant;
    const state = states.get(key) ?? new ReferenceState(clock);
    states.set(key, state);
    if (level === 'basic') return { state, context: {} };
    const named = headers['x-rdcp-tenant-id'];
    if (named !== undefined && named !== tenant) throw new Refusal(403, 'RDCP_FORBIDDEN', 'Not this tenant');
    const wanted = headers['x-rdcp-isolation-level'];
    if (wanted !== undefined && wanted !== isolation) throw new Refusal(403, 'RDCP_FORBIDDEN', 'Not this isolation');
    const scope = isolation === 'global' ? 'global' : 'tenant-isolated';
    return { state, context: { tenant: { id: tenant ?? 'none', isolationLevel: isolation, scope } } };
  }

  function wellKnown(): Reply {
    const advanced = level !== 'basic';
    return jsonReply(200, {
      protocol: 'rdcp/1.0',
      endpoints: { discovery: PATHS.discovery, control: PATHS.control, status: PATHS.status, health: PATHS.health },
      capabilities: { multiTenancy: advanced, performanceMetrics: true, temporaryControls: true, auditTrail: true },
      security: {
        level,
        methods:
          level === 'enterprise' ? ['mtls', 'bearer', 'api-key'] : advanced ? ['bearer', 'api-key'] : ['api-key'],
        scopes: ['discovery', 'status', 'control', 'admin'],
        required: true,
        keyRotation: true,
        tokenRefresh: advanced,
      },
    });
  }

  function discovery(request: ServerRequest): Reply {
    const { state, context } = identify(request, 'discovery');
    const categories = Object.entries(CATEGORIES).map(([name, { description }]) => {
      const { enabled, expiresAt } = state.get(name);
      const metrics = { callsTotal: 0, callsPerSecond: 0 };
      return { name, description, enabled, temporary: expiresAt !== undefined, metrics };
    });
    const categoryBreakdown = Object.fromEntries(categories.map(({ name }) => [name, 0]));
    return answer({ categories, performance: { totalCalls: 0, callsPerSecond: 0, categoryBreakdown } }, context);
  }

  function status(request: ServerRequest): Reply {
    const { state, context } = identify(request, 'status');
    const categories = Object.fromEntries(Object.keys(CATEGORIES).map((name) => [name, state.get(name).enabled]));
    return answer({ enabled: true, categories, performance: { totalCalls: 0, callsPerSecond: 0 } }, context);
  }

  function health(request: ServerRequest): Reply {
    const { context } = identify(request, 'status');
    return answer({ status: 'healthy', checks: [{ name: 'memory', status: 'pass', duration: '0.1 ms' }] }, context);
  }

  function metrics(request: ServerRequest): Reply {
    const { context } = identify(request, 'discovery');
    const measured = level === 'enterprise';
    const calls = { value: 0, unit: 'count', measured, timestamp: now() };
    return answer({ calls, ...(measured ? {} : { ref_note: 'All values are estimated.' }) }, context);
  }

  function audit(request: ServerRequest): Reply {
    const { context, holder } = identify(request, 'admin');
    return answer({ log: entries.filter(({ tenant }) => tenant === holder.tenant) }, context);
  }

  function control(request: ServerRequest): Reply {
    const asking = identify(request, 'control');
    const [oldest = clock(), ...others] = used();
    if (others.length + 1 >= controlLimit) {
      const until = { 'Retry-After': new Date(oldest + windowMs + 1000).toUTCString() };
      throw new Refusal(429, 'RDCP_RATE_LIMITED', 'Too many requests', {}, until);
    }
    controls.push(clock());
    const id = request.headers['x-rdcp-request-id'];
    const kept = deduplicate && id !== undefined ? replies.get(id) : undefined;
    const reply = kept ?? perform(parse(request), asking);
    if (id !== undefined) replies.set(id, reply);
    return reply;
  }

  function perform({ action, names, options }: Command, { state, holder, context }: Asking): Reply {
    const effective = clock();
    const changes = names.map((category) => {
      const previousState = state.get(category).enabled;
      if (action !== 'status') state.set(category, next(action, previousState, options, effective));
      const { enabled, expiresAt } = state.get(category);
      return {
        category,
        previousState,
        newState: enabled,
        temporary: expiresAt !== undefined,
        effectiveAt: new Date(effective).toISOString(),
        ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      };
    });
    const { userId, tenant } = holder;
    entries.push({ at: now(), what: action, on: names, user: userId, tenant, retention: '90d' });
    const done = action === 'status' ? [] : changes;
    return answer({ action, categories: names, status: 'success', message: '', changes: done }, context);
  }

  const routes: Readonly<Record<string, (request: ServerRequest) => Reply>> = {
    [`GET ${PATHS.wellKnown}`]: wellKnown,
    [`GET ${PATHS.discovery}`]: discovery,
    [`GET ${PATHS.status}`]: status,
    [`GET ${PATHS.health}`]: health,
    [`GET ${PATHS.metrics}`]: metrics,
    [`GET ${PATHS.audit}`]: audit,
    [`POST ${PATHS.control}`]: control,
  };

  return async (request) => {
    try {
      const route = routes[`${request.method} ${pathOf(request)}`];
      if (route === undefined) throw new Refusal(404, 'RDCP_NOT_FOUND', 'There is no such resource');
      return route(request);
    } catch (error) {
      if (error instanceof Refusal) return error.reply;
      throw error;
    }
  };
}

interface Command {
  readonly action: string;
  readonly names: readonly string[];
  readonly options: JsonObject;
}

function parse({ body, headers }: ServerRequest): Command {
  const malformed = (message: string) => new Refusal(400, 'RDCP_MALFORMED_REQUEST', message);
  if (/charset=(?!utf-8)/i.test(headers['content-type'] ?? '')) throw malformed('Only UTF-8 is read');
  const request = parseJson(body.toString());
  if (!isObject(request)) throw malformed('The body must be a JSON object');
  const { action, categories, options = {} } = request;
  if (typeof action !== 'string' || !ACTIONS.includes(action)) throw malformed('action is missing or unknown');
  if (!isObject(options)) throw malformed('options must be an object');
  const { temporary = false, duration = 900, reason = '' } = options;
  const length = seconds(duration);
  if (
    typeof temporary !== 'boolean' ||
    typeof reason !== 'string' ||
    length === undefined ||
    length > LONGEST_SECONDS
  ) {
    throw malformed('options are wrong');
  }
  const names = typeof categories === 'string' ? [categories] : categories;
  if (!Array.isArray(names) || names.length === 0) throw malformed('categories are needed');
  if (new Set(names).size < names.length) throw malformed('a category is named twice');
  if (names.some((name) => typeof name !== 'string')) throw malformed('categories are strings');
  if (names.some((name) => !Object.hasOwn(CATEGORIES, name))) {
    throw new Refusal(404, 'RDCP_CATEGORY_NOT_FOUND', 'Unknown category');
  }
  return { action, names, options };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function next(action: string, previous: boolean, options: JsonObject, effective: number): Setting | undefined {
  if (action === 'reset') return undefined;
  const enabled = action === 'toggle' ? !previous : action === 'enable';
  if (options.temporary !== true) return { enabled };
  return { enabled, expiresAt: effective + (seconds(options.duration ?? 900) ?? 0) * 1000 };
}
