import type { DiscoveredCategory } from '../../src/wire/messages.ts';
import type { TailLine } from '../../src/wire/streams.ts';

/** A category as discovery answers, off by default unless told otherwise. */
export function discovered(given: Partial<DiscoveredCategory> & { readonly name: string }): DiscoveredCategory {
  return {
    ...{ description: '', enabled: false, temporary: false, metrics: { callsTotal: 0, callsPerSecond: 0 } },
    ...{ otelrdcp_default: false, otelrdcp_origin: 'default' },
    ...given,
  };
}

/** A line of a tail. */
export const tailLine = (message: string, fields: Partial<TailLine> = {}): TailLine => ({
  ...{ timestamp: '2026-01-31T00:00:00.000Z', category: 'DATABASE', message, attributes: {}, instance: 'p1' },
  ...fields,
});
