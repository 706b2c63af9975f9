import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { identityKey, type Principal } from '../../access/principal.ts';
import { codeRefusal } from '../../access/refusal.ts';
import { seal, unseal } from '../../store/sealed-messages.ts';
import { CONSOLE_CODE_SECONDS, CONSOLE_PATHS, REQUEST_HEADERS } from '../../wire/constants.ts';
import { statedProtocol } from '../../wire/control-request.ts';
import type { ConsoleCodeResponse, ConsoleSessionResponse } from '../../wire/messages.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import { tenancy } from '../middleware/access.ts';
import { validBody } from '../middleware/body.ts';
import { assertSameMachine, header } from '../middleware/headers.ts';
import { packageFolder } from '../package-folder.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, opening, required } from '../steps.ts';
import { StreamPlaces } from '../streams/event-stream.ts';
import { consoleSettings } from './service.ts';

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
export function consoleRedirect({ config }: RouteParts): Handler | undefined {
  if (consoleSettings(config) === undefined) return undefined;
  return (ctx) => {
    ctx.res.setHeader('Location', 'console/');
    ctx.body = null;
    ctx.status = 308;
    return undefined;
  };
}

/** Whether the browser has this version (RFC 9110, section 13.1.2), which it may ask for with `no-cache` too. */
function knows({ req }: Context, tag: string): boolean {
  const tags = (req.headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}

interface ConsoleFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
}

/** The files of the console. The page is the file that its folder answers. */
export const CONSOLE_FILES: readonly ConsoleFile[] = [
  { path: CONSOLE_PATHS.page, name: 'index.html', type: 'text/html; charset=utf-8' },
  { path: `${CONSOLE_PATHS.page}console.js`, name: 'console.js', type: 'text/javascript; charset=utf-8' },
  { path: `${CONSOLE_PATHS.page}console.css`, name: 'console.css', type: 'text/css; charset=utf-8' },
  { path: `${CONSOLE_PATHS.page}icon.svg`, name: 'icon.svg', type: 'image/svg+xml' },
];

/** A file of the console, which is read once. It is not there where an application bundles this package. */
export function consoleFile({ name, type }: Omit<ConsoleFile, 'path'>) {
  return ({ config }: RouteParts): Handler | undefined => {
    if (consoleSettings(config) === undefined) return undefined;
    let content: ReturnType<typeof readContent> | undefined;
    return async (ctx) => {
      content ??= readContent(name);
      const { plain, gzipped, hash } = await content.catch((cause: unknown) => {
        content = undefined;
        throw REFUSALS.notInstalled('The console', cause);
      });
      if (ctx.state.expired) return undefined;
      const zipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      ctx.res.setHeader('Content-Type', type);
      ctx.res.setHeader('Cache-Control', 'no-cache');
      ctx.res.setHeader('Vary', 'Accept-Encoding');
      const tag = `"${hash}${zipped ? '-gzip' : ''}"`;
      ctx.res.setHeader('ETag', tag);
      if (knows(ctx, tag)) {
        ctx.status = 304;
        return undefined;
      }
      if (zipped) ctx.res.setHeader('Content-Encoding', 'gzip');
      ctx.body = zipped ? gzipped : plain;
      return undefined;
    };
  };
}

/** @returns the file, also compressed, and the SHA-256 of its content */
async function readContent(name: string) {
  const plain = await readFile(join(packageFolder(), 'dist/console', name));
  const hash = createHash('sha256').update(plain).digest('base64url');
  return { plain, gzipped: await promisify(gzip)(plain, { level: 9 }), hash };
}

/** The body of `POST /rdcp/v1/console/session`. */
export const consoleSessionSchema = z.strictObject({
  code: z.string().min(1, 'must not be empty').max(256),
  protocol: statedProtocol,
});

const NO_CATEGORY = { action: 'authenticate', categories: [] } as const;

/** `POST /rdcp/v1/console/code`: a one-time code for the credential of the request. */
export function consoleCode({ config, codes, recordAccess, clock }: RouteParts): Handler | undefined {
  if (consoleSettings(config) === undefined) return undefined;
  return async (ctx) => {
    assertSameMachine(ctx);
    const credential = credentialIn(ctx.req);
    if (credential === undefined) throw REFUSALS.noCredential();
    const code = codes.issue(required(ctx, 'principal'), credential);
    await recordAccess(ctx, { ...NO_CATEGORY, reason: 'one-time code for the console' });
    const body: ConsoleCodeResponse = { ...opening(ctx, clock), code, expiresInSeconds: CONSOLE_CODE_SECONDS };
    return { body };
  };
}

