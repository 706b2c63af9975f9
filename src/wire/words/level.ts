import { isQuiet, type Level } from '../constants.ts';

/** A level in words, behind what has it: `from info up`, `quiet below warn`. */
export function levelText(level: Level): string {
  return isQuiet(level) ? `quiet below ${level}` : `from ${level} up`;
}

export interface Setting {
  readonly enabled: boolean;
  readonly level?: Level | undefined;
}

/** A setting with its level: `on`, `off`, `on from info up`, `quiet below warn`. */
export function settingText({ enabled, level }: Setting): string {
  if (level === undefined) return enabled ? 'on' : 'off';
  return isQuiet(level) ? levelText(level) : `on ${levelText(level)}`;
}
