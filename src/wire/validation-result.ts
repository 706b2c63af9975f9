import type { AuthMethod, Scope } from './constants.ts';

/** Result of an application's own authenticator (RDCP 1.0, Auth context). */
export type ValidationResult = ValidCredential | { readonly valid: false };

/** Result for a valid credential. Unknown fields are dropped. */
export interface ValidCredential {
  /** True for a valid credential. */
  readonly valid: true;
  /** Kind of credential. `mtls` and `hybrid` require a client certificate on the connection. */
  readonly method: AuthMethod;
  /** User of the credential, 1 to 255 of `a-z A-Z 0-9 . _ -`. */
  readonly userId: string;
  /** Tenant of the credential. @default none */
  readonly tenantId?: string | undefined;
  /** Scopes of the credential. */
  readonly scopes: readonly Scope[];
  /** Shown in the audit trail. @default none */
  readonly sessionId?: string | undefined;
  /** When access ends, as a Timestamp. @default never */
  readonly expiresAt?: string | undefined;
  /** Further facts about it. @default none */
  readonly metadata?: ValidationMetadata | undefined;
}

/** Further facts about a credential. */
export interface ValidationMetadata {
  /** Client id shown in the audit trail. @default none */
  readonly clientId?: string | undefined;
  /** Accepted as the specification has it, and not used. @default none */
  readonly clientVersion?: string | undefined;
  /** Accepted as the specification has it, and not used. @default none */
  readonly ipAddress?: string | undefined;
}
