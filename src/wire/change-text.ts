import type { WaitingChange } from './messages.ts';

/** A change as it was asked for, without its reason: `enable HTTP temporary=true duration=300`. */
export function changeText({ action, categories, options }: WaitingChange): string {
  const { reason: _, ...settings } = options ?? {};
  const parts = Object.entries(settings).map(([name, value]) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return `${name.replace('otelrdcp_', '')}=${text}`;
  });
  return [action, ...(categories ?? ['every category']), ...parts].join(' ');
}
