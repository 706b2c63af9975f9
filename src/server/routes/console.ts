import type { ServerResponse } from 'node:http';
import { RdcpError } from '../../errors.ts';
import type { ConsoleFileName, ReadConsoleFile } from '../console-files.ts';
import type { Context, Step } from '../steps.ts';

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

/** The page loads its own files alone, runs no code that comes as text, and is in nobody's frame. */
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

/** A file of the console. */
export function consoleFile(name: ConsoleFileName, read: ReadConsoleFile): Step {
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
