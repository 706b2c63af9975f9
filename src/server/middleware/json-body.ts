import { isAscii } from 'node:buffer';
import { RdcpError } from '../../errors.ts';
import { JSON_MEDIA_TYPE, MAX_BODY_BYTES, RDCP_MEDIA_TYPE } from '../../protocol/constants.ts';
import { bodyParser } from '../body-parser.ts';
import type { Context, Step } from '../context.ts';
import { assertMediaType, BYTES, parsedBefore, readBody, wasRead } from '../read-body.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];

/** Refuses bodies whose headers declare anything but JSON in UTF-8. */
export function jsonMediaType(): Step {
  return (ctx) => assertMediaType(ctx, MEDIA_TYPES);
}

/**
 * Reads the body as a JSON object into `ctx.request.body`. If the application's parser has read it already, its result
 * is used.
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
