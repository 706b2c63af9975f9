import fc from '../../support/fast-check.ts';

/** Part of every credential that is made up: it may turn up nowhere. */
export const CANARY = 'canary5f1e93b7';

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));

/** What the value of a header field may be made of (RFC 9110, section 5.5). */
export const fieldValue = fc.string({
  unit: fc.oneof({ weight: 9, arbitrary: visible }, fc.constantFrom(' ', '\t', 'é')),
  maxLength: 40,
});

/** A credential that somebody made up. */
export const madeUp = fc.oneof(
  fieldValue.map((noise) => `${CANARY}${noise.trim()}`),
  fc.stringMatching(/^[0-9A-Za-z]{43}$/).map((noise) => `rdcp_test_v1_${CANARY}${noise}`),
  fc.base64String({ maxLength: 60 }).map((noise) => `eyJhbGciOiJub25lIn0.${CANARY}${noise}.x`),
);

export const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

export const noise = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);
