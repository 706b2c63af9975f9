import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RdcpError } from '../errors.ts';
import { HEADERS } from '../protocol/constants.ts';
import { ANSWER_HEADERS, contentType, errorResponse } from './error-answer.ts';
import { endConnection } from './http2-request.ts';

/**
 * Answers on the bare connection, for what Node refuses before there is a request to answer, and ends the connection.
 * @param status of the answer where it is not the code's own
 */
export function answerRaw(socket: Duplex, error: RdcpError, requestId: string, status = error.status): void {
  const { body, headers } = refusal(error, requestId);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}

/** Answers a request that no handler of ours has been given, or that it waits for in vain. */
export function answerResponse(res: ServerResponse, error: RdcpError, requestId: string, status = error.status): void {
  const { body, headers } = refusal(error, requestId);
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  endConnection(res);
  res.end(body);
}

function refusal(error: RdcpError, requestId: string) {
  const body = JSON.stringify(errorResponse(error));
  return {
    body,
    headers: {
      ...Object.fromEntries(ANSWER_HEADERS),
      [HEADERS.requestId]: requestId,
      ...error.headers,
      'Content-Type': contentType(),
      'Content-Length': Buffer.byteLength(body),
    },
  };
}
