import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { RdcpError } from '../errors.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ENTROPY_BYTES = 32;
/** 62^43 is the first power of 62 above 2^256. */
const SECRET_LENGTH = 43;
/** 62^6 is the first power of 62 above 2^32. */
const CHECKSUM_LENGTH = 6;
const FORM = /^rdcp_([a-z0-9]{1,16})_v([1-9][0-9]{0,3})_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/;
const ENVIRONMENT = /^[a-z0-9]{1,16}$/;
const CURRENT_VERSION = 1;

/** Fewest characters of a key that was not generated here: 128 bits, written in hexadecimal. */
const MIN_SECRET_LENGTH = 32;
/** Longest key that is looked at, in characters. */
export const MAX_API_KEY_LENGTH = 1024;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export interface GenerateOptions {
  /** Where the key is used: `live`, `test`, … 1 to 16 of a-z and 0-9. @default 'live' */
  readonly env?: string;
  /** Source of cryptographically strong random bytes. */
  readonly randomBytes: (size: number) => Uint8Array;
}

/**
 * A new key, `rdcp_<env>_v<version>_<secret><checksum>`. The secret is 256 random bits as one number in base 62, padded
 * on the left with `0` to 43 characters, so that every value is equally likely. The checksum is the CRC-32 of every
 * character before it, prefix included, in base 62, padded to 6 characters. The fixed prefix lets secret scanners
 * recognise a key, the checksum lets them, and people, tell a real one from a typing mistake.
 * @throws {RangeError} when `env` breaks the pattern
 */
export function generateApiKey({ env = 'live', randomBytes }: GenerateOptions): string {
  if (!ENVIRONMENT.test(env)) throw new RangeError('env must be 1 to 16 of a-z and 0-9');
  const number = BigInt(`0x${Buffer.from(randomBytes(ENTROPY_BYTES)).toString('hex')}`);
  const body = `rdcp_${env}_v${CURRENT_VERSION}_${base62(number, SECRET_LENGTH)}`;
  return body + checksum(body);
}

/** What can be told of a key by looking at it alone. */
export type ApiKeyForm =
  | { readonly form: 'generated'; readonly env: string; readonly version: number }
  /** Has the form of a generated key, but the checksum is not that of its characters. */
  | { readonly form: 'mistyped' }
  /** Any other text: a secret of the operator's own making, perhaps. */
  | { readonly form: 'foreign' };

export function inspectApiKey(key: string): ApiKeyForm {
  const match = FORM.exec(key);
  if (match?.[1] === undefined) return { form: 'foreign' };
  const body = key.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== key.slice(-CHECKSUM_LENGTH)) return { form: 'mistyped' };
  return { form: 'generated', env: match[1], version: Number(match[2]) };
}

/**
 * A key as it is kept: `sha256:` and the lower-case hex SHA-256 of its bytes. Header values arrive as one character per
 * byte (latin1), so that is how the text is read; keys of ASCII, which all valid ones are, are the same in UTF-8. A
 * plain hash is enough because a key holds at least 128 bits: there is no dictionary to slow down.
 */
export function hashApiKey(key: string): string {
  return `sha256:${hash('sha256', Buffer.from(key, 'latin1'), 'hex')}`;
}

/**
 * Refuses a key that the operator made up and that could not protect anything, or could never match.
 * @param name what to call the key in the message: the variable or file it came from
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that holds the name and never the value
 */
export function assertUsableSecret(secret: string, name: string): void {
  const refuse = (problem: string) => {
    throw new RdcpError('RDCP_CONFIG_INVALID', `${name} ${problem}`, { details: { field: name } });
  };
  if (secret.length < MIN_SECRET_LENGTH) refuse(`must hold at least ${MIN_SECRET_LENGTH} characters (128 bits)`);
  if (secret.length > MAX_API_KEY_LENGTH) refuse(`must hold at most ${MAX_API_KEY_LENGTH} characters`);
  if (!VISIBLE_ASCII.test(secret)) refuse('must hold only visible ASCII characters, no white space');
  if (inspectApiKey(secret).form === 'mistyped') refuse('is mistyped: its checksum does not match');
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function base62(number: bigint, length: number): string {
  let rest = number;
  let text = '';
  for (let position = 0; position < length; position += 1) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
