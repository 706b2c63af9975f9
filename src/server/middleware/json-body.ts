import { isAscii } from 'node:buffer';
import { RdcpError } from '../../errors.ts';
import { JSON_MEDIA_TYPE, MAX_BODY_BYTES, RDCP_MEDIA_TYPE } from '../../protocol/constants.ts';
import { bodyParser } from '../body-parser.ts';
import type { Context, Step } from '../context.ts';
import { assertMediaType, BYTES, parsedBefore, readBody, wasRead } from '../read-body.ts';

const MEDIA_TYPES = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE];

/** Refuses bodies that are not JSON in UTF-8, by what their headers say of them. */
export function jsonMediaType(): Step {
  return (ctx) => assertMediaType(ctx, MEDIA_TYPES);
}

/**
 * Reads the body as a JSON object into `ctx.request.body`. Where a parser of the application has read it already,
 * what that one made of it is taken.
 */
export function jsonBody(): Step {
  // JSON's own syntax is ASCII and reads the same as latin1, in which the bytes can be checked after parsing: a decoder
  // of UTF-8 would put replacement characters where they are invalid.
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
    // What the parser made of the bytes as latin1 is right while all of them are ASCII.
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
