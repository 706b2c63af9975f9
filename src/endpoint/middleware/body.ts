import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Middleware } from 'koa';
import type { z } from 'zod';
import { addedToObjects } from '../../otel/loading/node-version.ts';
import { BODY_BOUNDS, JSON_MEDIA_TYPE, MAX_BODY_BYTES, PROTOCOL, RDCP_MEDIA_TYPE } from '../../wire/constants.ts';
import type { RdcpError } from '../../wire/errors.ts';
import { firstIssue } from '../../wire/issues.ts';
import { duplicateMember, exceededBound } from '../../wire/json-text.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { REFUSALS } from '../../wire/refusals.ts';
import { discard, endConnection, hasBody } from '../request.ts';
import type { Context, Step } from '../steps.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];

/**
 * Reads the body as a JSON object into `ctx.request.body`. If the application's parser has read it already, its result
 * is used. Bodies whose headers declare anything but JSON in UTF-8 are refused unread, and what is too large before it is parsed.
 */
export function jsonBody(bounds = BODY_BOUNDS): Step {
  const read = bodyReader(MEDIA_TYPES, bounds.bytes);
  return async (ctx) => {
    const body = await read(ctx);
    if ('parsed' in body) {
      ctx.request.body = asObject(body.parsed);
      return;
    }
    const exceeded = exceededBound(body, bounds);
    if (exceeded === 'depth') throw malformed('', `nests objects and lists more than ${bounds.depth} deep`);
    if (exceeded !== undefined) throw REFUSALS.largeBody(bounds[exceeded], UNITS[exceeded]);
    const text = body.toString('utf8');
    // What a large body takes is not taken from the application at once.
    const pause = () => (body.length > MAX_BODY_BYTES ? nextTurn() : undefined);
    await pause();
    const parsed = parse(text);
    ctx.request.body = asObject(parsed);
    await pause();
    const duplicate = duplicateMember(text);
    if (duplicate !== undefined) throw malformed(escapeUnprintable(duplicate), 'appears twice in one object');
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text, /__|\\u005f/i.test(text) ? refusePrototypes : undefined);
  } catch {
    throw REFUSALS.notJson();
  }
}

/** A copy of such a member would become the prototype of its object. */
function refusePrototypes(name: string, value: unknown): unknown {
  if (name === '__proto__') throw REFUSALS.notJson();
  return value;
}

function asObject(value: unknown): NonNullable<Context['request']['body']> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw REFUSALS.notJson();
  return value as NonNullable<Context['request']['body']>;
}

/** Longest unknown field name that is repeated to the client. */
const MAX_FIELD_LENGTH = 64;

export function validBody<T extends z.ZodType>(ctx: Context, schema: T): z.output<T> {
  const body: unknown = ctx.request.body;
  // Checked first, because a body of another version may have other fields.
  const stated = (body as { protocol?: unknown }).protocol;
  if (typeof stated === 'string' && stated !== PROTOCOL) throw REFUSALS.version();
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const { field, message } = firstIssue(result.error);
  throw malformed(field, message);
}

function malformed(field: string, problem: string): RdcpError {
  return REFUSALS.malformedBody(field.slice(0, MAX_FIELD_LENGTH), problem);
}

/** Reads bodies of some media types: their bytes, or what a parser of the application made of them. */
function bodyReader(mediaTypes: string[], maximum: number): (ctx: Context) => Promise<Buffer | ParsedBody> {
  const parser = textParser(mediaTypes, maximum);
  return async (ctx) => {
    assertMediaType(ctx, mediaTypes);
    // Whether the application's parser has read it already.
    const wasRead = ctx.req.readableDidRead || ctx.req.readableEnded;
    return wasRead ? parsedBefore(ctx.req, maximum) : readBody(ctx, parser, maximum);
  };
}

interface ParsedBody {
  readonly parsed: unknown;
}

/** Returns the parser, loaded on first use. */
type BodyParser = () => Middleware | Promise<Middleware>;

/**
 * A koa-body parser that leaves the body as text, loaded lazily: a service without control requests never loads koa-body. JSON is
 * bounded and parsed by us, because koa-body knows a bound on bytes alone.
 * @param maximum size in bytes
 */
