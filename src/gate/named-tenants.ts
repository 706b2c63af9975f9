/** Most tenants that are remembered. */
const MAX_TENANTS = 10_000;
/** A tenant id is not longer. */
const MAX_LENGTH = 255;

/** The tenants that the application has worked for, so that an operator who misspells one can be told. Memory is bounded. */
export class NamedTenants {
  readonly #ids = new Set<string>();

  add(tenantId: string): void {
    // Callers without types pass what they have: that must not throw into them.
    if (typeof tenantId !== 'string') return;
    if (this.#ids.size < MAX_TENANTS && tenantId.length <= MAX_LENGTH) this.#ids.add(tenantId);
  }

  /** True for every id once there are too many to remember: any of them may have been named. */
  has(tenantId: string): boolean {
    return this.#ids.size >= MAX_TENANTS || this.#ids.has(tenantId);
  }
}
