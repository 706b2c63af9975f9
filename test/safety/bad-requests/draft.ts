import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import { CATEGORIES } from '../../support/categories.ts';
import fc from '../../support/fast-check.ts';
import { KEYS } from '../../support/server.ts';

export type Header = readonly [name: string, value: string];

/** A request before it is written out. */
export interface Draft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  /** Sent as JSON, except where it is bytes. */
  readonly body: unknown;
  /** What is done to its bytes, last. */
  readonly damage?: (bytes: Buffer) => Buffer;
}

export const MALFORMED = 'RDCP_MALFORMED_REQUEST';

/** A request that would change something. */
export const rightRequest: fc.Arbitrary<Draft> = fc
  .record(
    {
      action: fc.constantFrom('enable', 'toggle'),
      categories: fc.oneof(fc.constantFrom(...CATEGORIES), fc.subarray([...CATEGORIES], { minLength: 1 })),
      options: fc.record(
        { temporary: fc.constant(true), duration: fc.constantFrom(60, '10m', '1h'), reason: fc.constant('a test') },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['action', 'categories'] },
  )
  .map((body) => ({
    method: 'POST',
    target: PATHS.control,
    headers: [
      ['Host', 'localhost'],
      [HEADERS.apiKey, KEYS.operator],
      ['Content-Type', 'application/json'],
    ],
    body,
  }));

/** With a header that has these values, each in a field of its own. */
export function withHeader(draft: Draft, name: string, ...values: string[]): Draft {
  const others = draft.headers.filter(([given]) => given.toLowerCase() !== name.toLowerCase());
  return { ...draft, headers: [...others, ...values.map((value): Header => [name, value])] };
}

/** With a value somewhere in the body. */
export function withField(draft: Draft, path: readonly string[], value: unknown): Draft {
  return { ...draft, body: fieldIn(draft.body, path, value) };
}

function fieldIn(object: unknown, [name = '', ...rest]: readonly string[], value: unknown): object {
  const fields = typeof object === 'object' && object !== null ? { ...object } : {};
  const own = Object.hasOwn(fields, name) ? Reflect.get(fields, name) : undefined;
  // As a field of its own also where it is called __proto__.
  return Object.defineProperty(fields, name, {
    value: rest.length === 0 ? value : fieldIn(own, rest, value),
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

export function bytesOf({ method, target, headers, body, damage }: Draft): Buffer {
  const content = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body) ?? '');
  const fields = [...headers, ['Content-Length', String(content.length)], ['Connection', 'close']];
  const head = `${method} ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), content]);
  return damage === undefined ? bytes : damage(bytes);
}
