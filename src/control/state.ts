import type { StateOrigin } from '../protocol/messages.ts';
import type { Overlay, Setting, Settings } from '../store/state-store.ts';

/** The layers that decide a category's state for a scope: the tenant's own, where there is one, before the global ones. */
export interface Layers {
  readonly global: Settings;
  /** Absent for the global scope itself. */
  readonly tenant?: Settings | undefined;
}

/** What a category is for a scope, and which layer says so. */
export interface EffectiveState {
  readonly enabled: boolean;
  readonly origin: StateOrigin;
  /** Present when a temporary control decides, be it the scope's own or the inherited global one. */
  readonly overlay?: Overlay;
}

/** Whether an overlay has reached its end. */
export type Ended = (overlay: Overlay) => boolean;

/** Tenant overlay, else tenant permanent, else global overlay, else global permanent, else the registered default. */
export function effectiveState(
  category: string,
  { global, tenant }: Layers,
  defaultEnabled: boolean,
  ended: Ended,
): EffectiveState {
  return (
    settingState(tenant?.get(category), 'tenant', ended) ??
    settingState(global.get(category), 'global', ended) ?? { enabled: defaultEnabled, origin: 'default' }
  );
}

/** What one scope's setting says by itself; `undefined` when it says nothing. */
export function settingState(
  setting: Setting | undefined,
  origin: 'tenant' | 'global',
  ended: Ended,
): EffectiveState | undefined {
  const overlay = setting?.temporary;
  if (overlay !== undefined && !ended(overlay)) return { enabled: overlay.enabled, origin: 'temporary', overlay };
  return setting?.permanent === undefined ? undefined : { enabled: setting.permanent, origin };
}

// Most settings are one of these two, of many tenants: they share them.
const ON: Setting = Object.freeze({ permanent: true });
const OFF: Setting = Object.freeze({ permanent: false });

/** The setting of two layers; `undefined` when it has none. */
export function settingOf(permanent: boolean | undefined, temporary: Overlay | undefined): Setting | undefined {
  if (temporary !== undefined) return permanent === undefined ? { temporary } : { permanent, temporary };
  if (permanent === undefined) return undefined;
  return permanent ? ON : OFF;
}

/** Puts one category's setting into settings that are being made; one without a layer is not kept. */
export function putSetting(settings: Map<string, Setting>, category: string, { permanent, temporary }: Setting): void {
  const setting = settingOf(permanent, temporary);
  if (setting === undefined) settings.delete(category);
  else settings.set(category, setting);
}

export function sameOverlay(a: Overlay | undefined, b: Overlay | undefined): boolean {
  return a?.enabled === b?.enabled && a?.expiresAt === b?.expiresAt;
}

/** Overlays that have not ended. */
export function liveOverlays(settings: Settings, ended: Ended): ReadonlyMap<string, Overlay> {
  const live = new Map<string, Overlay>();
  for (const [category, { temporary }] of settings) {
    if (temporary !== undefined && !ended(temporary)) live.set(category, temporary);
  }
  return live;
}
