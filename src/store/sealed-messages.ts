import type { ChangeFeed } from './lineage.ts';
import { Listeners } from './listeners.ts';
import { assertSendable, type MessageStore } from './message-store.ts';
import { Replays, seal, unseal } from './seal.ts';

export interface SealedMessagesOptions {
  readonly server: 'Redis' | 'PostgreSQL';
  readonly address: string;
  /** The channel of one handle, or of all. */
  readonly channelOf: (to?: string) => string;
  /** What was read of the server. */
  readonly known: Pick<ChangeFeed, 'secret' | 'time'>;
  readonly publish: (sealed: string, channel: string, to: string | undefined) => Promise<unknown>;
}

/** Messages through a server whose channels are open to others too. */
export class SealedMessages implements MessageStore {
  readonly address: string;
  /** The channels for all handles and for this one. */
  readonly channels: readonly string[];
  readonly #options: SealedMessagesOptions;
  readonly #listeners = new Listeners<[message: string, from: string]>('messages');
  readonly #replays = new Replays();
  #sent = 0;

  constructor(options: SealedMessagesOptions) {
    this.#options = options;
    this.address = options.address;
    this.channels = [options.channelOf(), options.channelOf(options.address)];
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  async send(text: string, to?: string): Promise<void> {
    assertSendable(text);
    const { server, address, channelOf, publish } = this.#options;
    const { secret, time: now } = this.#options.known;
    if (secret === '' || now === undefined) throw new Error(`${server} has not been read yet`);
    this.#sent += 1;
    const channel = channelOf(to);
    const message = { from: address, number: this.#sent, at: Math.round(now), text };
    await publish(seal(message, channel, secret), channel, to);
  }

  onMessage(listener: (message: string, from: string) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Handles a message of one of the channels, which anybody may have sent. */
  hear(message: string, channel: string): void {
    const { secret, time: now } = this.#options.known;
    if (!this.isHeard || now === undefined) return;
    const opened = unseal(message, channel, secret);
    if (opened === undefined || opened.from === this.address || !this.#replays.isNew(opened, now)) return;
    this.#listeners.call(opened.text, opened.from);
  }

  close(): void {
    this.#listeners.clear();
  }
}
