import { RdcpError } from '../../errors.ts';
import { PROTOCOL } from '../../protocol/constants.ts';
import { controlRequestSchema } from '../../protocol/control-request.ts';
import { firstIssue } from '../../protocol/issues.ts';
import type { Step } from '../context.ts';
import { versionUnsupported } from './known-path.ts';

/** Longest unknown field name that is repeated to the client. */
const MAX_FIELD_LENGTH = 64;

/** Validates the body of a control request and stores the result. */
export function controlRequest(): Step {
  return (ctx) => {
    const body: unknown = ctx.request.body;
    // Checked first, because a body of another version may have other fields.
    const stated = (body as { protocol?: unknown }).protocol;
    if (typeof stated === 'string' && stated !== PROTOCOL) throw versionUnsupported();
    const result = controlRequestSchema.safeParse(body);
    if (!result.success) {
      const { field, message } = firstIssue(result.error);
      const place = field.slice(0, MAX_FIELD_LENGTH);
      throw new RdcpError('RDCP_MALFORMED_REQUEST', `${place === '' ? 'The body' : place} ${message}`, {
        details: { field: place },
      });
    }
    ctx.state.control = result.data;
  };
}
