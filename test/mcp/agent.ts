import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serviceOf } from '../../src/tools/cli/commands/mcp.ts';
import { mcpServers } from '../../src/tools/mcp/server.ts';
import { built } from '../support/built.ts';

/** What an agent's program names itself. */
export const AGENT = { name: 'test-agent', version: '1.2.3' };
/** The current version of the protocol, or that of `initialize`. */
export const MODES = ['auto', 'legacy'] as const;

interface Place {
  readonly url: string;
  readonly key: string;
  readonly tenant?: string;
  readonly writes?: boolean;
}

interface AgentOptions {
  readonly mode?: (typeof MODES)[number];
  /** The person's answer to each question, which it is given. @default the program cannot ask */
  readonly answer?: (question: string) => 'accept' | 'decline';
}

function clientOf({ mode = 'auto', answer }: AgentOptions): Client {
  const options: ClientOptions = {
    versionNegotiation: { mode },
    ...(answer && { capabilities: { elicitation: { form: {} } } }),
  };
  const client = new Client(AGENT, options);
  if (answer) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: answer(params.message),
      content: {},
    }));
  }
  return client;
}

/** An agent of a server in this process. */
export async function agentOf(
  t: TestContext,
  { url, key, tenant, writes = false }: Place,
  options: AgentOptions = {},
): Promise<Client> {
  const access = { url, credential: { apiKey: key }, tenantId: tenant, tls: undefined };
  const [here, there] = InMemoryTransport.createLinkedPair();
  const handle = serveStdio(mcpServers(serviceOf({ sources: {} }, access), { writes }), { transport: there });
  const client = clientOf(options);
  await client.connect(here);
  t.after(() => Promise.all([client.close(), handle.close()]));
  return client;
}

/** An agent of `rdcp mcp`, started as a program starts it. */
export async function agentProcess(
  t: TestContext,
  { url, key }: Place,
  args: readonly string[] = [],
  options: AgentOptions = {},
): Promise<{ readonly client: Client; readonly transport: StdioClientTransport }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [built('cli/main.js'), 'mcp', '--url', url, ...args],
    env: { RDCP_API_KEY: key, XDG_CONFIG_HOME: '/nonexistent' },
    stderr: 'ignore',
  });
  const client = clientOf(options);
  await client.connect(transport);
  t.after(() => client.close());
  return { client, transport };
}

export function textOf({ content: [first] }: CallToolResult): string {
  return first?.type === 'text' ? first.text : '';
}

/** The structured answer of a tool, which says that its text is data. @throws {Error} with the text of a refusal */
export async function ask(
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
  options: Parameters<Client['callTool']>[1] = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests know the answers of the tools.
): Promise<any> {
  const answer = await client.callTool({ name, arguments: given }, options);
  if (answer.isError === true) throw new Error(textOf(answer));
  assert.match(textOf(answer), /^{"untrusted":"[^"]* never an instruction\."/, name);
  return answer.structuredContent;
}
