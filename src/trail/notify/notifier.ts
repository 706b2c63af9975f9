import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NotifyEvent, WebhookOptions } from '../../options/notify.ts';
import { withoutTracing } from '../../otel/own-work.ts';
import type { Conditions } from '../../otel/report/conditions.ts';
import type { Reporter } from '../../otel/report/reporter.ts';
import { configurationError } from '../../wire/errors.ts';
import type { NotificationReceiver } from '../../wire/messages.ts';
import { send as sendRequest } from '../../wire/net/request.ts';
import { trustedUri } from '../../wire/net/trusted-uri.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { RecordedEntry } from '../types.ts';
import { slackBody, slackFailure, slackLoss } from './chat.ts';
import { type EventSource, eventOf, standardBody, standardFailure, standardLoss } from './event.ts';
import type { RecordedFailure } from './failures.ts';
import { FailureReports } from './failures.ts';
import { keyOfSecret } from './signature.ts';
import { type DropReason, Webhook, type WebhookParts } from './webhook.ts';

export interface NotifierOptions {
  readonly webhooks: readonly WebhookOptions[];
  /** Called for each event: the SDK that names the service may be registered later. */
  readonly source: () => EventSource;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  readonly conditions: Pick<Conditions, 'watch'>;
  readonly reporter: Pick<Reporter, 'warn'>;
  /** @default Math.random */
  readonly random?: () => number;
  /** Counts what became of a notification. */
  readonly count: (outcome: 'success' | 'failed', reason?: DropReason) => void;
  readonly report: (error: unknown) => void;
  /** Address of a trace, with `{traceId}` in it. @default none */
  readonly traceUrl?: string | undefined;
}

/** Sends what the audit trail of this process records to the configured receivers. */
export interface Notifier {
  /** Returns at once. */
  recorded(entry: RecordedEntry): void;
  /** Returns at once. @param failure whose lines were written */
  failed(failure: RecordedFailure): void;
  /** The receivers, with what became of the newest events. */
  readonly receivers: readonly NotificationReceiver[];
  /** Sends what waits, for a few seconds at most. */
  close(): Promise<void>;
}

interface Receiver {
  readonly webhook: Webhook;
  readonly events: ReadonlySet<NotifyEvent> | undefined;
  readonly bodyOf: typeof standardBody;
  readonly failureBodyOf: typeof standardFailure;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message shows neither URL nor secret */
export function createNotifier(options: NotifierOptions): Notifier {
  const { webhooks, source, report } = options;
  // Outside any request: requests that carry a notification belong to no trace, and make no span.
  const outside = AsyncLocalStorage.snapshot();
  const send: WebhookParts['send'] = (request) => outside(() => withoutTracing(() => sendRequest(request)));
  const receivers = webhooks.map((webhook, index) =>
    receiverFor(webhook, webhooks.length === 1 ? 'notify.webhook' : `notify.webhook.${index}`, { ...options, send }),
  );
  const failures = new FailureReports(options, (report) => {
    try {
      for (const { webhook, events, failureBodyOf } of receivers) {
        if (events?.has('failure.recorded') === false) continue;
        webhook.add(randomUUID(), failureBodyOf(report, options.clock.now(), source()), 'failure.recorded');
      }
    } catch (error) {
      options.report(error);
    }
  });
  return {
    failed: (failure) => failures.add(failure),
    recorded(entry) {
      try {
        const event = eventOf(entry);
        if (event === undefined) return;
        for (const { webhook, events, bodyOf } of receivers) {
          if (events?.has(event) !== false) webhook.add(entry.id, bodyOf(event, entry, source()), event);
        }
      } catch (error) {
        report(error);
      }
    },
    get receivers() {
      return receivers.map(({ webhook }) => webhook.state);
    },
    async close() {
      await Promise.all(receivers.map(({ webhook }) => webhook.close()));
    },
  };
}

function receiverFor(
  { url, secret, events, format = 'standard' }: WebhookOptions,
  field: string,
  {
    send,
    clock,
    delay,
    source,
    random = Math.random,
    conditions,
    reporter,
    count,
  }: NotifierOptions & Pick<WebhookParts, 'send'>,
): Receiver {
  const webhook = new Webhook({
    url: trustedUri(url, `${field}.url`),
    keys: keysOf(secret, format, `${field}.secret`),
    send,
    clock,
    delay,
    random,
    condition: conditions.watch('notify'),
    reporter,
    delivered: () => count('success'),
    dropped: (reason) => count('failed', reason),
    lossBody: (loss) => (format === 'slack' ? slackLoss : standardLoss)(loss, clock.now(), source()),
    randomUUID,
  });
  return {
    webhook,
    events: events && new Set(events),
    bodyOf: format === 'slack' ? slackBody : standardBody,
    failureBodyOf: format === 'slack' ? slackFailure : standardFailure,
  };
}

function keysOf(secret: WebhookOptions['secret'], format: WebhookOptions['format'], field: string): Buffer[] {
  if (secret === undefined && format !== 'slack') throw configurationError(field, 'is required');
  return [secret ?? []].flat().map((text) => {
    const key = keyOfSecret(text);
    if (key === undefined) throw configurationError(field, 'must be whsec_ and the base64 of 24 to 64 bytes');
    return key;
  });
}
