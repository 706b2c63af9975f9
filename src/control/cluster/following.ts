import { join } from 'node:path';
import { afterStart } from '../../wire/time/after-start.ts';
import type { Delay } from '../../wire/time/clock.ts';
import { type Board, openBoard } from './board.ts';
import { enterFolder, type Folder } from './folder.ts';
import { onEntered } from './launched.ts';
import { isTaken, type Listening, listenTogether, waitForAddress } from './listening.ts';
import { launchedCluster, onBecomingPrimary, type Role, workerRole } from './role.ts';

export interface FollowingOptions {
  /** Called with the reason when the processes of the cluster cannot share data. */
  readonly failed: (problem: string) => void;
  readonly delay: Delay;
}

/** The cluster of this process. A worker joins at its start, a primary with its first fork. */
export interface FollowedCluster {
  /** `undefined` while this process is not in a cluster. */
  readonly membership: Membership | undefined;
  readonly board: Board | undefined;
  /** Whether this process is one of a cluster, also where that shares no data. */
  readonly isMember: boolean;
  /** @param listener called when this process has become a primary and joined its cluster */
  onJoined(listener: () => void): void;
  /** Listens, unless another process of the cluster listens at that address. */
  listen(service: string, wanted: string, listen: () => Promise<{ readonly url: string }>): Promise<Listening>;
  close(): void;
}

/** Joins this process's cluster, now or when it forks its first worker. */
export function followCluster({ failed, delay }: FollowingOptions): FollowedCluster {
  let membership: Membership | undefined;
  let stop = () => {};
  let stopLooking = () => {};
  let joined = () => {};
  let closed = false;
  /** Addresses of this process, published when it becomes a primary. */
  const listening: { readonly service: string; readonly wanted: string; readonly url: string }[] = [];

  const followed: FollowedCluster & { isMember: boolean } = {
    isMember: false,
    get membership() {
      return membership;
    },
    get board() {
      return membership?.board;
    },
    onJoined(listener) {
      joined = listener;
    },
    async listen(service, wanted, listen) {
      if (membership !== undefined) return listenTogether({ membership, service, wanted, listen, delay });
      try {
        const { url } = await listen();
        const address = { service, wanted, url };
        listening.push(address);
        // This process may have become a primary meanwhile.
        (membership as Membership | undefined)?.board.publishAddress(address);
        const launcher = launchedCluster('primary', wanted);
        if (launcher !== undefined) stopLooking = onEntered(launcher, delay, become);
        return { url };
      } catch (error) {
        const url = isTaken(error) ? await joinLauncher(service, wanted) : undefined;
        if (url === undefined) throw error;
        return { url, shared: true };
      }
    },
    close() {
      closed = true;
      stop();
      stopLooking();
      membership?.leave();
      membership = undefined;
    },
  };

  function enter(role: Role): void {
    followed.isMember = true;
    try {
      membership = joinCluster(role);
    } catch (error) {
      failed(error instanceof Error ? error.message : 'unknown error');
    }
  }

  function become(primary: Role): void {
    if (closed || membership !== undefined) return;
    enter(primary);
    if (membership === undefined) return;
    for (const address of listening) (membership as Membership).board.publishAddress(address);
    joined();
  }

  /** Joins the process that has the port, if it launched this one. @returns its address */
  async function joinLauncher(service: string, wanted: string): Promise<string | undefined> {
    const launched = launchedCluster('worker', wanted);
    if (launched === undefined || membership !== undefined) return undefined;
    enter(launched);
    const own = membership as Membership | undefined;
    const url = own && (await waitForAddress({ membership: own, service, wanted, delay }));
    if (url !== undefined) joined();
    else if (own !== undefined) {
      own.leave();
      membership = undefined;
      followed.isMember = false;
    }
    return url;
  }

  const worker = workerRole();
  if (worker !== undefined) enter(worker);
  else {
    // Loading node:cluster takes time, so the application starts first. Earlier forks are found then.
    afterStart(() => {
      if (closed) return;
      stop = onBecomingPrimary(become);
    });
  }
  return followed;
}

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
function joinCluster(role: Role): Membership {
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
