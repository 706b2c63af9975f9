import { RdcpError } from '../../errors.ts';
import {
  EVENT_STREAM_MEDIA_TYPE,
  JSON_MEDIA_TYPE,
  PROTOCOL,
  RDCP_MEDIA_TYPE,
  REQUEST_HEADERS,
} from '../../protocol/constants.ts';
import { header, type Step } from '../context.ts';
import { contentType } from '../error-answer.ts';
import { rawPath, versionUnsupported } from '../request-target.ts';

/** Refuses a client that states another version of the protocol. */
export function protocolVersion(): Step {
  return (ctx) => {
    const stated = header(ctx.req, REQUEST_HEADERS.protocol);
    if (stated !== undefined && stated !== PROTOCOL) throw versionUnsupported();
  };
}

/** As in answers, so that ranges with a charset match too. */
const AVAILABLE = [JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE].flatMap((type) => [type, contentType(type)]);
const STREAM = [EVENT_STREAM_MEDIA_TYPE, contentType(EVENT_STREAM_MEDIA_TYPE)];
const VERSIONED = /^application\/vnd\.rdcp\.v\d+\+json$/i;

/**
 * Negotiates the media type of the answer. The error for no acceptable type is `application/json`, as are all errors of
 * event streams.
 * @param streams paths that answer with an event stream
 * @param files paths that answer with a file, whatever the client accepts
 */
export function contentNegotiation({
  streams,
  files,
}: {
  streams: ReadonlySet<string>;
  files: ReadonlySet<string>;
}): Step {
  return (ctx) => {
    const { accept } = ctx.req.headers;
    if (accept === undefined || accept === '*/*') return;
    const path = rawPath(ctx.req.url);
    if (files.has(path)) return;
    if (streams.has(path)) {
      if (ctx.accepts(STREAM) === false) throw notAcceptable([EVENT_STREAM_MEDIA_TYPE]);
      return;
    }
    // Fast path for the usual value; the state already has the default.
    if (accept === JSON_MEDIA_TYPE) return;
    const accepted = ctx.accepts(AVAILABLE);
    if (accepted !== false) {
      ctx.state.mediaType = String(accepted).startsWith(RDCP_MEDIA_TYPE) ? RDCP_MEDIA_TYPE : JSON_MEDIA_TYPE;
      return;
    }
    if ([ctx.accepts()].flat().some((type) => VERSIONED.test(String(type)))) throw versionUnsupported();
    throw notAcceptable([JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE]);
  };
}

function notAcceptable(available: readonly string[]): RdcpError {
  return new RdcpError('RDCP_MEDIA_NOT_ACCEPTABLE', `Answers are ${available.join(' or ')}`, {
    details: { available },
  });
}
