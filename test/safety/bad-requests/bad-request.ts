import type { ErrorCode } from '../../../src/wire/errors.ts';
import fc from '../../support/fast-check.ts';
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

/** Nothing but a fault of the head or body makes `more than one request` wrong. */
function framed(faults: readonly Fault[], framing: Fault): Fault[] {
  return framing.codes.length === 0 ? [...faults, framing] : [...faults.slice(1), framing];
}

/** Every fault of its own kind at most once. */
const someFaults = fc
  .tuple(
    fc.uniqueArray(fault, { minLength: 1, maxLength: 3, selector: ({ name }) => name, size: 'small' }),
    fc.option(fc.oneof(...FRAMING_FAULTS), { freq: 4 }),
  )
  .map(([faults, framing]) => (framing === null ? faults : framed(faults, framing)));

function spoiltBy(faults: fc.Arbitrary<readonly Fault[]>): fc.Arbitrary<BadRequest> {
  return fc.tuple(rightRequest, faults).map(([right, wrong]) => {
    const draft = wrong.reduce((spoilt, { spoil }) => spoil(spoilt), right);
    return {
      faults: wrong.map(({ name }) => name),
      bytes: bytesOf(draft),
      ends: draft.ends ?? false,
      codes: wrong.flatMap(({ codes }) => codes),
    };
  });
}

/** A right request with one to three things wrong with it. */
export const badRequest = spoiltBy(someFaults);

/** One request for each kind of fault. */
export const badRequestOfEachKind: fc.Arbitrary<readonly BadRequest[]> = fc.tuple(
  ...[...HEAD_FAULTS, ...BODY_FAULTS].map((kind) => spoiltBy(kind.map((one) => [one]))),
  ...FRAMING_FAULTS.map((kind) => spoiltBy(fc.tuple(fault, kind).map(([other, framing]) => framed([other], framing)))),
);

export const FAULT_COUNT = HEAD_FAULTS.length + BODY_FAULTS.length + FRAMING_FAULTS.length;
