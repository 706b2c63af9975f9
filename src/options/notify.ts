/** Kind of a notification. */
export type NotifyEvent = 'change' | 'expiry' | 'refusal' | 'budget' | 'loss' | 'credentials' | 'failure.recorded';

/** Receivers of notifications about entries of the audit trail, and about failures whose lines were recorded. */
export interface NotifyOptions {
  /** One or more webhooks. Each event is sent once, by the process that recorded it. @default none */
  readonly webhook?: WebhookOptions | readonly WebhookOptions[] | undefined;
}

/** A receiver of signed POST requests (Standard Webhooks), or a chat with an incoming webhook. */
export interface WebhookOptions {
  /** Where events are sent: an https URL, or http on loopback. Redirects are not followed. Messages show its host alone. */
  readonly url: string;
  /**
   * Key of the signature: `whsec_` and the base64 of 24 to 64 random bytes; several all sign. Required unless `format` is `slack`.
   * @default none
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * Which events are sent: `change`, `expiry` (a temporary control ended), `refusal` (a request was denied), `budget` (a
   * control used up its total), `loss` (the store lost changes), `credentials` (a source failed or recovered),
   * `failure.recorded` (lines of failed work were written, at most once a minute for a category).
   * @default all of them
   */
  readonly events?: readonly NotifyEvent[] | undefined;
  /** `standard` (JSON with `type`, `timestamp` and `data`), or `slack` (a line of text for a chat). @default 'standard' */
  readonly format?: 'standard' | 'slack' | undefined;
}
