import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { WebhookOptions } from '../../options/options.ts';
import { withoutTracing } from '../../otel/own-work.ts';
import type { Conditions } from '../../otel/report/conditions.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { configurationError } from '../../wire/errors.ts';
import type { NotificationReceiver } from '../../wire/messages.ts';
import { send } from '../../wire/net/request.ts';
import { trustedUri } from '../../wire/net/trusted-uri.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { RecordedEntry } from '../types.ts';
import { type EventSource, eventOf, type Format, type Notification, slackBody, standardBody } from './event.ts';
import { FailureReports, type RecordedFailure } from './failures.ts';
import { type DropReason, keyOfSecret, Webhook } from './webhook.ts';

export interface NotifierOptions {
  readonly webhooks: readonly WebhookOptions[];
  /** Called for each event: the SDK that names the service may be registered later. */
  readonly source: () => EventSource;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  readonly conditions: Pick<Conditions, 'watch'>;
  readonly reporter: Pick<Reporter, 'warn'>;
  readonly random?: () => number;
  readonly count: (outcome: 'success' | 'failed', reason?: DropReason) => void;
  readonly report: (error: unknown) => void;
  /** Address of a trace, with `{traceId}` in it. @default none */
  readonly traceUrl?: string | undefined;
}

interface Receiver {
  readonly webhook: Webhook;
  readonly events: ReadonlySet<string> | undefined;
  readonly bodyOf: (notification: Notification) => string;
}

const FORMATS: Record<NonNullable<WebhookOptions['format']>, Format> = { standard: standardBody, slack: slackBody };

/** In the background. @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message shows neither URL nor secret */
export function createNotifier(options: NotifierOptions) {
  const { webhooks } = options;
  const receivers = webhooks.map((webhook, index) =>
    receiverFor(webhook, webhooks.length === 1 ? 'notify.webhook' : `notify.webhook.${index}`, options),
  );
  const notify = (id: string, notification: Notification) => {
    try {
      for (const { webhook, events, bodyOf } of receivers) {
        const { event } = notification;
        if (events?.has(event) !== false) webhook.add(id, bodyOf(notification), event);
      }
    } catch (error) {
      options.report(error);
    }
  };
  const failures = new FailureReports(options, (report) => {
    notify(randomUUID(), { event: 'failure.recorded', report });
  });
  return {
    failed: (failure: RecordedFailure) => failures.add(failure),
    recorded(entry: RecordedEntry): void {
      const event = eventOf(entry);
      if (event !== undefined) notify(entry.id, { event, entry });
    },
    get receivers(): readonly NotificationReceiver[] {
      return receivers.map(({ webhook }) => webhook.state);
    },
    /** Sends what waits, for a few seconds at most. */
    async close(): Promise<void> {
      await Promise.all(receivers.map(({ webhook }) => webhook.close()));
    },
  };
}

function receiverFor(
  { url, secret, events, format = 'standard' }: WebhookOptions,
  field: string,
  { clock, delay, source, random = Math.random, conditions, reporter, count }: NotifierOptions,
): Receiver {
  // Outside any request: requests that carry a notification belong to no trace, and make no span.
  const outside = AsyncLocalStorage.snapshot();
  const bodyOf = (notification: Notification) => FORMATS[format](notification, { source: source(), now: clock.now() });
  const webhook = new Webhook({
    url: trustedUri(url, `${field}.url`),
    keys: keysOf(secret, format, `${field}.secret`),
    send: (request) => outside(() => withoutTracing(() => send(request))),
    clock,
    delay,
    random,
    condition: conditions.watch('notify'),
    reporter,
    delivered: () => count('success'),
    dropped: (reason) => count('failed', reason),
    lossBody: (loss) => bodyOf({ event: 'dropped', loss }),
    randomUUID,
  });
  return { webhook, events: events && new Set(events), bodyOf };
}

function keysOf(secret: WebhookOptions['secret'], format: WebhookOptions['format'], field: string): Buffer[] {
  if (secret === undefined && format !== 'slack') throw configurationError(field, 'is required');
  return [secret ?? []].flat().map((text) => {
    const key = keyOfSecret(text);
    if (key === undefined) throw configurationError(field, 'must be whsec_ and the base64 of 24 to 64 bytes');
    return key;
  });
}
