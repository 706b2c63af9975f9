import { type Span, SpanStatusCode } from '@opentelemetry/api';
import type { FollowedWork, Work, WorkContext, WorkObserver } from '../../gate/work.ts';
import { PATH_PREFIX } from '../../wire/constants.ts';
import { fieldOf, isError, typeOfThrown } from '../../wire/thrown.ts';
import { type Clock, systemClock } from '../../wire/time/clock.ts';
import { localRootSpan, pathOf } from './attributes.ts';
import type { HttpRequests } from './http-requests.ts';
import { followUncaught } from './uncaught.ts';

/** Receives how pieces of work end. Must not throw. */
export interface WorkListener {
  ended(piece: PieceOfWork): void;
  /** The process ends now, and with it all work. */
  exiting?(): void;
}

/** The events of the process that are followed. */
type Host = Pick<NodeJS.Process, 'on' | 'off' | 'listeners'>;

/** A first status that counts as a failure of the service. */
const SERVER_ERROR = 500;

/** Longest summary of a piece of work, in characters: it is on each of its recorded lines, and a client chooses the path. */
const MAX_SUMMARY = 256;
/** Characters of a path in which credentials are searched, so that none is cut before it is found. */
const MAX_SEARCHED = 16_384;

/** A piece of work from its beginning to its end: an HTTP request, or what `runWork` runs. */
export class PieceOfWork implements FollowedWork {
  /** The piece of work around it, if any. */
  readonly around: PieceOfWork | undefined;
  ended = false;
  /** Why it failed; `undefined` while it has not. */
  failure: { readonly error: unknown } | undefined;
  /** Whether it failed only because its connection was closed before the answer, which any client can do. */
  aborted = false;
  readonly #work: Work;
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
    this.#work = work;
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

  /** Whether its root span is known. */
  get hasSpan(): boolean {
    return this.#span !== undefined;
  }

  /** Whether it is a request to the remote control. */
  get isOurs(): boolean {
    return this.#work.request?.target.startsWith(PATH_PREFIX) === true;
  }

  /** Looks for its root span in the active context: with status ERROR at the end, the work has failed. */
  findSpan(): void {
    this.#span ??= localRootSpan();
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

  /**
   * What it was and how it ended, in at most 256 characters: `POST /orders 500 after 1.2 s, TypeError`.
   * @param mask masks credentials in what others have chosen
   */
  summary(mask: (text: string) => string): string {
    const { request } = this.#work;
    const name = this.#name ?? (request && `${request.method} ${request.route ?? pathOf(request.target)}`) ?? 'work';
    const state = this.#state ?? (this.failure === undefined ? 'done' : 'failed');
    const thrown = this.failure?.error;
    const type = isError(thrown) ? `, ${cut(mask(typeOfThrown(thrown)), MAX_SUMMARY / 2)}` : '';
    const end = ` ${state} after ${tookText(this.milliseconds)}${type}`;
    return cut(mask(name.slice(0, MAX_SEARCHED)), MAX_SUMMARY - end.length) + end;
  }

  #end(): void {
    if (this.ended) return;
    // The SDK's spans show their status, which the API's interface does not have.
    if (fieldOf(fieldOf(this.#span, 'status'), 'code') === SpanStatusCode.ERROR) this.fail(undefined);
    this.ended = true;
    this.#milliseconds = this.milliseconds;
    this.#whenEnded(this);
  }
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…`.toWellFormed() : text;
}

function tookText(milliseconds: number): string {
  const rounded = Math.round(milliseconds);
  return rounded < 1000 ? `${rounded} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

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
    const followed = this.#context.current()?.followed;
    return followed instanceof PieceOfWork && !followed.ended ? followed : undefined;
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
