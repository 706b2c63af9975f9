import { AsyncLocalStorage } from 'node:async_hooks';
import type { RecordedEntry } from '../audit/types.ts';
import type { Clock, Delay } from '../clock.ts';
import type { Conditions } from '../conditions.ts';
import { configurationError } from '../errors.ts';
import type { NotifyEvent, WebhookOptions } from '../options/notify.ts';
import { withoutTracing } from '../own-work.ts';
import type { Reporter } from '../reporter.ts';
import { trustedUri } from '../trusted-uri.ts';
import { slackBody } from './chat.ts';
import { type EventSource, eventOf, standardBody } from './event.ts';
import type { PostAnswer, PostRequest } from './post.ts';
import { keyOfSecret } from './signature.ts';
import { type DropReason, Webhook } from './webhook.ts';

export interface NotifierOptions {
  readonly webhooks: readonly WebhookOptions[];
  readonly source: EventSource;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  readonly conditions: Pick<Conditions, 'watch'>;
  readonly reporter: Pick<Reporter, 'warn'>;
  /** @default Math.random */
  readonly random?: () => number;
  /** Counts what became of a notification. */
  readonly count: (outcome: 'delivered' | 'dropped', reason?: DropReason) => void;
  readonly report: (error: unknown) => void;
}

/** Tells the configured receivers of what the audit trail of this process records. */
export interface Notifier {
  /** Returns at once. */
  recorded(entry: RecordedEntry): void;
  /** Sends what waits, for a few seconds at most. */
  close(): Promise<void>;
}

interface Receiver {
  readonly webhook: Webhook;
  readonly events: ReadonlySet<NotifyEvent> | undefined;
  readonly bodyOf: typeof standardBody;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message shows neither URL nor secret */
export function createNotifier(options: NotifierOptions): Notifier {
  const { webhooks, source, report } = options;
  // Outside any request: requests that carry a notification belong to no trace, and make no span.
  const outside = AsyncLocalStorage.snapshot();
  const post = (request: PostRequest): Promise<PostAnswer> =>
    outside(() => withoutTracing(async () => (await import('./post.ts')).post(request)));
  const receivers = webhooks.map((webhook, index) =>
    receiverFor(webhook, webhooks.length === 1 ? 'notify.webhook' : `notify.webhook.${index}`, { ...options, post }),
  );
  return {
    recorded(entry) {
      try {
        const event = eventOf(entry);
        if (event === undefined) return;
        for (const { webhook, events, bodyOf } of receivers) {
          if (events?.has(event) !== false) webhook.add(entry.id, bodyOf(event, entry, source));
        }
      } catch (error) {
        report(error);
      }
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
    post,
    clock,
    delay,
    random = Math.random,
    conditions,
    reporter,
    count,
  }: NotifierOptions & { readonly post: (request: PostRequest) => Promise<PostAnswer> },
): Receiver {
  const webhook = new Webhook({
    url: trustedUri(url, `${field}.url`),
    keys: keysOf(secret, format, `${field}.secret`),
    post,
    clock,
    delay,
    random,
    condition: conditions.watch('notify'),
    reporter,
    delivered: () => count('delivered'),
    dropped: (reason) => count('dropped', reason),
  });
  return {
    webhook,
    events: events && new Set(events),
    bodyOf: format === 'slack' ? slackBody : standardBody,
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
