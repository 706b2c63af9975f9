/** The server of a store that all shops share. */
export interface StoreServer {
  readonly url: string;
  /** Ends it, where it was started here. */
  close(): Promise<void>;
}

/** One that runs already. */
export function running(url: string): StoreServer {
  return { url, close: async () => {} };
}
