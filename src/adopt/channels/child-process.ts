import type { ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import { isOwnWork } from '../../otel/own-work.ts';
import type { Family } from './family.ts';
import { text } from './fields.ts';
import { Listeners } from './listeners.ts';
import { Operations } from './operations.ts';

export const CHILD_PROCESS: Family = {
  category: 'CHILD_PROCESS',
  description: 'child processes started by spawn, exec and fork of node:child_process',
  follow(category, guarded) {
    const operations = new Operations(category);
    const listeners = new Listeners();

    function started(child: ChildProcess): void {
      const fields = { 'process.executable.name': basename(child.spawnfile), 'process.pid': child.pid };
      if (child.pid === undefined) {
        operations.begin(child, fields);
        operations.end(child, 'process not started');
        return;
      }
      operations.begin(child, fields, 'process started');
      const ended = guarded(() => {
        listeners.remove(child);
        operations.end(child, 'process ended', {
          'process.exit.code': child.exitCode ?? undefined,
          'process.exit.signal': text(child.signalCode),
        });
      });
      listeners.once(child, 'exit', ended);
    }

    return {
      handlers: {
        // Published before the process is started, so the fields are read at the end of this turn.
        child_process: ({ process: child }: { readonly process: ChildProcess }) => {
          if (!isOwnWork()) process.nextTick(guarded(() => started(child)));
        },
      },
      stop: () => listeners.removeAll(),
    };
  },
};
