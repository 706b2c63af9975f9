import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { codeRefusal } from '../../access/refusal.ts';
import { type AuthMethod, CONSOLE_CODE_SECONDS, CONSOLE_PATHS, REQUEST_HEADERS } from '../../wire/constants.ts';
import { statedProtocol } from '../../wire/control-request.ts';
import { RdcpError } from '../../wire/errors.ts';
import type { ConsoleCodeResponse, ConsoleSessionResponse } from '../../wire/messages.ts';
import type { Clock } from '../../wire/time/clock.ts';
import type { RecordAccess } from '../audit.ts';
import type { ConsoleCodes, HandedOver } from '../console/codes.ts';
import { validBody } from '../middleware/body.ts';
import { header } from '../middleware/headers.ts';
import { packageFolder } from '../package-folder.ts';
import { type Context, type Handler, opening, required, type Step } from '../steps.ts';

/** Features of the browser that the console does without. */
const NO_FEATURES = [
  'accelerometer',
  'camera',
  'clipboard-read',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];

/** The page loads its own files alone, runs no code that comes as text, and is in no frame. */
const PAGE_HEADERS = [
  [
    'Content-Security-Policy',
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join('; '),
  ],
  ['Referrer-Policy', 'no-referrer'],
  ['Permissions-Policy', NO_FEATURES.map((feature) => `${feature}=()`).join(', ')],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Embedder-Policy', 'require-corp'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['X-Frame-Options', 'DENY'],
] as const;

/** Sets the headers of the page, which every answer below its path has, refusals included. */
export function setPageHeaders(res: ServerResponse): void {
  for (const [name, value] of PAGE_HEADERS) res.setHeader(name, value);
}

/** `GET /rdcp/console`: the same with a slash, so that the page finds its files. Relative, for mounts and proxies. */
export function consoleRedirect(): Step {
  return (ctx) => {
    ctx.res.setHeader('Location', 'console/');
    ctx.body = null;
    ctx.status = 308;
  };
}

/** Whether the browser has this version (RFC 9110, section 13.1.2), which it may ask for with `no-cache` too. */
function knows({ req }: Context, tag: string): boolean {
  const tags = (req.headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

/** The files of the console, by their paths. */
export function consoleFiles(): ReadonlyMap<string, Step> {
  const read = createConsoleFiles();
  const names = Object.keys(CONSOLE_FILES) as ConsoleFileName[];
  return new Map(
    names.map((name) => [CONSOLE_PATHS.page + (name === 'index.html' ? '' : name), consoleFile(name, read)]),
  );
}

/** A file of the console. */
function consoleFile(name: ConsoleFileName, read: ReadConsoleFile): Step {
  return async (ctx) => {
    const file = await read(name).catch((cause: unknown) => {
      throw new RdcpError('RDCP_NOT_FOUND', 'The console is not installed here', { cause });
    });
    if (ctx.state.expired) return;
    const zipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
    ctx.res.setHeader('Content-Type', file.type);
    ctx.res.setHeader('Cache-Control', 'no-cache');
    ctx.res.setHeader('Vary', 'Accept-Encoding');
    const tag = `"${file.hash}${zipped ? '-gzip' : ''}"`;
    ctx.res.setHeader('ETag', tag);
    if (knows(ctx, tag)) {
      ctx.status = 304;
      return;
    }
    if (zipped) ctx.res.setHeader('Content-Encoding', 'gzip');
    ctx.body = zipped ? file.gzipped : file.plain;
  };
}

interface Sources {
  readonly codes: ConsoleCodes;
  readonly recordAccess: RecordAccess;
  readonly clock: Clock;
}

/** The body of `POST /rdcp/v1/console/session`. */
export const consoleSessionSchema = z.strictObject({
  code: z.string().min(1, 'must not be empty').max(256),
  protocol: statedProtocol,
});

const NO_CATEGORY = { action: 'authenticate', categories: [] } as const;

/** `POST /rdcp/v1/console/code`: a one-time code for the credential of the request. */
export function consoleCode({ codes, recordAccess, clock }: Sources): Handler {
  return async (ctx) => {
    const credential = credentialIn(ctx.req);
    if (credential === undefined) {
      throw new RdcpError(
        'RDCP_MALFORMED_REQUEST',
        'A code hands over an API key or a token, and this request has neither: open the console without a code',
        { details: { reason: 'no_credential' } },
      );
    }
    const code = codes.issue(required(ctx, 'principal'), credential);
    await recordAccess(ctx, { ...NO_CATEGORY, reason: 'one-time code for the console' });
    const body: ConsoleCodeResponse = { ...opening(ctx, clock), code, expiresInSeconds: CONSOLE_CODE_SECONDS };
    return { body };
  };
}

/**
 * `POST /rdcp/v1/console/session`: exchanges a one-time code for its credential.
 * @param tenancy determines the tenant of the credential
 */
export function consoleSession(
  { codes, recordAccess, clock }: Sources,
  methods: readonly AuthMethod[],
  tenancy: Step,
): Handler {
  return async (ctx) => {
    const found = codes.redeem(validBody(ctx, consoleSessionSchema).code);
    if (found === undefined) throw codeRefusal(methods);
    ctx.state.principal = found.principal;
    await tenancy(ctx);
    await recordAccess(ctx, { ...NO_CATEGORY, reason: 'console, by a one-time code' });
    const body: ConsoleSessionResponse = { ...opening(ctx, clock), credential: found.credential };
    return { body };
  };
}

function credentialIn(req: IncomingMessage): HandedOver | undefined {
  const key = header(req, REQUEST_HEADERS.apiKey);
  if (key !== undefined) return { kind: 'api-key', value: key };
  const token = /^bearer +(\S+)$/i.exec(header(req, 'authorization') ?? '')?.[1];
  return token === undefined ? undefined : { kind: 'bearer', value: token };
}

/** The files of the console with their media types. The page is the file that its folder answers. */
const CONSOLE_FILES = {
  'index.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

type ConsoleFileName = keyof typeof CONSOLE_FILES;

interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  /** SHA-256 of the content. */
  readonly hash: string;
}

/** Reads a file of the console once. Rejects if it is not there, as where an application bundles this package. */
type ReadConsoleFile = (name: ConsoleFileName) => Promise<ConsoleFile>;

function createConsoleFiles(): ReadConsoleFile {
  const files = new Map<ConsoleFileName, Promise<ConsoleFile>>();

  async function read(name: ConsoleFileName): Promise<ConsoleFile> {
    const plain = await readFile(join(packageFolder(), 'dist/console', name));
    const hash = createHash('sha256').update(plain).digest('base64url');
    return { type: CONSOLE_FILES[name], plain, gzipped: await promisify(gzip)(plain, { level: 9 }), hash };
  }

  return (name) => {
    const file = files.get(name) ?? read(name);
    files.set(name, file);
    file.catch(() => files.delete(name));
    return file;
  };
}
