import type { ResolvedConfig } from '../../options/config.ts';
import { configurationError } from '../../wire/errors.ts';
import { matchesAny } from '../../wire/names.ts';
import { addIssuers, issuerKeys, type RemoteSurroundings } from '../jwt-issuer.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import { TicketReader } from './reader.ts';
import type { TicketIssuer, TicketRefusal, TicketRules } from './verify.ts';

type TicketSettings = NonNullable<ResolvedConfig['security']['tickets']>;
type IssuerSettings = TicketSettings['issuers'][number];

export interface OpenTicketsOptions extends RemoteSurroundings {
  /** `issuer` of `security.tokens`, where this server issues tokens. */
  readonly ownIssuer: string | undefined;
  readonly refused: (reason: TicketRefusal) => void;
}

/** Tickets of other services, as `security.tickets` accepts them. */
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
  /** By which tickets and documents of controls are verified. */
  const rules: TicketRules = {
    issuers,
    maxDuration,
    allows: (name: string) => patterns === undefined || matchesAny(patterns, name),
  };
  const reader = new TicketReader({ ...rules, clock: options.clock, refused: options.refused });
  return {
    reader,
    rules,
    /** Verifies tickets of this server's own issuer with these keys. */
    useOwnKeys: (keys: Pick<SigningKeys, 'find'>) => {
      own = keys;
    },
    close: () => {
      for (const { close } of issuers.values()) close?.();
    },
  };
}
