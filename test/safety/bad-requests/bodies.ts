import { MAX_BODY_BYTES } from '../../../src/wire/constants.ts';
import { CATEGORIES } from '../../support/categories.ts';
import fc from '../../support/fast-check.ts';
import { faults, MALFORMED, withField } from './draft.ts';
import { fieldValue, isObject, noise } from './text.ts';

// What is wrong with the body of a request.

const FIELDS = ['action', 'categories', 'options', 'protocol'];
const OPTIONS = ['temporary', 'duration', 'reason'];

const valueBut = (isRight: (value: unknown) => boolean) => fc.jsonValue().filter((value) => !isRight(value));

const isName = (value: unknown) =>
  typeof value === 'string' && /^(?:[A-Z][A-Z0-9_]{0,63}|X-[A-Z][A-Z0-9_-]{0,61})$/.test(value);

const isDuration = (value: unknown) =>
  (typeof value === 'number' && Number.isInteger(value) && value > 0) ||
  (typeof value === 'string' && /^\d+[smhd]$/.test(value));

function isJsonObject(bytes: Buffer): boolean {
  try {
    return isObject(JSON.parse(bytes.toString()));
  } catch {
    return false;
  }
}

const wrongReason = fc.oneof(
  fc.constantFrom('', 'a\r\nb', 'a\u0000b', '\u001b[2J'),
  fc.integer({ min: 501, max: 5000 }).map((length) => 'r'.repeat(length)),
  valueBut((value) => typeof value === 'string'),
);
const tooLong = fc.oneof(
  fc.integer({ min: 86_401 }),
  fc.integer({ min: 25, max: 1_000_000_000 }).map((hours) => `${hours}h`),
);
const unknownName = (names: readonly string[]) =>
  fc
    .oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'tenant', 'Action', 'durration', 'expiresAt'))
    .filter((name) => !names.includes(name));

export const BODY_FAULTS = [
  faults(
    'noise for a body',
    [MALFORMED],
    noise.filter((bytes) => !isJsonObject(bytes)),
    (draft, body) => ({ ...draft, body }),
  ),
  faults('a body that is no object', [MALFORMED], valueBut(isObject), (draft, body) => ({ ...draft, body })),
  faults(
    'an object of another kind',
    [MALFORMED],
    fc.object({ maxDepth: 3 }).filter((value) => !('action' in value)),
    (draft, body) => ({ ...draft, body }),
  ),
  faults(
    'action',
    [MALFORMED],
    valueBut((value) => typeof value === 'string' && /^[a-z]+$/.test(value)),
    (draft, value) => withField(draft, ['action'], value),
  ),
  faults(
    'categories',
    [MALFORMED],
    valueBut((value) => isName(value) || (Array.isArray(value) && value.length > 0 && value.every(isName))),
    (draft, value) => withField(draft, ['categories'], value),
  ),
  faults(
    'a category that does not exist',
    ['RDCP_CATEGORY_NOT_FOUND'],
    fc.stringMatching(/^NO_[A-Z0-9_]{0,60}$/),
    (draft, name) => withField(draft, ['categories'], [...CATEGORIES, name]),
  ),
  faults('a category twice', [MALFORMED], fc.constantFrom(...CATEGORIES), (draft, name) =>
    withField(draft, ['categories'], [name, ...CATEGORIES]),
  ),
  faults('options', [MALFORMED], valueBut(isObject), (draft, value) => withField(draft, ['options'], value)),
  faults(
    'temporary',
    [MALFORMED],
    valueBut((value) => typeof value === 'boolean'),
    (draft, value) => withField(draft, ['options', 'temporary'], value),
  ),
  faults(
    'duration',
    [MALFORMED],
    fc.oneof(fc.jsonValue(), fc.double(), fieldValue).filter((value) => !isDuration(value)),
    (draft, value) => withField(draft, ['options', 'duration'], value),
  ),
  faults('a duration that is too long', [MALFORMED], tooLong, (draft, value) =>
    withField(draft, ['options', 'duration'], value),
  ),
  faults('a duration for good', [MALFORMED], fc.constant(false), (draft, temporary) => ({
    ...withField(draft, ['options'], { temporary, duration: 60 }),
  })),
  faults('reason', [MALFORMED], wrongReason, (draft, value) => withField(draft, ['options', 'reason'], value)),
  faults('a field that is not known', [MALFORMED], unknownName(FIELDS), (draft, name) =>
    withField(draft, [name], { polluted: true }),
  ),
  faults('an option that is not known', [MALFORMED], unknownName(OPTIONS), (draft, name) =>
    withField(draft, ['options', name], true),
  ),
  faults(
    'version in the body',
    ['RDCP_VERSION_UNSUPPORTED', MALFORMED],
    valueBut((value) => value === 'rdcp/1.0'),
    (draft, value) => withField(draft, ['protocol'], value),
  ),
  faults(
    'a body that is too large',
    ['RDCP_REQUEST_TOO_LARGE'],
    fc.integer({ min: MAX_BODY_BYTES, max: MAX_BODY_BYTES + 30_000 }),
    (draft, length) => withField(draft, ['options', 'reason'], 'r'.repeat(length)),
  ),
];
