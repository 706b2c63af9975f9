import { propagation, type Sampler, TraceFlags, trace } from '@opentelemetry/api';
import { gateSampler, RECORD_AND_SAMPLED } from '../emit/sampler.ts';
import { isSet } from '../telemetry/environment.ts';
import { TICKET_ENTRY } from '../tickets/ticket.ts';
import { loadPackageOf } from './otel-packages.ts';

const SDK = '@opentelemetry/sdk-node';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The sampler that the SDK would create for `OTEL_TRACES_SAMPLER`, which also keeps the spans of categories that are on.
 * `undefined` if a variable has an invalid value: the SDK then creates its own default and warns.
 * @param isTicket whether a ticket in the baggage makes the trace sampled. @default none does
 */
export function samplerFrom(env: Variables, isTicket: (value: string) => boolean = () => false): Sampler | undefined {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = loadSamplers();
  const ratio = ratioFrom(env);
  const make: Readonly<Record<string, () => Sampler | undefined>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => (ratio === undefined ? undefined : new TraceIdRatioBasedSampler(ratio)),
  };
  const [, parentBased, root = ''] = /^(parentbased_)?(.*)$/.exec(name(env)) ?? [];
  const sampler = Object.hasOwn(make, root) ? make[root]?.() : undefined;
  if (sampler === undefined) return undefined;
  const decided = parentBased === undefined ? sampler : new ParentBasedSampler({ root: sampler });
  return gateSampler(ticketSampler(decided, isTicket));
}

/** Samples what the wrapped sampler does not, where the baggage has a valid ticket. Asks once for each local root that is not sampled. */
function ticketSampler(sampler: Sampler, isTicket: (value: string) => boolean): Sampler {
  return {
    shouldSample(context, ...about) {
      const result = sampler.shouldSample(context, ...about);
      if (result.decision === RECORD_AND_SAMPLED) return result;
      const parent = trace.getSpanContext(context);
      const isLeftOut = parent !== undefined && !parent.isRemote && (parent.traceFlags & TraceFlags.SAMPLED) === 0;
      const ticket = isLeftOut ? undefined : propagation.getBaggage(context)?.getEntry(TICKET_ENTRY)?.value;
      return ticket !== undefined && isTicket(ticket) ? { ...result, decision: RECORD_AND_SAMPLED } : result;
    },
    toString: () => String(sampler),
  };
}

const name = ({ OTEL_TRACES_SAMPLER: given }: Variables) => (isSet(given) ? given.trim() : 'parentbased_always_on');

function ratioFrom({ OTEL_TRACES_SAMPLER_ARG: given }: Variables): number | undefined {
  const ratio = isSet(given) ? Number(given) : Number.NaN;
  return ratio >= 0 && ratio <= 1 ? ratio : undefined;
}

function loadSamplers(): typeof import('@opentelemetry/sdk-trace') {
  try {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace');
  } catch {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace-base'); // Early 2.x releases.
  }
}
