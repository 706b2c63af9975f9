import type { AuditTrail } from '../../audit/types.ts';
import type { Clock } from '../../clock.ts';
import type { AuditOutcome, AuditResponse } from '../../protocol/audit-messages.ts';
import { AUDIT_ACTIONS } from '../../protocol/constants.ts';
import { isCategoryName, isIdentifier } from '../../protocol/names.ts';
import { parseTimestamp } from '../../protocol/time.ts';
import type { AuditQuery } from '../../store/state-store.ts';
import { parseQuery, type Rules, wholeNumber } from '../query.ts';
import { type Handler, required } from '../steps.ts';
import { opening } from './opening.ts';

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
const MAX_CURSOR_LENGTH = 1024;
const OUTCOMES: readonly AuditOutcome[] = ['success', 'partial', 'failed', 'denied'];

const RULES: Rules<Omit<AuditQuery, 'tenant'>> = {
  limit: wholeNumber(1, MAX_LIMIT),
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
    const query: AuditQuery = { limit: DEFAULT_LIMIT, ...parseQuery(ctx.querystring, RULES) };
    const page = await trail.query(tenantId === undefined ? query : { ...query, tenant: tenantId });
    const body: AuditResponse = {
      ...opening(ctx, clock),
      entries: page.entries,
      ...(page.next !== undefined && { otelrdcp_next: page.next }),
    };
    return { body };
  };
}

function oneOf<T extends string>(values: readonly T[]): (value: string) => T | undefined {
  return (value) => values.find((candidate) => candidate === value);
}
