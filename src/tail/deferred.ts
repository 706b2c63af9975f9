import type { Relay, RelayOptions } from './relay.ts';

/** The relay, loaded when the first tail or forecast needs it, here or in another process of the fleet. */
export interface DeferredRelay {
  load(): Promise<Relay>;
  close(): Promise<void>;
}

export function deferRelay(options: RelayOptions): DeferredRelay {
  let loading: Promise<Relay> | undefined;
  let closed = false;

  async function make(): Promise<Relay> {
    const { Relay } = await import('./relay.ts');
    const relay = new Relay(options);
    if (closed) relay.close();
    return relay;
  }

  const load = () => {
    loading ??= make();
    return loading;
  };
  const stop = options.messages?.onMessage((message, from) => {
    load().then(
      (relay) => relay.hear(message, from),
      () => undefined,
    );
  });
  return {
    load,
    async close() {
      closed = true;
      stop?.();
      (await loading)?.close();
    },
  };
}
