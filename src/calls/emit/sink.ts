import type { CategoryDescriptor, Sink, Span } from '../../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { RecordedFailure } from '../../trail/notify/failures.ts';
import { createRedaction } from '../../wire/redaction.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { ALL_CALLS, Recorder } from '../recorder/recorder.ts';
import type { RecorderLimits } from '../recorder/types.ts';
import { Activations, type ActivePart } from './activations.ts';
import { Budgets, type ConfiguredBudgets } from './budgets.ts';
import { CallBuilder } from './built-call.ts';
import { createOutputs, type OutputOptions, type Outputs } from './outputs.ts';
import { Pipeline } from './pipeline.ts';
import type { SelectionOptions } from './selection.ts';
import { runInSpan } from './span.ts';
import { Attached, type Tap } from './taps.ts';

export interface SinkOptions extends OutputOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** @default no category has a budget */
  readonly budget?: ConfiguredBudgets | false;
  /** Refills the budgets. @default never */
  readonly schedule?: Schedule;
  /** Attribute names to redact beside the usual ones; `false` disables redaction. @default [] */
  readonly redact?: readonly string[] | false;
  /** Finds the calls of an activation. */
  readonly selection: SelectionOptions;
  /** How much is recorded. */
  readonly recorder: RecorderLimits;
  /** Called after lines of failed work were written for an activation. Must not throw. */
  readonly failed?: ((failure: RecordedFailure) => void) | undefined;
}

/** The gate's sink, which also reports the output and manages budgets and taps. */
export interface EmissionSink extends Sink {
  readonly outputs: Outputs;
  readonly budgets: Pick<Budgets, 'setControl' | 'stateOf' | 'configuredRate' | 'configured'>;
  readonly recorder: Recorder;
  /** Lines that the filters of a category's activations could not be evaluated for. */
  unevaluated(index: number): number;
  /** Records all calls of a category, as the owner's configuration says, or no longer does. */
  setRecorded(category: CategoryDescriptor, on: boolean): void;
  /** Switches a part of a category on. Returns a function that ends it. */
  activate(category: CategoryDescriptor, part: ActivePart): () => void;
  /** Also passes the calls of a category to a tap. Returns a function that removes it. */
  addTap(category: CategoryDescriptor, tap: Tap): () => void;
  close(): void;
}

/** Sends debug calls through the {@link Pipeline} to the outputs, and spans to the OpenTelemetry tracer. */
export function createSink(options: SinkOptions): EmissionSink {
  const { telemetry, clock, budget = false, schedule = () => () => {}, redact = [], selection } = options;
  const outputs = createOutputs(options);
  const taps = new Attached<Tap>();
  const budgets = new Budgets({
    configured: budget,
    clock,
    schedule,
    changed: ({ index }) => pipeline.forget(index),
    overspent: (category, surplus) => pipeline.warn(category, surplus),
  });
  const redaction = createRedaction(redact);
  const builder = new CallBuilder(redaction);
  const recorder = new Recorder({
    works: selection.work.outcomes,
    limits: options.recorder,
    clock,
    schedule,
    random: selection.random,
    instanceId: selection.instanceId,
    builder,
    redaction,
  });
  /** By index of the category, how to end it. */
  const alwaysRecorded = new Map<number, () => void>();
  const activations = new Activations({
    ...selection,
    budgets,
    now: () => clock.now(),
    recorder,
    failed: options.failed,
    write: (_category, call) => (recorder.ending ? outputs.final() : outputs.current())(call),
  });
  const pipeline = new Pipeline({ budgets, builder, outputs, taps, activations });
  taps.watch((index) => pipeline.forget(index));

  return {
    outputs,
    budgets,
    recorder,
    refusals: pipeline.refusals,
    setRecorded(category, on) {
      const stop = alwaysRecorded.get(category.index);
      if (on === (stop !== undefined)) return;
      stop?.();
      if (on) alwaysRecorded.set(category.index, recorder.record(category, ALL_CALLS));
      else alwaysRecorded.delete(category.index);
    },
    activate: (category, part) => activations.begin(category, part),
    unevaluated: (index) => activations.unevaluated(index),
    addTap: (category, tap) => taps.add(category, tap),
    emit: (category, message, given, tenantId) => pipeline.emit(category, message, given, tenantId),
    pass: (category, own, tenantId) => pipeline.pass(category, own, tenantId),
    tap: (call) => pipeline.tap(call),
    record: (call) => recorder.take(call),
    recordedLines: () => recorder.currentLines(),
    records: (category, tenantId) => recorder.opens(category, tenantId),
    watchRecorded: (listener) => recorder.watch(listener),
    tapped(category, tenantId) {
      const asking = taps.of(category);
      if (activations.want(category, tenantId) || asking.some((tap) => tap.matches(tenantId))) return true;
      // The call ends here.
      for (const tap of asking) tap.missed?.(tenantId);
      return false;
    },
    activated: (category, tenantId) => activations.switchOn(category, tenantId),
    watchTaps(listener) {
      const changed = (index: number) => listener(index, taps.has(index) || activations.has(index));
      const stops = [taps.watch(changed), activations.watch(changed)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    admitSpan(category, tenantId) {
      const draws = budgets.ofCall(category, tenantId);
      const dropped = draws?.admit();
      if (dropped === undefined) draws?.spend(0);
      return dropped;
    },
    span: <T>(category: CategoryDescriptor, name: string, fn: (span?: Span) => T, tenantId?: string): T =>
      runInSpan(
        () => telemetry.tracer,
        name,
        { [ATTR_CATEGORY_NAME]: category.name, ...(tenantId !== undefined && { [ATTR_TENANT_ID]: tenantId }) },
        fn,
        redaction.mask,
      ),
    close() {
      budgets.close();
      outputs.close();
    },
  };
}
