import { join } from 'node:path';
import { type Board, openBoard } from './board.ts';
import { enterFolder, type Folder } from './folder.ts';
import type { Role } from './role.ts';

/** Resources shared with the other processes of the cluster. */
export interface Membership {
  readonly role: Role['name'];
  /** Private to the user. Removed when the last process leaves. */
  readonly folder: string;
  /** File of the shared store, when no store is configured. */
  readonly storeFile: string;
  readonly board: Board;
  leave(): void;
}

/** @throws if a private folder cannot be created, or SQLite is missing */
export function joinCluster(role: Role): Membership {
  const folder = enterFolder(role.cluster);
  try {
    return membership(role, folder);
  } catch (error) {
    folder.leave();
    throw error;
  }
}

function membership({ name }: Role, folder: Folder): Membership {
  const { pid } = process;
  const board = openBoard(folder.path, { process: `${pid}-${performance.timeOrigin}`, pid });
  const leave = () => {
    process.off('exit', leave);
    board.close();
    folder.leave();
  };
  process.on('exit', leave);
  return { role: name, folder: folder.path, storeFile: join(folder.path, 'control.sqlite'), board, leave };
}
