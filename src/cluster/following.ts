import { afterStart } from '../after-start.ts';
import type { Delay } from '../clock.ts';
import type { Board } from './board.ts';
import { type Listening, listenTogether } from './listening.ts';
import { joinCluster, type Membership } from './membership.ts';
import { onBecomingPrimary, type Role, workerRole } from './role.ts';

export interface FollowingOptions {
  /** Called when this process has become a primary, and is in the cluster from then on. */
  readonly joined: () => void;
  /** Told in a few words why the processes of this cluster can share nothing. */
  readonly failed: (problem: string) => void;
  readonly delay: Delay;
}

/** The cluster of this process: from the start in a worker, from the first fork in a primary. */
export interface FollowedCluster {
  /** `undefined` while it is in none. */
  readonly membership: Membership | undefined;
  readonly board: Board | undefined;
  /** Listens, unless another process of the cluster does so at that address. */
  listen(service: string, wanted: string, listen: () => Promise<{ readonly url: string }>): Promise<Listening>;
  close(): void;
}

/** Joins the cluster that this process is in, now or when it forks its first worker. */
export function followCluster({ joined, failed, delay }: FollowingOptions): FollowedCluster {
  let membership: Membership | undefined;
  let stop = () => {};
  let closed = false;
  /** What this process listens on, to be told when it becomes a primary. */
  const listening: { readonly service: string; readonly wanted: string; readonly url: string }[] = [];

  function join(role: Role): void {
    try {
      membership = joinCluster(role);
    } catch (error) {
      failed(error instanceof Error ? error.message : 'unknown error');
    }
  }

  const worker = workerRole();
  if (worker !== undefined) join(worker);
  else {
    // What is loaded for it, and forked by then, can wait for the application's own start.
    afterStart(() => {
      if (closed) return;
      stop = onBecomingPrimary((role) => {
        join(role);
        if (membership === undefined) return;
        for (const address of listening) membership.board.publishAddress(address);
        joined();
      });
    });
  }

  return {
    get membership() {
      return membership;
    },
    get board() {
      return membership?.board;
    },
    async listen(service, wanted, listen) {
      if (membership !== undefined) return listenTogether({ membership, service, wanted, listen, delay });
      const { url } = await listen();
      const address = { service, wanted, url };
      listening.push(address);
      // It may have become a primary meanwhile.
      (membership as Membership | undefined)?.board.publishAddress(address);
      return { url };
    },
    close() {
      closed = true;
      stop();
      membership?.leave();
      membership = undefined;
    },
  };
}
