import type { ServerResponse } from 'node:http';
import { constants } from 'node:http2';
import { http2Stream } from './http2-request.ts';

/** Closes the connection of an answer, or its HTTP/2 stream. */
export function cutOff(res: ServerResponse): void {
  const stream = http2Stream(res);
  if (stream === undefined) res.socket?.destroy();
  else stream.close(constants.NGHTTP2_CANCEL);
}
