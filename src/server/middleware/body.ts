import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { KoaBodyMiddlewareOptions } from 'koa-body';
import type { z } from 'zod';
import { RdcpError } from '../../errors.ts';
import { JSON_MEDIA_TYPE, MAX_BODY_BYTES, PROTOCOL, RDCP_MEDIA_TYPE } from '../../protocol/constants.ts';
import { firstIssue } from '../../protocol/issues.ts';
import { endConnection } from '../http2-request.ts';
import { versionUnsupported } from '../request-target.ts';
import type { Context, Step } from '../steps.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];

/**
 * Reads the body as a JSON object into `ctx.request.body`. If the application's parser has read it already, its result
 * is used. Bodies whose headers declare anything but JSON in UTF-8 are refused unread.
 */
export function jsonBody(): Step {
  // JSON's own syntax is ASCII, so it also parses as latin1, and the bytes can be checked for valid UTF-8 afterwards. A
  // UTF-8 decoder would replace invalid bytes silently.
  const parser = bodyParser({
    encoding: BYTES,
    jsonTypes: MEDIA_TYPES,
    jsonLimit: MAX_BODY_BYTES,
    jsonStrict: true,
    text: false,
  });
  return async (ctx) => {
    assertMediaType(ctx, MEDIA_TYPES);
    const before = wasRead(ctx.req) ? parsedBefore(ctx.req) : undefined;
    if (before !== undefined && 'parsed' in before) {
      ctx.request.body = asObject(before.parsed);
      return;
    }
    const bytes = before ?? (await readBody(ctx, parser, notJson));
    // The latin1 result is correct when all bytes are ASCII.
    const parsed = before === undefined && isAscii(bytes) ? ctx.request.body : parse(bytes);
    ctx.request.body = asObject(parsed);
  };
}

function parse(bytes: Buffer): unknown {
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

function notJson(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not a JSON object, or holds a forbidden field');
}

/** Longest unknown field name that is repeated to the client. */
const MAX_FIELD_LENGTH = 64;

/** The body that {@link jsonBody} has read, validated. */
export function validBody<T extends z.ZodType>(ctx: Context, schema: T): z.output<T> {
  const body: unknown = ctx.request.body;
  // Checked first, because a body of another version may have other fields.
  const stated = (body as { protocol?: unknown }).protocol;
  if (typeof stated === 'string' && stated !== PROTOCOL) throw versionUnsupported();
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { field, message } = firstIssue(result.error);
  const place = field.slice(0, MAX_FIELD_LENGTH);
  throw new RdcpError('RDCP_MALFORMED_REQUEST', `${place === '' ? 'The body' : place} ${message}`, {
    details: { field: place },
  });
}

/** Returns the parser, loaded on first use. */
export type BodyParser = () => Middleware | Promise<Middleware>;

/** A koa-body parser for POST bodies, loaded lazily: a service without control requests never loads koa-body. */
export function bodyParser(options: Partial<KoaBodyMiddlewareOptions>): BodyParser {
  let parser: Middleware | undefined;
  const load = async () => {
    const { HttpMethodEnum, koaBody } = await import('koa-body');
    parser ??= koaBody({
      includeUnparsed: true,
      multipart: false,
      urlencoded: false,
      parsedMethods: [HttpMethodEnum.POST],
      ...options,
    });
    return parser;
  };
  return () => parser ?? load();
}

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
