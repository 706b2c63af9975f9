import type { Setting, Settings } from './state-store.ts';

/** The storage format of settings: `[["NAME",{"permanent":true}],…]`. */
export function encodeSettings(settings: Settings): string {
  return JSON.stringify([...settings]);
}

/** @throws for text that {@link encodeSettings} did not write */
export function decodeSettings(json: string): Settings {
  return new Map(JSON.parse(json) as [string, Setting][]);
}
