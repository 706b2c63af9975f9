import type { IsolationLevel } from '../wire/constants.ts';

/** Debug settings for each tenant. */
export interface TenancyOptions {
  /**
   * How far tenants are kept apart: `global` (one setting for all), `process` (settings of each tenant, in this process
   * alone), `namespace` (shared by the processes of one namespace) or `organization` (shared by all processes; measurements
   * are kept apart as well).
   */
  readonly isolation: IsolationLevel;
  /**
   * Name of the namespace that shares settings. Required at isolation `namespace`, not allowed at any other.
   * @default none
   */
  readonly namespace?: string | undefined;
  /**
   * Tenants to list before anything was switched for them, by their id. Other tenants are served in the same way.
   * @default {}
   */
  readonly tenants?: Readonly<Record<string, TenantOptions>> | undefined;
  /**
   * OpenTelemetry baggage entry that names the tenant where `runWithTenant` does not. A client that may send baggage to
   * your service then chooses the tenant whose settings apply and whose calls are counted.
   * @default none: baggage is not read
   */
  readonly baggageKey?: string | undefined;
}

/** A tenant that is listed from the start. */
export interface TenantOptions {
  /**
   * Name to show, 1 to 200 characters.
   * @default none
   */
  readonly name?: string | undefined;
}
