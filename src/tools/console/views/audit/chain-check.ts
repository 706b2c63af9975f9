import type { AuditEntry } from '../../../../wire/audit-messages.ts';

/** The result of checking the hashes of the loaded entries. */
export interface ChainState {
  /** Entries whose content was compared with their hash. */
  readonly checked: number;
  /** Ids of entries whose content does not match. */
  readonly changed: readonly string[];
  /** Neighbours in a chain of which both are loaded, and match. */
  readonly links: number;
  /** Ids of entries that do not link to the entry before them. */
  readonly unlinked: readonly string[];
  /** Entries between two loaded ones of a chain that are not loaded. A filter leaves such gaps. */
  readonly missing: number;
}

export type Digest = (data: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer>;

/** Whether the content of an entry matches its hash. */
async function isIntact(entry: AuditEntry, digest: Digest): Promise<boolean> {
  const { hash, signature: _, ...compliance } = entry.compliance;
  const bytes = new Uint8Array(await digest(new TextEncoder().encode(canonical({ ...entry, compliance }))));
  return hash === Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** RFC 8785: names sorted by UTF-16 units; numbers and strings as ECMAScript writes them. The verifier of the server is another implementation. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(Reflect.get(value, name))}`).join(',')}}`;
}

/** Checks entries as they are loaded, each once. */
export class ChainCheck {
  readonly #digest: Digest;
  readonly #entries = new Map<string, AuditEntry>();
  readonly #changed = new Set<string>();

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  async add(entries: readonly AuditEntry[]): Promise<ChainState> {
    const fresh = entries.filter(({ id }) => !this.#entries.has(id));
    for (const entry of fresh) this.#entries.set(entry.id, entry);
    await Promise.all(
      fresh.map(async (entry) => {
        if (!(await isIntact(entry, this.#digest))) this.#changed.add(entry.id);
      }),
    );
    return this.state();
  }

  state(): ChainState {
    const { links, unlinked, missing } = linksOf(
      [...this.#entries.values()].filter(({ id }) => !this.#changed.has(id)),
    );
    return { checked: this.#entries.size, changed: [...this.#changed], links, unlinked, missing };
  }
}

/** Each process has a chain of its own; the first entry of one links to an entry of another. */
function linksOf(entries: readonly AuditEntry[]): Pick<ChainState, 'links' | 'unlinked' | 'missing'> {
  const unlinked: string[] = [];
  let links = 0;
  let missing = 0;
  for (const chain of Map.groupBy(entries, ({ compliance }) => compliance.instanceId).values()) {
    chain.sort((a, b) => a.compliance.sequence - b.compliance.sequence);
    for (const [at, { id, compliance }] of chain.entries()) {
      const before = chain[at - 1]?.compliance;
      if (before === undefined) continue;
      const between = compliance.sequence - before.sequence - 1;
      if (between > 0) missing += between;
      else if (between === 0 && compliance.previousHash === before.hash) links += 1;
      else unlinked.push(id);
    }
  }
  return { links, unlinked, missing };
}
