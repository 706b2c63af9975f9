import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { invalidSetting } from '../wire/errors.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ENTROPY_BYTES = 32;
/** 62^43 is the first power of 62 above 2^256. */
const SECRET_LENGTH = 43;
/** 62^6 is the first power of 62 above 2^32. */
const CHECKSUM_LENGTH = 6;
const FORM = /^rdcp_([a-z0-9]{1,16})_v([1-9][0-9]{0,3})_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/;
const ENVIRONMENT = /^[a-z0-9]{1,16}$/;
const CURRENT_VERSION = 1;

/** Minimum length of an operator's own key: 128 bits in hexadecimal. */
const MIN_SECRET_LENGTH = 32;
/** Maximum length of a key, in characters. Longer ones are rejected unread. */
export const MAX_API_KEY_LENGTH = 1024;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export interface GenerateOptions {
  /** Environment of the key, such as `live` or `test`: 1 to 16 of a-z and 0-9. @default 'live' */
  readonly env?: string;
  readonly randomBytes: (size: number) => Uint8Array;
}

/**
 * Returns a new key, `rdcp_<env>_v<version>_<secret><checksum>`. The secret is 256 random bits as one base 62 number,
 * left-padded with `0` to 43 characters, so that every value is equally likely. The checksum is the CRC-32 of all previous
 * characters in base 62, padded to 6 characters. Secret scanners find keys by the prefix; the checksum detects typos.
 * @throws {RangeError} if `env` does not match the pattern
 */
export function generateApiKey({ env = 'live', randomBytes }: GenerateOptions): string {
  if (!ENVIRONMENT.test(env)) throw new RangeError('env must be 1 to 16 of a-z and 0-9');
  const number = BigInt(`0x${Buffer.from(randomBytes(ENTROPY_BYTES)).toString('hex')}`);
  const body = `rdcp_${env}_v${CURRENT_VERSION}_${base62(number, SECRET_LENGTH)}`;
  return body + checksum(body);
}

export type ApiKeyForm =
  | { readonly form: 'generated'; readonly env: string; readonly version: number }
  /** The format of a generated key, with a wrong checksum. */
  | { readonly form: 'mistyped' }
  /** Any other text, such as an operator's own secret. */
  | { readonly form: 'foreign' };

export function inspectApiKey(key: string): ApiKeyForm {
  const match = FORM.exec(key);
  if (match?.[1] === undefined) return { form: 'foreign' };
  const body = key.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== key.slice(-CHECKSUM_LENGTH)) return { form: 'mistyped' };
  return { form: 'generated', env: match[1], version: Number(match[2]) };
}

/** Read as latin1, as Node decodes headers. A fast hash is safe because keys have at least 128 bits of entropy. */
export function hashApiKey(key: string): string {
  return `sha256:${hash('sha256', Buffer.from(key, 'latin1'), 'hex')}`;
}

/** Rejects a key that is too weak or could never match. @param name variable or file of the key: messages hold no value */
export function assertUsableSecret(secret: string, name: string): void {
  const refuse = (problem: string) => {
    throw invalidSetting(name, `${name} ${problem}`);
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
