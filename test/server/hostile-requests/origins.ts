import { PATHS } from '../../../src/wire/constants.ts';
import { requestText } from '../../support/raw-http.ts';
import { cases, control, ENABLE, get, type HostileRequest, MALFORMED } from './request.ts';

export const origins: HostileRequest[] = [
  ...cases(
    'Host',
    403,
    'RDCP_FORBIDDEN',
    [
      'evil.test',
      'evil.test:9465',
      'localhost.evil.test',
      '127.0.0.1.evil.test',
      'evil.localhost',
      '0.0.0.0',
      '[::]',
      '192.168.0.1',
      '169.254.169.254',
      'localhost.',
      '2130706433',
    ],
    (value) => requestText('GET', PATHS.wellKnown, [['Host', value]]),
  ),
  ...cases(
    'Host that is none',
    400,
    MALFORMED,
    ['', 'a b', 'localhost/evil', 'user@localhost', 'localhost:port', 'localhost:99999999', '::1', '[::1', 'évil'],
    (value) => requestText('GET', PATHS.wellKnown, [['Host', value]]),
  ),
  ...cases(
    'target of another host',
    403,
    'RDCP_FORBIDDEN',
    ['http://evil.test', 'http://0.0.0.0:80', 'https://localhost'],
    (origin) => get(origin + PATHS.status),
  ),
  ...cases('target of no host', 400, MALFORMED, ['http://', 'http://ada:x@localhost', 'http://localhost:x'], (origin) =>
    get(origin + PATHS.status),
  ),
  { name: 'no Host', bytes: requestText('GET', PATHS.wellKnown, []), status: 400, code: MALFORMED },
  ...cases(
    'Origin',
    403,
    'RDCP_FORBIDDEN',
    [
      'https://evil.test',
      'null',
      '',
      'http://localhost:1234',
      'https://localhost',
      'http://localhost.evil.test',
      'http://127.0.0.1',
      'file://',
      'chrome-extension://abcdef',
    ],
    (value) => control(ENABLE, ['Origin', value]),
  ),
];
