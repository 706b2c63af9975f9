import type { ResolvedConfig } from '../../options/config.ts';
import { configurationError } from '../../wire/errors.ts';
import { matchesAny } from '../../wire/names.ts';
import { publishedKeys, type RemoteSurroundings, readPublicKey } from '../jwt-issuer.ts';
import type { PublishedKeys } from '../published-keys.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import { TicketReader } from './reader.ts';
import type { TicketIssuer, TicketRefusal, TicketRules } from './verify.ts';

type TicketSettings = NonNullable<ResolvedConfig['security']['tickets']>;
type IssuerSettings = TicketSettings['issuers'][number];

export interface OpenTicketsOptions extends RemoteSurroundings {
  /** `issuer` of `security.tokens`, where this server issues tokens. */
  readonly ownIssuer: string | undefined;
  /** Called with each refused ticket. */
  readonly refused: (reason: TicketRefusal) => void;
}

/** Tickets of other services, as `security.tickets` accepts them. */
export interface AcceptedTickets {
  readonly reader: TicketReader;
  /** What tickets and documents of controls are verified by. */
  readonly rules: TicketRules;
  /** Verifies tickets of this server's own issuer with these keys. */
  useOwnKeys(keys: Pick<SigningKeys, 'find'>): void;
  close(): void;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid issuer */
export function openTickets(settings: TicketSettings, options: OpenTicketsOptions): AcceptedTickets {
  const published: PublishedKeys[] = [];
  let own: Pick<SigningKeys, 'find'> | undefined;

  const keyOf = ({ issuer, publicKey, jwksUri }: IssuerSettings, field: string): TicketIssuer['key'] => {
    if (publicKey !== undefined) {
      const key = readPublicKey(publicKey, `${field}.publicKey`);
      return () => key;
    }
    if (jwksUri !== undefined) {
      const { clock, delay, conditions } = options;
      const keys = publishedKeys(jwksUri, `${field}.jwksUri`, { clock, delay, conditions });
      published.push(keys);
      return (header) => keys.loaded(header);
    }
    if (issuer !== options.ownIssuer) {
      throw configurationError(
        field,
        'must hold publicKey or jwksUri: only the issuer of security.tokens needs neither',
      );
    }
    return (header) => own?.find(header);
  };

  const close = () => {
    for (const keys of published) keys.close();
  };
  const issuers = new Map<string, TicketIssuer>();
  try {
    for (const [index, issuer] of settings.issuers.entries()) {
      const field = `security.tickets.issuers.${index}`;
      if (issuers.has(issuer.issuer)) throw configurationError(`${field}.issuer`, 'is used by an earlier issuer');
      const audience = issuer.audience === undefined ? undefined : [issuer.audience].flat();
      issuers.set(issuer.issuer, { audience, key: keyOf(issuer, field) });
    }
  } catch (error) {
    close();
    throw error;
  }
  const { categories: patterns, maxDuration } = settings;
  const rules = {
    issuers,
    maxDuration,
    allows: (name: string) => patterns === undefined || matchesAny(patterns, name),
  };
  const reader = new TicketReader({ ...rules, clock: options.clock, refused: options.refused });
  return {
    reader,
    rules,
    useOwnKeys: (keys) => {
      own = keys;
    },
    close,
  };
}
