export interface Setting {
  readonly enabled: boolean;
  /** Milliseconds since the epoch; absent for a permanent setting. */
  readonly expiresAt?: number;
}

export const CATEGORIES: Readonly<Record<string, { readonly description: string; readonly enabled: boolean }>> = {
  HTTP_REQUESTS: { description: 'Requests and their answers', enabled: false },
  DATABASE: { description: 'Queries', enabled: true },
  'X-BILLING': { description: 'Invoices', enabled: false },
};

/** The settings of one tenant, or of all. An expiry takes effect when a setting is read. */
export class ReferenceState {
  readonly #settings = new Map<string, Setting>();
  readonly #clock: () => number;

  /** @param clock milliseconds since the epoch */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get(name: string): Setting {
    const setting = this.#settings.get(name);
    if (setting !== undefined && (setting.expiresAt ?? Infinity) <= this.#clock()) this.#settings.delete(name);
    return this.#settings.get(name) ?? { enabled: CATEGORIES[name]?.enabled ?? false };
  }

  set(name: string, setting: Setting | undefined): void {
    if (setting === undefined) this.#settings.delete(name);
    else this.#settings.set(name, setting);
  }
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a Duration; `undefined` for anything else. */
export function seconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  const match = typeof value === 'string' ? /^(\d{1,9})([smhd])$/.exec(value) : null;
  return match === null ? undefined : Number(match[1]) * (SECONDS[match[2] ?? ''] ?? 0);
}
