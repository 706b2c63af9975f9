import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

/** Every secret that goes in, by what it is. None may come out again, in any form. */
const secrets = new Map<string, string>();

export function secret<T extends string>(name: string, value: T): T {
  secrets.set(name, value);
  return value;
}

/** A new secret that says what it is. */
export const marked = (name: string) =>
  secret(name, `MARKED.${name.replaceAll(' ', '.')}.${randomBytes(18).toString('hex')}`);

/** Fails when any secret is in the text, as it is or as it is usually written elsewhere. */
export function assertClean(where: string, text: string): void {
  for (const [name, value] of secrets) {
    const forms = [value, encodeURIComponent(value), Buffer.from(value).toString('base64').replace(/=+$/, '')];
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
