import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RdcpError } from '../errors.ts';
import { HEADERS } from '../protocol/constants.ts';
import { ANSWER_HEADERS, errorAnswer } from './error-answer.ts';
import { endConnection } from './http2-request.ts';
import { contentType } from './steps.ts';

/** The parts of an answer that no handler provides. */
interface RawRefusal {
  readonly error: RdcpError;
  readonly requestId: string;
  /** Overrides the code's own HTTP status. */
  readonly status?: number | undefined;
}

/** For a request that did not arrive in time. */
export function arrivedTooSlowly() {
  return { error: new RdcpError('RDCP_TIMEOUT', 'The request took too long to arrive'), status: 408 };
}

/**
 * Answers on the raw connection when Node refuses a request before any handler runs, and closes the connection.
 * @param req the incomplete request, if its header arrived
 */
export function answerRaw(socket: Duplex, refusal: RawRefusal, req?: IncomingMessage): void {
  const { status, body, headers } = written(refusal, req);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}

/** Answers a request outside our handlers. */
export function answerResponse(res: ServerResponse, refusal: RawRefusal): void {
  const { status, body, headers } = written(refusal, res.req);
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  endConnection(res);
  res.end(body);
}

function written({ error, requestId, status: stated }: RawRefusal, req: IncomingMessage | undefined) {
  const { status, headers, body } = errorAnswer(req, error, { status: stated });
  const text = JSON.stringify(body);
  return {
    status,
    body: text,
    headers: {
      ...Object.fromEntries(ANSWER_HEADERS),
      [HEADERS.requestId]: requestId,
      ...headers,
      'Content-Type': contentType(),
      'Content-Length': Buffer.byteLength(text),
    },
  };
}
