import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { RdcpError } from '../errors.ts';
import { MAX_BODY_BYTES } from '../protocol/constants.ts';
import type { BodyParser } from './body-parser.ts';
import type { Context } from './context.ts';
import { endConnection } from './http2-request.ts';

const CHARSET = /^charset="?utf-?8"?$/i;
/**
 * How much of an oversized body is discarded. Closing a connection with unread data resets it, and the client would not
 * see the answer. A longer body is cut off all the same.
 */
const MAX_DISCARDED_BYTES = 8 * 1024 * 1024;

/** Refuses unsupported media types, by the headers. */
export function assertMediaType({ req }: Context, supported: readonly string[]): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new RdcpError('RDCP_MEDIA_UNSUPPORTED', 'Content-Encoding is not supported: send the body as it is');
  }
  const given = req.headers['content-type'];
  // Fast path for the usual spelling.
  if (given !== undefined && supported.includes(given)) return;
  if (given === undefined && !hasBody(req)) throw emptyBody();
  const [type = '', ...parameters] = (given ?? '').split(';').map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
  if (supported.includes(type.toLowerCase()) && charsets.length < 2 && charsets.every((it) => CHARSET.test(it))) return;
  throw new RdcpError('RDCP_MEDIA_UNSUPPORTED', `A body must be ${supported.join(' or ')}, in UTF-8`, {
    details: { supported },
  });
}

/**
 * Parsers read bodies in this encoding: each byte becomes one character and can be checked. It is latin1 by the name
 * that Node decodes natively; other names use a slow table of iconv-lite.
 */
export const BYTES = 'binary';

/**
 * The bytes of a body, read by a koa-body parser in {@link BYTES}.
 * @param malformed creates the error for a body that the parser rejects
 */
export async function readBody(ctx: Context, parser: BodyParser, malformed: () => RdcpError): Promise<Buffer> {
  if (!hasBody(ctx.req)) throw emptyBody();
  if (Number(ctx.req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw await cutOff(ctx);
  const parse = await parser();
  try {
    await parse(ctx, async () => undefined);
  } catch (error) {
    throw await refusalOf(error, ctx, malformed);
  }
  return checked(Buffer.from(ctx.request.rawBody ?? '', BYTES));
}

/** Whether the application's parser has read the body already. */
export function wasRead(req: IncomingMessage): boolean {
  return req.readableDidRead || req.readableEnded;
}

/**
 * The result of the application's parser: bytes, or a parsed value. Our size limit applies, because parsers have
 * others.
 */
export function parsedBefore(req: IncomingMessage): Buffer | { readonly parsed: unknown } {
  const { body } = req as { body?: unknown };
  if (body === undefined) throw readInVain();
  const bytes = body instanceof Uint8Array || typeof body === 'string' ? Buffer.from(body as Uint8Array) : undefined;
  const length = bytes?.length ?? Number(req.headers['content-length'] ?? JSON.stringify(body).length);
  if (length > MAX_BODY_BYTES) throw tooLarge();
  return bytes === undefined ? { parsed: body } : checked(bytes);
}

function readInVain(): RdcpError {
  return new RdcpError('RDCP_SERVER_ERROR', 'The body was read before it reached this endpoint', {
    cause: new Error(
      'mount the remote control before the parser of bodies, or have that leave its result in req.body (koa-body and @koa/bodyparser: patchNode)',
    ),
  });
}

function checked(bytes: Buffer): Buffer {
  if (bytes.length === 0) throw emptyBody();
  if (!isUtf8(bytes)) throw new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not valid UTF-8');
  return bytes;
}

/** The parser's error holds the raw body, so it is neither logged nor sent. */
async function refusalOf(error: unknown, ctx: Context, malformed: () => RdcpError): Promise<RdcpError> {
  const { status, type } = error as { status?: unknown; type?: unknown };
  if (status === 413) return cutOff(ctx);
  if (type === 'request.aborted' || type === 'request.size.invalid') {
    return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body ended before its declared length');
  }
  return malformed();
}

async function cutOff(ctx: Context): Promise<RdcpError> {
  if (!(await discard(ctx.req))) endConnection(ctx.res);
  return tooLarge();
}

function tooLarge(): RdcpError {
  return new RdcpError('RDCP_REQUEST_TOO_LARGE', `A body must be at most ${MAX_BODY_BYTES} bytes`, {
    details: { maximum: MAX_BODY_BYTES },
  });
}

/** Discards the rest of a body, up to a limit. Resolves to whether all of it was read. */
export function discard(req: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let discarded = 0;
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) resolve(false);
  });
  req.once('end', () => resolve(true));
  req.once('close', () => resolve(false));
  req.resume();
  return promise;
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function emptyBody(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is empty');
}
