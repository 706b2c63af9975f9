import { randomBytes } from 'node:crypto';
import {
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ControlCommand } from '../../client.ts';
import { MAX_BUDGET_TOTAL, MAX_REASON_LENGTH, RECORDING_SECONDS } from '../../wire/constants.ts';
import type { ControlResponse } from '../../wire/messages.ts';
import { escapeUnprintable } from '../../wire/printable.ts';
import { parseSelection } from '../cli/names.ts';
import { controlOptionsOf } from '../client/fields.ts';
import { figuresOf, selection } from './look.ts';
import { type Call, duration, tenant, tool } from './tool.ts';

const MOST_SECONDS = 3600;
/** What a question shows was measured for so long. */
const MEASURED_FOR = '3s';
const CONFIRMATION = 'confirmation';

const common = {
  categories: z.array(z.string().max(64)).min(1).max(20).describe('Names of categories, without patterns.'),
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

type SwitchInput = z.output<z.ZodObject<typeof common>> & {
  readonly target?: object | undefined;
  readonly filter?: object | undefined;
  readonly when?: object | undefined;
};

interface Switch<Input extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly input: Input;
  /** Asks the person, with what the change would do. */
  readonly question: (given: z.output<Input> & SwitchInput, names: string, call: Call) => string | Promise<string>;
  readonly command: (given: z.output<Input> & SwitchInput) => Pick<ControlCommand, 'action' | 'options'>;
}

/**
 * The tools that change something, for a server that was started with --allow-writes.
 * @returns with `verify` what checks that an answer of a person belongs to the question that was asked
 */
export function switches() {
  const codec = createRequestStateCodec({ key: randomBytes(32) });
  function switching<Input extends z.ZodObject>(name: string, { question, command, ...rest }: Switch<Input>) {
    const { destructiveHint = true, idempotentHint = false, ...about } = rest;
    return tool({
      ...about,
      name,
      annotations: { readOnlyHint: false, destructiveHint, idempotentHint, openWorldHint: false },
      output: changed,
      run: async (all, call) => {
        const given = all as z.output<Input> & SwitchInput;
        const names = exactly(given.categories);
        const asked = await unanswered(call, codec, given, () => question(given, names.join(', '), call));
        if (asked !== undefined) return asked;
        return outcomeOf(await call.client.control({ categories: names, ...command(given) }, { signal: call.signal }));
      },
    });
  }
  const enable = switching('enable', {
    title: 'Switch categories on for a while',
    description:
      'Switches categories on, for everybody or for the target and filter: their lines go to the logs of the service. Ends by itself. To read lines, use collect_lines, which switches nothing.',
    input: z.strictObject({
      ...common,
      max_calls: z.int().min(1).max(MAX_BUDGET_TOTAL).default(10_000).describe('Ends after so many calls.'),
      ...selection,
    }),
    question: async (given, names, { client, signal }) => {
      const { target, filter, when, duration, max_calls: calls } = given;
      const measured = await client.forecast(exactly(given.categories), {
        duration: MEASURED_FOR,
        target,
        filter,
        when,
        signal,
      });
      const { answered, asked } = measured.instances;
      const lines = figuresOf(measured.categories).map(
        ({ category, callsPerSecond, bytesPerSecond }) =>
          `${category} would write ${callsPerSecond.toFixed(1)} lines and ${bytesPerSecond.toFixed(0)} bytes a second (measured for ${MEASURED_FOR} in ${answered} of ${asked} processes).`,
      );
      return [`Switch ${names} on ${whose(given)} for ${duration}, at most ${calls} calls?`, ...lines].join('\n');
    },
    command: ({ duration, reason, target, filter, when, max_calls: calls }) => ({
      action: 'enable',
      options: { temporary: true, duration, reason, ...controlOptionsOf({ target, filter, when, budget: { calls } }) },
    }),
  });
  const record = switching('record', {
    title: 'Record categories for a while',
    description:
      'Keeps the calls of categories in memory, for everybody or for the target and filter, and writes none: what happened before a complaint can then be read. Ends by itself.',
    destructiveHint: false,
    input: z.strictObject({
      ...common,
      duration: duration(RECORDING_SECONDS, '1d', 'How long, after which it ends by itself'),
      target: selection.target,
      filter: selection.filter,
    }),
    question: (given, names) => `Record ${names} ${whose(given)} for ${given.duration}? Nothing is written.`,
    command: ({ duration, reason, target, filter }) => ({
      action: 'enable',
      options: {
        temporary: true,
        duration,
        reason,
        otelrdcp_record: true,
        ...controlOptionsOf({ target, filter }),
      },
    }),
  });
  const disable = switching('disable', {
    title: 'Switch categories off for a while',
    description:
      'Switches categories off, also what others switched on, and ends their activations; afterwards each is as it is without a temporary setting. With id it ends that activation of enable or record alone.',
    idempotentHint: true,
    input: z.strictObject({
      ...common,
      id: z
        .string()
        .regex(/^[0-9a-f]{12}$/)
        .describe('The activation of an enable or record.')
        .optional(),
    }),
    question: (given, names) =>
      given.id === undefined
        ? `Switch ${names} off ${whose(given)} for ${given.duration}?`
        : `End the activation ${given.id} of ${names}?`,
    command: ({ id, duration, reason }) =>
      id === undefined
        ? { action: 'disable', options: { temporary: true, duration, reason } }
        : { action: 'reset', options: { reason, otelrdcp_id: id } },
  });
  return { tools: [enable, record, disable], verify: codec.verify };
}

function exactly(words: readonly string[]): readonly string[] {
  const { names, patterns } = parseSelection(words);
  if (patterns.length > 0) throw new Error(`Only names can be switched, not the pattern ${patterns.join(', ')}`);
  return names;
}

/** What the agent wrote is JSON, which it cannot end to add words of its own to the question. */
function whose({ tenant, target, filter, when }: SwitchInput): string {
  const part = { ...target, ...filter, ...when };
  const work = Object.keys(part).length === 0 ? 'all work' : escapeUnprintable(JSON.stringify(part));
  return `for ${tenant === undefined ? '' : `tenant ${tenant}, `}${work}`;
}

/** `undefined` where the agent's program cannot ask, or has. @throws where the person said no, or answered another question */
async function unanswered(
  { context: { mcpReq }, asks }: Call,
  codec: RequestStateCodec,
  given: SwitchInput,
  question: () => string | Promise<string>,
): Promise<InputRequiredResult | undefined> {
  if (!asks) return undefined;
  const asked = JSON.stringify(given);
  const response = inputResponse(mcpReq.inputResponses, CONFIRMATION);
  if (response.kind === 'missing') {
    const message = `${await question()}\nThe agent's reason: ${escapeUnprintable(JSON.stringify(given.reason))}`;
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
    changes: changes.map(({ category, newState: on, expiresAt: until }) => ({ category, on, until })),
    ...(activation && { activation: { id: activation.id, until: activation.expiresAt } }),
    ...(shared === false && { thisProcessAlone: true as const }),
  };
}
