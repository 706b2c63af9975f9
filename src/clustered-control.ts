import { type Assembled, assemble, type Shared } from './assemble.ts';
import { systemClock, unrefTimeout } from './clock.ts';
import { type Closable, closeInOrder } from './closing.ts';
import { type FollowedCluster, followCluster } from './cluster/following.ts';
import type { ResolvedConfig } from './config.ts';
import { isRdcpError } from './errors.ts';
import { copyState } from './store/copy.ts';
import { openStore } from './store/open.ts';
import { createSqliteStore } from './store/sqlite.ts';
import type { StateStore } from './store/state-store.ts';

/**
 * The control of this process, and of its cluster where it belongs to one: what one process keeps in memory is kept in a file
 * of the cluster then, so that all processes share it.
 */
export class ClusteredControl {
  readonly #config: ResolvedConfig;
  readonly #shared: Shared;
  readonly #cluster: FollowedCluster;
  #current: Assembled;
  #enabled = true;
  #moving: Promise<void> | undefined;

  /** @param opened gets every part that must be closed again when a later one cannot be made */
  constructor(config: ResolvedConfig, shared: Omit<Shared, 'board'>, opened: Closable[]) {
    this.#config = config;
    this.#shared = { ...shared, board: () => this.#cluster.board };
    this.#cluster = followCluster({
      joined: () => this.#move(),
      failed: (problem) => this.#sharesNothing(problem),
      delay: unrefTimeout,
    });
    opened.push(this.#cluster);
    this.#current = assemble(config, this.#shared, this.#openStore(), opened);
  }

  /** What is in force now: another one when the process has become a primary. */
  get current(): Assembled {
    return this.#current;
  }

  /** Pending while settings and trail go to another store: requests wait for it. */
  get moving(): Promise<void> | undefined {
    return this.#moving;
  }

  setEnabled(enabled: boolean): void {
    this.#enabled = enabled;
    this.#current.parts.plane.setEnabled(enabled);
  }

  /** Opens the port in this process, or learns which one of the cluster has it. */
  listen(address: string, open: () => Promise<{ readonly url: string }>): ReturnType<FollowedCluster['listen']> {
    return this.#cluster.listen('rdcp', address, open);
  }

  async close(): Promise<void> {
    await closeInOrder([...Object.values(this.#current.parts), this.#cluster]);
  }

  #openStore(): StateStore {
    const { store, limits } = this.#config;
    const { isolation } = this.#shared;
    const file = store === 'memory:' ? this.#cluster.membership?.storeFile : undefined;
    try {
      if (file !== undefined) return isolation.storeFor(createSqliteStore(file, { lasting: false }));
    } catch (error) {
      this.#sharesNothing(isRdcpError(error) ? error.message : 'internal error');
    }
    return isolation.storeFor(openStore(store, { maxBytes: limits.memoryStoreBytes }));
  }

  /** This process has become a primary. */
  #move(): void {
    const { report, closing } = this.#shared;
    if (this.#config.store !== 'memory:' || closing()) return;
    this.#moving = this.#moveToCluster()
      .catch(report)
      .finally(() => {
        this.#moving = undefined;
      });
  }

  /** What was set, and the trail of it, goes from the memory of this process to the store of the cluster. */
  async #moveToCluster(): Promise<void> {
    const { fleet, plane, trail, store, ...rest } = this.#current.parts;
    const clustered = this.#openStore();
    await closeInOrder([fleet, plane, trail]);
    await copyState(store, clustered, systemClock.now());
    this.#current = assemble(this.#config, this.#shared, clustered, []);
    this.setEnabled(this.#enabled);
    await closeInOrder([...Object.values(rest), store]);
    this.#shared.conditions.forget();
  }

  /** Said once at the start; otherwise a change that reaches one worker alone would have no visible reason. */
  #sharesNothing(problem: string): void {
    this.#shared.reporter.warn(
      this.#config.store === 'memory:'
        ? `the processes of this cluster are switched one by one (${problem}): set store to sqlite:FILE or redis://…`
        : `each process of this cluster answers with its own calls (${problem})`,
    );
  }
}
