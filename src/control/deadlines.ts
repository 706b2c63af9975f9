import type { Clock } from '../clock.ts';
import { MAX_CLOCK_SKEW_MS } from '../protocol/constants.ts';
import type { Overlay, Setting, Settings } from '../store/state-store.ts';

/** How far wall time may drift from the monotonic clock before ends are told anew, in milliseconds. */
const DRIFT_MS = 1000;

/** What is known of the time at which a scope's state was written. */
export interface Provenance {
  /** Wall time, by whoever wrote it, that had certainly come already; milliseconds since the epoch. */
  readonly writtenAt?: number | undefined;
  /**
   * The state comes from before this process. When the clock then reads much earlier than `writtenAt` it was set back, by
   * nobody knows how much, and overlays end at once.
   */
  readonly restored?: boolean;
}

/** When an overlay ends on each of the two clocks: whichever comes first. */
export interface End {
  readonly wall: number;
  readonly monotonic: number;
}

/**
 * When overlays end. Each has its end in wall time, which the store keeps, and gets one on the monotonic clock when this
 * process first sees it. The earlier one counts: a clock that is set may shorten a temporary control, never prolong it.
 */
export interface Deadlines {
  /** An overlay that has ended once stays so, whatever the clock says later. */
  ended(overlay: Overlay): boolean;
  endOf(overlay: Overlay): End;
  /**
   * The settings with a deadline for every overlay. One that was there before keeps the deadline it has; where the wall
   * clock was set back, its `expiresAt` is told anew as the clock now stands. Returns the same object where that changes
   * nothing.
   */
  adopt(settings: Settings, previous: Settings, provenance: Provenance): Settings;
}

interface Deadline {
  /** On the monotonic clock; minus infinity once it has ended. */
  at: number;
  /** The overlay as it was written, whose end tells it again after ours was corrected. */
  readonly written: Overlay;
}

/** @param maxDuration seconds that no overlay lasts longer, whatever its end says */
export function createDeadlines(clock: Clock, maxDuration: number): Deadlines {
  const deadlines = new WeakMap<Overlay, Deadline>();

  function endOf(overlay: Overlay): End {
    return { wall: overlay.expiresAt, monotonic: deadlines.get(overlay)?.at ?? Number.POSITIVE_INFINITY };
  }

  function ended(overlay: Overlay): boolean {
    const { wall, monotonic } = endOf(overlay);
    if (clock.now() < wall && clock.monotonic() < monotonic) return false;
    const deadline = deadlines.get(overlay);
    if (deadline !== undefined) deadline.at = Number.NEGATIVE_INFINITY;
    return true;
  }

  function firstSeen(written: Overlay, { writtenAt = 0, restored = false }: Provenance): Deadline {
    const now = clock.now();
    if (restored && writtenAt - now > MAX_CLOCK_SKEW_MS) return { at: Number.NEGATIVE_INFINITY, written };
    const remaining = Math.min(written.expiresAt - Math.max(now, writtenAt), maxDuration * 1000);
    return { at: clock.monotonic() + remaining, written };
  }

  /** The deadline of an overlay that was there before, under an end that may have been corrected since. */
  function carriedOver(overlay: Overlay, before: Overlay | undefined): Deadline | undefined {
    const deadline = before && deadlines.get(before);
    if (before?.enabled !== overlay.enabled || deadline === undefined) return undefined;
    return overlay.expiresAt === before.expiresAt || overlay.expiresAt === deadline.written.expiresAt
      ? deadline
      : undefined;
  }

  /** The overlay as it ends by the clock that there is now. */
  function corrected(overlay: Overlay, deadline: Deadline): Overlay {
    const now = clock.now();
    const end = Math.floor(now + deadline.at - clock.monotonic());
    // What has ended already keeps the end that it was given: it is history.
    if (overlay.expiresAt - end <= DRIFT_MS || end <= now) return overlay;
    return { enabled: overlay.enabled, expiresAt: end };
  }

  return {
    ended,
    endOf,
    adopt(settings, previous, provenance) {
      let result: Map<string, Setting> | undefined;
      settings.forEach((setting, category) => {
        const { temporary } = setting;
        if (temporary === undefined) return;
        const deadline =
          deadlines.get(temporary) ??
          carriedOver(temporary, previous.get(category)?.temporary) ??
          firstSeen(temporary, provenance);
        const overlay = corrected(temporary, deadline);
        deadlines.set(overlay, deadline);
        if (overlay === temporary) return;
        result ??= new Map(settings);
        result.set(category, { ...setting, temporary: overlay });
      });
      return result ?? settings;
    },
  };
}
