import { LRUCache } from 'lru-cache';
import type { ResolvedConfig } from '../../options/config.ts';
import { configurationError } from '../../wire/errors.ts';
import { matchesAny } from '../../wire/names.ts';
import type { Clock } from '../../wire/time/clock.ts';
import { addIssuers, issuerKeys, type RemoteSurroundings } from '../jwt-issuer.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import { MAX_TICKET_LENGTH, TICKET_PREFIX, TICKET_TYPE, type Ticket, ticketHash } from './ticket.ts';
import { readToken, type TicketIssuer, type TicketRefusal, type TicketRules, ticketOf } from './verify.ts';

type TicketSettings = NonNullable<ResolvedConfig['security']['tickets']>;
type IssuerSettings = TicketSettings['issuers'][number];

export interface OpenTicketsOptions extends RemoteSurroundings {
  /** `issuer` of `security.tokens`, where this server issues tokens. */
  readonly ownIssuer: string | undefined;
  readonly refused: (reason: TicketRefusal) => void;
}

export type AcceptedTickets = ReturnType<typeof openTickets>;

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid issuer */
export function openTickets(settings: TicketSettings, options: OpenTicketsOptions) {
  let own: Pick<SigningKeys, 'find'> | undefined;

  const keysOf = (settings: IssuerSettings, field: string): Pick<TicketIssuer, 'key' | 'close'> => {
    if ((settings.publicKey ?? settings.jwksUri) !== undefined) {
      const { loaded, close } = issuerKeys(settings, field, options);
      return { key: loaded, close };
    }
    if (settings.issuer !== options.ownIssuer) {
      throw configurationError(
        field,
        'must hold publicKey or jwksUri: only the issuer of security.tokens needs neither',
      );
    }
    return { key: (header) => own?.find(header) };
  };

  const issuers = new Map<string, TicketIssuer>();
  const fieldOf = (index: number) => `security.tickets.issuers.${index}`;
  addIssuers(issuers, settings.issuers, fieldOf, (issuer, field) => ({
    audience: issuer.audience === undefined ? undefined : [issuer.audience].flat(),
    ...keysOf(issuer, field),
  }));
  const { categories: patterns, maxDuration } = settings;
  const rules: TicketRules = {
    issuers,
    maxDuration,
    allows: (name: string) => patterns === undefined || matchesAny(patterns, name),
  };
  const reader = new TicketReader({ ...rules, clock: options.clock, refused: options.refused });
  return {
    reader,
    rules,
    useOwnKeys: (keys: Pick<SigningKeys, 'find'>) => {
      own = keys;
    },
    close: () => {
      for (const { close } of issuers.values()) close?.();
    },
  };
}

/** Tickets whose verification is remembered. Forged ones have as many places of their own, so that they evict no valid one. */
const MAX_REMEMBERED = 1000;
/** Beyond so many wrong signatures a second, new tickets are refused unchecked: a check takes as long as a small request. */
const MAX_WRONG_PER_SECOND = 100;
const SECOND_MS = 1000;

interface TicketReaderOptions extends TicketRules {
  readonly clock: Clock;
  readonly refused: (reason: TicketRefusal) => void;
}

interface Verification {
  readonly ticket: Ticket;
  /** Its end on the monotonic clock. */
  readonly endsAt: number;
}

/** Verifies signed tickets of other services: synchronously, with keys that are already there. */
export class TicketReader {
  readonly #options: TicketReaderOptions;
  /** Keyed by the ticket's hash. Kept after its end, so that a clock that is set back does not extend it. */
  readonly #verified = new LRUCache<string, Verification>({ max: MAX_REMEMBERED });
  readonly #forged = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  /** When the current second began on the monotonic clock, and the wrong signatures in it. */
  #secondBegan = Number.NEGATIVE_INFINITY;
  #wrong = 0;

  constructor(options: TicketReaderOptions) {
    this.#options = options;
  }

  /** Returns a valid ticket, else `undefined`. One without a signature is not refused: it is for those who share a store. Never throws. */
  read(value: string): Ticket | undefined {
    if (value.startsWith(TICKET_PREFIX)) return undefined;
    const result = this.#verify(value);
    if (typeof result !== 'string') return result;
    this.#options.refused(result);
    return undefined;
  }

  /** Whether a ticket is valid, for those who ask beside {@link TicketReader.read}: a refusal is not reported twice. */
  isValid(value: string): boolean {
    return typeof this.#verify(value) !== 'string';
  }

  #verify(value: string): Ticket | TicketRefusal {
    if (value.length > MAX_TICKET_LENGTH) return 'too_long';
    const { clock } = this.#options;
    const digest = ticketHash(value);
    const known = this.#verified.get(digest);
    if (known !== undefined) {
      const isOver = clock.now() >= known.ticket.expiresAt || clock.monotonic() >= known.endsAt;
      return isOver ? 'expired' : known.ticket;
    }
    if (this.#forged.has(digest)) return 'wrong_signature';
    return this.#verifyNew(value, digest);
  }

  #verifyNew(value: string, digest: string): Ticket | TicketRefusal {
    const { clock } = this.#options;
    const now = clock.now();
    // What costs little is checked first.
    const token = readToken(value, TICKET_TYPE, this.#options);
    if (typeof token === 'string') return token;
    const ticket = ticketOf(token, this.#options, now);
    if (typeof ticket === 'string') return ticket;
    const isSigned = token.verifier();
    if (typeof isSigned === 'string') return isSigned;
    if (this.#isFlooded()) return 'too_many_forged';
    if (!isSigned()) {
      this.#wrong += 1;
      this.#forged.set(digest, true);
      return 'wrong_signature';
    }
    this.#verified.set(digest, { ticket, endsAt: clock.monotonic() + ticket.expiresAt - now });
    return ticket;
  }

  #isFlooded(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#secondBegan >= SECOND_MS) {
      this.#secondBegan = now;
      this.#wrong = 0;
    }
    return this.#wrong >= MAX_WRONG_PER_SECOND;
  }
}