function textParser(textTypes: string[], maximum: number): BodyParser {
  let parser: Middleware | undefined;
  const load = async () => {
    const { HttpMethodEnum, koaBody } = await import('koa-body').catch(unreadable);
    parser ??= koaBody({
      includeUnparsed: true,
      multipart: false,
      urlencoded: false,
      parsedMethods: [HttpMethodEnum.POST],
      encoding: BYTES,
      json: false,
      textTypes,
      textLimit: maximum,
    });
    return parser;
  };
  return () => parser ?? load();
}

function unreadable(cause: unknown): never {
  const added = addedToObjects();
  if (added === undefined) throw cause;
  throw REFUSALS.unreadable(added, cause);
}

const CHARSET = /^charset="?utf-?8"?$/i;
/** Refuses unsupported media types, by the headers. */
function assertMediaType({ req }: Context, supported: readonly string[]): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw REFUSALS.encoded();
  const given = req.headers['content-type'];
  if (given === undefined && !hasBody(req)) throw REFUSALS.emptyBody();
  const [type = '', ...parameters] = (given ?? '').split(';').map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
  if (supported.includes(type.toLowerCase()) && charsets.length < 2 && charsets.every((it) => CHARSET.test(it))) return;
  throw REFUSALS.mediaType(supported);
}

/**
 * Parsers read bodies in this encoding: each byte becomes one character and can be checked. It is latin1 by the name
 * that Node decodes natively; other names use a slow table of iconv-lite.
 */
const BYTES = 'binary';

/**
 * The bytes of a body, read by a koa-body parser in {@link BYTES}. */
async function readBody(ctx: Context, parser: BodyParser, maximum: number): Promise<Buffer> {
  if (!hasBody(ctx.req)) throw REFUSALS.emptyBody();
  if (Number(ctx.req.headers['content-length'] ?? 0) > maximum) throw await cutOff(ctx, maximum);
  const parse = await parser();
  try {
    await parse(ctx, async () => undefined);
  } catch (error) {
    // The parser's error holds the raw body, so it is neither logged nor sent.
    throw (error as { status?: unknown }).status === 413 ? await cutOff(ctx, maximum) : REFUSALS.cutBody();
  }
  return checked(Buffer.from(ctx.request.rawBody ?? '', BYTES));
}

/**
 * The result of the application's parser: bytes, or a parsed value. Our size limit applies, because parsers have
 * others.
 */
function parsedBefore(req: IncomingMessage, maximum: number): Buffer | ParsedBody {
  const { body } = req as { body?: unknown };
  if (body === undefined) throw REFUSALS.readBefore(new Error(LEAVE_BODY));
  const bytes = body instanceof Uint8Array || typeof body === 'string' ? Buffer.from(body as Uint8Array) : undefined;
  const length = bytes?.length ?? Number(req.headers['content-length'] ?? JSON.stringify(body).length);
  if (length > maximum) throw REFUSALS.largeBody(maximum, UNITS.bytes);
  return bytes === undefined ? { parsed: body } : checked(bytes);
}

const LEAVE_BODY =
  'mount the remote control before the body parser, or make the parser leave its result in req.body (koa-body and @koa/bodyparser: patchNode)';

function checked(bytes: Buffer): Buffer {
  if (bytes.length === 0) throw REFUSALS.emptyBody();
  if (!isUtf8(bytes)) throw REFUSALS.notUtf8();
  return bytes;
}

async function cutOff(ctx: Context, maximum: number): Promise<RdcpError> {
  if (!(await discard(ctx.req))) endConnection(ctx.res);
  return REFUSALS.largeBody(maximum, UNITS.bytes);
}

const UNITS = { bytes: 'bytes', values: 'members and elements' };

const FORM = 'application/x-www-form-urlencoded';

/**
 * Reads the body as a form into `ctx.state.form`, as ordered pairs, so that duplicates are visible. Form parsers turn
 * names with brackets into objects and lists; here they stay plain names.
 */
export function formBody(): Step {
  const read = bodyReader([FORM], MAX_BODY_BYTES);
  return async (ctx) => {
    const body = await read(ctx);
    ctx.state.form = 'parsed' in body ? pairsOf(body.parsed) : [...new URLSearchParams(body.toString('utf8'))];
  };
}

/** The result of the application's parser, in which a duplicate field is a list. */
function pairsOf(parsed: unknown): [string, string][] {
  if (typeof parsed !== 'object' || parsed === null) throw REFUSALS.notForm();
  return Object.entries(parsed).flatMap(([name, values]) =>
    [values].flat().map((value: unknown): [string, string] => {
      if (typeof value === 'string') return [name, value];
      throw REFUSALS.notForm();
    }),
  );
}
