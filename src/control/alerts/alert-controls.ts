import { hash } from 'node:crypto';
import type { ResolvedConfig } from '../../options/config.ts';
import { inTurn } from '../../store/one-at-a-time.ts';
import type { AuditTrail } from '../../trail/types.ts';
import type { AlertControl, AlertNotification } from '../../wire/alert-notification.ts';
import type { AuditEntry, AuditIdentity } from '../../wire/audit-messages.ts';
import { ALERT_USER } from '../../wire/constants.ts';
import type { DiscoveredActivation } from '../../wire/messages.ts';
import { allowing } from '../../wire/names.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import type { Match } from '../../wire/target.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { ControlPlane } from '../plane.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import type { Isolation } from '../tenancy/isolation.ts';
import type { CommandContext } from '../types.ts';

export type AlertRule = ResolvedConfig['alerts'][number];

export interface AlertControlsOptions {
  readonly plane: Pick<ControlPlane, 'control' | 'hasAll'>;
  readonly trail: Pick<AuditTrail, 'query'>;
  readonly fleet: { refresh(always?: boolean): Promise<void> } | undefined;
  readonly isolation: Pick<Isolation, 'scopeOf' | 'contextOf'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Switches what rules say, once for each firing of a group of alerts. */
export class AlertControls {
  readonly #options: AlertControlsOptions;
  readonly #next = inTurn();

  constructor(options: AlertControlsOptions) {
    this.#options = options;
  }

  /**
   * @param group of alerts that are notified together
   * @param source who sent the notification
   * @returns what is on because of the rule and group
   * @throws {RdcpError} when nothing was changed
   */
  handle(
    rule: AlertRule,
    group: string,
    notice: Notice,
    source?: AuditEntry['source'],
  ): Promise<AlertControl | undefined> {
    return this.#next(() => this.#handle(rule, group, notice, source));
  }

  async #handle(
    rule: AlertRule,
    group: string,
    { state, since, subject }: Notice,
    source: AuditEntry['source'],
  ): Promise<AlertControl | undefined> {
    const { plane, trail, fleet, clock } = this.#options;
    const now = clock.now();
    const groupId = hash('sha256', JSON.stringify([rule.name, rule.tenant, group]), 'hex').slice(0, 32);
    const last = await lastSwitch({
      trail,
      identity: identityOf(rule.name),
      groupId,
      since: Math.min(since, now - (rule.for + rule.cooldown) * 1000),
    });
    const context = { ...this.#contextOf(rule), requestId: `${groupId}.${since}`, ...(source && { source }) };
    // Of processes that act on the same last switch, the store lets one through.
    const replay = { key: JSON.stringify(['alert', groupId, state, last?.id]), fingerprint: '' };
    if (state === 'resolved') {
      if (last?.action !== 'enable') return undefined;
      // Of the processes that measure the same, the one that switched it on ends it, unless its time did.
      if (rule.match === undefined && (sinceOf(last) !== since || !isOn(rule, now, last))) return undefined;
      const options = { otelrdcp_id: last.otelrdcp_activation?.id, reason: `resolved: ${subject}` };
      await plane.control({ action: 'reset', options }, { ...context, replay });
      return undefined;
    }
    if (last !== undefined && isCovered(rule, since, now, last)) {
      return last.action === 'enable' ? controlOf(rule, last.otelrdcp_activation, now) : undefined;
    }
    const options = {
      duration: rule.for,
      reason: subject,
      // Beside the settings of operators, which an alert must neither shorten nor end.
      otelrdcp_target: rule.target ?? {},
      ...(rule.filter && { otelrdcp_filter: rule.filter }),
      ...whenOf(rule),
    };
    if (fleet !== undefined && !plane.hasAll(rule.enable)) await fleet.refresh(true);
    const { response } = await plane.control(
      { action: 'enable', categories: [...rule.enable], options },
      { ...context, replay },
    );
    return controlOf(rule, response.otelrdcp_activation, now);
  }

  #contextOf({ name, tenant: tenantId }: AlertRule): Omit<CommandContext, 'requestId'> {
    const { isolation } = this.#options;
    const tenant = isolation.contextOf(tenantId);
    return { scope: isolation.scopeOf(tenantId), identity: identityOf(name), ...(tenant && { tenant }) };
  }
}

function identityOf(rule: string) {
  return { userId: ALERT_USER + rule, clientId: `alert.${rule}` };
}

