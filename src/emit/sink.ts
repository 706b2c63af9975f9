import type { Clock, Schedule } from '../clock.ts';
import type { CategoryDescriptor, Refusal, Sink, Span } from '../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../semconv.ts';
import { type Budgets, type ConfiguredBudgets, createBudgets } from './budgets.ts';
import { createOutputs, type OutputOptions, type Outputs } from './outputs.ts';
import { createPipeline, type Passage, type Pipeline, type Route } from './pipeline.ts';
import { createRedaction } from './redaction.ts';
import { runInSpan } from './span.ts';
import { createTaps, type Tap } from './taps.ts';

export interface SinkOptions extends OutputOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** @default no category has a budget */
  readonly budget?: ConfiguredBudgets | false;
  /** Refills the budgets. @default never */
  readonly schedule?: Schedule;
  /** Attribute names to redact beside the usual ones; `false` disables redaction. @default [] */
  readonly redact?: readonly string[] | false;
}

/** The gate's sink, which also reports the output and manages budgets and taps. */
export interface EmissionSink extends Sink {
  readonly outputs: Outputs;
  readonly budgets: Pick<Budgets, 'setControl' | 'stateOf' | 'configuredRate' | 'configured'>;
  /** Also passes the calls of a category to a tap. Returns a function that removes it. */
  addTap(category: CategoryDescriptor, tap: Tap): () => void;
  close(): void;
}

/** Sends debug calls through the steps of {@link Pipeline} to the outputs, and spans to the OpenTelemetry tracer. */
export function createSink(options: SinkOptions): EmissionSink {
  const { telemetry, clock, budget = false, schedule = () => () => {}, redact = [] } = options;
  /** By category. Composed on the first call, and again after a switch. */
  const routes: (Route | undefined)[] = [];
  const passages: (Passage | undefined)[] = [];
  /** By category: its budget, where every call draws on the same one. */
  const refusals: (Refusal | undefined)[] = [];
  const listeners = new Set<(index: number, tapped: boolean) => void>();
  const tapped = new Set<number>();
  const outputs = createOutputs(options);
  const taps = createTaps((category, any) => {
    forget(category);
    if (any) tapped.add(category.index);
    else tapped.delete(category.index);
    for (const listener of listeners) listener(category.index, any);
  });
  const budgets = createBudgets({
    configured: budget,
    clock,
    schedule,
    changed: forget,
    overspent: (category, surplus) => pipeline.warn(category, surplus),
  });
  const pipeline: Pipeline = createPipeline({ budgets, redacts: createRedaction(redact), outputs, taps });

  return {
    outputs,
    budgets,
    refusals,
    addTap: taps.add,
    emit(category, message, given, tenantId) {
      const route = routes[category.index] ?? compose(category);
      return route(message, given, tenantId);
    },
    admitSpan(category, name, tenantId) {
      const draws = budgets.ofCall(category, tenantId);
      const dropped = draws?.admit(name);
      if (dropped === undefined) draws?.spend(0);
      return dropped;
    },
    span: <T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T =>
      runInSpan(
        () => telemetry.tracer,
        name,
        { [ATTR_CATEGORY_NAME]: category.name, ...(tenantId !== undefined && { [ATTR_TENANT_ID]: tenantId }) },
        fn,
      ),
    watchTaps(listener) {
      listeners.add(listener);
      for (const index of tapped) listener(index, true);
      return () => listeners.delete(listener);
    },
    tapped: (category, tenantId) => taps.of(category).some((tap) => tap.matches(tenantId)),
    tap: pipeline.tap,
    pass(category, text, describe, bytes, tenantId) {
      const passage = passages[category.index] ?? composePassage(category);
      return passage(text, describe, bytes, tenantId);
    },
    close() {
      budgets.close();
      outputs.close();
    },
  };

  function compose(category: CategoryDescriptor): Route {
    const route = pipeline.compose(category);
    routes[category.index] = route;
    if (budgets.ofTenants(category) === undefined) refusals[category.index] = budgets.of(category);
    return route;
  }

  function composePassage(category: CategoryDescriptor): Passage {
    const passage = pipeline.composePassage(category);
    passages[category.index] = passage;
    return passage;
  }

  function forget({ index }: Pick<CategoryDescriptor, 'index'>): void {
    routes[index] = undefined;
    passages[index] = undefined;
    refusals[index] = undefined;
  }
}
