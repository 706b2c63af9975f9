import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  isInputRequiredResult,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isRdcpError, type RdcpError } from '../../wire/errors.ts';
import { messageOf } from '../../wire/thrown.ts';
import { parseDuration } from '../../wire/time.ts';
import { categoryNames, parseSelection, resolve, suggesting } from '../cli/names.ts';
import type { RdcpClient } from '../client/client.ts';
import { answerOf, mark, refusalOf } from './answer.ts';

export interface Service {
  /** Returns a client that names the agent in the audit trail. @throws {RdcpError} for a tenant that the agent may not choose */
  client(agent: string, tenant: string | undefined): RdcpClient;
  /** One line about an error, with what to do next. */
  explain(error: RdcpError): string;
}

export interface Call {
  readonly service: Service;
  readonly now: () => number;
  readonly client: RdcpClient;
  /** Aborts when the agent cancels the call, or is gone. */
  readonly signal: AbortSignal;
  readonly context: ServerContext;
  /** Whether the agent's program can ask its person a question. */
  readonly asks: boolean;
}

interface Tool<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  /** @default it switches nothing */
  readonly annotations?: Required<Omit<ToolAnnotations, 'title'>>;
  run(given: z.output<Input>, call: Call): Promise<z.input<Output> | InputRequiredResult>;
}

const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

export type AddTool = (server: McpServer, service: Service) => void;

export function tool<Input extends z.ZodObject, Output extends z.ZodObject>({
  name,
  input,
  output,
  annotations = READS,
  run,
  ...about
}: Tool<Input, Output>): AddTool {
  return (server, service) =>
    void server.registerTool<z.ZodObject, z.ZodObject>(
      name,
      { ...about, inputSchema: input, outputSchema: output.extend(mark), annotations },
      async (given, context): Promise<CallToolResult | InputRequiredResult> => {
        const { signal } = context.mcpReq;
        try {
          const tenant = typeof given.tenant === 'string' ? given.tenant : undefined;
          const { info, able = {} } = clientOf(server, context);
          const client = service.client(info === undefined ? 'unknown' : `${info.name}/${info.version}`, tenant);
          // A client that names no kind of question asks by forms, as before there were others.
          const { form, url } = able.elicitation ?? { url: {} };
          const asks = form !== undefined || url === undefined;
          const call: Call = { service, client, signal, context, asks, now: Date.now };
          const answer = await suggesting(client, () => run(given as z.output<Input>, call));
          return isInputRequiredResult(answer) ? answer : answerOf(answer);
        } catch (error) {
          return refusalOf(isRdcpError(error) ? service.explain(error) : messageOf(error));
        }
      },
    );
}

/** What a client says of itself: in each request, or in older versions of the protocol at the beginning. */
function clientOf(server: McpServer, { mcpReq }: ServerContext) {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  return {
    info: (envelope[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? server.server.getClientVersion(),
    able:
      (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ??
      server.server.getClientCapabilities(),
  };
}

export const tenant = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,255}$/, 'must be the id of a tenant')
  .describe('Only this tenant of the service.')
  .optional();

export const categories = z
  .array(z.string().max(64))
  .min(1)
  .max(50)
  .describe("Names of categories, or patterns such as 'DB_*'.");

/** @param most in seconds */
export function duration(most: number, usual: string, what: string) {
  const isGood = (text: string) => (parseDuration(text) ?? Number.POSITIVE_INFINITY) <= most;
  return z
    .string()
    .refine(isGood, `must be a duration such as ${usual}, at most ${most}s`)
    .default(usual)
    .describe(`${what}, such as ${usual}; at most ${most}s.`);
}

export async function namesOf({ client }: Call, words: readonly string[]): Promise<string[]> {
  const selection = parseSelection(words);
  return selection.patterns.length === 0 ? [...selection.names] : resolve(selection, await categoryNames(client));
}

const TICK_MS = 1000;

/** Tells a client that asked for progress each second how far the work is. */
export async function withProgress<T>(
  { context: { mcpReq }, signal }: Call,
  seconds: number,
  message: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return work();
  let progress = 0;
  const ticking = setInterval(() => {
    progress += 1;
    if (signal.aborted || progress > seconds) return;
    const params = { progressToken, progress, total: seconds, message: message() };
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  }, TICK_MS);
  try {
    return await work();
  } finally {
    clearInterval(ticking);
  }
}
