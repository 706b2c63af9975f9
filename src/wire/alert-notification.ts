import { z } from 'zod';
import type { RdcpAnswer } from './messages.ts';
import type { Timestamp } from './time.ts';

// The webhook of Prometheus Alertmanager and of Grafana, and its answer. Their fields beyond these are not read.

const status = z.enum(['firing', 'resolved'], "must be 'firing' or 'resolved'");

const alert = z.object({
  status,
  // Not a record: zod takes half as long again for thousands of members of one.
  labels: z.object({}).catchall(z.string()),
  startsAt: z.iso.datetime({ offset: true, message: 'must be a time such as 2026-01-31T00:00:00Z' }),
  fingerprint: z.string().optional(),
});

export const alertNotificationSchema = z.object({
  version: z.enum(['4', '1'], "must be '4', which Alertmanager sends, or '1', which Grafana sends"),
  status,
  groupKey: z.string().min(1, 'must hold at least one character'),
  truncatedAlerts: z.number().int().min(0).optional(),
  alerts: z.array(alert).min(1, 'must hold at least one alert'),
});

/** The body of a notification about a group of alerts. */
export type AlertNotification = z.infer<typeof alertNotificationSchema>;

/** A control that an alert has made. */
export interface AlertControl {
  readonly rule: string;
  readonly controlId: string;
  /** When it ends, unless the alert is resolved before. */
  readonly expiresAt: Timestamp;
}

/** Response of `POST /rdcp/v1/alerts`. */
export interface AlertsResponse extends RdcpAnswer {
  readonly matched: number;
  /** What is on because of them, made by this notification or an earlier one. */
  readonly switched: readonly AlertControl[];
}
