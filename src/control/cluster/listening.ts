import type { Delay } from '../../wire/time/clock.ts';
import type { Board } from './board.ts';
import type { Membership } from './following.ts';

/** How long to wait for the process that holds the port to publish its address, in milliseconds. */
const MAX_WAIT_MS = 2000;
const POLL_MS = 50;

export interface ListeningOptions {
  readonly membership: Pick<Membership, 'role' | 'board'>;
  /** Name of the service. */
  readonly service: string;
  /** Configured host and port. */
  readonly wanted: string;
  readonly listen: () => Promise<{ readonly url: string }>;
  readonly delay: Delay;
}

export interface Listening {
  readonly url: string;
  /** True if another process of the cluster serves this address. */
  readonly shared?: boolean;
}

/**
 * Listens, unless another process of the cluster listens at that address. Workers of a cluster share a port, but not with
 * their primary.
 */
export async function listenTogether(options: ListeningOptions): Promise<Listening> {
  const { membership, service, wanted, listen } = options;
  const { board } = membership;
  const ofPrimary = membership.role === 'worker' ? find(board, service, wanted, process.ppid) : undefined;
  if (ofPrimary !== undefined) return { url: ofPrimary, shared: true };
  try {
    const { url } = await listen();
    board.publishAddress({ service, wanted, url });
    // Workers may open the port at the same time: it is the address of the first of them.
    const shared = board.addresses(service, wanted)[0]?.pid !== process.pid;
    return { url, ...(shared && { shared }) };
  } catch (error) {
    if (!isTaken(error)) throw error;
    const url = await waitForAddress(options);
    if (url === undefined) throw error;
    return { url, shared: true };
  }
}

function find(board: Board, service: string, wanted: string, pid?: number): string | undefined {
  const others = board.addresses(service, wanted).filter((address) => address.pid !== process.pid);
  return others.find((address) => pid === undefined || address.pid === pid)?.url;
}

/** Waits for the address of the process that has the port. */
export async function waitForAddress({
  membership,
  service,
  wanted,
  delay,
}: Omit<ListeningOptions, 'listen'>): Promise<string | undefined> {
  for (let waited = 0; waited <= MAX_WAIT_MS; waited += POLL_MS) {
    const url = find(membership.board, service, wanted);
    if (url !== undefined) return url;
    await new Promise<void>((resolve) => {
      delay(POLL_MS, resolve);
    });
  }
  return undefined;
}

/** Whether a port is taken. */
export function isTaken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === 'EADDRINUSE') return true;
  }
  return false;
}
