import type { Allow } from './allow.ts';

/** What a credential may do, in words: `DB_*: enable, reset, for at most 15m, tails without values`. */
export function allowText({ categories, actions, maxDuration, maxBudget, tail, tenants }: Allow): string {
  const parts = [
    ...(actions === undefined ? [] : [actions.join(', ')]),
    ...(maxDuration === undefined
      ? []
      : [`for at most ${typeof maxDuration === 'number' ? `${maxDuration}s` : maxDuration}`]),
    ...Object.entries(maxBudget ?? {}).map(([name, value]) => `${name} ${value}`),
    ...(tail === undefined ? [] : ['tails without values']),
    ...(tenants === undefined ? [] : [`tenants ${tenants.join(', ')}`]),
  ];
  return [categories.join(', '), parts.join(', ')].filter((part) => part !== '').join(': ');
}
