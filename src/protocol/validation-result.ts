import type { AuthMethod, Scope } from './constants.ts';

/** What an application's own authenticator returns: the validation result of RDCP 1.0 (Auth context). */
export type ValidationResult = ValidCredential | { readonly valid: false };

/** The validation result for a credential that is valid. Other fields are dropped. */
export interface ValidCredential {
  readonly valid: true;
  /** Kind of the credential. `mtls` and `hybrid` need a client certificate on the connection. */
  readonly method: AuthMethod;
  readonly userId: string;
  /** Tenant that the credential belongs to. @default none */
  readonly tenantId?: string | undefined;
  readonly scopes: readonly Scope[];
  /** For correlation in the audit trail. @default none */
  readonly sessionId?: string | undefined;
  /** End of the access, as a Timestamp. @default none: it is not limited in time */
  readonly expiresAt?: string | undefined;
  readonly metadata?: ValidationMetadata | undefined;
}

/** What else is known of a credential. */
export interface ValidationMetadata {
  /** Client that the audit trail shows. @default none */
  readonly clientId?: string | undefined;
  readonly clientVersion?: string | undefined;
  readonly ipAddress?: string | undefined;
}
