import type { ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import { isOwnWork } from '../../otel/own-work.ts';
import type { Family } from './family.ts';
import { text } from './fields.ts';

export const CHILD_PROCESS: Family = {
  category: 'CHILD_PROCESS',
  description: 'child processes started by spawn, exec and fork of node:child_process',
  follow({ operations, listeners, guarded }) {
    function started(child: ChildProcess): void {
      const fields = { 'process.executable.name': basename(child.spawnfile), 'process.pid': child.pid };
      if (child.pid === undefined) {
        operations.begin(child, fields);
        operations.end(child, 'process not started');
        return;
      }
      operations.begin(child, fields, 'process started');
      listeners.first(child, {
        exit: () =>
          operations.end(child, 'process ended', {
            'process.exit.code': child.exitCode ?? undefined,
            'process.exit.signal': text(child.signalCode),
          }),
      });
    }

    return {
      // Published before the process is started, so the fields are read at the end of this turn.
      child_process: ({ process: child }: { readonly process: ChildProcess }) => {
        if (!isOwnWork()) process.nextTick(guarded(() => started(child)));
      },
    };
  },
};
