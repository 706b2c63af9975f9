import { RdcpError } from '../../errors.ts';
import { MAX_BODY_BYTES } from '../../protocol/constants.ts';
import type { Step } from '../steps.ts';
import { assertMediaType, BYTES, bodyParser, parsedBefore, readBody, wasRead } from './body.ts';

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
