import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { MAX_BUDGET_TOTAL, MAX_REASON_LENGTH, RECORDING_SECONDS } from '../../wire/constants.ts';
import type { ControlResponse } from '../../wire/messages.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { parseSelection } from '../cli/names.ts';
import { controlOptionsOf } from '../client/fields.ts';
import { figuresOf, selection } from './look.ts';
import { type AddTool, type Call, duration, type Service, tenant, tool } from './tool.ts';

/** The longest that an agent may switch something, in seconds. */
const MOST_SECONDS = 3600;
/** What a question shows was measured for so long. */
const MEASURED_FOR = '3s';
const CONFIRMATION = 'confirmation';

const names = z.array(z.string().max(64)).min(1).max(20).describe('Names of categories, without patterns.');
const common = {
  duration: duration(MOST_SECONDS, '15m', 'How long, after which it ends by itself'),
  reason: z.string().min(1).max(MAX_REASON_LENGTH).describe('Why, for the audit trail.'),
  tenant,
};
const changed = z.object({
  status: z.enum(['success', 'partial', 'failed']),
  message: z.string(),
  changes: z.array(z.object({ category: z.string(), on: z.boolean(), until: z.string().optional() })),
  activation: z
    .object({ id: z.string(), until: z.string().optional() })
    .optional()
    .describe('What is on for the target and filter alone, or recorded. disable takes the id.'),
  thisProcessAlone: z.literal(true).optional().describe('Other processes do not share the store.'),
});

/** The tools that change something, for a server that was started with --allow-writes. */
export interface Switches {
  readonly tools: readonly AddTool[];
  /** Checks that an answer of a person belongs to the question that was asked. */
  readonly verify: RequestStateCodec['verify'];
}

export function switches(service: Service): Switches {
  const codec = createRequestStateCodec({ key: randomBytes(32) });
  const enable = tool('enable', service, {
    title: 'Switch categories on for a while',
    description:
      'Switches categories on, for everybody or for the target and filter: their lines go to the logs of the service. Ends by itself. To read lines, use collect_lines, which switches nothing.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    input: z.strictObject({
      categories: names,
      max_calls: z.int().min(1).max(MAX_BUDGET_TOTAL).default(10_000).describe('Ends after so many calls.'),
      ...common,
      ...selection,
    }),
    output: changed,
    run: async (given, call) => {
      const { categories, duration, reason, max_calls: calls, target, filter, when } = given;
      const words = exactly(categories);
      const question = await unanswered(call, codec, given, async () => {
        const { signal } = call;
        const measured = await call.client.forecast(words, { duration: MEASURED_FOR, target, filter, when, signal });
        return [
          `Switch ${words.join(', ')} on ${whose(given)} for ${duration}, at most ${calls} calls?`,
          ...figuresOf(measured.categories).map(
            ({ category, callsPerSecond, bytesPerSecond }) =>
              `${category} would write ${callsPerSecond.toFixed(1)} lines and ${bytesPerSecond.toFixed(0)} bytes a second (measured for ${MEASURED_FOR} in ${measured.instances.answered} of ${measured.instances.asked} processes).`,
          ),
        ];
      });
      if (question !== undefined) return question;
      const answer = await call.client.control(
        {
          action: 'enable',
          categories: words,
          options: {
            temporary: true,
            duration,
            reason,
            ...controlOptionsOf({ target, filter, when, budget: { calls } }),
          },
        },
        { signal: call.signal },
      );
      return outcomeOf(answer);
    },
  });
  const record = tool('record', service, {
    title: 'Record categories for a while',
    description:
      'Keeps the calls of categories in memory, for everybody or for the target and filter, and writes none: what happened before a complaint can then be read. Ends by itself.',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: z.strictObject({
      categories: names,
      ...common,
      duration: duration(RECORDING_SECONDS, '1d', 'How long, after which it ends by itself'),
      target: selection.target,
      filter: selection.filter,
    }),
    output: changed,
    run: async (given, call) => {
      const { categories, duration, reason, target, filter } = given;
      const words = exactly(categories);
      const question = await unanswered(call, codec, given, async () => [
        `Record ${words.join(', ')} ${whose(given)} for ${duration}? Nothing is written.`,
      ]);
      if (question !== undefined) return question;
      const answer = await call.client.control(
        {
          action: 'enable',
          categories: words,
          options: {
            temporary: true,
            duration,
            reason,
            otelrdcp_record: true,
            ...controlOptionsOf({ target, filter }),
          },
        },
        { signal: call.signal },
      );
      return outcomeOf(answer);
    },
  });
  const disable = tool('disable', service, {
    title: 'Switch categories off for a while',
    description:
      'Switches categories off, also what others switched on, and ends their activations; afterwards each is as it is without a temporary setting. With id it ends that activation of enable or record alone.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({
      categories: names,
      id: z
        .string()
        .regex(/^[0-9a-f]{12}$/)
        .describe('The activation of an enable or record.')
        .optional(),
      ...common,
    }),
    output: changed,
    run: async (given, call) => {
      const { categories, duration, reason, id } = given;
      const words = exactly(categories);
      const question = await unanswered(call, codec, given, async () => [
        id === undefined
          ? `Switch ${words.join(', ')} off ${whose(given)} for ${duration}?`
          : `End the activation ${id} of ${words.join(', ')}?`,
      ]);
      if (question !== undefined) return question;
      const answer = await call.client.control(
        id === undefined
          ? { action: 'disable', categories: words, options: { temporary: true, duration, reason } }
          : { action: 'reset', categories: words, options: { reason, otelrdcp_id: id } },
        { signal: call.signal },
      );
      return outcomeOf(answer);
    },
  });
  return { tools: [enable, record, disable], verify: codec.verify };
}

