import type { Middleware } from 'koa';
import { HEADERS, JSON_MEDIA_TYPE } from '../../protocol/constants.ts';
import type { Addressing } from '../../tenancy/address.ts';
import type { RequestState } from '../context.ts';
import { errorAnswer, setAnswerHeaders, toRdcpError } from '../error-answer.ts';
import { endWithAnswer, endWithRefusal } from '../last-answer.ts';
import { isOAuth } from '../oauth-endpoint.ts';
import type { Refusals } from '../refusals.ts';
import { contentType, requestIdOf } from './headers.ts';

/**
 * The outermost step: sets the headers of every answer, and converts every exception to the endpoint's error format.
 * Koa's own handler, which strips headers and answers in plain text, never sees an error.
 */
export function errorBoundary({
  randomUUID,
  refusals,
  addressing,
  report,
}: {
  randomUUID: () => string;
  refusals: Refusals;
  addressing: Addressing;
  report: (error: unknown) => void;
}): Middleware<RequestState> {
  return async (ctx, next) => {
    const given = requestIdOf(ctx.req);
    ctx.state = {
      requestId: given ?? randomUUID(),
      requestIdGiven: given !== undefined,
      mediaType: JSON_MEDIA_TYPE,
      expired: false,
      refusalRepeated: false,
    };
    setAnswerHeaders(ctx.req, ctx.res);
    try {
      await next();
    } catch (thrown) {
      const error = toRdcpError(thrown);
      // A server fault, which only its owner can fix.
      if (error.code === 'RDCP_SERVER_ERROR') report(thrown);
      refusals.note(ctx, error);
      const { tenant } = ctx.state.tenancy ?? addressing.own(ctx.state.principal);
      if (error.code === 'RDCP_RATE_LIMITED') await endWithAnswer(ctx.req, ctx.res);
      else if (ctx.state.principal === undefined && error.status < 500) await endWithRefusal(ctx.req, ctx.res);
      const { status, headers, body } = errorAnswer(ctx.req, error, { tenant });
      ctx.set({ ...headers });
      ctx.set('Content-Type', contentType(isOAuth(ctx.req) ? JSON_MEDIA_TYPE : ctx.state.mediaType));
      ctx.status = status;
      ctx.body = JSON.stringify(body);
    }
    if (!ctx.res.headersSent) ctx.res.setHeader(HEADERS.requestId, ctx.state.requestId);
  };
}
