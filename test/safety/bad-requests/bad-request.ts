import fc from 'fast-check';
import type { ErrorCode } from '../../../src/errors.ts';
import { BODY_FAULTS } from './bodies.ts';
import { bytesOf, type Fault, rightRequest } from './draft.ts';
import { FRAMING_FAULTS } from './framing.ts';
import { HEAD_FAULTS } from './heads.ts';

export interface BadRequest {
  /** What is wrong with it. */
  readonly faults: readonly string[];
  readonly bytes: Buffer;
  /** The client ends its side of the connection after it. */
  readonly ends: boolean;
  /** It is answered by one of these. */
  readonly codes: readonly ErrorCode[];
}

const fault = fc.oneof(...HEAD_FAULTS, ...BODY_FAULTS);
/** Every fault of its own kind at most once. Nothing but a fault of the head or body makes `more than one request` wrong. */
const someFaults = fc
  .tuple(
    fc.uniqueArray(fault, { minLength: 1, maxLength: 3, selector: ({ name }) => name, size: 'small' }),
    fc.option(fc.oneof(...FRAMING_FAULTS), { freq: 4 }),
  )
  .map(([faults, framing]): Fault[] => {
    if (framing === null) return faults;
    return framing.codes.length === 0 ? [...faults, framing] : [...faults.slice(1), framing];
  });

/** A right request with one to three things wrong with it. */
export const badRequest: fc.Arbitrary<BadRequest> = fc.tuple(rightRequest, someFaults).map(([right, faults]) => {
  const draft = faults.reduce((spoilt, { spoil }) => spoil(spoilt), right);
  return {
    faults: faults.map(({ name }) => name),
    bytes: bytesOf(draft),
    ends: draft.ends ?? false,
    codes: faults.flatMap(({ codes }) => codes),
  };
});

export const FAULT_COUNT = HEAD_FAULTS.length + BODY_FAULTS.length + FRAMING_FAULTS.length;
