import type { Clock } from '../clock.ts';
import type { Overlay, Settings } from '../store/state-store.ts';

/**
 * When overlays end. Each has its end in wall time, which the store keeps, and gets one on the monotonic clock when this
 * process first sees it. The earlier one counts: a wall clock that is set back cannot prolong a temporary control.
 */
export interface Deadlines {
  ended(overlay: Overlay): boolean;
  /** Milliseconds until the overlay ends; 0 or less when it has. */
  remaining(overlay: Overlay): number;
  /** Sets the deadlines of a scope's overlays. One that was there before, with the same end, keeps its own. */
  adopt(settings: Settings, previous: Settings | undefined): void;
}

export function createDeadlines(clock: Clock): Deadlines {
  const deadlines = new WeakMap<Overlay, number>();

  function remaining(overlay: Overlay): number {
    const byWall = overlay.expiresAt - clock.now();
    const deadline = deadlines.get(overlay);
    return deadline === undefined ? byWall : Math.min(byWall, deadline - clock.monotonic());
  }

  return {
    remaining,
    ended: (overlay) => remaining(overlay) <= 0,
    adopt(settings, previous) {
      for (const [category, { temporary }] of settings) {
        if (temporary === undefined || deadlines.has(temporary)) continue;
        const before = previous?.get(category)?.temporary;
        const known = before?.expiresAt === temporary.expiresAt ? deadlines.get(before) : undefined;
        deadlines.set(temporary, known ?? clock.monotonic() + temporary.expiresAt - clock.now());
      }
    },
  };
}
