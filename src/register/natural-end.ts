import { AsyncResource, createHook, executionAsyncId } from 'node:async_hooks';
import { holdStarts } from '../after-start.ts';

const STREAM = /^(?:PIPE|TTY|TCP)WRAP$/;
const TICKS: ReadonlySet<string> = new Set(['PROMISE', 'TickObject', 'Microtask']);
/** Requests to the system: they have no `hasRef`, and keep a process alive. */
const REQUEST = /^(?!HTTP).*(?:REQ|WRAP$)|^ZLIB$|^WORKER/;
/** Most times in a row that listeners of the application may prolong the process, before it is taken to end nevertheless. */
const MAX_PROLONGED = 1000;

/**
 * Runs a task once when the application has nothing left to do, in such a way that the application's own listeners for
 * `beforeExit` are called as often as without it. They may start new work: then the task waits for the end of that.
 * @param task resolves with whether everything is done. If not, what is left would keep the process alive, which exits instead
 */
export function atNaturalEnd(task: () => Promise<boolean>): void {
  let prolonged = 0;
  const ask = () => {
    holdStarts(true);
    // By then the other listeners have run.
    setImmediate(() => {
      if (startsWork() && prolonged < MAX_PROLONGED) {
        prolonged += 1;
        holdStarts(false);
        return;
      }
      process.off('beforeExit', ask);
      void task().then((done) => (done ? hideNextBeforeExit() : process.exit()));
    });
    const startsWork = watchNewWork();
  };
  process.on('beforeExit', ask);
}

/**
 * Watches what the listeners of this `beforeExit` start, with their promises and ticks. Returns a function that ends the watch
 * and returns whether anything of it keeps the process alive.
 */
function watchNewWork(): () => boolean {
  const here = executionAsyncId();
  const first = new AsyncResource('rdcp.natural-end').asyncId();
  const started = new Set<number>();
  const unseen: [type: string, resource: object][] = [];
  let alive = false;
  const look = () => {
    alive ||= unseen.splice(0).some(keepsAlive);
  };
  const hook = createHook({
    init(id, type, _trigger, resource) {
      const by = executionAsyncId();
      if (TICKS.has(type) || (by !== here && by < first)) return;
      started.add(id);
      // A timer gets its `unref()` later than this, and has no ref once it has fired.
      if (unseen.push([type, resource]) === 1) process.nextTick(look);
    },
    before(id) {
      // What comes next was not started by a listener, or by one that keeps the process alive.
      if (started.has(id)) hook.disable();
    },
  }).enable();
  return () => {
    hook.disable();
    look();
    return alive;
  };
}

function keepsAlive([type, resource]: [type: string, resource: object]): boolean {
  if (resource instanceof AsyncResource) return false;
  // One that is connecting has a request.
  if (STREAM.test(type)) return 'reading' in resource && resource.reading === true;
  if ('hasRef' in resource && typeof resource.hasRef === 'function') return resource.hasRef() === true;
  return REQUEST.test(type);
}

/** The task has prolonged the process: the application has already had the `beforeExit` that comes now. */
function hideNextBeforeExit(): void {
  const listeners = process.rawListeners('beforeExit');
  process.removeAllListeners('beforeExit');
  process.once('beforeExit', () => {
    for (const listener of listeners) process.on('beforeExit', listener as () => void);
  });
}
