import { hash } from 'node:crypto';
import { afterStart } from '../../wire/time/after-start.ts';
import type { Delay } from '../../wire/time/clock.ts';
import { enterFolder, type Folder } from './folder.ts';
import {
  type ClusterId,
  clusterOfLauncher,
  clusterOfWorker,
  isLaunched,
  onBecomingPrimary,
  onEntered,
} from './role.ts';

/** How long to wait for the process that holds the port to publish its address, in milliseconds. */
const MAX_WAIT_MS = 2000;
const POLL_MS = 50;
/** How long an event stays claimed, in milliseconds: its processes claim it at about the same time. */
const CLAIMED_MS = 60_000;

export interface Listening {
  readonly url: string;
  /** True if another process of the cluster serves this address. */
  readonly shared?: boolean;
}

/** The cluster of this process. A worker joins at its start, a primary with its first fork. */
export type FollowedCluster = ReturnType<typeof followCluster>;

/** @param failed called with the reason when the processes of the cluster cannot share data */
export function followCluster({
  failed,
  delay,
}: {
  readonly failed: (problem: string) => void;
  readonly delay: Delay;
}) {
  let stop = () => {};
  let stopLooking = () => {};
  let joined = () => {};
  let closed = false;
  const opened = new Map<string, string>();

  const worker = clusterOfWorker();
  const followed = {
    /** `undefined` while this process is not in a cluster, or shares nothing with it. */
    folder: undefined as Folder | undefined,
    /** Whether this process is one of a cluster, also where that shares no data. */
    isMember: false,
    /** @param listener called when this process has joined its cluster after its start */
    onJoined(listener: () => void): void {
      joined = listener;
    },
    /**
     * Listens, unless another process of the cluster listens at that address: workers of a cluster share a port, but not with
     * their primary.
     */
    async listen(service: string, wanted: string, listen: () => Promise<{ readonly url: string }>): Promise<Listening> {
      const name = encodeURIComponent(`${service} ${wanted}`);
      const known = published(name);
      if (known?.pid === process.ppid) return { url: known.url, shared: true };
      try {
        const { url } = await listen();
        opened.set(name, url);
        if (!publish(name, url)) return { url, shared: true };
        const launcher = followed.folder === undefined ? clusterOfLauncher(wanted) : undefined;
        if (launcher !== undefined) stopLooking = onEntered(launcher, delay, become);
        return { url };
      } catch (error) {
        const url = isTaken(error) ? await addressOf(name, wanted) : undefined;
        if (url === undefined) throw error;
        return { url, shared: true };
      }
    },
    /** Lets one process of the cluster announce an event. Returns true for the first that claims it. */
    claim(event: string): boolean {
      const name = `claimed-${hash('sha256', event)}`;
      if (closed || !put(name)) return false;
      if (followed.folder !== undefined) delay(CLAIMED_MS, () => followed.folder?.take(name));
      return true;
    },
    close(): void {
      closed = true;
      stop();
      stopLooking();
      // Workers share their port, so that what one of them has said stays true.
      const isOwn = (name: string) => worker === undefined && published(name)?.pid === process.pid;
      for (const name of [...opened.keys()].filter(isOwn)) followed.folder?.take(name);
      leave();
    },
  };

  /** Returns whether this process is the first. Where the folder fails it is: a line that is written twice is not lost. */
  function put(name: string, text = ''): boolean {
    try {
      return followed.folder?.put(name, text) !== false;
    } catch {
      return true;
    }
  }

  function enter(cluster: ClusterId): void {
    followed.isMember = true;
    try {
      followed.folder = enterFolder(cluster);
      process.on('exit', leave);
    } catch (error) {
      failed(error instanceof Error ? error.message : 'unknown error');
    }
  }

  function leave(): void {
    process.off('exit', leave);
    followed.folder?.leave();
    followed.folder = undefined;
  }

  function become(own: ClusterId): void {
    if (closed || followed.folder !== undefined) return;
    enter(own);
    if (followed.folder === undefined) return;
    for (const [name, url] of opened) publish(name, url);
    joined();
  }

  function publish(name: string, url: string): boolean {
    return put(name, JSON.stringify({ pid: process.pid, url }));
  }

  function published(name: string): { readonly pid: number; readonly url: string } | undefined {
    const text = followed.folder?.read(name);
    return text ? JSON.parse(text) : undefined;
  }

  /** The address of the process that has the port: a process of the cluster, or one that has launched this one. */
  async function addressOf(name: string, wanted: string): Promise<string | undefined> {
    const launched = followed.folder === undefined && isLaunched() ? clusterOfLauncher(wanted) : undefined;
    if (launched !== undefined) enter(launched);
    for (let waited = 0; followed.folder !== undefined && waited <= MAX_WAIT_MS; waited += POLL_MS) {
      const url = published(name)?.url;
      if (launched !== undefined && url !== undefined) joined();
      if (url !== undefined) return url;
      await new Promise<void>((resolve) => {
        delay(POLL_MS, resolve);
      });
    }
    if (launched !== undefined) {
      leave();
      followed.isMember = false;
    }
    return undefined;
  }

  if (worker !== undefined) enter(worker);
  else {
    // Loading node:cluster takes time, so the application starts first. Earlier forks are found then.
    afterStart(() => {
      if (!closed) stop = onBecomingPrimary(become);
    });
  }

  return followed;
}

function isTaken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === 'EADDRINUSE') return true;
  }
  return false;
}
