import type { z } from 'zod';
import { RdcpError } from '../../errors.ts';
import { consoleSessionSchema } from '../../protocol/console-request.ts';
import { MAX_FORECAST_SECONDS, PROTOCOL } from '../../protocol/constants.ts';
import { controlRequestSchema } from '../../protocol/control-request.ts';
import { forecastRequestSchema } from '../../protocol/forecast-request.ts';
import { firstIssue } from '../../protocol/issues.ts';
import { formatDuration } from '../../protocol/time.ts';
import type { Context, Step } from '../context.ts';
import { versionUnsupported } from '../request-target.ts';

/** Longest unknown field name that is repeated to the client. */
const MAX_FIELD_LENGTH = 64;

/** Validates the body of a control request and stores the result. */
export function controlRequest(): Step {
  return (ctx) => {
    ctx.state.control = validBody(ctx, controlRequestSchema);
  };
}

/** Validates the body of a forecast request and stores the result. */
export function forecastRequest(): Step {
  return (ctx) => {
    const request = validBody(ctx, forecastRequestSchema);
    if (request.duration > MAX_FORECAST_SECONDS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `duration must be at most ${MAX_FORECAST_SECONDS}s`, {
        details: { field: 'duration', maximum: formatDuration(MAX_FORECAST_SECONDS) },
      });
    }
    ctx.state.forecast = request;
  };
}

/** Validates the body of a console's sign-in and stores its code. */
export function consoleCodeRequest(): Step {
  return (ctx) => {
    ctx.state.code = validBody(ctx, consoleSessionSchema).code;
  };
}

function validBody<T extends z.ZodType>(ctx: Context, schema: T): z.output<T> {
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