/** Which work is meant: the part of the rule's `when` that a control has. */
function whenOf({ when: { failed, slowerThan } = {} }: AlertRule) {
  if (failed === undefined && slowerThan === undefined) return {};
  return { otelrdcp_when: { ...(failed && { failed }), ...(slowerThan !== undefined && { slowerThan }) } };
}

/** Whether what the last switch began has not ended by its time. */
function isOn(rule: AlertRule, now: number, { timestamp }: AuditEntry): boolean {
  return now < Date.parse(timestamp) + rule.for * 1000;
}

function sinceOf({ requestId }: AuditEntry): number {
  return Number(requestId?.split('.')[1]);
}

/** Whether the last switch was for this firing, or is so recent that the rule pauses. */
function isCovered(rule: AlertRule, since: number, now: number, last: AuditEntry): boolean {
  const { action, timestamp } = last;
  const at = Date.parse(timestamp);
  const lasted = action === 'enable' ? rule.for : 0;
  return since <= sinceOf(last) || (action === 'enable' && since <= at) || now < at + (lasted + rule.cooldown) * 1000;
}

function controlOf(
  { name: rule }: AlertRule,
  { id: controlId = '', expiresAt = '' }: Partial<Pick<DiscoveredActivation, 'id' | 'expiresAt'>> = {},
  now: number,
): AlertControl | undefined {
  return Date.parse(expiresAt) > now ? { rule, controlId, expiresAt } : undefined;
}

/** Pages of the trail that one question may read, and entries in each. A store may end a page early. */
const MAX_PAGES = 50;
const PAGE = 200;

interface LastSwitchOptions {
  readonly trail: Pick<AuditTrail, 'query'>;
  readonly identity: Required<Pick<AuditIdentity, 'userId' | 'clientId'>>;
  /** The group of alerts: its request ids begin with it. */
  readonly groupId: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/**
 * What a group of alerts switched last, not earlier than `since`, as the audit trail has it: for all processes that share the
 * store, and after a restart.
 * @throws {RdcpError} `RDCP_UNAVAILABLE` if more of the trail would have to be read than one question may
 */
export async function lastSwitch({
  trail,
  identity: { userId, clientId: client },
  groupId,
  since,
}: LastSwitchOptions): Promise<AuditEntry | undefined> {
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const filter = { limit: PAGE, client, outcome: 'success', since } as const;
    const { entries, next } = await trail.query({ ...filter, ...(cursor !== undefined && { cursor }) });
    const last = entries.find(
      ({ requestId, identity }) => requestId?.split('.')[0] === groupId && identity.userId === userId,
    );
    if (last !== undefined || next === undefined) return last;
    cursor = next;
  }
  throw CHANGE_REFUSALS.longTrail();
}

export interface Notice {
  readonly state: 'firing' | 'resolved';
  /** When the first of the alerts began to fire; milliseconds since the epoch. */
  readonly since: number;
  readonly subject: string;
}

/** Longest description of an alert, in characters. */
const MAX_SUBJECT = 400;

/** @returns `undefined` if no alert has the labels, or if those that have them may be among the ones that were cut off */
export function noticeOf(match: Match, { status, alerts, truncatedAlerts = 0 }: AlertNotification): Notice | undefined {
  const conditions = Object.entries(match).map(([name, value]) => ({ name, allows: allowing(value) }));
  const matching = alerts.filter(({ labels }) =>
    conditions.every(({ name, allows }) => Object.hasOwn(labels, name) && allows(labels[name] ?? '')),
  );
  const firing = matching.filter((alert) => alert.status === 'firing');
  if (firing.length === 0 && status === 'firing' && truncatedAlerts > 0) return undefined;
  const [first] = (firing.length > 0 ? firing : matching)
    .map((alert) => ({ alert, since: Date.parse(alert.startsAt) }))
    .sort((a, b) => a.since - b.since);
  return (
    first && {
      state: firing.length > 0 ? 'firing' : 'resolved',
      since: first.since,
      subject: subjectOf(first.alert),
    }
  );
}

/** Such as `c6eadffa33fcdf37 alertname=HighErrorRate job=shop`, bounded and on one line. */
function subjectOf({ fingerprint = '', labels }: AlertNotification['alerts'][number]): string {
  let text = fingerprint.slice(0, MAX_SUBJECT);
  for (const [name, value] of Object.entries(labels)) {
    if (text.length >= MAX_SUBJECT) break;
    text += ` ${name.slice(0, MAX_SUBJECT)}=${value.slice(0, MAX_SUBJECT)}`;
  }
  return escapeUnprintable(text).slice(0, MAX_SUBJECT).toWellFormed();
}
