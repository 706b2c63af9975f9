import { type Context, createContextKey, type Sampler, type Span, TraceFlags } from '@opentelemetry/api';

/** The key, which its description makes the same in all copies of this package and of OpenTelemetry's API. */
const KEPT = createContextKey('opentelemetry-instrumentation-rdcp kept span');

/** `SamplingDecision.RECORD_AND_SAMPLED`, which each SDK exports from a package of its own. */
export const RECORD_AND_SAMPLED = 2;

/** Set by the sampler when it keeps a span of a category that would have been dropped. */
interface Keeping {
  kept: boolean;
}

/**
 * Keeps the spans of `category.span()` while their category is on, also where the parent was not sampled or the ratio leaves the
 * trace out. The wrapped sampler decides about every other span, those inside a kept span included: for them, and for the
 * services that are called, the trace remains one that is not sampled.
 *
 *     new NodeSDK({ sampler: gateSampler(new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.01) })) })
 *
 * @param sampler of either line of OpenTelemetry
 * @throws {TypeError} when it is none
 */
export function gateSampler(sampler: Sampler): Sampler {
  if (typeof sampler?.shouldSample !== 'function') {
    throw new TypeError('gateSampler: sampler must be a sampler, such as ParentBasedSampler');
  }
  return {
    shouldSample(context, ...about) {
      const result = sampler.shouldSample(context, ...about);
      const keeping = context.getValue(KEPT) as Keeping | undefined;
      if (keeping === undefined || result.decision === RECORD_AND_SAMPLED) return result;
      keeping.kept = true;
      return { ...result, decision: RECORD_AND_SAMPLED };
    },
    toString: () => `GateSampler{${sampler}}`,
  };
}

/**
 * Starts a span of a category that is on. Returns the span to make active: if a sampler kept it, its context does not say
 * `sampled`, so that child spans and the services that are called are sampled as they would be without it.
 */
export function startKept(context: Context, start: (context: Context) => Span): Span {
  const keeping: Keeping = { kept: false };
  const span = start(context.setValue(KEPT, keeping));
  return keeping.kept ? withoutSampledFlag(span) : span;
}

function withoutSampledFlag(span: Span): Span {
  const spanContext = span.spanContext();
  const shown = { ...spanContext, traceFlags: spanContext.traceFlags & ~TraceFlags.SAMPLED };
  return new Proxy(span, {
    get(target, name) {
      if (name === 'spanContext') return () => shown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
