/** What ends with a function: a span, a piece of work. May be called more than once; the first call counts. */
export interface Ending {
  succeeded(): void;
  failed(error: unknown): void;
}

/** Runs `fn`, and passes on what it throws or returns. It has ended then, or when a returned promise settles. */
export function endWhenSettled<T>(fn: () => T, ending: Ending): T {
  try {
    return endWith(fn(), ending);
  } catch (error) {
    ending.failed(error);
    throw error;
  }
}

function endWith<T>(result: T, ending: Ending): T {
  try {
    if (result instanceof Promise) return endWithPromise(result, ending);
    if (!endWithThenable(result, ending)) ending.succeeded();
  } catch {
    // A promise whose class cannot be read, or be made as a promise is.
    ending.succeeded();
  }
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
  Promise.prototype.then.call(settled, undefined, () => {});
  return promise;
}

/** While an async hook is on, in Node.js 22 also while an `AsyncLocalStorage` is in use, Node.js gives each promise own symbols. */
function isPlain(promise: Promise<unknown>): boolean {
  return Object.getPrototypeOf(promise) === Promise.prototype && Object.getOwnPropertyNames(promise).length === 0;
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
