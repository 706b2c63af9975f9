import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import fc from '../../support/fast-check.ts';
import { KEYS } from '../../support/server.ts';
import { type Draft, faults, MALFORMED } from './draft.ts';

// What is wrong with how a request is written: what a lenient parser would read as something else.

/** A right request, which a server that takes a wrong boundary would carry out. */
const SMUGGLED = `POST ${PATHS.control} HTTP/1.1\r\nHost: localhost\r\n${HEADERS.apiKey}: ${KEYS.operator}\r\nContent-Type: application/json\r\nContent-Length: 39\r\n\r\n{"action":"enable","categories":"HTTP"}`;

/** Changes the head, without the empty line that ends it. */
const changeHead =
  (change: (head: string) => string) =>
  (bytes: Buffer): Buffer => {
    const end = bytes.indexOf('\r\n\r\n');
    const head = Buffer.from(change(bytes.subarray(0, end).toString('latin1')), 'latin1');
    return Buffer.concat([head, bytes.subarray(end)]);
  };

const withLine = (line: string) => changeHead((head) => `${head}\r\n${line}`);
const withLength = (value: string) =>
  changeHead((head) => head.replace(/Content-Length: \d+/, `Content-Length: ${value}`));
const inCoding = (value: string) =>
  changeHead((head) => head.replace(/Content-Length: \d+/, `Transfer-Encoding: ${value}`));

const damaged = (draft: Draft, damage: (bytes: Buffer) => Buffer): Draft => ({ ...draft, damage });
const smuggling = (bytes: Buffer) => Buffer.concat([bytes, Buffer.from(SMUGGLED)]);

export const FRAMING_FAULTS = [
  faults(
    'two kinds of length',
    [MALFORMED],
    fc.constantFrom('chunked', 'Chunked', ' chunked', 'chunked\t', 'identity', 'gzip, chunked'),
    (draft, coding) => damaged(draft, (bytes) => smuggling(withLine(`Transfer-Encoding: ${coding}`)(bytes))),
  ),
  faults('two lengths', [MALFORMED], fc.nat(99), (draft, length) =>
    damaged(draft, (bytes) => smuggling(withLine(`Content-Length: ${length}`)(bytes))),
  ),
  faults(
    'a length that is none',
    [MALFORMED],
    fc.oneof(
      fc.constantFrom('-1', '+5', '0x10', '1e3', '5,5', '5 5', '1.0', '99999999999999999999999'),
      fc.stringMatching(/^[a-zA-Z;=/]{1,8}$/),
    ),
    (draft, length) => damaged(draft, (bytes) => smuggling(withLength(length)(bytes))),
  ),
  faults(
    'a transfer coding that is not known',
    [MALFORMED],
    fc.constantFrom('gzip', 'identity', 'xchunked', 'chunked, gzip', 'chunked;q=1', 'chunkedchunked'),
    (draft, coding) => damaged(draft, (bytes) => smuggling(inCoding(coding)(bytes))),
  ),
  faults(
    'a chunk without a size',
    [MALFORMED],
    fc.constantFrom('zz', '-1', '0x5', ' 5', '5 ;', 'fffffffffffffffff', '5\n'),
    (draft, size) =>
      damaged(draft, (bytes) => {
        const head = inCoding('chunked')(bytes);
        return Buffer.concat([
          head.subarray(0, head.indexOf('\r\n\r\n') + 4),
          Buffer.from(`${size}\r\n{"a":\r\n0\r\n\r\n`),
        ]);
      }),
  ),
  faults(
    'a header that is none',
    [MALFORMED],
    fc.oneof(
      fc.constantFrom(
        'X-A : b',
        ': b',
        'X A: b',
        'no colon',
        'X-A: b\u0000c',
        'X-A: b\rc',
        'X-A\u0001: b',
        '@: b',
        '(x): y',
      ),
      fc.integer({ min: 1, max: 8 }).map((code) => `X-A: ${String.fromCharCode(code)}`),
    ),
    (draft, line) => damaged(draft, withLine(line)),
  ),
  faults(
    'a version that is none',
    [MALFORMED],
    fc.constantFrom('HTTP/9.9', 'HTTP/1.2', 'HTTP/1', 'HTTP/11', 'http/1.1', 'HTTP/1.1x', 'HTTQ/1.1', '1.1', ''),
    (draft, version) =>
      damaged(
        draft,
        changeHead((head) => head.replace('HTTP/1.1', version)),
      ),
  ),
  faults(
    'no HTTP at all',
    [MALFORMED],
    fc.tuple(
      fc.constantFrom(
        '\u0016\u0003\u0001\u0002\u0000\u0001',
        '{"action":"enable"}',
        'enable HTTP',
        '\u00ff\u00fe',
        'SSH-2.0-x',
        '\u0000',
      ),
      fc.string({ maxLength: 100 }),
    ),
    (draft, [start, rest]) => damaged(draft, () => Buffer.from(`${start}${rest}\r\n\r\n`, 'latin1')),
  ),
  faults('an end before its time', [MALFORMED], fc.double({ min: 0, max: 1, noNaN: true }), (draft, share) => ({
    ...damaged(draft, (bytes) => bytes.subarray(0, 1 + Math.floor(share * (bytes.length - 2)))),
    ends: true,
  })),
  faults('more than one request', [], fc.constant(undefined), (draft) => damaged(draft, smuggling)),
];
