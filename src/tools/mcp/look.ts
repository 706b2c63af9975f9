import { z } from 'zod';
import type { AuditEntry } from '../../wire/audit-messages.ts';
import {
  AUDIT_ACTIONS,
  AUDIT_OUTCOMES,
  MAX_FAILURES,
  MAX_FORECAST_SECONDS,
  MAX_PAST_SECONDS,
} from '../../wire/constants.ts';
import { isCounted } from '../../wire/counted-calls.ts';
import type { DiscoveredCategory } from '../../wire/messages.ts';
import type { CategoryForecast } from '../../wire/streams.ts';
import { lineFilterSchema, targetSchema, whenSchema } from '../../wire/target.ts';
import { parseDuration, timestamp } from '../../wire/time.ts';
import { whoText } from '../../wire/words/change.ts';
import { categoriesOf, isOn, STATES, statesOf } from '../../wire/words/state.ts';
import { COUNTED_SECONDS, findMissingLines } from '../cli/missing-lines.ts';
import { isSelected, parseSelection } from '../cli/names.ts';
import type { AuditFilter } from '../client/audit.ts';
import { fitting } from './answer.ts';
import { categories, duration, namesOf, tenant, tool, withProgress } from './tool.ts';

/** Which work and lines, as in the protocol. */
export const selection = {
  target: targetSchema.describe('Only this work, such as { "match": { "user.id": "42" } }.').optional(),
  filter: lineFilterSchema.describe('Only these lines, such as { "where": "rows > 1000" } (CEL).').optional(),
  when: whenSchema.describe('Only lines of work that fails, or is slow, once it has ended.').optional(),
};

export const state = z.object({
  state: z
    .enum(STATES)
    .describe(
      "'quiet' holds back lines of loggers that are less urgent; 'recorded' keeps lines in memory and writes none.",
    ),
  whom: z.string().describe("For whom and how long; '-' for everybody, without an end."),
});
const omitted = z.int().describe('Left out because the answer would be too long.');

export const listCategories = tool({
  name: 'list_categories',
  title: 'List debug categories',
  description: "Lists the debug categories of the service and which are on. The application's own come first.",
  input: z.strictObject({
    pattern: z.string().max(64).describe("Only these names, such as 'DB_*'.").optional(),
    on: z.boolean().describe('Only what is on.').default(false),
    tenant,
  }),
  output: z.object({
    categories: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        states: z.array(state),
        callsPerSecond: z.number().optional().describe('Of the last minute. Absent while it is off: not counted.'),
      }),
    ),
    omitted,
  }),
  run: async ({ pattern, on }, { client, signal, now }) => {
    const selected = parseSelection(pattern === undefined ? [] : [pattern]);
    const found = (await client.discovery({ signal })).categories
      .filter((category) => isSelected(selected, category.name) && (!on || isOn(category)))
      .sort((a, b) => rank(a) - rank(b))
      .map((category) => ({
        name: category.name,
        description: category.description,
        states: [...statesOf(category, now())],
        ...(isCounted(category) && { callsPerSecond: category.metrics.callsPerSecond }),
      }));
    const { taken, omitted } = fitting(found);
    return { categories: taken, omitted };
  },
});

/** What is on first, then what the application made, then adopted loggers. */
function rank(category: DiscoveredCategory): number {
  return (isOn(category) ? 0 : 2) + (category.otelrdcp_source === undefined ? 0 : 1);
}

const figures = z.object({
  category: z.string(),
  callsPerSecond: z.number(),
  bytesPerSecond: z.number(),
  gigabytesPerDay: z.number(),
  droppedPerSecond: z.number().describe('Calls that its budget would drop.'),
});
const processes = z.object({ asked: z.int(), answered: z.int() });

export function figuresOf(measured: Readonly<Record<string, CategoryForecast>>): z.input<typeof figures>[] {
  return Object.entries(measured).map(([category, each]) => ({
    category,
    callsPerSecond: each.callsPerSecond.value,
    bytesPerSecond: each.bytesPerSecond.value,
    gigabytesPerDay: each.gigabytesPerDay.value,
    droppedPerSecond: each.droppedByBudget.value,
  }));
}

export const forecast = tool({
  name: 'forecast',
  title: 'Measure what categories would write',
  description: 'Measures what categories would write if they were on. Nothing is switched, and no line is written.',
  input: z.strictObject({
    categories,
    duration: duration(MAX_FORECAST_SECONDS, '5s', 'How long to measure'),
    ...selection,
    tenant,
  }),
  output: z.object({ duration: z.string(), processes, categories: z.array(figures), omitted }),
  run: async ({ categories: words, duration, target, filter, when }, call) => {
    const names = await namesOf(call, words);
    const { signal } = call;
    const answer = await withProgress(
      call,
      parseDuration(duration) ?? 0,
      () => 'measuring',
      () => call.client.forecast(names, { duration, target, filter, when, signal }),
    );
    const { taken, omitted } = fitting(figuresOf(answer.categories));
    return { duration: answer.duration, processes: { ...answer.instances }, categories: taken, omitted };
  },
});

