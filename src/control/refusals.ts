import type { Allow } from '../wire/allow.ts';
import type { AuthMethod } from '../wire/constants.ts';
import {
  type ErrorCode,
  failureCode,
  isRdcpError,
  RdcpError,
  type RdcpErrorOptions,
  unavailable,
} from '../wire/errors.ts';
import { nameSome } from '../wire/printable.ts';

const error = (code: ErrorCode, message: string, options?: RdcpErrorOptions) => new RdcpError(code, message, options);

/** Unknown names repeated in an error answer and its audit entry. The client chooses how many it sends, so they are capped. */
export const MAX_REFUSED_NAMES = 20;
/** `details.reason` of what a credential's `allow` does not cover. */
export const NOT_ALLOWED = 'not_allowed';

/** The errors of changes: code, message, and what else a client gets. The status is that of the code. */
// biome-ignore format: a table
export const CHANGE_REFUSALS = {
  // What is asked for
  /** @param where follows the noun */
  unknown: (names: readonly string[], where: string) =>
    error('RDCP_CATEGORY_NOT_FOUND', `Unknown ${names.length === 1 ? 'category' : 'categories'}${where}: ${nameSome(names)}`,
      { details: {
        unknown: names.slice(0, MAX_REFUSED_NAMES),
        ...(names.length > MAX_REFUSED_NAMES && { unknownCount: names.length }),
      } }),
  longDuration: (maximum: string) =>
    error('RDCP_MALFORMED_REQUEST', `options.duration must be at most ${maximum}`,
      { details: { field: 'options.duration', maximum } }),
  manyTemporary: (maximum: number) =>
    error('RDCP_TEMPORARY_LIMIT', `At most ${maximum} temporary controls may be in force at a time`, { details: { maximum } }),
  manyActivations: (category: string, maximum: number) =>
    error('RDCP_TEMPORARY_LIMIT', `${category} has ${maximum} activations, the most that a category may have`,
      { details: { maximum } }),
  noSigner: () =>
    error('RDCP_MALFORMED_REQUEST', 'options.otelrdcp_sign needs security.tokens of this service',
      { details: { field: 'options.otelrdcp_sign' } }),
  noTenants: () => error('RDCP_MALFORMED_REQUEST', 'it is for a tenant, and tenants have no settings of their own here'),
  manyCategories: (cause: unknown) =>
    error('RDCP_CONFIG_INVALID', 'configuration: categories are more than limits.maxCategories',
      { details: { field: 'categories' }, cause }),

  // Who asks
  /** @param problem follows the name of the field */
  notAllowed: (allow: Allow, method: AuthMethod | undefined, field: string, problem: string) =>
    error('RDCP_FORBIDDEN', `${field} ${problem}`,
      { ...(method !== undefined && { method }), details: { reason: NOT_ALLOWED, field, allow } }),
  ownRequest: (method: AuthMethod | undefined) =>
    error('RDCP_FORBIDDEN', 'A change is approved by another user than the one who asked for it',
      { ...(method !== undefined && { method }), details: { reason: 'own_request' } }),
  waits: ({ message, method, details }: RdcpError, time: string, approval: { readonly id: string; readonly expiresAt: string }) =>
    error('RDCP_FORBIDDEN', `${message}. The change waits ${time} for another identity with the scope admin: rdcp approve ${approval.id}`,
      { ...(method !== undefined && { method }), details: { ...details, reason: 'approval_required', approval } }),

  // Its request id
  inProgress: () =>
    error('RDCP_REQUEST_IN_PROGRESS', 'The request with this id is still being worked on', { headers: { 'Retry-After': '1' } }),
  reused: () => error('RDCP_REQUEST_ID_REUSED', 'The request id was used for another request'),
  malformedAnswer: () => error('RDCP_REQUEST_ID_REUSED', 'The answer that was kept for this request id is malformed'),

  // What becomes of it
  closing: () => unavailable('The server is shutting down'),
  manyWaiting: () => unavailable('Too many changes are waiting, so nothing was changed'),
  contended: () => unavailable('Others keep changing the same state, so nothing was changed'),
  longTrail: () => unavailable('The audit trail has too many entries since the alert began, so nothing was changed'),
  /** A store may throw an `RdcpError` of its own. */
  storeAway: (cause?: unknown) =>
    isRdcpError(cause) ? cause : unavailable('The store is unavailable, so nothing was changed', cause),
  unaudited: (cause: unknown) =>
    error('RDCP_AUDIT_WRITE_FAILED', 'The change could not be audited, so it was not applied', { cause }),

  // The fleet
  noList: (cause: unknown) => unavailable('Fleet list unavailable: the store is unreachable', cause),
  noPosition: (cause: unknown) => error('RDCP_UNAVAILABLE', `fleet list unavailable${failureCode(cause)}`, { cause }),
  behind: () => error('RDCP_UNAVAILABLE', 'this process is behind the store'),
};
