import { hash } from 'node:crypto';
import type { ResolvedConfig } from '../../options/config.ts';
import { inTurn } from '../../store/one-at-a-time.ts';
import type { AuditTrail } from '../../trail/types.ts';
import type { AlertControl } from '../../wire/alert-notification.ts';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import { ALERT_USER } from '../../wire/constants.ts';
import type { DiscoveredActivation } from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { Isolation } from '../tenancy/isolation.ts';
import type { CommandContext, ControlPlane } from '../types.ts';
import { lastSwitch } from './history.ts';
import type { Notice } from './notice.ts';

/** What the service's owner allows alerts to switch. */
export type AlertRule = ResolvedConfig['alerts'][number];

export interface AlertControlsOptions {
  readonly plane: Pick<ControlPlane, 'control' | 'hasAll'>;
  readonly trail: Pick<AuditTrail, 'query'>;
  /** Knows the categories of other processes. */
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

/** When the alert began to fire for which it was switched. */
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
