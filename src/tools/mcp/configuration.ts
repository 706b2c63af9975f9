import { shellWords } from '../../wire/shell-words.ts';

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
