import { type Context, type Span, type SpanContext, SpanStatusCode } from '@opentelemetry/api';
import type { FollowedWork, Work, WorkContext, WorkObserver } from '../../gate/work.ts';
import { PATH_PREFIX } from '../../wire/constants.ts';
import { fieldOf, isError, typeOfThrown } from '../../wire/thrown.ts';
import { type Clock, systemClock } from '../../wire/time/clock.ts';
import { localRootSpan, pathOf } from './attributes.ts';
import type { HttpRequests } from './http-requests.ts';
import { MAX_SEARCHED, type WorkFacts } from './summary.ts';
import { followUncaught, type Host } from './uncaught.ts';

/** Receives how pieces of work end. Must not throw. */
export interface WorkListener {
  ended(piece: PieceOfWork): void;
  /** The process ends now, and with it all work. */
  exiting?(): void;
}

/** A first status that counts as a failure of the service. */
const SERVER_ERROR = 500;

/** A piece of work from its beginning to its end: an HTTP request, what `runWork` runs, or `runWithAttributes` outside of both. */
export class PieceOfWork implements FollowedWork {
  /** The piece of work around it, if any. */
  readonly around: PieceOfWork | undefined;
  ended = false;
  /** Why it failed; `undefined` while it has not. */
  failure: { readonly error: unknown } | undefined;
  /** Whether it failed only because its connection was closed before the answer, which any client can do. */
  aborted = false;
  /** What was recorded of it, for whoever follows it. */
  recorded: unknown;
  /** Its own work, which that of the calls in it may be a part of. */
  readonly work: Work;
  readonly #name: string | undefined;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #began: number;
  readonly #whenEnded: (piece: PieceOfWork) => void;
  #milliseconds: number | undefined;
  #state: string | undefined;
  #span: Span | undefined;

  constructor(
    work: Work,
    name: string | undefined,
    clock: Pick<Clock, 'monotonic'>,
    whenEnded: (piece: PieceOfWork) => void,
  ) {
    this.work = work;
    this.#name = typeof name === 'string' ? name : undefined;
    this.#clock = clock;
    this.#began = clock.monotonic();
    this.#whenEnded = whenEnded;
    this.around = work.followed instanceof PieceOfWork ? work.followed : undefined;
  }

  /** How long it took, or has taken so far. */
  get milliseconds(): number {
    return this.#milliseconds ?? this.#clock.monotonic() - this.#began;
  }

  /** Whether it is a request to the remote control. */
  get isOurs(): boolean {
    return this.work.request?.target.startsWith(PATH_PREFIX) === true;
  }

  /** Looks for its root span in a context of it: with status ERROR at the end, the work has failed. */
  findSpan(active: Context): void {
    this.#span ??= localRootSpan(active);
  }

  /** Its root span, once it was looked for. */
  get spanContext(): SpanContext | undefined {
    return this.#span?.spanContext();
  }

  fail(error: unknown): void {
    if (!this.ended) this.failure ??= { error };
  }

  answered(status: number | undefined): void {
    this.#state = status === undefined ? 'closed before the answer' : String(status);
    this.aborted = status === undefined && this.failure === undefined;
    if (status === undefined || status >= SERVER_ERROR) this.fail(undefined);
    this.#end();
  }

  succeeded(): void {
    this.#end();
  }

  failed(error: unknown): void {
    this.fail(error);
    this.#end();
  }

  /** Ends it with the process. */
  interrupted(): void {
    this.#state ??= 'interrupted by the end of the process';
    this.failed(undefined);
  }

  /** What it was, and how it ended or what it is so far. */
  get facts(): WorkFacts {
    const { request } = this.work;
    const thrown = this.failure?.error;
    return {
      name: this.#name,
      method: request?.method,
      path: request && pathOf(request.target).slice(0, MAX_SEARCHED),
      route: request?.route,
      state: this.#state,
      failed: this.failure !== undefined,
      error: isError(thrown) ? typeOfThrown(thrown) : undefined,
      milliseconds: this.milliseconds,
    };
  }

  #end(): void {
    if (this.ended) return;
    // The SDK's spans show their status, which the API's interface does not have.
    const status = this.#span && fieldOf(this.#span, 'status');
    if (status !== undefined && fieldOf(status, 'code') === SpanStatusCode.ERROR) this.fail(undefined);
    this.ended = true;
    this.#milliseconds = this.milliseconds;
    this.#whenEnded(this);
  }
}

/** Work whose outcome is followed. */
export type WorkOfPiece = Work & { readonly followed: PieceOfWork };

/** How pieces of work end. Follows them while there are listeners. */
export class WorkOutcomes implements WorkObserver {
  readonly #context: WorkContext;
  readonly #requests: Pick<HttpRequests, 'follow'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #host: Host;
  readonly #listeners = new Set<WorkListener>();
  #unfollow = () => {};

  constructor(
    context: WorkContext,
    requests: Pick<HttpRequests, 'follow'>,
    clock: Pick<Clock, 'monotonic'> = systemClock,
    host: Host = process,
  ) {
    this.#context = context;
    this.#requests = requests;
    this.#clock = clock;
    this.#host = host;
  }

  /** The piece of work that is done now. `undefined` outside of any, and where it began before it was followed. */
  current(): PieceOfWork | undefined {
    return this.currentWork()?.followed;
  }

  /** What {@link current} is, also once it has ended. */
  latest(): PieceOfWork | undefined {
    const followed = this.#context.latest()?.followed;
    return followed instanceof PieceOfWork ? followed : undefined;
  }

  /** The work that is done now, of which {@link current} is the whole. */
  currentWork(): WorkOfPiece | undefined {
    const work = this.#context.current();
    return work?.followed instanceof PieceOfWork && !work.followed.ended ? (work as WorkOfPiece) : undefined;
  }

  /** @returns a function that unsubscribes */
  watch(listener: WorkListener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#follow();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#unfollow();
    };
  }

  began(work: Work, name?: string): FollowedWork {
    const piece = new PieceOfWork(work, name, this.#clock, this.#whenEnded);
    work.followed = piece;
    return piece;
  }

  readonly #whenEnded = (piece: PieceOfWork) => {
    for (const { ended } of this.#listeners) ended(piece);
  };

  #follow(): void {
    const unfollow = this.#requests.follow();
    const unfollowUncaught = followUncaught(this.#host, (error) => this.current()?.fail(error));
    const exiting = () => {
      for (const listener of this.#listeners) listener.exiting?.();
    };
    this.#host.on('exit', exiting);
    this.#context.observer = this;
    this.#unfollow = () => {
      unfollow();
      unfollowUncaught();
      this.#host.off('exit', exiting);
      if (this.#context.observer === this) this.#context.observer = undefined;
    };
  }
}
