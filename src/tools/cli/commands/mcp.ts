import { resolve } from 'node:path';
import { findDevKey } from '../../../access/dev-key.ts';
import { RdcpError } from '../../../wire/errors.ts';
import { shellWords } from '../../../wire/shell-words.ts';
import { codeOf } from '../../../wire/thrown.ts';
import { VERSION } from '../../../wire/version.ts';
import { createRdcpClient } from '../../client/client.ts';
import type { Service } from '../../mcp/tool.ts';
import { type Command, EXIT, type Terminal, text, type Values } from '../command.ts';
import { type Access, accessOf, assertAddress, CREDENTIAL_OPTIONS, tlsFetch } from '../connection.ts';
import { explain } from '../explain.ts';

const SDK = '@modelcontextprotocol/server';
/** Options that name files, which a program looks for in a folder of its own. */
const FILES = ['key-file', 'token-file'];

export const mcp: Command = {
  summary: 'serve the Model Context Protocol on the standard streams, for agents such as Claude, Cursor and VS Code',
  options: {
    'allow-writes': { help: 'agents may also switch categories, for at most an hour (default: they only read)' },
    'print-config': { help: 'print the configuration of the known programs, with these options, and end' },
    ...CREDENTIAL_OPTIONS,
  },
  notes: [
    `Needs the package ${SDK}, which the printed configuration installs. Give an agent a key of its own that can do`,
    'little, by --key-file or a profile of rdcp login: the audit trail then names it, and the program that it runs in.',
  ],
  examples: ['rdcp mcp --print-config --profile staging', 'rdcp mcp --tenant acme', 'rdcp mcp --allow-writes'],
  run: async (terminal, values) => {
    if (values['print-config'] === true) {
      terminal.out(configurations(optionsOf(terminal, values)));
      return EXIT.done;
    }
    const access = accessOf(terminal, values);
    assertAddress(access.url);
    const { mcpServers, serve } = await loaded();
    const writes = values['allow-writes'] === true;
    await serve(mcpServers(serviceOf(terminal, access), { writes }), terminal.interruption());
    return EXIT.done;
  },
};

async function loaded() {
  try {
    return await import('../../mcp/server.ts');
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Error(`rdcp mcp needs the package ${SDK}: npm install ${SDK}`);
  }
}

export function serviceOf({ sources }: Pick<Terminal, 'sources'>, { url, credential, tenantId, tls }: Access): Service {
  return {
    client: (agent, tenant = tenantId) => {
      if (tenantId !== undefined && tenant !== tenantId) {
        throw new RdcpError('RDCP_FORBIDDEN', `This server is for the tenant ${tenantId} alone`);
      }
      // The name that a program gives itself, as a header can hold it.
      const name = agent.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
      return createRdcpClient({
        baseUrl: url,
        clientId: 'rdcp-mcp',
        headers: { 'User-Agent': `${name} via agent (rdcp mcp ${VERSION})` },
        ...credential,
        ...(tenant !== undefined && { tenantId: tenant }),
        ...(tls && { fetch: tlsFetch(tls) }),
      });
    },
    explain: (error) => explain(error, sources),
  };
}

/** The options of the command, to be given again from any folder. A development key is found in this one alone. */
function optionsOf(terminal: Terminal, values: Values): string[] {
  accessOf(terminal, values);
  const devKey = findDevKey(terminal.cwd);
  const found = devKey !== undefined && devKey.file === terminal.sources.credential ? { 'key-file': devKey.file } : {};
  const given = Object.keys(CREDENTIAL_OPTIONS).flatMap((name) => {
    const value = text({ ...values, ...found }, name);
    if (value === undefined) return [];
    return [`--${name}`, FILES.includes(name) ? resolve(terminal.cwd, value) : value];
  });
  return [...(values['allow-writes'] === true ? ['--allow-writes'] : []), ...given];
}

const PACKAGES = ['opentelemetry-instrumentation-rdcp', '@modelcontextprotocol/server'];

export function configurations(options: readonly string[]): string {
  const command = 'npx';
  const args = ['-y', ...PACKAGES.flatMap((name) => ['-p', name]), 'rdcp', 'mcp', ...options];
  const json = (value: object) => JSON.stringify(value, undefined, 2);
  return [
    '# Claude Code',
    `claude mcp add rdcp -- ${shellWords(command, ...args)}`,
    '',
    '# Claude Desktop: claude_desktop_config.json; Claude Code: .mcp.json; Cursor: .cursor/mcp.json',
    json({ mcpServers: { rdcp: { command, args } } }),
    '',
    '# VS Code: .vscode/mcp.json',
    json({ servers: { rdcp: { type: 'stdio', command, args } } }),
  ].join('\n');
}
