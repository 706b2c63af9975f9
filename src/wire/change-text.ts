import type { WaitingChange } from './messages.ts';
import { formatDuration } from './time.ts';

/** A change as it was asked for, without its reason: `enable HTTP for 5m budget={"callsPerSecond":7}`. */
export function changeText({ action, categories, options }: WaitingChange): string {
  const { reason: _, temporary, duration, ...others } = options ?? {};
  const isTimed = temporary === true && typeof duration === 'number';
  const time = isTimed ? [`for ${formatDuration(duration)}`] : [];
  const settings = isTimed ? others : { temporary, duration, ...others };
  const parts = Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
      return `${name.replace('otelrdcp_', '')}=${text}`;
    });
  return [action, ...(categories ?? ['every category']), ...time, ...parts].join(' ');
}
