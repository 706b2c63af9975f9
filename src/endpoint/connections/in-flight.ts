import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerResponse, arrivedTooSlowly } from '../error-answer.ts';
import { cutOff, endConnection, http2Stream } from '../request.ts';

/** When a request was seen in its stages, on a monotonic clock. */
interface Times {
  /** When it was first seen. */
  seenAt?: number;
  /** When the answer was first seen complete but not sent. */
  answeredAt?: number;
}

/** The requests whose answers have not been sent completely, and how they end. */
export class InFlight {
  readonly #requests = new Map<ServerResponse, Times>();
  readonly #requestMs: number;
  readonly #ending = new WeakSet<ServerResponse>();
  /** The newest one of each connection, also when it was answered. */
  readonly #newest = new WeakMap<Duplex, ServerResponse>();

  /** @param requestMs time limit for receiving a request, and for sending an answer */
  constructor(requestMs: number) {
    this.#requestMs = requestMs;
  }

  follow(res: ServerResponse): void {
    this.#requests.set(res, {});
    this.#newest.set(res.req.socket, res);
    res.once('close', () => this.#requests.delete(res));
  }

  /**
   * Closes the connection after its last pending answer, and reads nothing more from it. Returns false when no answer
   * is pending.
   */
  endWithAnswer(socket: Duplex): boolean {
    const last = [...this.#requests.keys()]
      .filter(({ req, headersSent }) => req.socket === socket && (headersSent || req.complete))
      .at(-1);
    if (last === undefined) return false;
    if (!this.#ending.has(last)) {
      this.#ending.add(last);
      endConnection(last);
      last.once('finish', () => last.req.socket.destroySoon());
    }
    return true;
  }

  /** The response to the request on a connection that has not arrived completely. */
  unfinished(socket: Duplex): ServerResponse | undefined {
    const newest = this.#newest.get(socket);
    return newest?.req.complete === false ? newest : undefined;
  }

  /** Closes connections with stalled requests, and with answers that the client does not read. */
  endStalled(moment: number): void {
    for (const [res, times] of this.#requests) {
      times.seenAt ??= moment;
      if (res.writableEnded) times.answeredAt ??= moment;
      if (times.answeredAt !== undefined && moment - times.answeredAt > this.#requestMs) cutOff(res);
      // On HTTP/1.1 Node enforces the request timeout itself.
      else if (http2Stream(res) !== undefined && moment - times.seenAt > this.#requestMs && !res.req.complete) {
        if (res.headersSent) cutOff(res);
        else answerResponse(res, { ...arrivedTooSlowly(), requestId: randomUUID() });
      }
    }
  }

  /** Resolves once every answer was sent. Their connections are closed. */
  async answered(): Promise<void> {
    const sent = [...this.#requests.keys()].map((res) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      (http2Stream(res)?.session ?? res.socket)?.ref();
      endConnection(res);
      res.once('close', () => resolve());
      return promise;
    });
    await Promise.all(sent);
  }
}
