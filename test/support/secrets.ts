import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

/** Every secret that goes in, by what it is: as it is, and as it is usually written elsewhere. None may come out again. */
const secrets = new Map<string, readonly string[]>();

export function secret<T extends string>(name: string, value: T): T {
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '');
  secrets.set(name, [...new Set([value, encodeURIComponent(value), base64])]);
  return value;
}

/** A new secret that says what it is. */
export const marked = (name: string) =>
  secret(name, `MARKED.${name.replaceAll(' ', '.')}.${randomBytes(18).toString('hex')}`);

/** Fails when any secret is in the text. */
export function assertClean(where: string, text: string): void {
  for (const [name, forms] of secrets) {
    const found = forms.some((form) => text.includes(form));
    assert.ok(!found, `${where} shows the ${name}: ${found ? excerpt(text, forms) : ''}`);
  }
}

/** With the message, the stack and the cause of errors, at every depth. */
export function inFull(value: unknown): string {
  const plain = (_key: string, part: unknown): unknown => {
    if (typeof part === 'bigint') return String(part);
    if (!(part instanceof Error)) return part;
    const { message, stack, cause } = part;
    return { ...part, message, stack, cause };
  };
  return typeof value === 'string' ? value : (JSON.stringify(plain('', value), plain) ?? '');
}

function excerpt(text: string, forms: readonly string[]): string {
  const at = Math.max(...forms.map((form) => text.indexOf(form)));
  return text.slice(Math.max(0, at - 200), at + 100);
}
