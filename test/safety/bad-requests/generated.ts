import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import type { ErrorCode } from '../../../src/wire/errors.ts';
import fc from '../../support/fast-check.ts';
import { bytesOf, type Draft, MALFORMED, rightRequest, withField, withHeader } from './draft.ts';
import { fieldValue, isObject, madeUp, noise } from './text.ts';

// Right requests with one to three things wrong with them, whatever else is in them.

interface Fault {
  readonly name: string;
  /** How it is answered, unless another fault is met first. */
  readonly codes: readonly ErrorCode[];
  readonly spoil: (draft: Draft) => Draft;
}

const NEVER = /^(?!)/;
const IDENTIFIER = /^[a-zA-Z0-9._-]{1,255}$/;
const LOCALHOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;
const REFUSED: readonly ErrorCode[] = ['RDCP_AUTH_FAILED', 'RDCP_AUTH_REQUIRED', MALFORMED];
const VERSION: readonly ErrorCode[] = ['RDCP_VERSION_UNSUPPORTED', MALFORMED];
const NOT_FOUND: readonly ErrorCode[] = [...VERSION, 'RDCP_NOT_FOUND', 'RDCP_METHOD_NOT_ALLOWED'];

/** Header fields, with what their values may be. */
const FIELDS: readonly (readonly [name: string, right: RegExp, codes: readonly ErrorCode[]])[] = [
  [HEADERS.requestId, IDENTIFIER, [MALFORMED]],
  [HEADERS.clientId, IDENTIFIER, [MALFORMED]],
  [HEADERS.tenantId, NEVER, [MALFORMED]],
  [HEADERS.isolationLevel, NEVER, [MALFORMED]],
  [HEADERS.authMethod, /^api-key$/, REFUSED],
  [HEADERS.protocol, /^rdcp\/1\.0$/, VERSION],
  ['Date', NEVER, [MALFORMED]],
  ['Accept', /^$|\*\/\*|json|application\/\*/i, ['RDCP_MEDIA_NOT_ACCEPTABLE', 'RDCP_VERSION_UNSUPPORTED']],
  ['Content-Type', /json/i, ['RDCP_MEDIA_UNSUPPORTED', MALFORMED]],
  ['Content-Encoding', /^identity$/i, ['RDCP_MEDIA_UNSUPPORTED']],
  ['Host', LOCALHOST, [MALFORMED, 'RDCP_FORBIDDEN']],
  ['Origin', NEVER, ['RDCP_FORBIDDEN', MALFORMED]],
];

const isText = (right: RegExp) => (value: unknown) => typeof value === 'string' && right.test(value);
const isName = isText(/^(?:[A-Z][A-Z0-9_]{0,63}|X-[A-Z][A-Z0-9_-]{0,61})$/);
const isSeconds = (value: unknown) => Number.isInteger(value) && (value as number) > 0;

/** Places of the body, with what is right there. */
const MEMBERS: readonly (readonly [path: readonly string[], isRight: (value: unknown) => boolean])[] = [
  [['action'], isText(/^[a-z]+$/)],
  [['categories'], (value) => isName(value) || (Array.isArray(value) && value.length > 0 && value.every(isName))],
  [['options'], isObject],
  [['options', 'temporary'], (value) => typeof value === 'boolean'],
  [['options', 'duration'], (value) => isSeconds(value) || isText(/^\d+[smhd]$/)(value)],
  [['options', 'reason'], isText(/^/)],
  [['protocol'], isText(/^rdcp\/1\.0$/)],
];
const KNOWN_MEMBERS = [...MEMBERS.map(([path]) => path.at(-1)), ''];

function isJsonObject(bytes: Buffer): boolean {
  try {
    return isObject(JSON.parse(bytes.toString()));
  } catch {
    return false;
  }
}

const aField = fc
  .constantFrom(...FIELDS)
  .chain(([name, right, codes]) =>
    fieldValue
      .filter((value) => !right.test(value.trim()))
      .map((value): Fault => ({ name, codes, spoil: (draft) => withHeader(draft, name, value) })),
  );

const aMember = fc.constantFrom(...MEMBERS).chain(([path, isRight]) =>
  fc
    .oneof(fc.jsonValue(), fc.double(), fieldValue)
    .filter((value) => !isRight(value))
    .map((value): Fault => ({ name: path.join('.'), codes: VERSION, spoil: (draft) => withField(draft, path, value) })),
);

const anUnknownMember = fc
  .tuple(fc.constantFrom([], ['options']), fc.string())
  .filter(([, name]) => !KNOWN_MEMBERS.includes(name))
  .map(
    ([path, name]): Fault => ({
      ...{ name: 'a member that is not known', codes: [MALFORMED] },
      spoil: (draft) => withField(draft, [...path, name], { polluted: true }),
    }),
  );

const aBody = fc
  .oneof(
    noise.filter((bytes) => !isJsonObject(bytes)),
    fc.jsonValue().filter((value) => !isObject(value)),
    fc.object({ maxDepth: 3 }).filter((value) => !('action' in value)),
  )
  .map((body): Fault => ({ name: 'a body', codes: [MALFORMED], spoil: (draft) => ({ ...draft, body }) }));

const aCredential = fc.tuple(fc.constantFrom('', 'Bearer', 'Basic'), madeUp).map(
  ([scheme, secret]): Fault => ({
    ...{ name: 'a credential', codes: REFUSED },
    spoil: (draft) =>
      scheme === ''
        ? withHeader(draft, HEADERS.apiKey, secret)
        : withHeader(withHeader(draft, HEADERS.apiKey), 'Authorization', `${scheme} ${secret}`),
  }),
);

const rest = fc.webPath({ size: 'small' });
const aTarget = fc
  .oneof(
    fc.tuple(fc.constantFrom('', '/rdcp', '/rdcp/v1', PATHS.control), rest).map((parts) => parts.join('')),
    fieldValue.map((text) => `${PATHS.control}/${text.replaceAll(/[\s?#]/g, '')}`),
    fc.nat(99).map((version) => `/rdcp/v${version === 1 ? '01' : version}/control`),
  )
  .filter((value) => value !== '' && value.split(/[?#]/)[0] !== PATHS.control)
  .map((target): Fault => ({ name: 'a target', codes: NOT_FOUND, spoil: (draft) => ({ ...draft, target }) }));

const aMethod = fc
  .oneof(fc.stringMatching(/^[A-Z]{1,12}$/), fc.stringMatching(/^[a-z]{1,12}$/))
  // HEAD is answered without a body, so not in the envelope; CONNECT and PRI are not for this kind of target.
  .filter((method) => !['POST', 'HEAD', 'CONNECT', 'PRI'].includes(method))
  .map((method): Fault => ({ name: 'a method', codes: NOT_FOUND, spoil: (draft) => ({ ...draft, method }) }));

const fault = fc.oneof(
  { weight: 4, arbitrary: aField },
  { weight: 4, arbitrary: aMember },
  ...[anUnknownMember, aBody, aCredential, aTarget, aMethod],
);

/** A request with one to three faults, and the codes that it is answered by. */
export const badRequest = fc
  .tuple(
    rightRequest,
    fc.uniqueArray(fault, { minLength: 1, maxLength: 3, selector: ({ name }) => name, size: 'small' }),
  )
  .map(([right, faults]) => ({
    name: faults.map(({ name }) => name).join(' + '),
    bytes: bytesOf(faults.reduce((draft, { spoil }) => spoil(draft), right)),
    codes: faults.flatMap(({ codes }) => codes),
  }));
