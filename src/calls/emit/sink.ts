import type { CategoryDescriptor, Sink, Span } from '../../gate/types.ts';
import { ATTR_CATEGORY_NAME, ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { RecordedFailure } from '../../trail/notify/failures.ts';
import { createRedaction } from '../../wire/redaction.ts';
import type { Clock, Schedule } from '../../wire/time/clock.ts';
import { Activations, type ActivePart } from './activations.ts';
import { Budgets, type ConfiguredBudgets } from './budgets.ts';
import { createOutputs, type OutputOptions, type Outputs } from './outputs.ts';
import { Pipeline } from './pipeline.ts';
import { RECORDER_DEFAULTS, Recorder, type RecorderLimits } from './recorder.ts';
import type { Matching, SelectionOptions } from './selection.ts';
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
  /** Finds the calls of an activation. @default no work has attributes */
  readonly selection?: SelectionOptions;
  /** How much is kept of work whose outcome is not known yet. */
  readonly recorder?: RecorderLimits | undefined;
  /** Called after lines of failed work were written for an activation. Must not throw. */
  readonly failed?: ((failure: RecordedFailure) => void) | undefined;
}

const NO_WORK: SelectionOptions = {
  clock: { monotonic: () => 0 },
  instanceId: '',
  work: {
    matching: <T>(): Matching<T> => {
      const items = new Set<T>();
      return {
        add(match, item) {
          if (match === undefined) items.add(item);
          return () => void items.delete(item);
        },
        current: () => [...items],
      };
    },
    outcomes: { current: () => undefined, watch: () => () => {} },
  },
  random: Math.random,
};

/** The gate's sink, which also reports the output and manages budgets and taps. */
export interface EmissionSink extends Sink {
  readonly outputs: Outputs;
  readonly budgets: Pick<Budgets, 'setControl' | 'stateOf' | 'configuredRate' | 'configured'>;
  readonly recorder: Recorder;
  /** Lines that the filters of a category's activations could not be evaluated for. */
  unevaluated(index: number): number;
  /** Switches a part of a category on. Returns a function that ends it. */
  activate(category: CategoryDescriptor, part: ActivePart): () => void;
  /** Also passes the calls of a category to a tap. Returns a function that removes it. */
  addTap(category: CategoryDescriptor, tap: Tap): () => void;
  close(): void;
}

/** Sends debug calls through the {@link Pipeline} to the outputs, and spans to the OpenTelemetry tracer. */
export function createSink(options: SinkOptions): EmissionSink {
  const { telemetry, clock, budget = false, schedule = () => () => {}, redact = [], selection = NO_WORK } = options;
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
  const recorder = new Recorder({
    works: selection.work.outcomes,
    limits: options.recorder ?? RECORDER_DEFAULTS,
    clock,
    schedule,
    random: selection.random,
    mask: redaction.mask,
  });
  const activations = new Activations({
    ...selection,
    budgets,
    now: () => clock.now(),
    recorder,
    failed: options.failed,
    write: (_category, call) => (recorder.ending ? outputs.final() : outputs.current())(call),
  });
  const pipeline = new Pipeline({ budgets, redaction, outputs, taps, activations });
  taps.watch((index) => pipeline.forget(index));

  return {
    outputs,
    budgets,
    recorder,
    refusals: pipeline.refusals,
    activate: (category, part) => activations.begin(category, part),
    unevaluated: (index) => activations.unevaluated(index),
    addTap: (category, tap) => taps.add(category, tap),
    emit: (category, message, given, tenantId) => pipeline.emit(category, message, given, tenantId),
    pass: (category, describe, bytes, tenantId) => pipeline.pass(category, describe, bytes, tenantId),
    tap: (category, message, given, tenantId, written, anyway, level) =>
      pipeline.tap(category, message, given, tenantId, written, anyway, level),
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
