import { METHODS as NODE_METHODS } from 'node:http';
import { PATHS } from '../../../src/wire/constants.ts';
import { requestText } from '../../support/raw-http.ts';
import { cases, get, HOST, type HostileRequest, KEY, MALFORMED } from './request.ts';

/** All that Node reads, without the one that asks for a tunnel, and the one whose answers have no body. */
const METHODS = NODE_METHODS.filter((method) => method !== 'CONNECT' && method !== 'HEAD');

export const paths: HostileRequest[] = [
  ...cases(
    'path',
    404,
    'RDCP_NOT_FOUND',
    [
      '/',
      '/rdcp',
      '/rdcp/',
      '/rdcp/v1',
      '/rdcp/v1/',
      '/rdcp/v1/status/',
      '/rdcp//v1/status',
      '//rdcp/v1/status',
      '/rdcp/v1//status',
      '/rdcp/v1/./status',
      '/rdcp/v1/../v1/status',
      '/rdcp/v1/%73tatus',
      '/rdcp/v1/status%2f',
      '/rdcp/v1/%2e%2e/v1/status',
      '/%72dcp/v1/status',
      '/RDCP/v1/status',
      '/rdcp/V1/status',
      '/rdcp/v1/STATUS',
      '/rdcp/v1/status;a=b',
      '/rdcp/v1/status#x',
      '/rdcp/v1/status%00',
      '/rdcp/v1/status%20',
      '/rdcp/v1/status\\',
      '/rdcp/v01/status',
      '/rdcp/v0/status',
      '/rdcp/v1/control/x',
      '/rdcp/v1/__proto__',
      '/rdcp/v1/constructor',
      '/rdcp/v1/..%2f..%2fetc/passwd',
      '/.well-known/rdcp/',
      '/.well-known/RDCP',
      '/.well-known/rdcp2',
      '/.well-known/../.well-known/rdcp',
      '/rdcp/v1/%',
      '/rdcp/v1/%zz',
      'http://localhost/rdcp/v1/status/',
      'http://localhost/rdcp/v1/%73tatus',
      'ftp://localhost/rdcp/v1/status',
      `/rdcp/v1/${'a'.repeat(8000)}`,
    ],
    (path) => get(path),
  ),
  ...cases('target', 400, MALFORMED, ['\\rdcp\\v1\\status', 'status', '?x=1'], (target) => get(target)),
  ...cases(
    'method on status',
    405,
    'RDCP_METHOD_NOT_ALLOWED',
    METHODS.filter((method) => method !== 'GET'),
    (method) => requestText(method, PATHS.status, [HOST, KEY]),
  ),
  ...cases(
    'method on control',
    405,
    'RDCP_METHOD_NOT_ALLOWED',
    METHODS.filter((method) => method !== 'POST'),
    (method) => requestText(method, PATHS.control, [HOST, KEY]),
  ),
];
