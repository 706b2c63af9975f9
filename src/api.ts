export { category, runWithTenant } from './gate/gate.ts';
export type {
  Attributes,
  AttributeValue,
  Category,
  CategoryOptions,
  NonFunction,
  NonFunctionObject,
  Span,
  SpanAttributes,
  SpanAttributeValue,
} from './gate/types.ts';
