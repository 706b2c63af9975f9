// What a benchmark, the service under load and the generator of the load tell each other: each is a process of its own,
// so that none learns from, or waits for, the work of another.

/** A service tells its port once it listens, and its processor time each time it is asked. */
export type FromService = { readonly port: number } | { readonly cpuMicroseconds: number };

export interface Order {
  readonly port: number;
  /** Whole HTTP requests, sent in turn; `{n}` in one becomes a number that is never used again. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly milliseconds: number;
  /** Requests started each second, however long answers take. @default as many as the connections carry */
  readonly perSecond?: number | undefined;
}

export interface Delivered {
  readonly requests: number;
  readonly milliseconds: number;
  /** Body length of the last answer, bytes. */
  readonly answerBytes: number;
  /** Milliseconds from when a request was due until its answer was read, sorted; empty without a given rate. */
  readonly latencies: readonly number[];
}

/** What an attacker is to do, until it is ended. */
export interface Attack {
  readonly port: number;
  readonly protocol: 'http/1.1' | 'https' | 'h2';
  readonly connections: number;
  /** Sent on each connection, and again after each answer; over HTTP/2 the path of ten requests at a time. */
  readonly request: string;
  /** Milliseconds after which it leaves a connection and comes again. @default it stays, and comes again where it is closed */
  readonly stayMs?: number;
  /** Comes no second time. @default false */
  readonly once?: boolean;
}

/** How the event loop of a service was delayed since it was asked last, milliseconds. */
export interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}
