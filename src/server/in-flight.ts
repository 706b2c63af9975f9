import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { cutOff } from './cut-off.ts';
import { endConnection, http2Stream } from './http2-request.ts';
import { answerResponse, arrivedTooSlowly } from './raw-answer.ts';

/** How requests end whose answers have not been sent completely. */
export interface InFlight {
  /**
   * Closes the connection after its last pending answer, and reads nothing more from it. Returns false when no answer
   * is pending.
   */
  endWithAnswer(socket: Duplex): boolean;
  /** The incomplete request on a connection. */
  unfinished(socket: Duplex): IncomingMessage | undefined;
  /** Closes connections with stalled requests, and with answers that the client does not read. */
  endStalled(now: number): void;
  /** Resolves once every answer was sent. Their connections are closed. */
  answered(): Promise<void>;
}

/** When a request passed its stages, on a monotonic clock. */
export interface Times {
  readonly arrivedAt: number;
  /** When the answer was first seen complete but not sent. */
  answeredAt?: number;
}

/** @param requestMs time limit for receiving a request, and for sending an answer */
export function createInFlight(requests: ReadonlyMap<ServerResponse, Times>, requestMs: number): InFlight {
  const ending = new WeakSet<ServerResponse>();
  return {
    endWithAnswer: (socket) => {
      const due = [...requests.keys()].filter(
        ({ req, headersSent }) => req.socket === socket && (headersSent || req.complete),
      );
      const last = due.at(-1);
      if (last === undefined) return false;
      if (!ending.has(last)) {
        ending.add(last);
        endConnection(last);
        last.once('finish', () => last.req.socket.destroySoon());
      }
      return true;
    },
    unfinished: (socket) => {
      for (const { req } of requests.keys()) if (req.socket === socket && !req.complete) return req;
      return undefined;
    },
    endStalled: (moment) => {
      for (const [res, times] of requests) {
        if (res.writableEnded) times.answeredAt ??= moment;
        if (times.answeredAt !== undefined && moment - times.answeredAt > requestMs) cutOff(res);
        // On HTTP/1.1 Node enforces the request timeout itself.
        else if (http2Stream(res) !== undefined && moment - times.arrivedAt > requestMs && !res.req.complete)
          refuseLate(res);
      }
    },
    answered: async () => {
      const sent = [...requests.keys()].map((res) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        (http2Stream(res)?.session ?? res.socket)?.ref();
        endConnection(res);
        res.once('close', () => resolve());
        return promise;
      });
      await Promise.all(sent);
    },
  };
}

function refuseLate(res: ServerResponse): void {
  if (res.headersSent) cutOff(res);
  else answerResponse(res, { ...arrivedTooSlowly(), requestId: randomUUID() });
}
