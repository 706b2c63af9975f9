import { levelAmong } from '../levels.ts';
import { DEBUG_LEVELS } from '../loggers.ts';

/** Values by name of the level. Lower ones are more urgent. */
export type Levels = Readonly<Record<string, number>>;

interface LeveledTransport {
  readonly level?: string;
  /** The logger that it was added to first. */
  readonly parent?: { readonly level?: string };
  readonly silent?: boolean;
}

/** A logger, as far as it decides which lines are written: the stream that its transports are piped from. */
export interface LeveledLogger {
  readonly level: string;
  readonly levels: Levels;
  readonly transports: readonly LeveledTransport[];
  readonly _readableState?: { readonly pipes?: unknown };
}

/** The transports of a logger, without the filter that winston runs at each question for `transports`. */
export function transportsOf(logger: LeveledLogger): readonly LeveledTransport[] {
  const pipes = logger._readableState?.pipes;
  if (Array.isArray(pipes)) return pipes;
  return typeof pipes === 'object' && pipes !== null ? [pipes] : logger.transports;
}

/** Whether lines of a level are debug output. */
export function isBelowInfo(levels: Levels, level: string): boolean {
  return levels.info === undefined ? DEBUG_LEVELS.has(level) : levels[level]! > levels.info;
}

/** What levels stand for, by name. */
interface Meaning {
  readonly ranks: Map<string, number>;
  readonly ordinary: number;
}

const meanings = new WeakMap<Levels, Meaning>();

function meaningOf(levels: Levels): Meaning {
  const known = meanings.get(levels);
  if (known !== undefined) return known;
  const ordinary = Object.entries(levels).filter(([level]) => !DEBUG_LEVELS.has(level));
  const made = { ranks: new Map(), ordinary: levels.info ?? Math.max(...ordinary.map(([, value]) => value)) };
  meanings.set(levels, made);
  return made;
}

/** Where a level stands among ours (`gate/levels.ts`). */
export function rankOf(levels: Levels, level: string): number {
  const { ranks } = meaningOf(levels);
  const rank =
    ranks.get(level) ?? levelAmong(levels, isBelowInfo(levels, level), (other) => levels[level]! <= levels[other]!);
  ranks.set(level, rank);
  return rank;
}

/** The value of the least urgent level that a transport takes, if it takes ordinary output: INFO, or the last that is no debug output. */
export function ordinaryOf(levels: Levels): number {
  return meaningOf(levels).ordinary;
}

/** The value of the least urgent level that a transport writes; `undefined` if it writes none. */
function limitOf({ level, parent, silent }: LeveledTransport, logger: LeveledLogger): number | undefined {
  return silent === true ? undefined : logger.levels[level || parent?.level || logger.level];
}

/** Whether a transport writes lines of the level, by the application's own levels. */
export function admits(logger: LeveledLogger, level: string): boolean {
  const { levels, level: own } = logger;
  const value = levels[level];
  if (value === undefined) return false;
  const transports = transportsOf(logger);
  if (transports.length === 0) return levels[own]! >= value;
  return transports.some((transport) => limitOf(transport, logger)! >= value);
}

/** How a line that something decides comes out. Transports that are silent, or for warnings or errors, are not opened. */
export function reachOf(logger: LeveledLogger, level: string): 'open' | 'withheld' | 'nowhere' {
  const { levels } = logger;
  const value = levels[level]!;
  const ordinary = ordinaryOf(levels);
  let reach: 'open' | 'nowhere' = 'nowhere';
  for (const transport of transportsOf(logger)) {
    const limit = limitOf(transport, logger);
    if (limit === undefined) continue;
    if (limit >= value) reach = 'open';
    else if (!transport.level || limit >= ordinary) return 'withheld';
  }
  return reach;
}
