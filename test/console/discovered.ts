import type { DiscoveredCategory } from '../../src/wire/messages.ts';

/** A category as discovery answers, off by default unless told otherwise. */
export function discovered(given: Partial<DiscoveredCategory> & { readonly name: string }): DiscoveredCategory {
  return {
    ...{ description: '', enabled: false, temporary: false, metrics: { callsTotal: 0, callsPerSecond: 0 } },
    ...{ otelrdcp_default: false, otelrdcp_origin: 'default' },
    ...given,
  };
}
