import { propagation, type Sampler, TraceFlags, trace } from '@opentelemetry/api';
import { TICKET_ENTRY } from '../../access/tickets/ticket.ts';
import { gateSampler, RECORD_AND_SAMPLED } from '../../calls/emit/sampler.ts';
import { isSet } from '../../otel/environment.ts';
import { loadPackageOf } from './otel-packages.ts';

const SDK = '@opentelemetry/sdk-node';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The sampler that the SDK would create for `OTEL_TRACES_SAMPLER`, which also keeps the spans of categories that are on.
 * @param isTicket whether a ticket in the baggage makes the trace sampled. @default none does
 */
export function samplerFrom(env: Variables, isTicket: (value: string) => boolean = () => false): Sampler {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = loadSamplers();
  const given = isSet(env.OTEL_TRACES_SAMPLER) ? env.OTEL_TRACES_SAMPLER.trim() : 'parentbased_always_on';
  const root = given.replace('parentbased_', '');
  const sampler =
    root === 'always_on'
      ? new AlwaysOnSampler()
      : root === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(isSet(env.OTEL_TRACES_SAMPLER_ARG) ? Number(env.OTEL_TRACES_SAMPLER_ARG) : 1);
  const decided = root === given ? sampler : new ParentBasedSampler({ root: sampler });
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

function loadSamplers(): typeof import('@opentelemetry/sdk-trace') {
  try {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace');
  } catch {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace-base'); // Early 2.x releases.
  }
}
