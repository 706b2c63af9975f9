import type { AuditTrail } from '../../audit/types.ts';
import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import { AUDIT_ACTIONS } from '../../protocol/constants.ts';
import type { AuditOutcome, AuditResponse } from '../../protocol/messages.ts';
import { isCategoryName, isIdentifier } from '../../protocol/names.ts';
import { parseTimestamp } from '../../protocol/time.ts';
import type { AuditQuery } from '../../store/state-store.ts';
import { type Handler, required } from '../context.ts';
import { opening } from './opening.ts';

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
const MAX_CURSOR_LENGTH = 1024;
const OUTCOMES: readonly AuditOutcome[] = ['success', 'partial', 'failed', 'denied'];

type Parameter = Exclude<keyof AuditQuery, 'tenant'>;

interface Rule<T> {
  /** `undefined` for a value that is not allowed. */
  readonly parse: (value: string) => T | undefined;
  readonly allowed: string;
}

const RULES: { readonly [K in Parameter]: Rule<NonNullable<AuditQuery[K]>> } = {
  limit: {
    parse: (value) => (/^[1-9]\d{0,3}$/.test(value) && Number(value) <= MAX_LIMIT ? Number(value) : undefined),
    allowed: `a whole number from 1 to ${MAX_LIMIT}`,
  },
  cursor: {
    parse: (value) => (value !== '' && value.length <= MAX_CURSOR_LENGTH ? value : undefined),
    allowed: 'otelrdcp_next of an earlier answer',
  },
  since: { parse: parseTimestamp, allowed: 'a timestamp such as 2026-01-31T00:00:00.000Z' },
  until: { parse: parseTimestamp, allowed: 'a timestamp such as 2026-01-31T00:00:00.000Z' },
  action: { parse: oneOf(AUDIT_ACTIONS), allowed: `one of ${AUDIT_ACTIONS.join(', ')}` },
  category: { parse: (value) => (isCategoryName(value) ? value : undefined), allowed: 'a category name' },
  client: { parse: (value) => (isIdentifier(value) ? value : undefined), allowed: '1 to 255 of a-z A-Z 0-9 . _ -' },
  outcome: { parse: oneOf(OUTCOMES), allowed: `one of ${OUTCOMES.join(', ')}` },
};

/** `GET /rdcp/v1/audit`: the trail, newest first. */
export function audit({ trail, clock }: { trail: AuditTrail; clock: Clock }): Handler {
  return async (ctx) => {
    const { tenantId } = required(ctx, 'tenancy');
    const query = parseAuditQuery(new URLSearchParams(ctx.querystring));
    const page = await trail.query(tenantId === undefined ? query : { ...query, tenant: tenantId });
    const body: AuditResponse = {
      ...opening(ctx, clock),
      entries: page.entries,
      ...(page.next !== undefined && { otelrdcp_next: page.next }),
    };
    return { body };
  };
}

/** @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for an unknown, duplicate or invalid parameter */
function parseAuditQuery(parameters: URLSearchParams): AuditQuery {
  const query: Record<string, unknown> = { limit: DEFAULT_LIMIT };
  const seen = new Set<string>();
  for (const [name, value] of parameters) {
    if (!isParameter(name)) throw malformed(name, `is not one of ${Object.keys(RULES).join(', ')}`);
    if (seen.has(name)) throw malformed(name, 'was given more than once');
    seen.add(name);
    const { parse, allowed } = RULES[name];
    const parsed = parse(value);
    if (parsed === undefined) throw malformed(name, `must be ${allowed}`);
    query[name] = parsed;
  }
  return query as unknown as AuditQuery;
}

function isParameter(name: string): name is Parameter {
  return Object.hasOwn(RULES, name);
}

function malformed(name: string, problem: string): RdcpError {
  const field = name.slice(0, 64);
  return new RdcpError('RDCP_MALFORMED_REQUEST', `Query parameter ${field} ${problem}`, { details: { field } });
}

function oneOf<T extends string>(values: readonly T[]): (value: string) => T | undefined {
  return (value) => values.find((candidate) => candidate === value);
}
