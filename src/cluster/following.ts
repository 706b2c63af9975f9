import { afterStart } from '../after-start.ts';
import type { Delay } from '../clock.ts';
import type { Board } from './board.ts';
import { type Listening, listenTogether } from './listening.ts';
import { joinCluster, type Membership } from './membership.ts';
import { onBecomingPrimary, type Role, workerRole } from './role.ts';

export interface FollowingOptions {
  /** Called when this process has become a primary and joined its cluster. */
  readonly joined: () => void;
  /** Called with the reason when the processes of the cluster cannot share data. */
  readonly failed: (problem: string) => void;
  readonly delay: Delay;
}

/** The cluster of this process. A worker joins at its start, a primary with its first fork. */
export interface FollowedCluster {
  /** `undefined` while this process is not in a cluster. */
  readonly membership: Membership | undefined;
  readonly board: Board | undefined;
  /** Listens, unless another process of the cluster listens at that address. */
  listen(service: string, wanted: string, listen: () => Promise<{ readonly url: string }>): Promise<Listening>;
  close(): void;
}

/** Joins this process's cluster, now or when it forks its first worker. */
export function followCluster({ joined, failed, delay }: FollowingOptions): FollowedCluster {
  let membership: Membership | undefined;
  let stop = () => {};
  let closed = false;
  /** Addresses of this process, published when it becomes a primary. */
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
    // Loading node:cluster takes time, so the application starts first. Earlier forks are found then.
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
      // This process may have become a primary meanwhile.
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
