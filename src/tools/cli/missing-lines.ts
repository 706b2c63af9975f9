import { type CountedPart, describeCalls } from '../../wire/call-counts.ts';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import { given } from '../../wire/json-text.ts';
import type { DiscoveredCategory } from '../../wire/messages.ts';
import type { ForecastResponse } from '../../wire/streams.ts';
import { settingText } from '../../wire/words/level.ts';
import { isOnForAll, namesOfParts } from '../../wire/words/state.ts';
import type { RdcpClient } from '../client/client.ts';
import { didYouMean } from './names.ts';

export const COUNTED_SECONDS = 3;

export interface MissingLinesOptions {
  readonly client: Pick<RdcpClient, 'discovery' | 'forecast' | 'status'>;
  readonly part: CountedPart;
  readonly signal?: AbortSignal;
  readonly whileCounting: <T>(count: () => Promise<T>) => Promise<T>;
  readonly describeError: (error: RdcpError) => string;
  /** What shows lines of a category that is off, such as `rdcp tail ORDERS`. */
  readonly reader: (category: string) => string;
}

/** Finds out why lines of categories are not seen: looks at their state, and counts for a while whether they are called. */
export async function findMissingLines(words: readonly string[], options: MissingLinesOptions) {
  const { client, part, whileCounting, describeError, reader, signal } = options;
  const request = signal === undefined ? {} : { signal };
  const discovered = new Map((await client.discovery(request)).categories.map((each) => [each.name, each]));
  const names = [...new Set(words.map((word) => word.toUpperCase()))];
  const known = names.filter((name) => discovered.has(name));
  const { tenant: _, ...selected } = given(part);
  const duration = `${COUNTED_SECONDS}s`;
  const measure = () => client.forecast(known, { ...request, duration, ...selected });
  const measured =
    known.length === 0
      ? undefined
      : await whileCounting(measure).catch((error) => {
          if (!isRdcpError(error)) throw error;
          return describeError(error);
        });
  // A credential that may not see the status measures all the same.
  const { enabled } = await client.status(request).catch(() => ({ enabled: true }));
  return {
    service: [
      ...(enabled ? [] : ['The whole instrumentation is switched off in this service.']),
      ...(typeof measured === 'string' ? [`It cannot be measured: ${measured}`] : []),
    ],
    categories: names.map((name) => {
      const category = discovered.get(name);
      if (category === undefined) {
        const advice = didYouMean([name], [...discovered.keys()]);
        return { name, category, reasons: [`There is no such category${advice === undefined ? '' : `; ${advice}`}`] };
      }
      const answer = typeof measured === 'string' ? undefined : measured;
      return { name, category, reasons: reasonsFor(category, answer, { part, reader }) };
    }),
  };
}

function reasonsFor(
  category: DiscoveredCategory,
  measured: ForecastResponse | undefined,
  { part, reader }: Pick<MissingLinesOptions, 'part' | 'reader'>,
): string[] {
  const { name, enabled, metrics, otelrdcp_level: level, otelrdcp_instances: instances } = category;
  const reasons: string[] = [];
  if (instances !== undefined) {
    reasons.push(`${instances.having} of ${instances.of} processes have it: the others have not loaded its code.`);
  }
  const figures = measured?.categories[name];
  if (measured !== undefined && figures !== undefined) {
    const { answered, asked } = measured.instances;
    const counts = figures.counts && { [name]: figures.counts };
    const counted = counts === undefined ? 0 : answered;
    // Where lines come, the other calls need no reason.
    const asks = figures.callsPerSecond.value === 0 ? part : { tenant: part.tenant };
    const given = { ...asks, categories: [name], counts: counts ?? {}, seconds: COUNTED_SECONDS, counted, asked };
    reasons.push(`${describeCalls(given)}.`);
    if (figures.counts?.calls === 0) reasons.push(`It was called ${metrics.callsTotal} times while it was on.`);
    if (figures.callsPerSecond.value > 0) {
      const rate = figures.callsPerSecond.value.toFixed(1);
      reasons.push(`${reader(name)} shows these lines, on or off: ${rate} a second.`);
    }
    const dropped = figures.droppedByBudget.value;
    if (dropped > 0) reasons.push(`Its budget would drop ${dropped.toFixed(1)} calls a second.`);
  }
  if (enabled && level !== undefined)
    reasons.push(`It is ${settingText({ enabled, level })}: other lines of it are not written.`);
  if (!isOnForAll(category)) {
    const parts = namesOfParts(category);
    const state = category.otelrdcp_recorded
      ? 'only recorded: its lines are kept in memory, and'
      : 'off for those that are asked about:';
    reasons.push(
      parts === ''
        ? `It is ${state} the logs of the service have no debug line of it.`
        : `It is on for ${parts} alone: the logs of the service have no other debug line of it.`,
    );
  }
  return reasons;
}
