import { type Assembled, assemble, type Shared } from './assemble.ts';
import { systemClock, unrefTimeout } from './clock.ts';
import { type Closable, closeInOrder } from './closing.ts';
import { type FollowedCluster, followCluster } from './cluster/following.ts';
import type { ResolvedConfig } from './config.ts';
import { isRdcpError } from './errors.ts';
import type { Entrance } from './server/deferred.ts';
import { copyState } from './store/copy.ts';
import { openStore } from './store/open.ts';
import { createSqliteStore } from './store/sqlite.ts';
import type { StateStore } from './store/state-store.ts';

/**
 * The control of this process. In a cluster the default store is a file of the cluster instead of memory, so that all
 * processes share it.
 */
export class ClusteredControl {
  readonly #config: ResolvedConfig;
  readonly #shared: Shared;
  readonly #entrance: Entrance;
  readonly #cluster: FollowedCluster;
  #current: Assembled;
  #enabled = true;
  #moving: Promise<void> | undefined;

  /**
   * @param entrance serves the endpoint of the parts in use
   * @param opened collects the parts to close if a later one fails to start
   */
  constructor(
    config: ResolvedConfig,
    entrance: Entrance,
    shared: Omit<Shared, 'board' | 'closing'>,
    opened: Closable[],
  ) {
    this.#config = config;
    this.#entrance = entrance;
    this.#shared = { ...shared, board: () => this.#cluster.board, closing: entrance.closing };
    this.#cluster = followCluster({
      joined: () => this.#move(),
      failed: (problem) => this.#warnNotShared(problem),
      delay: unrefTimeout,
    });
    opened.push(this.#cluster);
    this.#current = assemble(config, this.#shared, this.#openStore(), opened);
    entrance.serve(this.#current.app);
  }

  /** The parts in use. Replaced when the process becomes a primary. */
  get current(): Assembled {
    return this.#current;
  }

  /** Pending while settings and trail move to another store. */
  get moving(): Promise<void> | undefined {
    return this.#moving;
  }

  setEnabled(enabled: boolean): void {
    this.#enabled = enabled;
    this.#current.parts.plane.setEnabled(enabled);
  }

  /** Opens the port, or finds the process of the cluster that has it. */
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
      this.#warnNotShared(isRdcpError(error) ? error.message : 'internal error');
    }
    return isolation.storeFor(openStore(store, { maxBytes: limits.memoryStoreBytes }));
  }

  /** Called when this process becomes a primary. */
  #move(): void {
    const { report, closing } = this.#shared;
    if (this.#config.store !== 'memory:' || closing()) return;
    this.#moving = this.#moveToCluster()
      .catch(report)
      .finally(() => {
        this.#moving = undefined;
      });
    this.#entrance.hold(this.#moving);
  }

  /** Moves settings and trail from memory to the store of the cluster. */
  async #moveToCluster(): Promise<void> {
    const { streams, relay, fleet, plane, trail, store, ...rest } = this.#current.parts;
    const clustered = this.#openStore();
    await closeInOrder([streams, relay, fleet, plane, trail]);
    await copyState(store, clustered, systemClock.now());
    this.#current = assemble(this.#config, this.#shared, clustered, []);
    this.#entrance.serve(this.#current.app);
    this.setEnabled(this.#enabled);
    await closeInOrder([...Object.values(rest), store]);
    this.#shared.conditions.forget();
  }

  /** Warns at the start; otherwise it would be unclear why a change reaches only one worker. */
  #warnNotShared(problem: string): void {
    this.#shared.reporter.warn(
      this.#config.store === 'memory:'
        ? `the processes of this cluster share no state (${problem}): set store to sqlite:FILE or redis://…`
        : `each process of this cluster reports only its own calls (${problem})`,
    );
  }
}
