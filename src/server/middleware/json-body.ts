import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { RdcpError } from '../../errors.ts';
import { JSON_MEDIA_TYPE, MAX_BODY_BYTES, RDCP_MEDIA_TYPE } from '../../protocol/constants.ts';
import type { Context, Step } from '../context.ts';
import { endConnection } from '../http2-request.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];
const CHARSET = /^charset="?utf-?8"?$/i;
/**
 * How much of a body that is too large is read and thrown away. Closing a connection that still has unread data in it
 * resets it, and the client would never see the answer; a body beyond this is cut off all the same.
 */
const MAX_DISCARDED_BYTES = 8 * 1024 * 1024;

/** Refuses bodies that are not JSON in UTF-8, by what their headers say of them. */
export function jsonMediaType(): Step {
  return (ctx) => {
    const encoding = ctx.req.headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      throw new RdcpError('RDCP_MEDIA_UNSUPPORTED', 'Content-Encoding is not supported: send the body as it is');
    }
    const given = ctx.req.headers['content-type'];
    if (given === undefined && !hasBody(ctx.req)) throw emptyBody();
    const [type = '', ...parameters] = (given ?? '').split(';').map((part) => part.trim());
    const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
    if (MEDIA_TYPES.includes(type.toLowerCase()) && charsets.length < 2 && charsets.every((it) => CHARSET.test(it))) {
      return;
    }
    throw new RdcpError('RDCP_MEDIA_UNSUPPORTED', `A body must be ${MEDIA_TYPES.join(' or ')}, in UTF-8`, {
      details: { supported: MEDIA_TYPES },
    });
  };
}

/**
 * Reads the body as a JSON object into `ctx.request.body`. Where a parser of the application has read it already,
 * what that one made of it is taken.
 */
export function jsonBody(): Step {
  // As latin1 every byte is one character, so that the bytes can be checked after parsing: a decoder of UTF-8 would put
  // replacement characters where they are invalid. JSON's own syntax is ASCII and reads the same either way.
  const read = koaBody({
    encoding: 'latin1',
    includeUnparsed: true,
    jsonTypes: MEDIA_TYPES,
    jsonLimit: MAX_BODY_BYTES,
    jsonStrict: true,
    multipart: false,
    text: false,
    urlencoded: false,
    parsedMethods: [HttpMethodEnum.POST],
  });
  return async (ctx) => {
    ctx.request.body = asObject(wasRead(ctx.req) ? parsedBefore(ctx.req) : await readBody(ctx, read));
  };
}

async function readBody(ctx: Context, read: Middleware): Promise<unknown> {
  if (!hasBody(ctx.req)) throw emptyBody();
  if (Number(ctx.req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw await tooLarge(ctx);
  try {
    await read(ctx, async () => undefined);
  } catch (error) {
    throw await refusalOf(error, ctx);
  }
  return decode(Buffer.from(ctx.request.rawBody ?? '', 'latin1'), ctx.request.body);
}

/** The parser's error holds the raw body, and is dropped here: it must not be logged or sent. */
async function refusalOf(error: unknown, ctx: Context): Promise<RdcpError> {
  const { status, type } = error as { status?: unknown; type?: unknown };
  if (status === 413) return tooLarge(ctx);
  if (type === 'request.aborted' || type === 'request.size.invalid') {
    return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body ended before its declared length');
  }
  return notJson();
}

async function tooLarge(ctx: Context): Promise<RdcpError> {
  if (!(await discard(ctx.req))) endConnection(ctx.res);
  return new RdcpError('RDCP_REQUEST_TOO_LARGE', `A body must be at most ${MAX_BODY_BYTES} bytes`, {
    details: { maximum: MAX_BODY_BYTES },
  });
}

/** Resolves with whether the body was read to its end. */
function discard(req: IncomingMessage): Promise<boolean> {
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

function parsedBefore(req: IncomingMessage): unknown {
  const { body } = req as { body?: unknown };
  if (body instanceof Uint8Array) return decode(Buffer.from(body));
  if (typeof body === 'string') return decode(Buffer.from(body));
  if (body !== undefined) return body;
  throw new RdcpError('RDCP_SERVER_ERROR', 'The body was read before it reached this endpoint');
}

/** @param parsed what a parser made of the bytes as latin1, which is right while all of them are ASCII */
function decode(bytes: Buffer, parsed?: unknown): unknown {
  if (bytes.length === 0) throw emptyBody();
  if (!isUtf8(bytes)) throw new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not valid UTF-8');
  if (parsed !== undefined && isAscii(bytes)) return parsed;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw notJson();
  }
}

function asObject(value: unknown): NonNullable<Context['request']['body']> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notJson();
  return value as NonNullable<Context['request']['body']>;
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function wasRead(req: IncomingMessage): boolean {
  return req.readableDidRead || req.readableEnded;
}

function emptyBody(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is empty: a JSON object is needed');
}

function notJson(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not a JSON object, or holds a forbidden field');
}
