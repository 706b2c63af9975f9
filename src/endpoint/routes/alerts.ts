import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../access/principal.ts';
import { AlertControls, type AlertRule, noticeOf } from '../../control/alerts/alert-controls.ts';
import { maySwitchOn } from '../../control/allow.ts';
import { type AlertControl, type AlertsResponse, alertNotificationSchema } from '../../wire/alert-notification.ts';
import { isRdcpError } from '../../wire/errors.ts';
import { matchesAny } from '../../wire/names.ts';
import { validBody } from '../middleware/body.ts';
import type { RouteParts } from '../parts.ts';
import { type Handler, opening, required, sourceOf } from '../steps.ts';

/** `POST /rdcp/v1/alerts`: switches what the rules say for the alerts of a notification; only where a rule waits for one. */
export function alerts(parts: RouteParts): Handler | undefined {
  const { config, clock, report } = parts;
  if (!config.alerts.some(({ match }) => match !== undefined)) return undefined;
  const controls = new AlertControls(parts);
  return async (ctx) => {
    // A large notification is parsed, validated and matched in one turn of the event loop each.
    await nextTurn();
    const notification = validBody(ctx, alertNotificationSchema);
    const source = sourceOf(ctx);
    await nextTurn();
    let matched = 0;
    const switched: AlertControl[] = [];
    let failure: unknown;
    for (const rule of config.alerts) {
      if (!mayTrigger(required(ctx, 'principal'), rule)) continue;
      const notice = rule.match && noticeOf(rule.match, notification);
      if (notice === undefined) continue;
      matched += 1;
      try {
        const control = await controls.handle(rule, notification.groupKey, notice, source);
        if (control !== undefined) switched.push(control);
      } catch (error) {
        // Others go on. What may succeed later fails in the end, so that the notification is sent again.
        if (isRdcpError(error) && error.status < 500) report(error);
        else failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    const body: AlertsResponse = { ...opening(ctx, clock), matched, switched };
    return { body };
  };
}

/** A credential of a tenant triggers the rules of that tenant alone, and one with `allow` those of what it allows. */
function mayTrigger(principal: Principal, { enable: categories, for: seconds, tenant }: AlertRule): boolean {
  const { tenantId, tenants, allow } = principal;
  if (allow !== undefined && !maySwitchOn(allow, { categories, seconds, tenantId: tenant })) return false;
  if (tenantId !== undefined) return tenant === tenantId;
  return tenants === undefined || (tenant !== undefined && matchesAny(tenants, tenant));
}
