import type { DropCode } from '../gate/drops.ts';
import type { AttributeFailure, Attributes, CategoryDescriptor, Sink, Span } from '../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../semconv.ts';
import { buildAttributes, withError } from './attributes.ts';
import { messageText } from './message.ts';
import { createOutputs, type OutputOptions, type Outputs } from './outputs.ts';
import { runInSpan } from './span.ts';

/** The gate's sink, which also says where calls go. */
export interface EmissionSink extends Sink {
  readonly outputs: Outputs;
}

/** Where debug calls go: to the outputs that {@link createOutputs} chooses; spans to the OpenTelemetry tracer. */
export function createSink(options: OutputOptions): EmissionSink {
  const { telemetry } = options;
  const outputs = createOutputs(options);

  function emit(
    category: CategoryDescriptor,
    message: string,
    given: Attributes | (() => Attributes) | undefined,
    tenantId?: string,
  ): AttributeFailure | DropCode | undefined {
    const { attributes, simple, failure } = buildAttributes(
      category.name,
      typeof message === 'string' ? given : withError(message, given),
    );
    return outputs.current()({ message: messageText(message), attributes, simple, tenantId }) ?? failure;
  }

  return {
    outputs,
    emit,
    span: <T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T =>
      runInSpan(
        () => telemetry.tracer,
        name,
        { [ATTR_CATEGORY_NAME]: category.name, ...(tenantId !== undefined && { [ATTR_TENANT_ID]: tenantId }) },
        fn,
      ),
  };
}