export const listFailures = tool({
  name: 'list_failures',
  title: 'List work that failed',
  description:
    'Lists the requests and jobs that failed lately, newest first, of what the service records. For the lines of one: collect_lines of its categories with since, past and the filter { where: \'attributes["rdcp.work.id"] == "ID"\' }.',
  input: z.strictObject({
    categories: categories.optional(),
    since: duration(MAX_PAST_SECONDS, '1m', 'How far back'),
    target: selection.target,
    limit: z.int().min(1).max(MAX_FAILURES).default(20),
    tenant,
  }),
  output: z.object({
    processes,
    reachesBack: z.string().optional().describe('How far back the service keeps finished work.'),
    recorded: z.array(z.string()).describe('The categories that the answer is about.'),
    failures: z.array(
      z.object({
        id: z.string(),
        timestamp: z.string(),
        service: z.string(),
        instance: z.string().describe('The process.'),
        outcome: z.string(),
        milliseconds: z.number(),
        traceId: z.string().optional(),
        tenant: z.string().optional(),
        attributes: z.record(z.string(), z.string()),
        lines: z.record(z.string(), z.int()),
      }),
    ),
    more: z.boolean().describe('Whether there are older ones.'),
    omitted,
  }),
  run: async ({ categories: words, since, target, limit }, call) => {
    const names = words && (await namesOf(call, words));
    const { signal } = call;
    const answer = await call.client.failures({ categories: names, since, target, limit, signal });
    const { taken, omitted } = fitting(
      answer.failures.map((each) => ({ ...each, attributes: { ...each.attributes } })),
    );
    return {
      processes: { ...answer.instances },
      reachesBack: answer.recorder.reachesBack,
      recorded: [...answer.recorder.categories],
      failures: taken,
      more: answer.more,
      omitted,
    };
  },
});

export const status = tool({
  name: 'status',
  title: 'Show what is on',
  description:
    'Shows which categories are on and for whom, how many processes follow, and what this credential may do.',
  input: z.strictObject({ tenant }),
  output: z.object({
    enabled: z.boolean().describe('False while the whole instrumentation is switched off.'),
    on: z.array(z.object({ category: z.string(), states: z.array(state) })),
    omitted,
    callsPerSecond: z.number(),
    processes: z.object({ all: z.int(), applied: z.int() }).optional(),
    scopes: z.array(z.string()),
  }),
  run: async (_, { client, signal, now }) => {
    const [answer, session] = await Promise.all([client.status({ signal }), client.session({ signal })]);
    const { otelrdcp_fleet: fleet } = answer;
    const on = categoriesOf(answer)
      .filter(isOn)
      .map((category) => ({ category: category.name, states: [...statesOf(category, now())] }));
    const { taken, omitted } = fitting(on);
    return {
      enabled: answer.enabled,
      on: taken,
      omitted,
      callsPerSecond: answer.performance.callsPerSecond,
      ...(fleet && { processes: { all: fleet.instances, applied: fleet.applied } }),
      scopes: [...session.scopes],
    };
  },
});

export const audit = tool({
  name: 'audit',
  title: 'Read the audit trail',
  description: 'Shows who switched or read what, when and why, newest first.',
  input: z.strictObject({
    since: duration(90 * 86_400, '1d', 'How far back'),
    limit: z.int().min(1).max(100).default(20),
    action: z.enum(AUDIT_ACTIONS).optional(),
    category: z.string().max(64).optional(),
    outcome: z.enum(AUDIT_OUTCOMES).optional(),
    tenant,
  }),
  output: z.object({
    entries: z.array(
      z.object({
        timestamp: z.string(),
        who: z.string(),
        via: z.string().optional().describe('The User-Agent.'),
        action: z.string(),
        categories: z.array(z.string()),
        outcome: z.string(),
        tenant: z.string().optional(),
        reason: z.string().optional(),
        error: z.string().optional(),
      }),
    ),
    omitted,
  }),
  run: async ({ since, category, ...filter }, { client, signal, now }) => {
    const begin = timestamp(now() - (parseDuration(since) ?? 0) * 1000);
    const given = { ...filter, since: begin, category: category?.toUpperCase() };
    const answer = await client.audit(given as AuditFilter, { signal });
    const { taken, omitted } = fitting(answer.entries.map(entryOf));
    return { entries: taken, omitted };
  },
});

function entryOf({ timestamp, action, categories, outcome, identity, tenant, source, reason, error }: AuditEntry) {
  return {
    timestamp,
    who: whoText(identity) ?? '-',
    via: source?.userAgent,
    action,
    categories: [...categories],
    outcome,
    tenant: tenant?.id,
    reason,
    error,
  };
}

export const explain = tool({
  name: 'explain',
  title: 'Explain why no lines are seen',
  description: `Finds out why lines of categories are not seen: it looks at their state and measures for ${COUNTED_SECONDS} s whether they are called. Nothing is switched.`,
  input: z.strictObject({ categories: categories.describe('Names of categories.'), ...selection, tenant }),
  output: z.object({
    service: z.array(z.string()),
    categories: z.array(z.object({ category: z.string(), states: z.array(state), reasons: z.array(z.string()) })),
    omitted: z.int(),
  }),
  run: async ({ categories: words, ...part }, call) => {
    const found = await findMissingLines(words, {
      client: call.client,
      part,
      signal: call.signal,
      whileCounting: (count) => withProgress(call, COUNTED_SECONDS, () => 'measuring', count),
      describeError: (error) => call.service.explain(error),
      reader: () => 'collect_lines',
    });
    const { taken, omitted } = fitting(
      found.categories.map(({ name, category, reasons }) => ({
        category: name,
        states: category === undefined ? [] : [...statesOf(category, call.now())],
        reasons: [...reasons],
      })),
    );
    return { service: [...found.service], categories: taken, omitted };
  },
});
