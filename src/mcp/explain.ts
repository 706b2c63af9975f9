import { z } from 'zod';
import { nearest } from '../cli/names.ts';
import { isRdcpError } from '../errors.ts';
import { describeCalls } from '../protocol/call-counts.ts';
import type { DiscoveredCategory } from '../protocol/messages.ts';
import type { AskedInstances, CategoryForecast } from '../protocol/streams.ts';
import { levelState } from '../protocol/target-text.ts';
import { fitting } from './answer.ts';
import { selection, state, statesFor } from './look.ts';
import { type AddTool, type Call, categories, READS, type Service, tenant, tool, withProgress } from './tool.ts';

const SECONDS = 3;

/** Why no lines are seen. */
export function explain(service: Service, now: () => number): AddTool {
  return tool('explain', service, {
    title: 'Explain why no lines are seen',
    description: `Finds out why lines of categories are not seen: it looks at their state and measures for ${SECONDS} s whether they are called. Nothing is switched.`,
    annotations: READS,
    input: z.strictObject({ categories: categories.describe('Names of categories.'), ...selection, tenant }),
    output: z.object({
      service: z.array(z.string()),
      categories: z.array(z.object({ category: z.string(), states: z.array(state), reasons: z.array(z.string()) })),
      omitted: z.int(),
    }),
    run: async ({ categories: words, tenant: _, ...selected }, call) => {
      const { client, signal } = call;
      const discovered = new Map((await client.discovery({ signal })).categories.map((each) => [each.name, each]));
      const names = [...new Set(words.map((word) => word.toUpperCase()))];
      const known = names.filter((name) => discovered.has(name));
      const measured = await withProgress(
        call,
        SECONDS,
        () => 'measuring',
        () => measure(call, known, selected),
      ).catch((error) => {
        if (!isRdcpError(error)) throw error;
        return service.explain(error);
      });
      const enabled = await client.status({ signal }).then(
        (answer) => answer.enabled,
        () => true,
      );
      const found = names.map((category) => {
        const one = discovered.get(category);
        if (one === undefined) {
          const near = nearest(category, [...discovered.keys()]);
          const advice = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
          return { category, states: [], reasons: [`There is no such category${advice}`] };
        }
        const rates = typeof measured === 'string' ? undefined : measured;
        return { category, states: statesFor(one, now()), reasons: reasonsFor(one, rates) };
      });
      const { taken, omitted } = fitting(found);
      const general = [
        ...(enabled ? [] : ['The whole instrumentation is switched off in this service.']),
        ...(typeof measured === 'string' ? [`It cannot be measured: ${measured}`] : []),
      ];
      return { service: general, categories: taken, omitted };
    },
  });
}

interface Measured {
  readonly all: Readonly<Record<string, CategoryForecast>>;
  /** Of the selected work and lines; absent where nothing was selected. */
  readonly part: Readonly<Record<string, CategoryForecast>> | undefined;
  readonly selected: Selected;
  readonly instances: AskedInstances;
}

type Selected = { readonly [Name in keyof typeof selection]?: z.output<(typeof selection)[Name]> };

async function measure({ client, signal }: Call, names: readonly string[], selected: Selected): Promise<Measured> {
  if (names.length === 0) return { all: {}, part: undefined, selected, instances: { asked: 0, answered: 0 } };
  const wanted = { duration: `${SECONDS}s`, signal };
  const isPart = Object.values(selected).some((value) => value !== undefined);
  const [all, part] = await Promise.all([
    client.forecast(names, wanted),
    isPart ? client.forecast(names, { ...wanted, ...selected }) : undefined,
  ]);
  const { instances } = part ?? all;
  return { all: all.categories, part: part?.categories, selected, instances };
}

function reasonsFor(category: DiscoveredCategory, measured: Measured | undefined): string[] {
  const { name, enabled, metrics, otelrdcp_instances: instances, otelrdcp_level: level } = category;
  const all = measured?.all[name];
  const part = measured?.part?.[name];
  const rate = all?.callsPerSecond.value;
  const dropped = all?.droppedByBudget.value ?? 0;
  const reasons: string[] = [];
  if (instances !== undefined) {
    reasons.push(`${instances.having} of ${instances.of} processes have it: the others have not loaded its code.`);
  }
  if (rate === 0) {
    reasons.push(
      `It was not called in ${SECONDS} s: its code did not run. It was called ${metrics.callsTotal} times while it was on.`,
    );
  } else if (rate !== undefined) {
    reasons.push(`It was called ${rate.toFixed(1)} times a second: collect_lines reads its lines, on or off.`);
    if (part?.callsPerSecond.value === 0) {
      const sentence = describeCalls({
        ...measured!.selected,
        categories: [name],
        counts: { [name]: part.counts },
        seconds: SECONDS,
        counted: measured!.instances.answered,
        asked: measured!.instances.asked,
      });
      reasons.push(`${sentence}.`);
    }
  }
  if (dropped > 0) reasons.push(`Its budget would drop ${dropped.toFixed(1)} calls a second.`);
  if (enabled && level !== undefined) reasons.push(`It is ${levelState(level)}: other lines of it are not written.`);
  if (!enabled) reasons.push('It is off for those that are asked about: the logs of the service have no line of it.');
  return reasons;
}
