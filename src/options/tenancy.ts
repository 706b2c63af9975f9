import type { IsolationLevel } from '../wire/constants.ts';

/** Debug settings for each tenant. */
export interface TenancyOptions {
  /**
   * How far tenants are kept apart: `global` (one setting for all), `process` (settings of each tenant, in this process alone),
   * `namespace` (shared within a namespace) or `organization` (shared by all processes; measurements are kept apart as well).
   */
  readonly isolation: IsolationLevel;
  /** Name of the namespace that shares settings; required at isolation `namespace` alone. @default none */
  readonly namespace?: string | undefined;
  /** Tenants to list before anything was switched for them, by their id. Others are served as well. @default {} */
  readonly tenants?: Readonly<Record<string, TenantOptions>> | undefined;
  /**
   * OpenTelemetry baggage entry that names the tenant where `runWithTenant` does not. A client that may send baggage then
   * chooses the tenant.
   * @default none: baggage is not read
   */
  readonly baggageKey?: string | undefined;
}

/** A tenant that is listed from the start. */
export interface TenantOptions {
  /** Name to show, 1 to 200 characters. @default none */
  readonly name?: string | undefined;
}
