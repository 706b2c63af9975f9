import type { Principal } from '../../access/principal.ts';
import type { AuditQuery } from '../../store/state-store.ts';
import type { AuditEntry, AuditResponse } from '../../wire/audit-messages.ts';
import { AUDIT_ACTIONS, AUDIT_OUTCOMES, EVERYBODY } from '../../wire/constants.ts';
import { ANY_CATEGORY_NAME, IDENTIFIER, matchesAny } from '../../wire/names.ts';
import { parseTimestamp } from '../../wire/time.ts';
import type { RouteParts } from '../parts.ts';
import { type Handler, opening, required } from '../steps.ts';
import { parseQuery, type Rule, type Rules, wholeNumber } from './query.ts';

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
const MAX_CURSOR_LENGTH = 1024;

const INSTANT: Rule<number> = {
  parse: parseTimestamp,
  allowed: 'a timestamp such as 2026-01-31T00:00:00.000Z',
  schema: { type: 'string', format: 'date-time', pattern: '\\.\\d{3}Z$' },
};

export const AUDIT_QUERY: Rules<Omit<AuditQuery, 'tenant'>> = {
  limit: wholeNumber(1, MAX_LIMIT),
  cursor: {
    parse: (value) => (value !== '' && value.length <= MAX_CURSOR_LENGTH ? value : undefined),
    allowed: 'otelrdcp_next of an earlier answer',
    schema: { type: 'string', minLength: 1, maxLength: MAX_CURSOR_LENGTH },
  },
  since: INSTANT,
  until: INSTANT,
  action: oneOf(AUDIT_ACTIONS),
  category: matching(ANY_CATEGORY_NAME, 'a category name'),
  client: matching(IDENTIFIER, '1 to 255 of a-z A-Z 0-9 . _ -'),
  outcome: oneOf(AUDIT_OUTCOMES),
};

/** `GET /rdcp/v1/audit`: the trail, newest first; for some tenants their entries, and those of the caller. */
export function audit({ trail, clock }: RouteParts): Handler {
  return async (ctx) => {
    const { tenantId, tenants } = required(ctx, 'tenancy');
    const principal = required(ctx, 'principal');
    const query: AuditQuery = { limit: DEFAULT_LIMIT, ...parseQuery(ctx.querystring, AUDIT_QUERY) };
    const page = await trail.query(tenantId === undefined ? query : { ...query, tenant: tenantId });
    const body: AuditResponse = {
      ...opening(ctx, clock),
      ...(tenants !== undefined && { otelrdcp_tenants: tenants }),
      entries: tenants === undefined ? page.entries : page.entries.filter(isShown(tenants, principal)),
      ...(page.next !== undefined && { otelrdcp_next: page.next }),
    };
    return { body };
  };
}

/** Entries of these tenants, and of the caller where they are of no tenant. */
function isShown(tenants: readonly string[], { userId, clientId }: Principal): (entry: AuditEntry) => boolean {
  return ({ tenant, identity }) => {
    if (tenant !== undefined && tenant.id !== EVERYBODY) return matchesAny(tenants, tenant.id);
    return identity.userId === userId && identity.clientId === clientId;
  };
}

function oneOf<T extends string>(values: readonly T[]): Rule<T> {
  return {
    parse: (value) => values.find((candidate) => candidate === value),
    allowed: `one of ${values.join(', ')}`,
    schema: { enum: values },
  };
}

function matching(pattern: RegExp, allowed: string): Rule<string> {
  return {
    parse: (value) => (pattern.test(value) ? value : undefined),
    allowed,
    schema: { type: 'string', pattern: pattern.source },
  };
}
