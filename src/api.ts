export { category, recordedLines, runWithAttributes, runWithTenant, runWork, setAttributes } from './gate/gate.ts';
export type {
  Attributes,
  AttributeValue,
  Category,
  CategoryOptions,
  RecordedLine,
  Span,
  SpanAttributes,
  SpanAttributeValue,
} from './gate/types.ts';
export type { WorkAttributes } from './gate/work.ts';
