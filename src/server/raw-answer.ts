import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RdcpError } from '../errors.ts';
import { HEADERS } from '../protocol/constants.ts';
import { ANSWER_HEADERS, contentType, errorResponse } from './error-answer.ts';

/**
 * Answers on the bare connection, for what Node refuses before there is a request to answer, and ends the connection.
 * @param status of the answer where it is not the code's own
 */
export function answerRaw(socket: Duplex, error: RdcpError, requestId: string, status = error.status): void {
  const body = JSON.stringify(errorResponse(error));
  const headers = {
    ...Object.fromEntries(ANSWER_HEADERS),
    [HEADERS.requestId]: requestId,
    ...error.headers,
    Connection: 'close',
    'Content-Type': contentType(),
    'Content-Length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}
