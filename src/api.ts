export { category, runWithTenant } from './gate/gate.ts';
export type {
  Attributes,
  AttributeValue,
  Category,
  CategoryOptions,
  Span,
  SpanAttributes,
  SpanAttributeValue,
} from './gate/types.ts';
