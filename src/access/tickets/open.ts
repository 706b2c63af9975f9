import type { ResolvedConfig } from '../../options/config.ts';
import type { Conditions } from '../../otel/report/conditions.ts';
import { configurationError } from '../../wire/errors.ts';
import { matchesAny } from '../../wire/names.ts';
import { trustedUri } from '../../wire/net/trusted-uri.ts';
import type { RemoteKeysOptions } from '../jwks.ts';
import { readPublicKey } from '../jwt-issuer.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import { PublishedKeys } from './published-keys.ts';
import { TicketReader } from './reader.ts';
import type { TicketIssuer, TicketRefusal, TicketRules } from './verify.ts';

type TicketSettings = NonNullable<ResolvedConfig['security']['tickets']>;
type IssuerSettings = TicketSettings['issuers'][number];

export interface OpenTicketsOptions extends Pick<RemoteKeysOptions, 'clock' | 'delay'> {
  readonly conditions: Pick<Conditions, 'watch'>;
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
      const keys = openPublished(jwksUri, `${field}.jwksUri`, options);
      published.push(keys);
      return (algorithm, kid) => keys.find(algorithm, kid);
    }
    if (issuer !== options.ownIssuer) {
      throw configurationError(
        field,
        'must hold publicKey or jwksUri: only the issuer of security.tokens needs neither',
      );
    }
    return (alg, kid) => own?.find({ alg, ...(kid !== undefined && { kid }) });
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
  const rules = { issuers, allows: allowing(settings.categories), maxDuration: settings.maxDuration };
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

function openPublished(jwksUri: string, field: string, options: OpenTicketsOptions): PublishedKeys {
  const { conditions, clock, delay } = options;
  const uri = trustedUri(jwksUri, field);
  return new PublishedKeys({ uri, clock, delay, field, condition: conditions.watch('jwks') });
}

/** @param patterns names, with `*` for any characters. `undefined` allows all */
function allowing(patterns: readonly string[] | undefined): (category: string) => boolean {
  if (patterns === undefined) return () => true;
  return (category) => matchesAny(patterns, category);
}