/** `POST /rdcp/v1/console/session`: exchanges a one-time code for its credential. */
export function consoleSession({
  config,
  authenticator,
  addressing,
  codes,
  recordAccess,
  clock,
}: RouteParts): Handler | undefined {
  if (consoleSettings(config) === undefined) return undefined;
  const address = tenancy(addressing, 'process');
  return async (ctx) => {
    const found = codes.redeem(validBody(ctx, consoleSessionSchema).code);
    if (found === undefined) throw codeRefusal(authenticator.methods);
    ctx.state.principal = found.principal;
    await address(ctx);
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

type HandedOver = ConsoleSessionResponse['credential'];

interface Content {
  readonly principal: Principal;
  readonly credential: HandedOver;
}

/** Of the processes of a cluster. `take` removes a file; only one process gets its text. */
type SharedFolder = { put(name: string, text: string): boolean; take(name: string): string | undefined };

interface ConsoleCodesOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly delay: Delay;
  /** As text that a URL may hold. @default 256 random bits */
  readonly randomCode?: () => string;
  /** In a cluster the browser may reach another worker than the command did. `undefined` for this process alone. */
  readonly shared: () => SharedFolder | undefined;
  readonly report: (error: unknown) => void;
}

const MAX_CODES = { total: 64, perIdentity: 4 };

/**
 * One-time codes that stand for a credential for a minute. Kept under their hash, in memory or in the folder of a cluster, and
 * sealed with the code itself, so that what is there is worth nothing without it.
 */
export class ConsoleCodes {
  readonly #options: ConsoleCodesOptions;
  /** Codes of this process by their hash. Those in the folder have no text here. */
  readonly #open = new Map<string, { readonly sealed: string | undefined; readonly forget: () => void }>();
  readonly #places = new StreamPlaces({ name: 'one-time codes', ...MAX_CODES });

  constructor(options: ConsoleCodesOptions) {
    this.#options = options;
  }

  /** @throws {RdcpError} `RDCP_RATE_LIMITED` when there are too many already */
  issue(principal: Principal, credential: HandedOver): string {
    const { clock, delay, randomCode = randomText } = this.#options;
    const free = this.#places.take({ identity: identityKey(principal) });
    const code = randomCode();
    const hash = hashOf(code);
    const sealed = seal(
      { ...UNSENT, at: clock.now() + CONSOLE_CODE_SECONDS * 1000, text: JSON.stringify({ principal, credential }) },
      CHANNEL,
      code,
    );
    const isInFolder = this.#inFolder((folder) => folder.put(fileOf(hash), sealed)) === true;
    const cancel = delay(CONSOLE_CODE_SECONDS * 1000, () => this.#take(hash));
    const forget = () => {
      cancel();
      this.#open.delete(hash);
      free();
    };
    this.#open.set(hash, { sealed: isInFolder ? undefined : sealed, forget });
    return code;
  }

  /** The credential of a code, once; `undefined` for a code that is not valid. */
  redeem(code: string): Content | undefined {
    const sealed = this.#take(hashOf(code));
    const found = sealed === undefined ? undefined : unseal(sealed, CHANNEL, code);
    // A timer may be late.
    return found !== undefined && this.#options.clock.now() < found.at ? JSON.parse(found.text) : undefined;
  }

  clear(): void {
    for (const hash of [...this.#open.keys()]) this.#take(hash);
  }

  /** Forgets a code. @returns what was kept of it */
  #take(hash: string): string | undefined {
    const own = this.#open.get(hash);
    own?.forget();
    return own?.sealed ?? this.#inFolder((folder) => folder.take(fileOf(hash)));
  }

  /** @returns `undefined` without a folder, or where it fails */
  #inFolder<T>(work: (folder: SharedFolder) => T): T | undefined {
    const { shared, report } = this.#options;
    try {
      const folder = shared();
      return folder && work(folder);
    } catch (error) {
      report(error);
      return undefined;
    }
  }
}

/** A code is sealed like a message between processes, which has a sender and a number. */
const UNSENT = { from: '', number: 0 };
const CHANNEL = 'console code';
const fileOf = (hash: string) => `code-${hash}`;
const randomText = () => randomBytes(32).toString('base64url');

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('base64url');
}
