import type { CategoryDescriptor } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { TICKET_ATTRIBUTE } from '../../wire/constants.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { TicketReader } from './reader.ts';
import { type Ticket, ticketHash } from './ticket.ts';
import type { TicketRefusal } from './verify.ts';

/** Most tickets that have categories on at a time. */
export const MAX_TICKETS = 100;

export interface TicketActivationsOptions {
  readonly reader: Pick<TicketReader, 'read'>;
  readonly categories: () => Iterable<CategoryDescriptor>;
  /** Switches a part of a category on in this process. Returns a function that ends it. */
  readonly activate: (
    category: CategoryDescriptor,
    part: {
      readonly tenantId: string | undefined;
      readonly match: Readonly<Record<string, string>>;
      readonly exhausted: () => void;
    },
  ) => () => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** Called with each ticket that is valid and still switches nothing on. */
  readonly refused: (reason: TicketRefusal) => void;
}

interface ActiveTicket {
  readonly hash: string;
  readonly end: () => void;
}

/** Switches on what tickets of other services say: from their first request to their end, for the work that carries them. */
export class TicketActivations {
  readonly #options: TicketActivationsOptions;
  /** Keyed by the issuer and the ticket's id: an ECDSA signature has a second valid form, which gets no second place. */
  readonly #live = new Map<string, ActiveTicket>();

  constructor(options: TicketActivationsOptions) {
    this.#options = options;
  }

  /** Switches on what a ticket allows, if it is valid. Called with each request that carries one. Never throws. */
  activate(value: string): void {
    try {
      const ticket = this.#options.reader.read(value);
      if (ticket === undefined) return;
      const hash = ticketHash(value);
      const key = JSON.stringify([ticket.issuer, ticket.id]);
      const live = this.#live.get(key);
      if (live !== undefined) {
        if (live.hash !== hash) this.#options.refused('other_encoding');
      } else if (this.#live.size >= MAX_TICKETS) this.#options.refused('too_many');
      else this.#live.set(key, { hash, end: this.#begin(ticket, { key, hash }) });
    } catch (error) {
      diagnostics.error('rdcp: a ticket could not be used', error);
    }
  }

  close(): void {
    for (const { end } of this.#live.values()) end();
  }

  #begin(
    { categories, tenantId, expiresAt }: Ticket,
    { key, hash }: { readonly key: string; readonly hash: string },
  ): () => void {
    const { activate, clock, delay } = this.#options;
    const named = new Set(categories);
    const part = { tenantId, match: { [TICKET_ATTRIBUTE]: hash }, exhausted: () => {} };
    const ends: (() => void)[] = [];
    for (const category of this.#options.categories()) {
      if (named.has(category.name)) ends.push(activate(category, part));
    }
    const end = () => {
      cancel();
      this.#live.delete(key);
      for (const endPart of ends) endPart();
    };
    const cancel = delay(Math.max(0, expiresAt - clock.now()), end);
    return end;
  }
}
