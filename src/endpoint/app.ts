import type { IncomingMessage, ServerResponse } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import { hasCredentials } from '../access/configured.ts';
import { createAddressing } from '../control/tenancy/address.ts';
import { CONSOLE_PATHS, HEADERS, PATHS, TOKEN_PATHS } from '../wire/constants.ts';
import {
  authenticate,
  authorize,
  createIdentify,
  createQuotas,
  limitAddress,
  limitControls,
  limitRefusals,
  rateLimit,
  tenancy,
} from './middleware/access.ts';
import { jsonBody } from './middleware/body.ts';
import {
  assertSameMachine,
  clockSkew,
  contentNegotiation,
  fetchMetadata,
  hostAndOrigin,
  identifiers,
  knownPath,
  loopbackOnly,
  methodNotAllowed,
  protocolVersion,
  refuseWhileClosing,
  singleHeaders,
} from './middleware/headers.ts';
import type { EndpointParts, RouteParts } from './parts.ts';
import { createMetadataPath } from './paths.ts';
import { createRequestReader } from './request.ts';
import { ConsoleCodes, setPageHeaders } from './routes/console.ts';
import { ROUTES, type Route } from './routes.ts';
import {
  answer,
  byPath,
  checks,
  createAccessAudit,
  createNoteRefusal,
  endpoint,
  errorBoundary,
  type RequestState,
  type Step,
} from './steps.ts';
import { createCredentialWatch } from './streams/event-stream.ts';
import { Watchers } from './streams/watchers.ts';

/**
 * Answers requests to the endpoint. Any other request is passed to `next` unchanged, or answered 404 without `next`.
 */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse, next?: () => void) => void;

type Handle = (req: IncomingMessage, res: ServerResponse) => void;

const EVENT_STREAMS: ReadonlySet<string> = new Set([PATHS.tail, PATHS.events]);
const FILES = new Set(ROUTES.filter(([, , , quota]) => quota === 'console').map(([, path]) => path));

/** The endpoint: what every request goes through, and then the route that it asks for. */
export function createApp(parts: EndpointParts): Handle {
  const { config, trail, tokens, streams, instruments, isolation, clock } = parts;
  const quotas = createQuotas(config.limits, clock);
  const addressing = createAddressing(isolation, parts.namedTenants);
  const codes = new ConsoleCodes(parts);
  streams.add(() => codes.clear());
  const routers = new Map<string, Router<RequestState>>();
  const sequenceOf = stepsOf({
    ...parts,
    addressing,
    quotas,
    codes,
    recordAccess: createAccessAudit(trail, config.security.level === 'enterprise'),
    watchCredential: createCredentialWatch(createIdentify(parts.authenticator, quotas.anonymous), parts),
    watchers: new Watchers(parts),
    hasPath: (path) => routers.has(path),
  });
  for (const route of ROUTES) {
    const sequence = sequenceOf(route);
    if (sequence === undefined) continue;
    const [method, path] = route;
    const router = routers.get(path) ?? new Router<RequestState>({ sensitive: true, strict: true });
    routers.set(path, router);
    router.register(path, [method], endpoint(...sequence));
  }

  const issuerUrl = tokens?.issuerUrl;
  const readRequest = createRequestReader({
    trustedProxies: config.server === false ? [] : config.server.trustedProxies,
    metadataPath: issuerUrl && createMetadataPath(issuerUrl),
    oauthPaths: new Set(Object.values(TOKEN_PATHS).filter((path) => routers.has(path))),
  });

  const app = new Koa<RequestState>({ proxy: false });
  const noteRefusal = createNoteRefusal(trail, instruments, addressing);
  app.use(errorBoundary({ ...parts, timeoutSeconds: config.limits.requestTimeoutSeconds, noteRefusal, addressing }));
  app.use(
    checks(
      refuseWhileClosing(parts.closing),
      ...(hasCredentials(config.security) ? [] : [loopbackOnly()]),
      singleHeaders(isolation.level === undefined ? [] : [HEADERS.tenantId]),
      identifiers(),
      hostAndOrigin(),
      fetchMetadata(),
      knownPath(routers),
      protocolVersion(),
      contentNegotiation({ streams: EVENT_STREAMS, files: FILES }),
    ),
  );
  app.use(byPath(routers));
  app.use(endpoint(methodNotAllowed()));
  // The error boundary has answered and reported every error of a step. Those with a code are clients that disconnected.
  app.on('error', (error) => {
    if (!('code' in error)) parts.fault(error, 'the answer to a request');
  });

  const handle = app.callback();
  return (req, res) => {
    const { path } = readRequest(req);
    if (path === CONSOLE_PATHS.folder || path.startsWith(CONSOLE_PATHS.page)) setPageHeaders(res);
    void handle(req, res);
  };
}

/** Returns the steps of a route, in the order in which they run; `undefined` where this server does not have it. */
function stepsOf(parts: RouteParts): (route: Route) => readonly Step[] | undefined {
  const { authenticator, quotas, addressing, config, clock } = parts;
  const { methods } = authenticator;
  const { anonymous } = quotas;
  const identify = createIdentify(authenticator, anonymous);
  const credentials = {
    required: authenticate({ identify, methods, limiter: anonymous }),
    optional: authenticate({ identify, methods, limiter: anonymous, probes: quotas.health }, 'allowed'),
    open: authenticate({ identify, methods, limiter: anonymous }, 'open'),
    webhook: authenticate({ identify: createIdentify(authenticator, anonymous, true), methods, limiter: anonymous }),
  };
  return ([, , credential, quota, scopes, access, body, make]) => {
    const handler = make(parts);
    if (handler === undefined) return undefined;
    const own: Step[] = [...(body === '-' ? [] : [jsonBody(body)]), answer(handler)];
    if (credential === 'body') return [limitRefusals(anonymous, ...own)];
    if (credential === 'code') return [limitRefusals(anonymous, assertSameMachine, ...own)];
    if (credential === 'none') return [...(quota === '-' ? [] : [limitAddress(quotas[quota])]), ...own];
    return [
      credentials[credential],
      ...(quota === '-' ? [] : [quota === 'ending' ? limitControls(quotas) : rateLimit(quotas[quota])]),
      ...(scopes === '-' ? [] : [authorize(scopes, config)]),
      ...(access === '-' ? [] : [tenancy(addressing, access)]),
      ...(access === 'change' ? [clockSkew(clock)] : []),
      ...own,
    ];
  };
}
