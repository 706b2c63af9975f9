import type { Delay } from '../clock.ts';
import type { Board } from './board.ts';
import type { Membership } from './membership.ts';

/** How long one process waits until another one that has the port has told its address, in milliseconds. */
const PATIENCE_MS = 2000;
const LOOK_MS = 50;

export interface ListeningOptions {
  readonly membership: Pick<Membership, 'role' | 'board'>;
  /** What is served. */
  readonly service: string;
  /** Host and port. */
  readonly wanted: string;
  readonly listen: () => Promise<{ readonly url: string }>;
  readonly delay: Delay;
}

export interface Listening {
  readonly url: string;
  /** True where another process of the cluster answers there too, or alone. */
  readonly shared?: boolean;
}

/**
 * Listens, unless another process of the cluster does so at that address: the workers of a cluster share a port by
 * themselves, but not with their primary.
 */
export async function listenTogether(options: ListeningOptions): Promise<Listening> {
  const { membership, service, wanted, listen } = options;
  const { board } = membership;
  const ofPrimary = membership.role === 'worker' ? find(board, service, wanted, process.ppid) : undefined;
  if (ofPrimary !== undefined) return { url: ofPrimary, shared: true };
  try {
    const { url } = await listen();
    const shared = find(board, service, wanted) !== undefined;
    board.publishAddress({ service, wanted, url });
    return { url, ...(shared && { shared }) };
  } catch (error) {
    if (!isTaken(error)) throw error;
    const url = await waitFor(options);
    if (url === undefined) throw error;
    return { url, shared: true };
  }
}

function find(board: Board, service: string, wanted: string, pid?: number): string | undefined {
  const others = board.addresses(service, wanted).filter((address) => address.pid !== process.pid);
  return others.find((address) => pid === undefined || address.pid === pid)?.url;
}

async function waitFor({ membership, service, wanted, delay }: ListeningOptions): Promise<string | undefined> {
  for (let waited = 0; waited <= PATIENCE_MS; waited += LOOK_MS) {
    const url = find(membership.board, service, wanted);
    if (url !== undefined) return url;
    await new Promise<void>((resolve) => {
      delay(LOOK_MS, resolve);
    });
  }
  return undefined;
}

function isTaken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === 'EADDRINUSE') return true;
  }
  return false;
}
