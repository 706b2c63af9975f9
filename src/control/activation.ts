import { createHmac } from 'node:crypto';
import { type Activation, type Maker, NO_END } from '../store/state-store.ts';
import type { AuditedActivation } from '../wire/audit-messages.ts';
import { ALERT_USER, TICKET_ATTRIBUTE } from '../wire/constants.ts';
import type { ControlRequest } from '../wire/control-request.ts';
import { given } from '../wire/json-text.ts';
import type { DiscoveredActivation } from '../wire/messages.ts';
import type { ControlTarget, Match, Target } from '../wire/target.ts';
import { timestamp } from '../wire/time.ts';
import { CHANGE_REFUSALS } from './refusals.ts';

/** Most activations of a category in one scope: this many of operators, and as many of alerts. */
const MAX_PER_CATEGORY = 16;
/** Length of what stands for a value that is not shown. */
const MASKED_LENGTH = 12;
const NO_ACTIVATIONS: readonly Activation[] = [];

export interface ActivationSources {
  /** Makes what identifies an activation, and what masks its values. */
  readonly randomUUID: () => string;
  /** Makes the ticket of an activation for one request. @returns its hash */
  readonly ticketFor: (about: Pick<Activation, 'id' | 'categories' | 'expiresAt'>) => string;
  /** The latest end, in milliseconds since the epoch. @default none but that of the duration */
  readonly until?: number | undefined;
}

export function activationOf(
  { options }: ControlRequest,
  categories: readonly string[],
  expiresAt: number,
  by: Maker | undefined,
  { randomUUID, ticketFor }: ActivationSources,
): Activation {
  const {
    otelrdcp_target: target,
    otelrdcp_filter: filter,
    otelrdcp_when: when,
    otelrdcp_record: record,
    otelrdcp_budget: budget,
    otelrdcp_level: level,
  } = options ?? {};
  const id = randomUUID().replaceAll('-', '').slice(0, 12);
  const match = target?.request ? { [TICKET_ATTRIBUTE]: ticketFor({ id, categories, expiresAt }) } : target?.match;
  return {
    id,
    categories,
    ...((match ?? target?.instances) !== undefined && {
      target: { ...(match && { match }), ...(target?.instances && { instances: target.instances }) },
    }),
    ...given({ filter, when, record, budget, level, by }),
    expiresAt,
    maskKey: randomUUID(),
  };
}

export function isOfAlert(by: Maker | undefined): boolean {
  return by?.userId?.startsWith(ALERT_USER) === true;
}

/** @throws {RdcpError} `RDCP_TEMPORARY_LIMIT` where a category would have too many */
export function assertRoomForActivation(categories: readonly string[], live: readonly Activation[]): void {
  const full = categories.find((name) => ofCategory(live, name).length >= MAX_PER_CATEGORY);
  if (full !== undefined) throw CHANGE_REFUSALS.manyActivations(full, MAX_PER_CATEGORY);
}

export function ofCategory(activations: readonly Activation[] | undefined, category: string): readonly Activation[] {
  return activations?.filter(({ categories }) => categories.includes(category)) ?? NO_ACTIVATIONS;
}

/** When it ends, in words: `until 2026-01-31T14:05:12.000Z`, or `without an end`. */
export function endText({ expiresAt }: Pick<Activation, 'expiresAt'>): string {
  return expiresAt === NO_END ? 'without an end' : `until ${timestamp(expiresAt)}`;
}

/**
 * An activation as an answer shows it.
 * @param tenantId of its scope
 * @param reader who asks: may see the values of attributes, and who made it
 */
export function shownActivation(
  activation: Activation,
  tenantId: string | undefined,
  reader: { readonly values: boolean; readonly maker: boolean },
): DiscoveredActivation {
  const { id, categories, budget, expiresAt, by } = activation;
  const { reason, at, ...who } = by ?? {};
  return {
    id,
    categories,
    ...partOf(activation, reader.values),
    ...given({ tenant: tenantId, budget }),
    ...shownEnd(expiresAt),
    ...(reason !== undefined && reader.maker && { reason }),
    ...(at !== undefined && reader.maker && { by: { ...who, since: timestamp(at) } }),
  };
}

/** An activation as the audit trail has it: without values of attributes, which are personal data. */
export function auditedActivation(activation: Activation): AuditedActivation {
  return { id: activation.id, ...partOf(activation, false), ...shownEnd(activation.expiresAt) };
}

function shownEnd(expiresAt: number): Pick<DiscoveredActivation, 'expiresAt'> {
  return expiresAt === NO_END ? {} : { expiresAt: timestamp(expiresAt) };
}

function partOf(
  { target, filter, when, record, level, maskKey }: Activation,
  values: boolean,
): Pick<DiscoveredActivation, 'target' | 'filter' | 'when' | 'record' | 'level'> {
  return {
    ...(target !== undefined && { target: shownTarget(target, values, maskKey) }),
    ...given({ filter, when, record, level }),
  };
}

function isForTicket(target: Target | undefined): boolean {
  return target?.match !== undefined && Object.hasOwn(target.match, TICKET_ATTRIBUTE);
}

function shownTarget(target: Target, values: boolean, maskKey: string): ControlTarget {
  const { match, instances } = target;
  if (isForTicket(target)) return { request: true, ...(instances && { instances }) };
  return values || match === undefined ? target : { ...target, match: masked(match, maskKey) };
}

/** The same value of one activation is always masked to the same text, in every process. */
function masked(match: Match, maskKey: string): Match {
  const mask = (value: string) => createHmac('sha256', maskKey).update(value).digest('hex').slice(0, MASKED_LENGTH);
  return Object.fromEntries(Object.entries(match).map(([name, value]) => [name, `hmac:${mask(value)}`]));
}
