import { isPromise } from 'node:util/types';
import { context, type Exception, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { diagnostics } from '../diagnostics.ts';
import type { SpanAttributes } from '../gate/types.ts';
import { startKept } from './sampler.ts';

/**
 * Runs `fn` in an active span, exactly once, whatever the tracer does. Passes on what `fn` throws or returns; the span
 * ends then, or when a returned promise settles.
 */
export function runInSpan<T>(
  tracer: () => Tracer,
  name: string,
  attributes: SpanAttributes,
  fn: (span?: Span) => T,
): T {
  const span = start(tracer, name, attributes);
  if (span === undefined) return fn();
  const ending = new Ending(span);
  try {
    return endWith(
      context.with(trace.setSpan(context.active(), span), () => fn(span)),
      ending,
    );
  } catch (error) {
    ending.failed(error);
    throw error;
  }
}

function start(tracer: () => Tracer, name: string, attributes: SpanAttributes): Span | undefined {
  try {
    return startKept(context.active(), (active) => tracer().startSpan(name, { attributes: { ...attributes } }, active));
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Ends its span once, and keeps the span's exceptions from the application. */
class Ending {
  private span: Span | undefined;

  constructor(span: Span) {
    this.span = span;
  }

  succeeded(): void {
    this.end(() => {});
  }

  failed(error: unknown): void {
    this.end((span) => {
      span.recordException(exception(error));
      span.setStatus({ code: SpanStatusCode.ERROR, ...(error instanceof Error ? { message: error.message } : {}) });
    });
  }

  private end(finish: (span: Span) => void): void {
    const span = this.span;
    if (span === undefined) return;
    this.span = undefined;
    try {
      finish(span);
      span.end();
    } catch (error) {
      report(error);
    }
  }
}

/** Returns the result of `fn`, and ends the span when it is done. */
function endWith<T>(result: T, ending: Ending): T {
  if (isPromise(result)) return endWithPromise(result, ending);
  if (!endWithThenable(result, ending)) ending.succeeded();
  return result;
}

function endWithPromise<T>(promise: T & Promise<unknown>, ending: Ending): T {
  // Uses the intrinsic `then`: a subclass, such as a lazy database query, may start its work when its own is called.
  const settled = Promise.prototype.then.call(
    promise,
    (value) => {
      ending.succeeded();
      return value;
    },
    (error) => {
      ending.failed(error);
      throw error;
    },
  );
  // A plain promise is replaced by its continuation, so that unhandled rejections are still reported: observing the
  // promise itself would count as handling. A promise with methods of its own is returned unchanged.
  if (isPlain(promise)) return settled as T;
  settled.catch(() => {});
  return promise;
}

function isPlain(promise: Promise<unknown>): boolean {
  return Object.getPrototypeOf(promise) === Promise.prototype && Reflect.ownKeys(promise).length === 0;
}

/**
 * Observes a thenable when the application itself calls `then`. Calling it here would run a lazy one, such as a query
 * builder's query, a second time. Returns false when the value is not a thenable, or cannot be observed.
 */
function endWithThenable(value: unknown, ending: Ending): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  try {
    const then: unknown = Reflect.get(value, 'then');
    if (typeof then !== 'function') return false;
    return Reflect.defineProperty(value, 'then', {
      configurable: true,
      enumerable: Object.prototype.propertyIsEnumerable.call(value, 'then'),
      writable: true,
      value(this: unknown, onFulfilled?: unknown, onRejected?: unknown) {
        return Reflect.apply(then, this, [
          (result: unknown) => {
            ending.succeeded();
            return typeof onFulfilled === 'function' ? onFulfilled(result) : result;
          },
          (error: unknown) => {
            ending.failed(error);
            if (typeof onRejected === 'function') return onRejected(error);
            throw error;
          },
        ]);
      },
    });
  } catch {
    return false;
  }
}

function exception(error: unknown): Exception {
  return error instanceof Error || typeof error === 'string' ? error : `thrown: ${typeof error}`;
}

function report(error: unknown): void {
  diagnostics.error('rdcp: a span of a debug category failed', error);
}
