export { category, runWithTenant } from './gate/gate.ts';
export type { Attributes, AttributeValue, Category, CategoryOptions, Span } from './gate/types.ts';
