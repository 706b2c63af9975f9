import { HEADERS, PATHS } from '../../../src/wire/constants.ts';
import { requestText } from '../../support/raw-http.ts';
import { KEYS } from '../../support/server.ts';

// Requests that an attacker, or a broken client, would send. Each has one right answer.

export interface HostileRequest {
  readonly name: string;
  readonly bytes: string | Buffer;
  readonly status: number;
  readonly code: string;
}

export type Header = readonly [name: string, value: string];

export const HOST: Header = ['Host', 'localhost'];
export const KEY: Header = [HEADERS.apiKey, KEYS.operator];
export const JSON_TYPE: Header = ['Content-Type', 'application/json'];
/** Would switch everything on, if anything in a refused request had an effect. */
export const ENABLE = '{"action":"enable","categories":["DATABASE","HTTP","X-CUSTOM"]}';

export function get(target: string, ...headers: Header[]): string {
  return requestText('GET', target, [HOST, KEY, ...headers]);
}

export function post(body: string | Buffer, ...headers: Header[]): Buffer {
  const bytes = Buffer.from(body);
  const length: Header = ['Content-Length', String(bytes.length)];
  return Buffer.concat([Buffer.from(requestText('POST', PATHS.control, [HOST, ...headers, length])), bytes]);
}

export const control = (body: string | Buffer, ...headers: Header[]) => post(body, KEY, JSON_TYPE, ...headers);

export function cases<T>(
  title: string,
  status: number,
  code: string,
  values: readonly T[],
  bytes: (value: T) => string | Buffer,
): HostileRequest[] {
  return values.map((value) => ({
    name: `${title}: ${String(value).slice(0, 60)}`,
    bytes: bytes(value),
    status,
    code,
  }));
}

export const MALFORMED = 'RDCP_MALFORMED_REQUEST';
