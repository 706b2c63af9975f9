import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { KoaBodyMiddlewareOptions } from 'koa-body';
import type { z } from 'zod';
import { RdcpError } from '../../errors.ts';
import { JSON_MEDIA_TYPE, MAX_BODY_BYTES, PROTOCOL, RDCP_MEDIA_TYPE } from '../../protocol/constants.ts';
import { duplicateMember } from '../../protocol/duplicate-members.ts';
import { firstIssue } from '../../protocol/issues.ts';
import { escapeUnprintable } from '../../protocol/printable.ts';
import { discard, endConnection, hasBody } from '../request.ts';
import type { Context, Step } from '../steps.ts';
import { versionUnsupported } from './headers.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];

/**
 * Reads the body as a JSON object into `ctx.request.body`. If the application's parser has read it already, its result
 * is used. Bodies whose headers declare anything but JSON in UTF-8 are refused unread.
 * @param maximum size in bytes
 */
export function jsonBody(maximum = MAX_BODY_BYTES): Step {
  // JSON's own syntax is ASCII, so it also parses as latin1, and the bytes can be checked for valid UTF-8 afterwards. A
  // UTF-8 decoder would replace invalid bytes silently.
  const parser = bodyParser({
    encoding: BYTES,
    jsonTypes: MEDIA_TYPES,
    jsonLimit: maximum,
    jsonStrict: true,
    text: false,
  });
  return async (ctx) => {
    assertMediaType(ctx, MEDIA_TYPES);
    const before = wasRead(ctx.req) ? parsedBefore(ctx.req, maximum) : undefined;
    if (before !== undefined && 'parsed' in before) {
      ctx.request.body = asObject(before.parsed);
      return;
    }
    const bytes = before ?? (await readBody(ctx, parser, notJson, maximum));
    const text = bytes.toString('utf8');
    // The latin1 result is correct when all bytes are ASCII.
    const parsed = before === undefined && isAscii(bytes) ? ctx.request.body : parse(text);
    ctx.request.body = asObject(parsed);
    const duplicate = duplicateMember(text, parsed);
    if (duplicate !== undefined) throw malformed(escapeUnprintable(duplicate), 'appears twice in one object');
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
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
  throw malformed(field, message);
}

function malformed(field: string, problem: string): RdcpError {
  const place = field.slice(0, MAX_FIELD_LENGTH);
  return new RdcpError('RDCP_MALFORMED_REQUEST', `${place === '' ? 'The body' : place} ${problem}`, {
    details: { field: place },
  });
}

/** Returns the parser, loaded on first use. */
type BodyParser = () => Middleware | Promise<Middleware>;

/** A koa-body parser for POST bodies, loaded lazily: a service without control requests never loads koa-body. */
function bodyParser(options: Partial<KoaBodyMiddlewareOptions>): BodyParser {
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
/** Refuses unsupported media types, by the headers. */
function assertMediaType({ req }: Context, supported: readonly string[]): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new RdcpError('RDCP_MEDIA_UNSUPPORTED', 'Content-Encoding is not supported: send the body as it is');
  }
  const given = req.headers['content-type'];
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
const BYTES = 'binary';

/**
 * The bytes of a body, read by a koa-body parser in {@link BYTES}.
 * @param malformed creates the error for a body that the parser rejects
 */
async function readBody(
  ctx: Context,
  parser: BodyParser,
  malformed: () => RdcpError,
  maximum = MAX_BODY_BYTES,
): Promise<Buffer> {
  if (!hasBody(ctx.req)) throw emptyBody();
  if (Number(ctx.req.headers['content-length'] ?? 0) > maximum) throw await cutOff(ctx, maximum);
  const parse = await parser();
  try {
    await parse(ctx, async () => undefined);
  } catch (error) {
    throw await refusalOf(error, ctx, malformed, maximum);
  }
  return checked(Buffer.from(ctx.request.rawBody ?? '', BYTES));
}

/** Whether the application's parser has read the body already. */
function wasRead(req: IncomingMessage): boolean {
  return req.readableDidRead || req.readableEnded;
}

/**
 * The result of the application's parser: bytes, or a parsed value. Our size limit applies, because parsers have
 * others.
 */
function parsedBefore(req: IncomingMessage, maximum = MAX_BODY_BYTES): Buffer | { readonly parsed: unknown } {
  const { body } = req as { body?: unknown };
  if (body === undefined) throw readInVain();
  const bytes = body instanceof Uint8Array || typeof body === 'string' ? Buffer.from(body as Uint8Array) : undefined;
  const length = bytes?.length ?? Number(req.headers['content-length'] ?? JSON.stringify(body).length);
  if (length > maximum) throw tooLarge(maximum);
  return bytes === undefined ? { parsed: body } : checked(bytes);
}

function readInVain(): RdcpError {
  return new RdcpError('RDCP_SERVER_ERROR', 'The body was read before it reached this endpoint', {
    cause: new Error(
      'mount the remote control before the body parser, or make the parser leave its result in req.body (koa-body and @koa/bodyparser: patchNode)',
    ),
  });
}

function checked(bytes: Buffer): Buffer {
  if (bytes.length === 0) throw emptyBody();
  if (!isUtf8(bytes)) throw new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not valid UTF-8');
  return bytes;
}

/** The parser's error holds the raw body, so it is neither logged nor sent. */
async function refusalOf(
  error: unknown,
  ctx: Context,
  malformed: () => RdcpError,
  maximum: number,
): Promise<RdcpError> {
  const { status, type } = error as { status?: unknown; type?: unknown };
  if (status === 413) return cutOff(ctx, maximum);
  if (type === 'request.aborted' || type === 'request.size.invalid') {
    return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body ended before its declared length');
  }
  return malformed();
}

async function cutOff(ctx: Context, maximum: number): Promise<RdcpError> {
  if (!(await discard(ctx.req))) endConnection(ctx.res);
  return tooLarge(maximum);
}

function tooLarge(maximum: number): RdcpError {
  return new RdcpError('RDCP_REQUEST_TOO_LARGE', `A body must be at most ${maximum} bytes`, {
    details: { maximum },
  });
}

function emptyBody(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is empty');
}

const FORM = 'application/x-www-form-urlencoded';

/**
 * Reads the body as a form into `ctx.state.form`, as ordered pairs, so that duplicates are visible. Form parsers turn
 * names with brackets into objects and lists; here they stay plain names.
 */
export function formBody(): Step {
  const parser = bodyParser({
    encoding: BYTES,
    json: false,
    text: true,
    textTypes: [FORM],
    textLimit: MAX_BODY_BYTES,
  });
  return async (ctx) => {
    assertMediaType(ctx, [FORM]);
    const body = wasRead(ctx.req) ? parsedBefore(ctx.req) : await readBody(ctx, parser, notForm);
    ctx.state.form = 'parsed' in body ? pairsOf(body.parsed) : [...new URLSearchParams(body.toString('utf8'))];
  };
}

/** The result of the application's parser, in which a duplicate field is a list. */
function pairsOf(parsed: unknown): [string, string][] {
  if (typeof parsed !== 'object' || parsed === null) throw notForm();
  return Object.entries(parsed).flatMap(([name, values]) =>
    [values].flat().map((value: unknown): [string, string] => {
      if (typeof value === 'string') return [name, value];
      throw notForm();
    }),
  );
}

function notForm(): RdcpError {
  return new RdcpError('RDCP_MALFORMED_REQUEST', 'The body is not a form of names and values');
}
