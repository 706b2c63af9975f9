import type { Access } from '../control/tenancy/address.ts';
import { ALERTS_BOUNDS, BODY_BOUNDS, CONSOLE_PATHS, PATHS, TOKEN_PATHS } from '../wire/constants.ts';
import type { JsonBounds } from '../wire/json-text.ts';
import { type QuotaName, type ScopeRule, scopesOfTail, scopesOfTenants } from './middleware/access.ts';
import type { RouteParts } from './parts.ts';
import { alerts } from './routes/alerts.ts';
import { audit } from './routes/audit.ts';
import { discovery, metrics, status } from './routes/categories.ts';
import { CONSOLE_FILES, consoleCode, consoleFile, consoleRedirect, consoleSession } from './routes/console.ts';
import { approvals, approve, control } from './routes/control.ts';
import { events } from './routes/events.ts';
import { forecast } from './routes/forecast.ts';
import { jwks, oauthMetadata, revoke, token } from './routes/oauth.ts';
import { openApi } from './routes/openapi.ts';
import { fleetMembers, health, notifications, session, wellKnown } from './routes/service.ts';
import { failures, tail } from './routes/tail.ts';
import { tenants } from './routes/tenants.ts';
import type { Handler } from './steps.ts';

/**
 * How a request proves who sends it. `optional`: a wrong credential is refused; `open`: it is ignored. `webhook`: an API key may
 * come as a bearer token. `body`: the handler reads it there; `code`: so it does, on the machine of the service alone.
 */
export type Credential = 'required' | 'optional' | 'open' | 'webhook' | 'body' | 'code' | 'none';

/** One line of the table. `-` stands for a step that the route does not have. */
export type Route = readonly [
  method: 'GET' | 'POST',
  path: string,
  credential: Credential,
  quota: QuotaName | '-',
  /** One of them is needed; `admin` implies all. */
  scopes: ScopeRule | '-',
  /** How the request addresses a tenant. A `change` must also have been sent just now. */
  tenant: Access | '-',
  /** Largest JSON body. */
  body: JsonBounds | '-',
  /** Makes the handler; `undefined` where this server does not have the route. */
  make: (parts: RouteParts) => Handler | undefined,
];

// biome-ignore format: a table
export const ROUTES: readonly Route[] = [
  ['GET',  PATHS.wellKnown,       'open',     'read',    '-',                     '-',       '-',           wellKnown],
  ['GET',  PATHS.discovery,       'required', 'read',    ['discovery'],           'read',    '-',           discovery],
  ['GET',  PATHS.status,          'required', 'read',    ['status', 'discovery'], 'read',    '-',           status],
  ['GET',  PATHS.health,          'optional', 'read',    ['status', 'discovery'], 'process', '-',           health],
  ['GET',  PATHS.metrics,         'required', 'read',    ['discovery'],           'read',    '-',           metrics],
  ['GET',  PATHS.tenants,         'required', 'read',    scopesOfTenants,         'read',    '-',           tenants],
  ['GET',  PATHS.audit,           'required', 'read',    scopesOfTenants,         'read',    '-',           audit],
  ['GET',  PATHS.session,         'required', 'read',    '-',                     'process', '-',           session],
  ['GET',  PATHS.fleet,           'required', 'read',    ['status', 'discovery'], 'process', '-',           fleetMembers],
  ['GET',  PATHS.notifications,   'required', 'read',    ['admin'],               'read',    '-',           notifications],
  ['POST', PATHS.control,         'required', 'ending',  ['control'],             'change',  BODY_BOUNDS,   control],
  ['GET',  PATHS.approvals,       'required', 'read',    ['admin'],               'read',    '-',           approvals],
  ['POST', PATHS.approve,         'required', 'control', ['admin'],               'change',  BODY_BOUNDS,   approve],
  ['POST', PATHS.alerts,          'webhook',  'read',    ['alerts'],              'process', ALERTS_BOUNDS, alerts],
  ['GET',  PATHS.openapi,         'required', 'read',    ['discovery'],           'read',    '-',           openApi],
  ['POST', PATHS.forecast,        'required', 'control', ['control', 'tail'],     'tap',     BODY_BOUNDS,   forecast],
  ['GET',  PATHS.events,          'required', 'read',    ['discovery'],           'read',    '-',           events],
  ['GET',  PATHS.tail,            'required', 'control', scopesOfTail,            'tail',    '-',           tail],
  ['POST', PATHS.tail,            'required', 'control', scopesOfTail,            'tail',    BODY_BOUNDS,   tail],
  ['POST', PATHS.failures,        'required', 'read',    scopesOfTail,            'tail',    BODY_BOUNDS,   failures],
  ['POST', TOKEN_PATHS.token,     'body',     '-',       '-',                     '-',       '-',           token],
  ['POST', TOKEN_PATHS.revoke,    'body',     '-',       '-',                     '-',       '-',           revoke],
  ['GET',  TOKEN_PATHS.jwks,      'none',     'address', '-',                     '-',       '-',           jwks],
  ['GET',  TOKEN_PATHS.metadata,  'none',     'address', '-',                     '-',       '-',           oauthMetadata],
  ['POST', CONSOLE_PATHS.code,    'required', 'control', '-',                     'process', '-',           consoleCode],
  ['POST', CONSOLE_PATHS.session, 'code',     '-',       '-',                     '-',       BODY_BOUNDS,   consoleSession],
  ['GET',  CONSOLE_PATHS.folder,  'none',     'console', '-',                     '-',       '-',           consoleRedirect],
  ...CONSOLE_FILES.map(({ path, ...file }) =>
  ['GET',  path,                  'none',     'console', '-',                     '-',       '-',           consoleFile(file)] as const),
];