function exactly(words: readonly string[]): readonly string[] {
  const { names, patterns } = parseSelection(words);
  if (patterns.length > 0) throw new Error(`Only names can be switched, not the pattern ${patterns.join(', ')}`);
  return names;
}

interface Asked {
  readonly reason: string;
  readonly tenant?: string | undefined;
  readonly target?: object | undefined;
  readonly filter?: object | undefined;
  readonly when?: object | undefined;
}

/** What the agent wrote is JSON, which it cannot end to add words of its own to the question. */
function whose({ tenant, target, filter, when }: Asked): string {
  const part = { ...target, ...filter, ...when };
  const work = Object.keys(part).length === 0 ? 'all work' : escapeUnprintable(JSON.stringify(part));
  return `for ${tenant === undefined ? '' : `tenant ${tenant}, `}${work}`;
}

/**
 * The question to the person, where the agent's program can ask one and has not yet.
 * @throws where the person said no, or answered another question
 */
async function unanswered(
  { context: { mcpReq }, asks }: Call,
  codec: RequestStateCodec,
  given: Asked,
  lines: () => Promise<readonly string[]>,
): Promise<InputRequiredResult | undefined> {
  if (!asks) return undefined;
  const asked = JSON.stringify(given);
  const response = inputResponse(mcpReq.inputResponses, CONFIRMATION);
  if (response.kind === 'missing') {
    const reason = `The agent's reason: ${escapeUnprintable(JSON.stringify(given.reason))}`;
    const message = [...(await lines()), reason].join('\n');
    const requestedSchema = { type: 'object', properties: {} } as const;
    return inputRequired({
      inputRequests: { [CONFIRMATION]: inputRequired.elicit({ message, requestedSchema }) },
      requestState: await codec.mint(asked),
    });
  }
  if (mcpReq.requestState() !== asked) throw new Error('The answer belongs to another question; nothing was changed');
  if (response.kind === 'elicit' && response.action === 'accept') return undefined;
  throw new Error('The person said no; nothing was changed');
}

function outcomeOf(answer: ControlResponse): z.input<typeof changed> {
  const { status, message, changes, otelrdcp_activation: activation, otelrdcp_shared: shared } = answer;
  return {
    status,
    message,
    changes: changes.map(({ category, newState, expiresAt }) => ({
      category,
      on: newState,
      ...(expiresAt !== undefined && { until: expiresAt }),
    })),
    ...(activation && {
      activation: { id: activation.id, ...(activation.expiresAt && { until: activation.expiresAt }) },
    }),
    ...(shared === false && { thisProcessAlone: true as const }),
  };
}
