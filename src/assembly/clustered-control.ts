import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { deferApp } from '../endpoint/deferred.ts';
import { copyState, openStore } from '../store/open.ts';
import { createSqliteStore } from '../store/sqlite/store.ts';
import type { StateStore } from '../store/state-store.ts';
import { isRdcpError } from '../wire/errors.ts';
import { systemClock } from '../wire/time/clock.ts';
import { type Closable, closeInOrder } from './closing.ts';
import { type ProcessParts, warnNotShared } from './process.ts';
import { openState, type State } from './state.ts';

/**
 * The state in use. In a cluster the default store is a file of the cluster instead of memory, so that all processes
 * share it.
 */
export class ClusteredControl {
  readonly #host: ProcessParts;
  #state: State;
  #enabled = true;
  #moving: Promise<void> | undefined;

  /** @param opened collects the parts to close if a later one fails to start */
  constructor(host: ProcessParts, opened: Closable[]) {
    this.#host = host;
    this.#state = openState(host, this.#openStore(), opened);
    host.entrance.serve(deferApp(this.#state.parts));
    host.cluster.onJoined(() => this.#move());
  }

  /** Resolves when the store was read, or that failed. */
  get started(): Promise<void> {
    return this.#state.started;
  }

  setEnabled(enabled: boolean): void {
    this.#enabled = enabled;
    this.#state.plane.setEnabled(enabled);
  }

  /** Before anything else closes: the application may end the process at any moment. */
  leave(): void {
    void this.#state.fleet?.leave();
    this.#state.streams.close();
  }

  async close(): Promise<void> {
    await this.#moving;
    this.#host.conditions.close();
    const { authenticator, store } = this.#state;
    await closeInOrder([...usersOf(this.#state), authenticator, store]);
  }

  #openStore(): StateStore {
    const { config, isolation, cluster, reporter } = this.#host;
    const folder = config.store === 'memory:' ? cluster.folder : undefined;
    try {
      if (folder !== undefined) {
        // The file does not outlive its processes, so nothing is synced to disk.
        return isolation.storeFor(createSqliteStore(join(folder.path, 'control.sqlite'), { lasting: false }));
      }
    } catch (error) {
      warnNotShared(config, reporter, isRdcpError(error) ? error.message : 'internal error');
    }
    return isolation.storeFor(openStore(config.store));
  }

  #move(): void {
    const { config, entrance, report } = this.#host;
    if (config.store !== 'memory:' || entrance.closing.aborted) return;
    this.#moving = this.#moveToCluster()
      .catch(report)
      .finally(() => {
        this.#moving = undefined;
      });
    entrance.hold(this.#moving);
  }

  /** Moves settings and trail from memory to the store of the cluster. */
  async #moveToCluster(): Promise<void> {
    const { authenticator, store } = this.#state;
    const clustered = this.#openStore();
    await closeInOrder(usersOf(this.#state));
    await copyState(store, clustered, systemClock.now());
    this.#state = openState(this.#host, clustered, [], randomUUID());
    this.#host.entrance.serve(deferApp(this.#state.parts));
    this.setEnabled(this.#enabled);
    await closeInOrder([authenticator, store]);
    this.#host.conditions.forget();
  }
}

/** What uses the store, in the order in which it closes. */
function usersOf({ streams, alerts, sampling, pulled, relay, choosing, fleet, plane, trail }: State) {
  return [streams, alerts, sampling, pulled, relay, choosing, fleet, plane, trail];
}
