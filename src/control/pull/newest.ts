import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * When the newest document of each issuer was issued (`iat`, in seconds), so that no older one takes its place. Kept in a file, if
 * one is given and can be written, so that this also holds after a restart.
 */
export class Newest {
  readonly #file: string | undefined;
  readonly #issued = new Map<string, number>();

  constructor(file?: string) {
    this.#file = file;
  }

  /** Notes a document. @returns false if a newer one of the issuer was noted */
  note(issuer: string, issuedAt: number): boolean {
    const file = this.#file;
    // Other processes may have noted newer ones.
    for (const [each, at] of file === undefined ? [] : readFrom(file)) {
      this.#issued.set(each, Math.max(at, this.#issued.get(each) ?? 0));
    }
    const last = this.#issued.get(issuer) ?? 0;
    if (issuedAt > last) {
      this.#issued.set(issuer, issuedAt);
      if (file !== undefined) writeTo(file, this.#issued);
    }
    return issuedAt >= last;
  }
}

function readFrom(file: string): readonly [issuer: string, issuedAt: number][] {
  try {
    const entries: [string, unknown][] = Object.entries(Object(JSON.parse(readFileSync(file, 'utf8'))));
    return entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1]));
  } catch {
    return [];
  }
}

/** A folder that cannot be written is usual, such as a ConfigMap. */
function writeTo(file: string, issued: ReadonlyMap<string, number>): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(Object.fromEntries(issued))}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch {}
}
