import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { shellWords } from '../../../wire/shell-words.ts';
import type { Command } from '../command.ts';
import { planFor } from '../init/plan.ts';
import { inspectProject, type ReadText } from '../init/project.ts';

export const init: Command = {
  summary: 'show the few lines that put a project under control; --write changes the start scripts of its package.json',
  operands: '[directory]',
  completes: 'files',
  options: {
    write: { help: 'change the start scripts of package.json; nothing else is touched' },
  },
  notes: [
    'A file that starts an OpenTelemetry SDK, a Dockerfile or a PM2 ecosystem file is never edited: the line is shown.',
  ],
  examples: ['rdcp init', 'rdcp init --write services/shop'],
  run: async (terminal, { write }, [directory = '.']) => {
    const folder = resolve(terminal.cwd, directory);
    const read: ReadText = (path) => {
      try {
        return readFileSync(join(folder, path), 'utf8');
      } catch {
        return undefined;
      }
    };
    const plan = planFor(inspectProject(read), read);
    const written = write === true && plan.scripts.length > 0;
    terminal.out(`Found: ${plan.found}`);
    if (written) writeFileSync(join(folder, 'package.json'), plan.manifest);
    if (plan.install !== undefined) terminal.out(`\nInstall what is missing:\n  ${plan.install}`);
    for (const { name, before, after } of plan.scripts) {
      terminal.out(`\npackage.json, script "${name}"${written ? ' (written)' : ''}:\n- ${before}\n+ ${after}`);
    }
    for (const step of plan.steps) terminal.out(`\n${step}`);
    if (plan.scripts.length > 0 && !written)
      terminal.out(
        `\nTo write the scripts: ${shellWords('npx', 'opentelemetry-instrumentation-rdcp', 'init', '--write', ...(directory === '.' ? [] : [directory]))}`,
      );
    if (plan.done) terminal.out('\nNothing to do: the project is under control.');
    else if (plan.service)
      terminal.out('\nThen start the service, and list its categories, in the same folder:\n  npx rdcp list');
  },
};
