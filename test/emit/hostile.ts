/** Runs code that throws, as getters and traps of an application may. */
const throwing = (error: unknown) => () => {
  throw error;
};

export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const circle: Record<string, unknown> = {};
circle.self = circle;

/** What an application may pass in place of attributes, or in them, and what no code of ours may stumble over. */
export const HOSTILE: readonly unknown[] = [
  Object.defineProperty({}, 'a', { get: throwing(undefined), enumerable: true }),
  Object.create(Object.defineProperty({}, 'constructor', { get: throwing(new Error('constructor')) })),
  { revoked: revoked() },
  new Proxy({}, { get: throwing(new Error('get')) }),
  new Proxy({}, { ownKeys: throwing(new Error('keys')) }),
  new Proxy([], { get: throwing(new Error('get')) }),
  new Proxy(new Error('e'), { getPrototypeOf: throwing(new Error('prototype')) }),
  { toJSON: throwing(null) },
  { toString: null, valueOf: null, constructor: null },
  circle,
  { big: 10n, when: new Date(Number.NaN), not: Number.NaN, fn: () => 1, symbol: Symbol('x') },
  { text: 'x'.repeat(1_048_576) },
  Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a${index}`, index])),
  throwing(new Error('no')),
  async () => ({ a: 1 }),
  () => null,
  new Error('e'.repeat(100_000)),
  JSON.parse('{"__proto__": {"a": 1}}'),
  ...['\ud800'.repeat(20_000), 'x'.repeat(50_000), Symbol.iterator, 42, null],
];
