import type { TestContext } from 'node:test';
import type { Clock, Delay, Schedule } from '../../src/wire/time/clock.ts';
import { timers } from '../../src/wire/time/timers.ts';

interface Timer {
  due: number;
  readonly every?: number;
  readonly task: () => void;
}

/** A clock and its timers, moved by hand. Wall time may be set apart from the monotonic one that timers follow. */
export function virtualTime(start = Date.UTC(2026, 0, 1)) {
  let wall = start;
  let monotonic = 1000;
  const timers = new Set<Timer>();
  const add = (timer: Timer) => {
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const clock: Clock = { now: () => wall, monotonic: () => monotonic };
  const delay: Delay = (milliseconds, task) => add({ due: monotonic + milliseconds, task });
  const schedule: Schedule = (milliseconds, task) => add({ due: monotonic + milliseconds, every: milliseconds, task });

  function fireNext(until: number): boolean {
    const next = [...timers].sort((a, b) => a.due - b.due).find(({ due }) => due <= until);
    if (next === undefined) return false;
    wall += Math.max(0, next.due - monotonic);
    monotonic = Math.max(monotonic, next.due);
    if (next.every === undefined) timers.delete(next);
    // As Node's: one that was held up fires once, and not for each time that it missed.
    else next.due = Math.max(next.due, monotonic) + next.every;
    next.task();
    return true;
  }

  return {
    clock,
    delay,
    schedule,
    /** Timers that wait. */
    get pending() {
      return timers.size;
    },
    /** Sets wall time alone, as an operator or NTP does. */
    setWall(epochMs: number) {
      wall = epochMs;
    },
    /** Lets time pass without any timer firing, as in a process that is stopped. */
    suspend(milliseconds: number) {
      wall += milliseconds;
      monotonic += milliseconds;
    },
    /** Lets time pass, with the timers that come due, and what they start. */
    async pass(milliseconds: number) {
      const until = monotonic + milliseconds;
      while (fireNext(until)) await settled();
      wall += until - monotonic;
      monotonic = until;
      await settled();
    },
  };
}

/** Virtual time that intervals of the package follow too, of whatever polls without a clock of its own. */
export function virtualTimers(t: TestContext) {
  const time = virtualTime();
  t.mock.method(timers, 'setInterval', (task: () => void, ms: number) => ({
    unref: () => undefined,
    stop: time.schedule(ms, task),
  }));
  t.mock.method(timers, 'clearInterval', (timer: { stop(): void }) => timer.stop());
  return time;
}

/** Resolves when everything that needs no I/O has come to rest. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
